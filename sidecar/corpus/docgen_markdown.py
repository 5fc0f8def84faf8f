"""Docstrings out of doc-gen4 markup, as light Markdown.

In: the lxml elements that doc-gen4 made of a docstring. Out: Markdown with the same headings, lists, code and emphasis;
line breaks inside a paragraph become spaces, and links to declarations become plain code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lxml.etree import _Element

_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS: Final = frozenset({"p", "ul", "ol", "pre", "hr", "blockquote", "table", "div", *_HEADINGS})
_MARKS: Final = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~"}
_LINE_BREAK: Final = re.compile(r"\s*\n\s*")
_INSIDE_ITEM: Final = re.compile(r"\n(?!\n)")
_OUTSIDE: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


def is_prose(element: _Element) -> bool:
    """Whether doc-gen4 made this child of a declaration out of its docstring."""
    style = element.get("class")
    return style == "markdown-heading" or (style is None and element.tag in _BLOCKS)


def markdown(elements: Iterable[_Element]) -> str:
    """Markdown of a docstring.

    Args:
        elements: Its blocks, in order.

    Returns:
        Blocks separated by one blank line, without white space at either end.
    """
    return "\n\n".join(filter(None, map(_block, elements)))


def _block(element: _Element) -> str:
    tag = element.tag
    if tag in _HEADINGS:
        return f"{_HEADINGS[tag]} {_inline(element)}"
    if tag == "pre":
        return "```\n" + "".join(element.itertext()).rstrip("\n") + "\n```"
    if tag == "hr":
        return "---"
    if tag in ("ul", "ol"):
        first = int(element.get("start") or 1)
        marks = (f"{first + number}. " if tag == "ol" else "- " for number in range(len(element)))
        items = (_INSIDE_ITEM.sub("\n  ", _flow(item)) for item in element)
        return "\n".join(mark + item for mark, item in zip(marks, items, strict=True))
    if tag == "blockquote":
        return "\n".join(f"> {line}".rstrip() for line in _flow(element).split("\n"))
    if tag == "table":
        rows = ["| " + " | ".join(map(_inline, row)) + " |" for row in element.iter("tr")]
        return "\n".join(rows)
    return _flow(element)


def _flow(element: _Element) -> str:
    """Markdown of an element that holds text, blocks, or text followed by blocks (a list item with a list)."""
    if not any(child.tag in _BLOCKS for child in element):
        return _inline(element)
    parts: list[str] = []
    text = element.text or ""
    for child in element:
        if child.tag in _BLOCKS:
            parts.append(_paragraph(text))
            parts.append(_block(child))
            text = child.tail or ""
        else:
            text += _span(child) + (child.tail or "")
    parts.append(_paragraph(text))
    return "\n\n".join(filter(None, parts))


def _inline(element: _Element) -> str:
    return _paragraph(_content(element))


def _paragraph(text: str) -> str:
    return _LINE_BREAK.sub(" ", text).strip()


def _content(element: _Element) -> str:
    return (element.text or "") + "".join(_span(child) + (child.tail or "") for child in element)


def _span(element: _Element) -> str:
    tag = element.tag
    if tag == "code":
        return "`" + "".join(element.itertext()) + "`"
    if tag in _MARKS:
        return _MARKS[tag] + _content(element) + _MARKS[tag]
    if tag == "br":
        return "\n"
    if tag == "img":
        return element.get("alt") or ""
    if tag == "a":
        if element.get("class") == "hover-link":
            return ""
        address = element.get("href") or ""
        text = _content(element)
        return f"[{text}]({address})" if _OUTSIDE.match(address) and text != address else text
    return _content(element)
