"""What tests on the real corpus share: it is read once."""

from __future__ import annotations

import tarfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sidecar.corpus.policy import Deprecation, Role, deprecation, propositional_constants, role
from sidecar.corpus.records import Declaration, Module
from sidecar.corpus.source import Corpus, open_corpus


@pytest.fixture(scope="session")
def pages(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The real doc-gen4 pages."""
    folder = tmp_path_factory.mktemp("pages")
    with tarfile.open(shared / "data" / "docgen-pages" / "pages.tar.gz") as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:  # Python before 3.11.4
            archive.extractall(folder)
    return open_corpus(folder)


@dataclass
class Real:
    """What one reading of the published declarations left behind."""

    corpus: Corpus
    modules: list[Module]
    roles: dict[str, Role] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    deprecations: dict[str, Deprecation] = field(default_factory=dict)
    deprecated: int = 0
    documented: dict[str, Declaration] = field(default_factory=dict)
    """Declarations of the modules that `pages` has, too."""
    members: list[Declaration] = field(default_factory=list)
    pages: set[str] = field(default_factory=set)

    def take(self, declaration: Declaration) -> Declaration:
        self.kinds[declaration.kind] += 1
        if declaration.kind in ("field", "ctor"):
            self.members.append(declaration)
        self.roles[declaration.name] = role(declaration, frozenset())
        self.deprecated += any(attribute.startswith("deprecated") for attribute in declaration.attributes)
        if (its := deprecation(declaration)) is not None:
            self.deprecations[declaration.name] = its
        if declaration.module in self.pages:
            self.documented[declaration.name] = declaration
        return declaration


@pytest.fixture(scope="session")
def real(shared: Path, pages: Corpus) -> Real:
    """The published declarations of Mathlib and everything it imports."""
    corpus = open_corpus(shared / "data" / "declarations")
    found = Real(corpus, list(corpus.modules()), pages={module.name for module in pages.modules()})
    propositional = propositional_constants(map(found.take, corpus.declarations()))
    # Only members of structures and inductives depend on the constants that make propositions.
    for member in found.members:
        found.roles[member.name] = role(member, propositional)
    return found
