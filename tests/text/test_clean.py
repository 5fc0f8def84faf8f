from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.text.clean import clean, one_line
from tests.text.strategies import ANY_TEXT, FORMAL_TEXT, PATIENT

INVISIBLE = ["\u200b", "\u200d", "\ufeff", "\u00ad", "\u2060", "\u202e", "\ufe0f", "\x00", "\x1b", "\ud800", "\udfff"]
SPACES = ["\t", "\u00a0", "\u2003", "\u3000", "\u202f", "\x0b", "\x0c"]
LINE_ENDS = ["\r\n", "\r", "\u0085", "\u2028", "\u2029"]


@given(ANY_TEXT | FORMAL_TEXT)
@PATIENT
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert one_line(one_line(text)) == one_line(text)


@given(ANY_TEXT | FORMAL_TEXT)
@PATIENT
def test_a_clean_text_can_be_written_and_has_one_kind_of_space(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert all(character in "\n " or not character.isspace() for character in cleaned)
    assert "\n" not in one_line(text) and "  " not in one_line(text)


@given(st.lists(st.text("ab =∑𝕜«»", max_size=4), min_size=1), st.sampled_from(INVISIBLE))
@PATIENT
def test_what_cannot_be_seen_makes_no_difference(parts: list[str], invisible: str) -> None:
    assert clean(invisible.join(parts)) == "".join(parts)


@given(st.lists(st.text("ab =∑𝕜«»", max_size=4), min_size=1), st.sampled_from(SPACES))
@PATIENT
def test_every_space_is_a_space(parts: list[str], space: str) -> None:
    assert clean(space.join(parts)) == " ".join(parts)


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_every_line_end_is_a_line_end(line_end: str) -> None:
    assert clean(line_end.join(["a", "", "b"])) == "a\n\nb"


def test_letters_of_every_plane_and_accents_stay() -> None:
    assert clean("𝕜 Hölder Ho\u0308lder 群 ℝ≥0∞") == "𝕜 Hölder Ho\u0308lder 群 ℝ≥0∞"
