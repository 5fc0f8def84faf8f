"""Batches: every text once, none too large, and padding that depends on the text alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.encoder.buckets import padded_length, plan


@given(
    st.lists(st.integers(0, 512), max_size=200),
    st.integers(1, 5_000),
    st.integers(1, 300),
)
def test_batches_hold_every_text_with_tokens_once(tokens: list[int], budget: int, texts: int) -> None:
    batches = plan(tokens, 512, tokens_per_batch=budget, texts_per_batch=texts)
    assert sorted(row for batch in batches for row in batch.rows) == [row for row, count in enumerate(tokens) if count]
    for batch in batches:
        assert 1 <= len(batch.rows) <= texts
        assert len(batch.rows) == 1 or len(batch.rows) * batch.length <= budget
        assert all(tokens[row] <= batch.length for row in batch.rows)
        assert list(batch.rows) == sorted(batch.rows)
    assert [batch.length for batch in batches] == sorted(batch.length for batch in batches)


@given(st.lists(st.integers(1, 256), min_size=1, max_size=100), st.integers(1, 256))
def test_the_padded_length_of_a_text_does_not_depend_on_the_others(tokens: list[int], mine: int) -> None:
    alone = plan([mine], 256, tokens_per_batch=1_024, texts_per_batch=64)[0].length
    together = plan([mine, *tokens], 256, tokens_per_batch=1_024, texts_per_batch=64)
    assert next(batch.length for batch in together if 0 in batch.rows) == alone


def test_little_of_a_text_is_padding_and_lengths_are_few() -> None:
    lengths = [padded_length(tokens, 8_192) for tokens in range(1, 8_193)]
    assert all(length >= tokens for tokens, length in enumerate(lengths, 1))
    assert all(length - tokens < max(8, tokens / 4) for tokens, length in enumerate(lengths, 1))
    assert len({length for length in lengths if length <= 256}) == 16


def test_no_length_is_beyond_the_limit() -> None:
    assert padded_length(250, 250) == 250
    assert padded_length(1, 5) == 5
    assert padded_length(0, 64) == 8
