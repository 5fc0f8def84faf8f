"""The LeanHammerExt sidecar: premise selection and semantic search for Lean 4.

The rooms follow the data: `corpus` (what is known) → `text` (canonical texts) → `encoder` (texts to vectors) →
`index` (vectors and lexical tables on disk) → `select` and `search` (the two questions) → `server`, `bridge` and
`cli` (the ways in). Arrows point one way; nothing here imports `training`.
"""

__version__ = "0.1.0"
