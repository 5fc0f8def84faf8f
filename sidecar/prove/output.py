"""What a prover said.

In: the text that a prover printed. Out: its verdict by the SZS ontology (Sutcliffe 2008) and the names of the
formulas that its proof used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sidecar.prove.problem import NAME, plain_name

Verdict = Literal["theorem", "counter_satisfiable", "timeout", "gave_up", "error"]

_VERDICTS: dict[str, Verdict] = {
    "Theorem": "theorem",
    "Unsatisfiable": "theorem",
    "ContradictoryAxioms": "theorem",
    "CounterSatisfiable": "counter_satisfiable",
    "Satisfiable": "counter_satisfiable",
    "CounterTheorem": "counter_satisfiable",
    "Timeout": "timeout",
    "ResourceOut": "timeout",
    "Error": "error",
    "OSError": "error",
    "InputError": "error",
    "UsageError": "error",
    "SyntaxError": "error",
    "SemanticError": "error",
    "TypeError": "error",
}

_STATUS = re.compile(r"SZS status\s*:?\s*([A-Za-z]+)")
_SECTION = re.compile(r"SZS output start\s+(\w+)[^\n]*\n(.*?)(?:^[^\n]*SZS output end|\Z)", re.DOTALL | re.MULTILINE)
_SOURCE = re.compile(rf"\bfile\(\s*(?:{NAME})\s*,\s*({NAME})\s*\)")


@dataclass(frozen=True, slots=True)
class Said:
    """A prover's verdict.

    Attributes:
        verdict: Its SZS status, in our five words; None where it gave none.
        used: Names of the problem's formulas that the proof rests on; None where the prover printed no proof.
    """

    verdict: Verdict | None
    used: frozenset[str] | None


def read_output(output: str) -> Said:
    """Read what a prover printed. Only a proof tells what was used: a saturation names its sources as well."""
    status = _STATUS.search(output)
    if status is None:
        return Said(None, None)
    verdict = _VERDICTS.get(status[1], "gave_up")
    if verdict != "theorem":
        return Said(verdict, None)
    section = _SECTION.search(output)
    if section is None:
        return Said(verdict, None)
    form, proof = section[1], section[2]
    if form == "UnsatCore":
        return Said(verdict, frozenset(plain_name(line.strip()) for line in proof.splitlines() if line.strip()))
    return Said(verdict, frozenset(plain_name(name) for name in _SOURCE.findall(proof)))
