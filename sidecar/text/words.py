"""Formal text into words.

In: terms, types and statements as Lean prints them, with notation or without. Out: lower-case words, or the constants
that occur. A symbol gives the words of the constant it stands for, so that both prints of one term give the same words
(in another order); what only one of the two prints shows (coercions, anonymous constructors, binder types of sorts,
universe levels, daggers) gives none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from sidecar.text.clean import one_line
from sidecar.text.names import name_words
from sidecar.text.symbols import (
    ABSOLUTE_VALUE,
    CONSTANTS_OF,
    ELEMENT,
    LETTERS,
    PREFIX_MINUS,
    READINGS,
    SPELLED_ATOMS,
)

CACHED_TOKENS: Final = 1 << 17
"""Most spellings that are remembered; beyond this the memory starts afresh."""

# \w also holds superscripts and modifier letters, which are notation, and subscripts, which cannot begin a name.
_SUPERSCRIPTS: Final = "²³¹ʰ-ʸˠ-ˤᴬ-ᵡᵸᶛ-ᶿ⁰ⁱ⁴-⁹ⁿ"
_SUBSCRIPTS: Final = "₀-₉ₐ-ₜᵢ-ᵪⱼ"
_FIRST: Final = rf"[^\W{_SUPERSCRIPTS}{_SUBSCRIPTS}λΠΣ]"
_REST: Final = rf"[^\W{_SUPERSCRIPTS}λΠΣ]"
_COMPONENT: Final = rf"(?:{_FIRST}(?:{_REST}++|['!?])*+|«[^»]*»)(?:✝[{_SUPERSCRIPTS}]*+)?"
IDENTIFIER: Final = rf"{_COMPONENT}(?:\.{_COMPONENT})*+"
"""Pattern of a name as Lean prints it, daggers included."""

_SORT: Final = (
    rf"(?:Type|Sort)(?![\w.'])(?:\*| ?(?:\((?:[^()]|\([^()]*\))*\)|[0-9]+|{_FIRST}{_REST}*(?! :))(?: \+ [0-9]+)?)?"
)
_ATOMS: Final = [atom for atom in CONSTANTS_OF if " " not in atom]
_NUMBER_SETS: Final = "|".join(
    sorted((re.escape(atom) for atom in _ATOMS if re.match(rf"{_FIRST}.*[^\w]", atom)), key=len, reverse=True)
)
_LETTERED: Final = [atom for atom in _ATOMS if not re.match(_FIRST, atom) and re.search(_FIRST, atom)]
_LETTERED_ATOMS: Final = "|".join(
    re.escape(atom) + ("(?![^ ])" if re.search(rf"{_FIRST}$", atom) and not atom.startswith("[") else "")
    for atom in sorted(_LETTERED, key=len, reverse=True)
)
_LETTERED_FIRST: Final = "".join(sorted({re.escape(atom[0]) for atom in _LETTERED}))
_SYMBOLS: Final = rf"(?:(?=[{_LETTERED_FIRST}])(?:{_LETTERED_ATOMS})|(?!«)[\W{_SUPERSCRIPTS}{_SUBSCRIPTS}λΠΣ])+"
_ONLY_SORT: Final = re.compile(rf"(?:(?:Type|Sort)$|{_SORT})")
_TOKEN: Final = re.compile(rf"{_SORT}|{_NUMBER_SETS}|{IDENTIFIER}|{_SYMBOLS}")

_LONGEST_ATOM: Final = max(map(len, CONSTANTS_OF))
_IGNORED: Final = re.compile(rf"✝[{_SUPERSCRIPTS}]*|^_root_\.")
_KEYWORDS: Final[dict[str, str]] = {
    "fun": "",
    "if": "ite",
    "then": "",
    "else": "",
    "in": "",
    "with": "",
    "let": "",
    "have": "",
    "by": "",
    "Type": "type",
    "Sort": "sort",
    "Prop": "prop",
    "_": "",
}
"""Words of the printer itself, which name no constant."""

_UNIVERSES: Final = re.compile(r"\.\{[^{}]*\}")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_BIG: Final = re.compile(r"([∑∏]) ([^,]*?),")
_BOUNDED_EXISTS: Final = re.compile(rf"∃ ({IDENTIFIER}(?: {IDENTIFIER})*) ([∈⊆><≤≥≠∉]) ([^,]*),")
_SET_INTEGRAL: Final = re.compile(r"([∫⨍][⁻]? [^,]*?) in ([^,]*),")


class _Spellings(dict[str, str]):
    """Words of each token seen lately."""

    def __missing__(self, token: str) -> str:
        if len(self) >= CACHED_TOKENS:
            self.clear()
        spelled = self[token] = " ".join(_spell(token))
        return spelled


_SPELLINGS: Final = _Spellings()


def words(text: str, types: Mapping[str, str] | None = None) -> str:
    """Spell formal or mixed text in lower-case words, separated by single spaces.

    Args:
        text: A term, a type, a statement, or prose with such in it.
        types: Local names with the text of their type: `s.card` is then spelled as `Finset.card`.
    """
    return " ".join([spelled for token in _tokens(text, types) if (spelled := _SPELLINGS[token])])


def mentioned(text: str, types: Mapping[str, str] | None = None) -> Iterator[str]:
    """The constants and free identifiers of a text, in order, with repeats; symbols as the constants they stand for.

    Local names (the keys of `types`, and names that the text itself binds) and printer's keywords are left out.
    """
    local = _bound(text) | (types or {}).keys()
    for token in _tokens(text, types):
        if _is_identifier(token):
            name = _IGNORED.sub("", token)
            if name in READINGS:
                yield from (constant for reading in READINGS[name] for constant in reading)
            elif not (name.partition(".")[0] in local or name in _KEYWORDS or name[0].isdigit() or name[:5] in _SORTS):
                yield name
        else:
            for atom in _atoms(token):
                yield from (constant for reading in READINGS.get(atom, ()) for constant in reading)


def is_sort(type_text: str) -> bool:
    """Whether a type is only a universe (`Type u_1`, `Sort*`), so that what has it is a type; `Prop` is not meant."""
    return _ONLY_SORT.fullmatch(type_text) is not None


@lru_cache(maxsize=1 << 14)
def head_constant(type_text: str) -> str:
    """The constant at the head of a type (`Finset α` → Finset, `a ≤ b` → LE.le), `""` for functions and variables."""
    tokens = _tokens(_without_brackets(type_text), None)
    symbols = [atom for token in tokens if not _is_identifier(token) for atom in _atoms(token)]
    if any(atom in _FUNCTION_TYPES for atom in symbols):
        return ""
    for level in _LOOSEST_FIRST:
        for atom in symbols:
            if atom in level:
                return CONSTANTS_OF[atom][0]
    names = [_IGNORED.sub("", token) for token in tokens if _is_identifier(token)]
    if symbols and CONSTANTS_OF.get(symbols[0]) and symbols[0] in "¬∃":
        return CONSTANTS_OF[symbols[0]][0]
    if not names or names[0] in _KEYWORDS or names[0][:5] in _SORTS:
        return ""
    return CONSTANTS_OF[names[0]][0] if names[0] in CONSTANTS_OF else names[0]


_FUNCTION_TYPES: Final = frozenset({"→", "∀"})
_LOOSEST_FIRST: Final = (
    frozenset({"↔"}),
    frozenset({"∨"}),
    frozenset({"∧"}),
    frozenset(
        "= ≠ ≤ < ≥ > ∈ ∣ ⊆ ⊂ ≈ ≍ ⋖ ⩿ ⤳ =ᶠ[ ≤ᶠ[ =ᵐ[ ≤ᵐ[ =O[ =o[ =Θ[ ≪ <+: <:+ <:+: ~r".split(),
    ),
    frozenset(atom for atom in CONSTANTS_OF if atom[0] in "≃→↪≅≌⟶⥤⊣×⊕"),
)
"""Infix atoms by how loosely they bind, loosest first."""

_INNERMOST: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|⟨[^⟨⟩]*⟩")


def _without_brackets(text: str) -> str:
    while (changed := _INNERMOST.sub(" ", text)) != text:
        text = changed
    return text


_BOUND: Final = re.compile(
    rf"(?:[∀∃∑∏⋃⋂⨆⨅∫⨍λ][ᶠᵐ⁻!']?|\bfun) ?\(?({IDENTIFIER}(?: {IDENTIFIER})*)|[(\[{{⦃]({IDENTIFIER}(?: {IDENTIFIER})*) :"
)


def _bound(text: str) -> set[str]:
    return {name for match in _BOUND.finditer(one_line(text)) for name in (match[1] or match[2]).split()}


_SORTS: Final = frozenset({"Type ", "Sort ", "Type*", "Sort*"})


def _tokens(text: str, types: Mapping[str, str] | None) -> list[str]:
    tokens: list[str] = _TOKEN.findall(_unfold(f" {one_line(text)} "))
    if types:
        tokens = [part for token in tokens for part in (_resolved(token, types) if "." in token else (token,))]
    return tokens


def _resolved(token: str, types: Mapping[str, str]) -> tuple[str, ...]:
    """Undo field notation on a local name: `s.card` with `s : Finset α` is `Finset.card` said of `s`."""
    local, _, field = token.partition(".")
    type_text = types.get(local)
    if type_text is None or not field:
        return (token,)
    head = head_constant(type_text)
    return (f"{head}.{field}", local) if head and head not in types else (local, field)


def _unfold(text: str) -> str:
    """Bring binder notation and braces to the constants that the notation-free print names."""
    if "{" in text:
        text = _UNIVERSES.sub("", text)
        while (changed := _BRACES.sub(_braces, text)) != text:
            text = changed
    if "∑" in text or "∏" in text:
        text = _BIG.sub(_big_operator, text)
    if "∃" in text:
        text = _BOUNDED_EXISTS.sub(r"∃ \1 \2 \3 ∧", text)
    if "∫" in text or "⨍" in text:
        text = _SET_INTEGRAL.sub(_region, text)
    return text


def _braces(match: re.Match[str]) -> str:
    inside = match[1]
    if " | " in inside:
        head, _, body = inside.partition(" | ")
        return f"(setOf {head} , {body})"
    if " // " in inside:
        return f"({inside})"
    if ":=" in inside or " with " in inside or not inside.strip():
        return f"({inside})" if inside.strip() else "∅"
    if " : " in inside:  # an implicit binder
        return f"({inside})"
    if ", " in inside:
        return f"(Insert.insert Singleton.singleton {inside})"
    return f"(Singleton.singleton {inside})"


def _big_operator(match: re.Match[str]) -> str:
    operator, binder = match.groups()
    if " ∈ " in binder:
        return f"{operator} {binder.replace(' ∈ ', ' , ', 1).replace(' with ', ' Finset.filter ')},"
    return f"{operator} Finset.univ {binder},"


def _region(match: re.Match[str]) -> str:
    binder, region = match.groups()
    if ".." in region:
        return f"{binder.replace('∫', 'intervalIntegral')} {region},"
    return f"{binder} MeasureTheory.Measure.restrict {region},"


def _is_identifier(token: str) -> bool:
    return token[0] == "«" or re.match(_FIRST, token) is not None


def _spell(token: str) -> list[str]:
    if _is_identifier(token):
        name = _IGNORED.sub("", token)
        if name in CONSTANTS_OF:
            return [word for constant in CONSTANTS_OF[name] for word in name_words(constant)]
        if name[:5] in _SORTS:
            return [name[:4].lower()]
        keyword = _KEYWORDS.get(name)
        return name_words(name) if keyword is None else keyword.split()
    return [word for atom in _atoms(token) for word in _spell_atom(atom)]


def _spell_atom(atom: str) -> list[str]:
    constants = CONSTANTS_OF.get(atom)
    if constants is not None:
        return [word for constant in constants for word in name_words(constant)]
    if atom in SPELLED_ATOMS:
        return SPELLED_ATOMS[atom].split()
    if atom in LETTERS:
        return [LETTERS[atom]]
    if atom.isascii():
        return []
    return unicodedata.name(atom, "").lower().replace("-", " ").split()


def _atoms(symbols: str) -> Iterator[str]:
    """Cut a run of symbols into atoms, longest first; its spaces tell prefix, infix and closing uses apart.

    A run that begins without a space stands right behind a name, one that ends without a space right before a name.
    """
    position, end = 0, len(symbols)
    while position < end:
        character = symbols[position]
        if character == " ":
            position += 1
            continue
        length = next(
            (
                length
                for length in range(min(_LONGEST_ATOM, end - position), 0, -1)
                if symbols[position : position + length] in CONSTANTS_OF
            ),
            1,
        )
        atom = symbols[position : position + length]
        opens = position + length == end or symbols[position + length] in "(⟨[{-¬↑⇑‖|∑∏∫√"
        behind_term = position == 0 or symbols[position - 1] in ")⟩]}'⁻¹ᶜ₊‖"
        position += length
        if atom == "-" and opens:
            yield PREFIX_MINUS
        elif atom == "|":
            if opens and not behind_term:
                yield ABSOLUTE_VALUE
        elif atom.startswith("‖") and len(atom) == 1:
            if opens and not behind_term:
                yield atom
        elif atom == "[":
            if behind_term:
                yield ELEMENT
        elif atom in "!?" and behind_term:
            continue
        else:
            yield atom
