"""A made-up library with theorems that cite it, and an untrained encoder: all that a training run needs, in seconds."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.corpus.written import declaration_row, module_row, write

LEMMAS = 24
USES = {"Train": 40, "Valid": 8, "Test": 8}
WORDS = ("ring", "group", "field", "lattice", "order", "measure", "graph", "sheaf")


def lemma(number: int) -> str:
    return f"Lemmas.{WORDS[number % 8]}_{WORDS[number // 8 + 3]}"


def statement(number: int) -> str:
    return f"{WORDS[number % 8].title()}.op a {WORDS[number // 8 + 3].title()}.zero = a"


def write_library(folder: Path) -> None:
    """Lemmas that everything sees, one of them twice under two names; a module that nothing imports; the theorems."""
    signature = "theorem {0} (a : Nat) : {1}"
    lemmas = [
        declaration_row(lemma(n), signature=signature.format(lemma(n), statement(n)), constants=[], conclusion_count=0)
        for n in range(LEMMAS)
    ]
    twin = signature.format("Lemmas.twin", statement(0))
    write(
        folder,
        module_row("Lemmas"),
        *(row | {"line": number + 1, "end_line": number + 1} for number, row in enumerate(lemmas)),
        declaration_row(
            "Lemmas.twin", signature=twin, line=LEMMAS + 1, end_line=LEMMAS + 1, constants=[], conclusion_count=0
        ),
        name="Lemmas.jsonl",
    )
    write(folder, module_row("Hidden"), declaration_row("Hidden.lemma"), name="Hidden.jsonl")
    for module, count in USES.items():
        theorems = [
            declaration_row(
                f"{module}.use{n}", signature=f"theorem {module}.use{n} : use {n}", line=10 * n + 1, end_line=10 * n + 2
            )
            for n in range(count)
        ]
        write(folder, module_row(module, ["Lemmas"]), *theorems, name=f"{module}.jsonl")


def pair(module: str, number: int, **changes: Any) -> dict[str, Any]:
    first, second = number % LEMMAS, (number * 5 + 1) % LEMMAS
    extra = "Train" if module == "Train" else module.lower()
    return {
        "name": f"{module}.use{number}",
        "module": module,
        "line": 10 * number + 1,
        "statement": f"theorem use{number} : {statement(first)}",
        "state": f"a : Nat\nh : {statement(second)} ∧ {extra} {number}\n⊢ {statement(first)}",
        "premises": list(dict.fromkeys([lemma(first), lemma(second)])),
        "tactics": number % 4 != 0,
        "rsplit": "train",
    } | changes


def write_pairs(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for module, count in USES.items():
        with gzip.open(folder / f"pairs-{module.lower()}-000.jsonl.gz", "wt", encoding="utf-8") as file:
            for number in range(count):
                file.write(json.dumps(pair(module, number)) + "\n")


def write_encoder(folder: Path, *, seed: int = 0, dropout: float = 0.1, words: int = 0) -> None:
    """A BERT of two layers and a word tokenizer over the library's words, with random weights.

    Args:
        folder: Made.
        seed: Decides the weights.
        dropout: Probability of dropout.
        words: Least size of the vocabulary, filled with words that no text has; BERT's begin with a thousand of them.
    """
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "nat", "op", "zero", "eq", "and", "lemmas", "theorem", *WORDS]
    known += [*"abcdefghijklmnopqrstuvwxyz0123456789", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
    unused = [f"[unused{number}]" for number in range(words - len(known))]
    vocabulary = {word: number for number, word in enumerate([*known[:4], *unused, *known[4:]])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertModel(config, add_pooling_layer=False)
    folder.mkdir(parents=True)
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
