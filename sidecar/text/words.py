"""Formal text into words.

In: terms, types and statements as Lean prints them, with notation or without. Out: lower-case words, or the constants
that occur. A symbol gives the words of the constant it stands for, so that both prints of one term give the same words
(in another order); what only one of the two prints shows (coercions, anonymous constructors, universe levels, daggers)
gives none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from sidecar.text.clean import one_line
from sidecar.text.names import constant_words, sealed, unsealed
from sidecar.text.symbols import (
    ABSOLUTE_VALUE,
    CONSTANTS_OF,
    ELEMENT,
    EXPORTED,
    LETTERS,
    PREFIX_MINUS,
    READINGS,
    SPELLED_ATOMS,
)

T = TypeVar("T")

# \w also holds superscripts and modifier letters, which are notation, and subscripts, which cannot begin a name.
_SUPERSCRIPTS: Final = "²³¹ʰ-ʸˠ-ˤᴬ-ᵡᵸᶛ-ᶿ⁰ⁱ⁴-⁹ⁿ"
_SUBSCRIPTS: Final = "₀-₉ₐ-ₜᵢ-ᵪⱼ"
_FIRST: Final = rf"[^\W{_SUPERSCRIPTS}{_SUBSCRIPTS}λΠΣ]"
_REST: Final = rf"[^\W{_SUPERSCRIPTS}λΠΣ]"
_COMPONENT: Final = rf"(?:(?:[A-Za-z_]|{_FIRST})(?>(?:[A-Za-z0-9_'!?]++|{_REST}++)*)|«[^«»]*»)(?:✝[{_SUPERSCRIPTS}]*+)?"
IDENTIFIER: Final = rf"{_COMPONENT}(?>(?:\.{_COMPONENT})*)"
"""Pattern of a name as Lean prints it, daggers included."""

_LEVEL: Final = rf"(?:\((?:[^()]|\([^()]*\))*\)|[0-9]+|(?:[A-Za-z]|u_{_REST}+|[uvw]{_REST}{{1,2}})(?!{_REST})(?! :))"
_SORT: Final = rf"(?:Type|Sort)(?!{_REST}|[.'])(?:\*| {_LEVEL}(?: \+ [0-9]+)?)?"


def _longest_first(atoms: list[str]) -> str:
    """A pattern of these atoms; one that ends in a letter counts only where a space follows (`→o β`, not `→order`)."""
    return "|".join(
        re.escape(atom) + ("(?= )" if re.search(rf"{_FIRST}$", atom) and not atom.startswith("[") else "")
        for atom in sorted(atoms, key=len, reverse=True)
    )


def _first_characters(atoms: list[str]) -> str:
    return "[" + "".join(sorted({re.escape(atom[0]) for atom in atoms})) + "]"


_ATOMS: Final = [atom for atom in CONSTANTS_OF if " " not in atom]
_BEGIN_LIKE_NAMES: Final = [
    atom for atom in _ATOMS if re.match(_FIRST, atom) and re.fullmatch(IDENTIFIER, atom) is None
]
_HOLD_LETTERS: Final = [atom for atom in _ATOMS if re.match(_FIRST, atom) is None and re.search(_FIRST, atom)]
_ASCII_SYMBOLS: Final = "".join(
    re.escape(character)
    for character in " !\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~"
    if all(atom[0] != character for atom in _HOLD_LETTERS)
)
_SYMBOLS: Final = (
    rf"(?>(?:[{_ASCII_SYMBOLS}]++"
    rf"|(?={_first_characters(_HOLD_LETTERS)})(?:{_longest_first(_HOLD_LETTERS)})"
    rf"|(?!«)[\W{_SUPERSCRIPTS}{_SUBSCRIPTS}λΠΣ])+)"
)
_TOKEN: Final = re.compile(
    rf"(?=[TS])(?:{_SORT})"
    rf"|(?={_first_characters(_BEGIN_LIKE_NAMES)})(?:{_longest_first(_BEGIN_LIKE_NAMES)})"
    rf"|{IDENTIFIER}|{_SYMBOLS}"
)
_ONLY_SORT: Final = re.compile(_SORT)

_LONGEST_ATOM: Final = max(map(len, CONSTANTS_OF))
_DAGGERS: Final = re.compile(rf"✝[{_SUPERSCRIPTS}]*")
_KEYWORDS: Final[dict[str, str]] = {
    "fun": "",
    "then": "",
    "else": "",
    "in": "",
    "with": "",
    "let": "",
    "have": "",
    "by": "",
    "Prop": "prop",
    "_": "",
}
"""Words of the printer itself, which name no constant."""

# Without a bound, and across another binder, a text of nothing but binders would take quadratic time.
_NEAR: Final = "[^,;∑∏∃∫⨍]{0,200}"
_NESTED: Final = 8
"""Deepest nesting of braces and brackets that is looked into."""

_UNIVERSES: Final = re.compile(r"\.\{[^{}]*\}")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_BIG: Final = re.compile(rf"([∑∏]) ({_NEAR}?),")
_BOUNDED_EXISTS: Final = re.compile(rf"∃ ({IDENTIFIER}(?: {IDENTIFIER})*) ([∈⊆><≤≥≠∉]) ({_NEAR}),")
_NORM: Final = re.compile("‖([^‖]*)‖([₊ₑ])")
_NORMS: Final = {"₊": "NNNorm.nnnorm", "ₑ": "ENorm.enorm"}
_REGION: Final = re.compile(rf"([∫⨍]⁻? {_NEAR}?) in ({_NEAR}),")


class Remembered(dict[str, T]):
    """What a function made of the texts it saw lately; texts that are long are not kept.

    Args:
        function: Makes the value of a text.
        texts: Most texts that are kept; beyond this the memory starts afresh.
        length: Longest text that is kept, so that the memory is bounded in bytes too.
    """

    def __init__(self, function: Callable[[str], T], texts: int, length: int) -> None:
        super().__init__()
        self.function, self.texts, self.length = function, texts, length

    def __missing__(self, text: str) -> T:
        value = self.function(text)
        if len(text) <= self.length:
            if len(self) >= self.texts:
                self.clear()
            self[text] = value
        return value


def words(text: str, types: Mapping[str, str] | None = None) -> str:
    """Spell formal or mixed text in lower-case words, separated by single spaces.

    Args:
        text: A term, a type, a statement, or prose with such in it.
        types: Local names with the text of their type: `s.card` is then spelled as `Finset.card`.
    """
    return line_words(one_line(text), types)


def line_words(line: str, types: Mapping[str, str] | None = None) -> str:
    """`words` of a text that `one_line` has been through."""
    return " ".join(filter(None, map(_SPELLINGS.__getitem__, _tokens(line, types))))


def type_words(line: str, types: Mapping[str, str]) -> str:
    """`line_words` of a type that many declarations share, such as that of a binder: remembered where possible."""
    spelled, dotted = _TYPES[line]
    return line_words(line, types) if any(name in types for name in dotted) else spelled


def local_names(types: Mapping[str, str]) -> frozenset[str]:
    """The names that local names are mentioned by: made once for all the texts that share them."""
    return frozenset(map(_plain, types))


def mentioned(text: str, types: Mapping[str, str] | None = None, local: frozenset[str] | None = None) -> Iterator[str]:
    """The constants and free identifiers of a text, in order, with repeats; symbols as the constants they stand for.

    A symbol with several readings (`∫`, `⌊`) gives the constants of all of them. Local names (the keys of `types`, and
    names that the text itself binds) and printer's keywords are left out. `local` is `local_names(types)` for who asks
    for many texts.
    """
    line = one_line(text)
    bound = {_plain(name) for name in _bound(line)}
    known = local_names(types or {}) if local is None else local
    for token in _tokens(line, types):
        if not _is_identifier(token):
            for atom in _atoms(token):
                yield from (constant for reading in READINGS.get(atom, ()) for constant in reading)
            continue
        name = _plain(token)
        if name in READINGS:
            yield from (constant for reading in READINGS[name] for constant in reading)
            continue
        first = _first_component(name)[0]
        if not (name in bound or name in known or first in bound or first in known or _names_nothing(name)):
            yield EXPORTED.get(name, name)


def without_universes(line: str) -> str:
    """The line without universe levels behind names (`List.{u}`)."""
    return _UNIVERSES.sub("", line) if ".{" in line else line


def is_sort(type_text: str) -> bool:
    """Whether a type is only a universe (`Type u_1`, `Sort*`), so that what has it is a type; `Prop` is not meant."""
    return type_text.startswith(("Type", "Sort")) and _ONLY_SORT.fullmatch(type_text) is not None


def head_constant(type_text: str) -> str:
    """The constant at the head of a type (`Finset α` → Finset, `a ≤ b` → LE.le), `""` for functions and variables."""
    return _HEADS[type_text]


def _head(type_text: str) -> str:
    tokens = _tokens(_without_brackets(one_line(type_text)), None)
    names = [_plain(token) for token in tokens if _is_identifier(token)]
    atoms = [atom for token in tokens if not _is_identifier(token) for atom in _atoms(token)]
    if any(atom in _FUNCTION_TYPES for atom in atoms):
        return ""
    for level in _LOOSEST_FIRST:
        for atom in atoms:
            if atom in level:
                return CONSTANTS_OF[atom][0]
    if not names or _names_nothing(names[0]):
        return ""
    return CONSTANTS_OF[names[0]][0] if names[0] in CONSTANTS_OF else names[0]


_HEADS: Final = Remembered(_head, 1 << 14, 128)
_FUNCTION_TYPES: Final = frozenset({"→", "∀"})
_RELATIONS: Final = "= ≠ ≤ < ≥ > ∈ ∉ ∣ ⊆ ⊂ ≈ ≍ ⋖ ⩿ ⤳ ≪ =ᶠ[ ≤ᶠ[ =ᵐ[ ≤ᵐ[ =O[ =o[ =Θ[ <+: <:+ <:+: ~r"
_LOOSEST_FIRST: Final = (
    frozenset({"∃"}),
    frozenset({"↔"}),
    frozenset({"∨"}),
    frozenset({"∧"}),
    frozenset({"¬"}),
    frozenset(_RELATIONS.split()),
    frozenset(atom for atom in _ATOMS if atom[0] in "≃→↪≅≌⟶⥤⊣×⊕"),
)
"""Infix and prefix atoms by how loosely they bind, loosest first."""

_INNERMOST: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|⟨[^⟨⟩]*⟩")


def _closed(match: re.Match[str]) -> str:
    return "[ " if match[0][0] == "[" else " "  # an arrow keeps the bracket that belongs to it: `→ₗ[`


def _without_brackets(line: str) -> str:
    for _ in range(_NESTED):
        line, changes = _INNERMOST.subn(_closed, line)
        if not changes:
            break
    return line


_NAMES: Final = rf"({IDENTIFIER}(?>(?: {IDENTIFIER})*))"
_BOUND: Final = re.compile(rf"(?:[∀∃∑∏⋃⋂⨆⨅∫⨍λ][ᶠᵐ⁻!']?|\bfun) ?\(?{_NAMES}|[(\[{{⦃]{_NAMES} [:|]")
"""Names behind a binder, and those at the start of a bracket before a colon or the bar of a set."""


def _bound(line: str) -> set[str]:
    return {unsealed(name) for match in _BOUND.finditer(sealed(line)) for name in (match[1] or match[2]).split()}


def _names_nothing(name: str) -> bool:
    return name in _KEYWORDS or name[0].isdigit() or is_sort(name)


class _Heads(dict[str, str]):
    """Head constants of local names' types, each worked out when it is first needed."""

    def __init__(self, types: Mapping[str, str]) -> None:
        super().__init__()
        self.types = types

    def __missing__(self, local: str) -> str:
        head = head_constant(self.types[local])
        self[local] = "" if head in self.types else head
        return self[local]


def _tokens(line: str, types: Mapping[str, str] | None) -> list[str]:
    """Names, numbers, sorts, and the runs of symbols and spaces between them."""
    tokens: list[str] = _TOKEN.findall(_unfold(f" {sealed(line)} "))
    if "«" in line:
        tokens = [unsealed(token) for token in tokens]
    if types and "." in line and any(_first_component(token)[0] in types for token in tokens if "." in token):
        heads = _Heads(types)
        return [part for token in tokens for part in (_resolved(token, heads) if "." in token else (token,))]
    return tokens


def _resolved(token: str, heads: _Heads) -> tuple[str, ...]:
    """Undo field notation on a local name: `s.card` with `s : Finset α` is `Finset.card` said of `s`."""
    local, field = _first_component(token)
    if local not in heads.types or not field:
        return (token,)
    head = heads[local]
    if not head:
        return (local, field)
    first, _, rest = field.partition(".")
    first = _NUMBERED_FIELDS.get((head, first), first)
    return (f"{head}.{first}", rest, local) if rest else (f"{head}.{first}", local)


def _first_component(name: str) -> tuple[str, str]:
    """What stands before the first dot of a name and what behind it; a dot between « and » is none."""
    if name.startswith("«") and "»" in name:
        end = name.index("»") + 1
        first, _, rest = name[end:].partition(".")
        return name[:end] + first, rest
    first, _, rest = name.partition(".")
    return first, rest


_NUMBERED_FIELDS: Final = {
    ("Prod", "1"): "fst",
    ("Prod", "2"): "snd",
    ("Sigma", "1"): "fst",
    ("Sigma", "2"): "snd",
    ("And", "1"): "left",
    ("And", "2"): "right",
    ("Iff", "1"): "mp",
    ("Iff", "2"): "mpr",
    ("Subtype", "1"): "val",
    ("Subtype", "2"): "property",
}
"""Fields by number, as the notation-free print names them."""


def _unfold(line: str) -> str:
    """Bring braces and binder notation to the constants that the notation-free print names."""
    if "{" in line:
        line = without_universes(line)
        for _ in range(_NESTED):
            line, changes = _BRACES.subn(_braces, line)
            if not changes:
                break
    if "‖₊" in line or "‖ₑ" in line:
        line = _NORM.sub(lambda match: f"{_NORMS[match[2]]} ({match[1]})", line)
    if "∑" in line or "∏" in line:
        line = _BIG.sub(_big_operator, line)
    if "∃" in line:
        line = _BOUNDED_EXISTS.sub(r"∃ \1 \2 \3 ∧", line)
    if "∫" in line or "⨍" in line:
        line = _REGION.sub(_region, line)
    return line


def _braces(match: re.Match[str]) -> str:
    inside = match[1]
    if " | " in inside:
        head, _, body = inside.partition(" | ")
        return f"(setOf {head} , {body})"
    if " // " in inside or ":=" in inside or " with " in inside or " : " in inside:
        return f"({inside})"  # a subtype, a structure's fields, an implicit binder
    if not inside.strip():
        return "∅"
    if ", " in inside:
        return f"(Insert.insert Singleton.singleton {inside})"
    return f"(Singleton.singleton {inside})"


def _big_operator(match: re.Match[str]) -> str:
    operator, binder = match.groups()
    if " ∈ " in binder or " in " in binder:
        return f"{operator} {binder.replace(' ∈ ', ' , ', 1).replace(' with ', ' Finset.filter ')},"
    return f"{operator} Finset.univ {binder},"


def _region(match: re.Match[str]) -> str:
    binder, region = match.groups()
    if ".." in region:
        return f"{binder.replace('∫', 'intervalIntegral')} {region},"
    return f"{binder} MeasureTheory.Measure.restrict {region},"


def _plain(name: str) -> str:
    """A name without daggers and without the prefix that says where it is looked up."""
    return _DAGGERS.sub("", name.removeprefix("_root_.")) if "✝" in name else name.removeprefix("_root_.")


def _is_identifier(token: str) -> bool:
    return token[0] == "«" or re.match(_FIRST, token) is not None


def _spell(token: str) -> list[str]:
    if not _is_identifier(token):
        return [word for atom in _atoms(token) for word in _spell_atom(atom)]
    name = _plain(token)
    if name in CONSTANTS_OF:
        return [word for constant in CONSTANTS_OF[name] for word in constant_words(constant)]
    if is_sort(name):
        return []
    keyword = _KEYWORDS.get(name)
    return constant_words(name) if keyword is None else keyword.split()


def _spell_atom(atom: str) -> list[str]:
    constants = CONSTANTS_OF.get(atom)
    if constants is not None:
        return [word for constant in constants for word in constant_words(constant)]
    spelled = SPELLED_ATOMS.get(atom)
    if spelled is None:
        spelled = LETTERS.get(atom)
    if spelled is None:
        spelled = "" if atom.isascii() else unicodedata.name(atom, "").lower().replace("-", " ")
    return spelled.split()


def _atoms(symbols: str) -> Iterator[str]:
    """Cut a run of symbols into atoms, longest first; its spaces tell prefix, infix and closing uses apart.

    A run that begins without a space stands right behind a name, one that ends without a space right before a name.
    """
    position, end = 0, len(symbols)
    while position < end:
        if symbols[position] == " ":
            position += 1
            continue
        longest = min(_LONGEST_ATOM, end - position)
        atom = next(
            (
                symbols[position : position + length]
                for length in range(longest, 1, -1)
                if symbols[position : position + length] in _KNOWN_ATOMS
            ),
            symbols[position],
        )
        behind_term = position == 0 or symbols[position - 1] in _ENDS_TERM
        position += len(atom)
        before_term = position == end or symbols[position] in _BEGINS_TERM
        if atom in ("|", "‖"):
            if before_term and not behind_term:
                yield atom if atom == "‖" else ABSOLUTE_VALUE
        elif atom == "||" and before_term != behind_term:  # not infix: how some write a norm
            if before_term:
                yield "‖"
        elif atom == "-" and before_term and not behind_term:
            yield PREFIX_MINUS
        elif atom == "[" and behind_term:
            yield ELEMENT
        elif not (atom in "!?" and behind_term):
            yield atom


_KNOWN_ATOMS: Final = CONSTANTS_OF.keys() | SPELLED_ATOMS.keys()
_ENDS_TERM: Final = frozenset(")⟩]}'⁻¹²³ᶜˣᵒᵖ₊‖|")
_BEGINS_TERM: Final = frozenset("(⟨[{-¬↑⇑‖|∑∏∫√⌊⌈")


def _spell_type(line: str) -> tuple[str, frozenset[str]]:
    """Words of a type, and the names before a dot in it: where one of them is local, the words are others."""
    tokens = _tokens(line, None)
    dotted = frozenset(_first_component(token)[0] for token in tokens if "." in token)
    return " ".join(filter(None, map(_SPELLINGS.__getitem__, tokens))), dotted


_SPELLINGS: Final = Remembered(lambda token: " ".join(_spell(token)), 1 << 17, 128)
_TYPES: Final = Remembered(_spell_type, 1 << 16, 256)
