"""Patterns mean the same in every Python that is supported."""

from __future__ import annotations

import re

import pytest

from tests.running import ROOT


@pytest.mark.parametrize("package", ["sidecar", "training"])
def test_no_group_has_a_possessive_quantifier(package: str) -> None:
    # Before Python 3.11.5 such a group may match less than it should (CPython's issue 106052); `(?>…)` is right in all.
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in sorted((ROOT / package).rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(r"\)[*+?]\+(?!,)", line)
    ]
    assert not found
