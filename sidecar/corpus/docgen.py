"""Reader of documentation as doc-gen4 publishes it: a folder of HTML pages, no build needed.

In: a folder (`.lake/build/doc`, or a copy of a published site). Out: `Module` and `Declaration` records, a page at a
time, modules in order of their names. Pages about no module (index, search, style) are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sidecar.corpus.docgen_page import Page, module_name
from sidecar.corpus.documented import source_revisions
from sidecar.corpus.records import Declaration, Module, Proof
from sidecar.errors import SidecarError

_HEAD_BYTES: Final = 8_192
_SOURCE_LINK: Final = re.compile(r'class="gh_nav_link"><a href="([^"]*)"')


class DocgenReader:
    """Reads the folder; every call of a method parses the pages again from the start.

    Args:
        folder: Searched for `*.html` at any depth.

    Raises:
        SidecarError: `not_found` when no page documents a module.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        pages = {name: file for file in _html_files(folder) if (name := _documented_module(file)) is not None}
        if not pages:
            raise SidecarError(
                "not_found",
                f"{folder} has no doc-gen4 page of a module",
                field=str(folder),
                hint="give the folder that holds the pages in their folders, such as .lake/build/doc",
            )
        self.files: list[Path] = [pages[name] for name in sorted(pages)]
        """Every page that is read, in order of the modules' names."""

    @staticmethod
    def accepts(folder: Path) -> bool:
        """Whether the folder looks like this format."""
        return folder.is_dir() and any(_documented_module(file) is not None for file in _html_files(folder))

    def modules(self) -> Iterator[Module]:
        """The modules, in order of their names."""
        return (page.module() for page in self._pages())

    def revisions(self) -> dict[str, str]:
        """Revision of each repository, from the links to source files at the top of the pages."""
        links = map(_SOURCE_LINK.search, map(_head, self.files))
        return source_revisions(link[1] for link in links if link)

    def declarations(self) -> Iterator[Declaration]:
        """The declarations, page by page."""
        for page in self._pages():
            yield from page.declarations()

    def proofs(self) -> Iterator[Proof]:
        """None: the pages say nothing about proofs."""
        return iter(())

    def _pages(self) -> Iterator[Page]:
        for file in self.files:
            try:
                html = file.read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise SidecarError(
                    "bad_request",
                    f"{file}: not UTF-8 at byte {error.start}",
                    field=str(file),
                    hint="fetch the page again",
                ) from error
            yield Page(html, str(file))


def _html_files(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("*.html") if file.is_file())


def _documented_module(file: Path) -> str | None:
    return module_name(_head(file))


def _head(file: Path) -> str:
    with file.open("rb") as page:
        return page.read(_HEAD_BYTES).decode("utf-8", errors="replace")
