/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Main

/-!
# Extraction

`lake exe extract MODULE…` writes what indexing and training need from any Lake project: the declarations with their
canonical statements, the module graph, and the states of every proof with the premises that close them. The format is
described in `sidecar/corpus/extraction_format.md`.
-/
