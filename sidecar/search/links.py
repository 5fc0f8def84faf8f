"""Addresses of documentation pages.

In: a declaration's name and module. Out: the address of its place on the page that doc-gen4 made for the module, or
None where nobody is known to publish one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from sidecar.text.names import components

MATHLIB_DOCUMENTATION: Final = "https://leanprover-community.github.io/mathlib4_docs/"

KNOWN_DOCUMENTATION: Final[Mapping[str, str]] = dict.fromkeys(
    (
        "Aesop",
        "Archive",
        "Batteries",
        "Counterexamples",
        "ImportGraph",
        "Init",
        "Lake",
        "Lean",
        "LeanSearchClient",
        "Mathlib",
        "Plausible",
        "ProofWidgets",
        "Qq",
        "Std",
    ),
    MATHLIB_DOCUMENTATION,
)
"""First component of a module name → base address: Mathlib's pages cover everything that Mathlib imports."""


class DocumentationLinks:
    """Knows where the documentation of each library is published.

    Args:
        bases: Base address by module prefix (whole components); the longest prefix decides. An empty address says
            that a library has none. Added to `KNOWN_DOCUMENTATION`.
    """

    def __init__(self, bases: Mapping[str, str] | None = None) -> None:
        every = dict(KNOWN_DOCUMENTATION) | dict(bases or {})
        self._bases = {components(prefix): base for prefix, base in every.items()}

    def link(self, name: str, module: str) -> str | None:
        """Address of a declaration's place on its module's page.

        What is not an unreserved letter of addresses is percent-encoded as UTF-8; « » stay part of the name, as in the
        anchors of the pages.
        """
        path = components(module)
        for length in range(len(path), 0, -1):
            base = self._bases.get(path[:length])
            if base is not None:
                break
        else:
            return None
        if not base:
            return None
        # A lone surrogate has no UTF-8 form; such a name has no page either, and no name may break an answer.
        page = "/".join(quote(part, safe="", errors="replace") for part in path)
        return f"{base.rstrip('/')}/{page}.html#{quote(name, safe='', errors='replace')}"
