"""Names of declarations, split into words.

In: names as Lean prints them. Out: components, lower-case words, and a key under which different spellings meet. Names
stay opaque elsewhere: what is made here serves ranking and look-up, never identity.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from sidecar.text.abbreviations import WRITTEN_OUT
from sidecar.text.clean import clean
from sidecar.text.symbols import CONSTANTS_OF, LETTERS, SPELLED_ATOMS, SPELLED_CONSTANTS

_COMPONENT: Final = re.compile("«([^»]*)»?|([^.«]+)")
_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W0-9A-Za-z_]+")
_QUOTED: Final = re.compile("«[^«»\n]+»")
_SEALED: Final = re.compile("[\U000f0000-\U000ffffd]")
_SHIFT: Final = 0xF0000
_LOOSE_DROPPED: Final = re.compile("[._«»\\s]+")


def components(name: str) -> tuple[str, ...]:
    """Split a name at its dots, except at those inside « »; the guillemets themselves are left off.

    >>> components("Std.«term_...*»")
    ('Std', 'term_...*')
    """
    if "«" not in name:
        return tuple(part for part in name.split(".") if part)
    return tuple(quoted or plain for quoted, plain in _COMPONENT.findall(name) if quoted or plain)


def sealed(text: str) -> str:
    """The text with every sign between « and » replaced by one that means nothing, so that no rule cuts a name there.

    Each stays one character; `unsealed` brings it back.
    """
    return _QUOTED.sub(_seal, text) if "«" in text else text


def unsealed(text: str) -> str:
    """What `sealed` was given, or a part of it."""
    return _QUOTED.sub(_unseal, text) if "«" in text else text


def _seal(match: re.Match[str]) -> str:
    return "".join(
        character
        if character in "«»_" or character.isalnum() or ord(character) > 0xFFFF
        else chr(ord(character) + _SHIFT)
        for character in match[0]
    )


def _unseal(match: re.Match[str]) -> str:
    return _SEALED.sub(lambda sign: chr(ord(sign[0]) - _SHIFT), match[0])


def plain_letters(text: str) -> str:
    """Take accents off and bring compatibility letters to their plain form (`Hölder` → `Holder`)."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def name_words(name: str) -> list[str]:
    """Lower-case words of a name, in order.

    Operator classes are spelled as their operation (`HAdd.hAdd` → add), a component that only repeats the one before it
    is said once (`Norm.norm` → norm), letters outside ASCII are spelled (`α` → alpha, `inv₀` → inverse 0), symbols
    inside « » are spelled like symbols in statements, abbreviations are written out, and primes are dropped.
    """
    return _words_of(name, components(name))


def constant_words(name: str) -> list[str]:
    """Words of a constant that a statement mentions: those of the last two components of its name.

    The namespaces further out say less than they cost: leaving them off raised recall on real goals.
    """
    return _words_of(name, components(name)[-2:])


def _words_of(name: str, parts: tuple[str, ...]) -> list[str]:
    spelled = SPELLED_CONSTANTS.get(name)
    if spelled is not None:
        found = spelled.split()
    else:
        found = []
        previous: list[str] = []
        for part in parts:
            plain = part if part.isascii() else plain_letters(part.translate(_IN_NAMES))
            words = [word.lower() for word in _WORD.findall(plain)]
            if words != previous:
                found += words
            previous = words
    return [written for word in found for written in WRITTEN_OUT.get(word, (word,))]


def loose_name(name: str) -> str:
    """The key under which spellings of one name meet: `addComm`, `add_comm` and `Add.comm` agree.

    Case, dots, underscores, guillemets, spaces, accents and the style of letters do not count; primes do.
    """
    spelled = clean(name)
    if not spelled.isascii():
        spelled = plain_letters("".join(LETTERS.get(character, character) for character in spelled))
    return _LOOSE_DROPPED.sub("", spelled.casefold())


def _symbols_in_names() -> dict[int, str]:
    """What `name_words` puts in the place of each character that is a symbol or a letter outside ASCII."""
    table = {ord(letter): f" {word} " for letter, word in LETTERS.items()}
    table |= {ord(atom): f" {word} " for atom, word in SPELLED_ATOMS.items() if len(atom) == 1}
    for atom, constants in CONSTANTS_OF.items():
        if len(atom) == 1 and not atom.isascii() and atom not in LETTERS:
            table[ord(atom)] = "".join(f" {SPELLED_CONSTANTS.get(constant, constant)} " for constant in constants[:1])
    return table


_IN_NAMES: Final = _symbols_in_names()
