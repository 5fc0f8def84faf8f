"""A tiny language model made on the spot, so that the whole loop runs where no model can be fetched.

In: some texts. Out: a folder with a random Qwen3 of some 100,000 parameters and a byte-level tokenizer trained on the
texts, in the format of transformers. It writes nonsense; what it proves is that everything around it works.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

VOCABULARY: Final = 600
PAD, END = "<pad>", "<end>"


def write_tiny_model(folder: Path, texts: Iterable[str], *, seed: int = 0) -> None:
    """Train the tokenizer, draw the weights, write both.

    Args:
        folder: Where; it is made.
        texts: What the tokenizer learns its tokens from.
        seed: Decides the weights.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, padding_side="left")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(
            Qwen3Config(
                vocab_size=len(fast),
                hidden_size=64,
                intermediate_size=128,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                head_dim=16,
                max_position_embeddings=2_048,
                tie_word_embeddings=True,
                pad_token_id=fast.pad_token_id,
                bos_token_id=None,
                eos_token_id=fast.eos_token_id,
            )
        )
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
