"""One doc-gen4 page into records.

In: the HTML of one module page. Out: its `Module` and its `Declaration`s in page order, structures and inductives
followed by their parent projections, fields and constructors.

doc-gen4 shows a structure's members in place, without signatures of their own. Theirs are put together here from what
is displayed: parameters made implicit, `self` added; close to what `#check` prints, not equal to it (binder kinds of
members and optional arguments may differ).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sidecar.corpus.docgen_markdown import is_prose, markdown
from sidecar.corpus.docgen_text import (
    Linked,
    displayed,
    in_full,
    linked_constants,
    linked_text,
    one_line,
    trimmed,
)
from sidecar.corpus.documented import MODIFIERS, has_equations, known_kind
from sidecar.corpus.records import Declaration, Module
from sidecar.errors import SidecarError

if TYPE_CHECKING:
    from lxml.etree import _Element

_MODULE_NAME: Final = re.compile(r'const MODULE_NAME=("(?:[^"\\]|\\.)*")')
_LINES: Final = re.compile(r"#L(\d+)-L(\d+)$")
_CLASSES: Final = frozenset({"class", "class inductive"})
_SEPARATOR: Final = re.compile(r"\s:\s")
_ATTRIBUTE_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|«[^»]*»|[()\[\]{},]')
_COLON: Final = Linked(" : ", None)
_SPACE: Final = Linked(" ", None)


def module_name(html: str) -> str | None:
    """The module that a page documents; None for pages about no module (index, search, style)."""
    found = _MODULE_NAME.search(html)
    return str(json.loads(found[1])) if found else None


class Page:
    """A parsed page.

    Args:
        html: The whole page.
        where: The file's path, for error messages.

    Raises:
        SidecarError: `bad_request` when the page is cut off or not a module page, naming file and line.
    """

    def __init__(self, html: str, where: str) -> None:
        from lxml import etree

        name = module_name(html)
        if name is None:
            raise SidecarError("bad_request", f"{where} is not a doc-gen4 page of a module", field=where)
        if not html.rstrip().endswith("</html>"):
            line = html.count("\n") + 1
            raise SidecarError(
                "bad_request",
                f"{where}:{line}: the page ends before </html>, so declarations may be missing",
                field=where,
                hint="fetch the page again or make the documentation again",
            )
        parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
        self._root: _Element = etree.fromstring(html.encode("utf-8"), parser)
        self._where = where
        self.name = name

    def module(self) -> Module:
        """The page's module: direct imports, docstrings and source file."""
        imports = self._root.xpath('//div[@class="imports"]//summary[text()="Imports"]/following-sibling::ul/li/a')
        source = self._root.xpath('//p[@class="gh_nav_link"]/a/@href')
        docs = [markdown(doc) for doc in self._root.xpath('//main/div[@class="mod_doc"]')]
        return Module(
            name=self.name,
            imports=tuple("".join(link.itertext()) for link in imports),
            docstring="\n\n".join(filter(None, docs)),
            source=str(source[0]) if source else None,
        )

    def declarations(self) -> Iterator[Declaration]:
        """The page's declarations, in page order."""
        for element in self._root.xpath('//main/div[@class="decl"]'):
            yield from _Displayed(element, self.name, self._where).declarations()


@dataclass(frozen=True, slots=True)
class _Statement:
    """The parts of a displayed statement.

    Attributes:
        binders: One list of runs for each displayed binder group, `(a b : G)`.
        extends: Name of the parent projection and type of the parent, for structures.
        conclusion: The type after the colon.
    """

    binders: list[list[Linked]]
    extends: list[tuple[str, list[Linked]]]
    conclusion: list[Linked]


class _Displayed:
    """One `div class="decl"` and the records in it."""

    def __init__(self, element: _Element, module: str, where: str) -> None:
        self._name = str(element.get("id"))
        self._module = module
        body = element.find("div")
        header = body.find('div[@class="decl_header"]') if body is not None else None
        kind = header.find('span[@class="decl_kind"]') if header is not None else None
        if body is None or header is None or kind is None:
            raise SidecarError(
                "bad_request",
                f"{where}:{element.sourceline}: declaration {self._name} has no header",
                field=where,
                hint="this reader knows pages like those of doc-gen4 v4.31.0",
            )
        self._body: _Element = body
        self._header: _Element = header
        words = "".join(kind.itertext()).split()
        self._kind = known_kind(" ".join(word for word in words if word not in MODIFIERS))
        self._modifiers = MODIFIERS.intersection(words)
        self._line, self._end_line = self._lines()

    def declarations(self) -> Iterator[Declaration]:
        """The declaration, then the members that it shows in place."""
        statement = self._statement()
        binders = _spaced(statement.binders)
        for position, (_, parent) in enumerate(statement.extends):
            binders += [Linked(" extends " if position == 0 else ", ", None), *parent]
        yield self._record(
            self._name,
            self._kind,
            binders,
            statement.conclusion,
            docstring=markdown(filter(is_prose, self._body)),
            attributes=self._attributes(),
            has_equations=self._has_equations(),
        )
        members = self._body.xpath('ul[@class="structure_fields" or @class="structure_ext"]')
        if members:
            yield from self._members(statement, members[0])
        for item in self._body.xpath('ul[@class="constructors"]/li[@class="constructor"]'):
            yield self._constructor(item)

    def _lines(self) -> tuple[int | None, int | None]:
        link = self._body.find('div[@class="gh_link"]/a')
        found = _LINES.search(link.get("href") or "") if link is not None else None
        return (int(found[1]), int(found[2])) if found else (None, None)

    def _statement(self) -> _Statement:
        statement = _Statement([], [], [])
        for child in self._header:
            style = child.get("class")
            runs: list[Linked] = []
            linked_text(child, runs)
            if style == "decl_type":
                statement.conclusion.extend(runs)
            elif style in ("decl_args", "impl_arg"):
                if displayed(runs) != ":":
                    statement.binders.append(trimmed(runs))
            elif style is None and child.get("id"):
                statement.extends.append((str(child.get("id")), runs))
        return statement

    def _record(
        self,
        name: str,
        kind: str,
        binders: Sequence[Linked],
        conclusion: Sequence[Linked],
        *,
        nearest: Sequence[Linked] = (),
        docstring: str,
        parent: str | None = None,
        attributes: tuple[str, ...] = (),
        has_equations: bool = False,
    ) -> Declaration:
        """A record of this declaration; `nearest` are binders that come last in the text but first in the constants."""
        runs = [Linked(f"{kind} {name} ", None), *binders, _SPACE, *nearest, _COLON, *conclusion]
        constants, count = linked_constants(conclusion, [*nearest, *binders])
        return Declaration(
            name=name,
            kind=kind,
            module=self._module,
            signature=in_full(runs),
            display=displayed(runs),
            docstring=docstring,
            constants=tuple(constants),
            conclusion_count=count,
            attributes=attributes,
            line=self._line,
            end_line=self._end_line,
            parent=parent,
            has_equations=has_equations,
        )

    def _attributes(self) -> tuple[str, ...]:
        element = self._body.find('div[@class="attributes"]')
        if element is None:
            return ()
        return split_attributes("".join(element.itertext()).strip().removeprefix("@[").removesuffix("]"))

    def _has_equations(self) -> bool:
        # In place of an equation that is too large doc-gen4 puts a remark, which has no markup inside.
        displayed_equations = self._body.xpath('details/ul[@class="equations"]/li[@class="equation"][*]')
        return has_equations(self._kind, self._modifiers, bool(displayed_equations))

    def _members(self, statement: _Statement, members: _Element) -> Iterator[Declaration]:
        """Parent projections, fields and the constructor of a structure."""
        parameters = _spaced([_implicit(binder) for binder in statement.binders])
        names = [name for binder in statement.binders for name in _explicit_names(binder)]
        applied = [Linked(self._name, self._name), *(Linked(f" {name}", None) for name in names)]
        opening, closing = "[]" if self._kind in _CLASSES else "()"
        itself = [*parameters, Linked(f" {opening}self : ", None), *applied, Linked(closing, None)]
        arguments: list[Linked] = []
        for name, extended in statement.extends:
            yield self._record(name, "parent_proj", itself, extended, docstring="", parent=self._name)
            short = name.removeprefix(self._name + ".")
            arguments += [Linked(f" ({short} : ", None), *extended, Linked(")", None)]
        for item in members.xpath('descendant-or-self::ul/li[contains(@class, "structure_field")][@id]'):
            short, binders, conclusion = _member(item.find('div[@class="structure_field_info"]'))
            yield self._record(
                str(item.get("id")),
                "field",
                itself,
                conclusion,
                nearest=binders,
                docstring=markdown(item.xpath('div[@class="structure_field_doc"]/*')),
                parent=self._name,
            )
            if "inherited_field" not in item.get("class").split():
                quantified = [Linked("∀ ", None), *binders, Linked(", ", None)] if binders else []
                argument = _without_self([*quantified, *conclusion])
                arguments += [Linked(f" ({short} : ", None), *argument, Linked(")", None)]
        constructor = self._constructor_name(members)
        if constructor is not None:
            yield self._record(constructor, "ctor", [*parameters, *arguments], applied, docstring="", parent=self._name)

    def _constructor_name(self, members: _Element) -> str | None:
        # Only a constructor that is not called `mk` is displayed (`intro :: (`).
        if members.get("id"):
            return str(members.get("id"))
        shown, mark, _ = str(members.xpath('string(li[@class="structure_ext_ctor"][1])')).partition("::")
        return f"{self._name}.{shown.strip()}" if mark else None

    def _constructor(self, item: _Element) -> Declaration:
        _, binders, conclusion = _member(item)
        return self._record(
            str(item.get("id")),
            "ctor",
            binders,
            conclusion,
            docstring=markdown(item.xpath('div[@class="inductive_ctor_doc"]/*')),
            parent=self._name,
        )


def _spaced(binders: Sequence[Sequence[Linked]]) -> list[Linked]:
    return [run for binder in binders for run in (_SPACE, *binder)]


def _implicit(binder: Sequence[Linked]) -> list[Linked]:
    """The binder with round brackets made curly; other brackets stay."""
    if not displayed(binder).startswith("("):
        return list(binder)
    runs = list(binder)
    first = next(position for position, run in enumerate(runs) if "(" in run.text)
    last = max(position for position, run in enumerate(runs) if ")" in run.text)
    runs[first] = Linked(runs[first].text.replace("(", "{", 1), runs[first].constant)
    runs[last] = Linked("}".join(runs[last].text.rsplit(")", 1)), runs[last].constant)
    return runs


def _explicit_names(binder: Sequence[Linked]) -> list[str]:
    text = displayed(binder)
    return text[1:].partition(" : ")[0].split() if text.startswith("(") else []


def _member(element: _Element) -> tuple[str, list[Linked], list[Linked]]:
    """Short name, binders and type of a field or constructor, which is displayed as `name binders : type`."""
    before: list[Linked] = [Linked(element.text or "", None)]
    binders: list[list[Linked]] = []
    after: list[Linked] = []
    for child in element:
        style = child.get("class")
        if style == "inductive_ctor_doc":
            continue
        runs: list[Linked] = []
        linked_text(child, runs)
        if style in ("decl_args", "impl_arg"):
            binders.append(trimmed(runs))
        else:
            (after if binders else before).extend(runs)
        if child.tail:
            (after if binders else before).append(Linked(child.tail, None))
    if not binders:
        before, after = _split_at_colon(before)
    else:
        after = _split_at_colon(after)[1]
    return displayed(before), trimmed(_spaced(binders)), trimmed(after)


def _without_self(runs: Sequence[Linked]) -> list[Linked]:
    """Projections `self.fst` as the constructor's own argument `fst`."""
    changed: list[Linked] = []
    projected = False
    for position, run in enumerate(runs):
        following = runs[position + 1].text if position + 1 < len(runs) else ""
        if run.text == "self" and following.startswith("."):
            projected = True
        elif projected and run.text.startswith("."):
            if run.text != ".":
                changed.append(Linked(run.text[1:], run.constant))
                projected = False
        else:
            changed.append(Linked(run.text, run.constant, local=run.local or projected))
            projected = False
    return changed


def _split_at_colon(runs: Sequence[Linked]) -> tuple[list[Linked], list[Linked]]:
    for position, run in enumerate(runs):
        if run.constant is None and (found := _SEPARATOR.search(run.text)):
            left, right = run.text[: found.start()], run.text[found.end() :]
            return [*runs[:position], Linked(left, None)], [Linked(right, None), *runs[position + 1 :]]
    return list(runs), []


def split_attributes(text: str) -> tuple[str, ...]:
    """Attributes as displayed between `@[` and `]`, one string each.

    Commas inside strings, brackets and « » do not separate.
    """
    parts: list[str] = []
    depth = 0
    start = 0
    for found in _ATTRIBUTE_TOKEN.finditer(text):
        token = found[0]
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        elif token == "," and depth == 0:
            parts.append(text[start : found.start()])
            start = found.end()
    parts.append(text[start:])
    return tuple(filter(None, map(one_line, parts)))
