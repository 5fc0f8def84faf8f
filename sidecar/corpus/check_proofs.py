"""Check of a list of proofs, before an index is built with it.

In: what would be given as `--proofs`, and the corpus of the index. Out: a `Report`: how many proofs and premises there
are, how many of them the index will use, names that the corpus does not have, and every fault by file and line.
"""

from __future__ import annotations

from pathlib import Path

from sidecar.corpus.check import Mentions, Report, check_extraction
from sidecar.corpus.lines import read_lines
from sidecar.corpus.policy import propositional_constants, role
from sidecar.corpus.proofs import ProofLists, read_proof
from sidecar.corpus.records import Proof
from sidecar.corpus.source import Corpus
from sidecar.errors import SidecarError


def check_proofs(path: Path, corpus: Corpus) -> Report:
    """Check every row of a list of proofs against a corpus.

    Faults: rows that are no proof, files that are cut off, a list of which no index of the corpus would use anything;
    for an extraction whatever breaks its format. Warnings: theorems and premises that the corpus does not have.

    Args:
        path: A list, a folder of lists or an extraction, as `ProofLists` takes it.
        corpus: What the index is made of.

    Raises:
        SidecarError: What `ProofLists` and the corpus raise.
    """
    lists = ProofLists(path)
    checker = _Checker(corpus)
    if lists.extraction is None:
        for file in lists.files:
            checker.read(file)
    else:
        for fault in check_extraction(path).faults:
            checker.report.fault(fault.file, fault.line, fault.message)
        if not checker.report.faults:
            for file, number, proof in lists.extraction.placed_proofs():
                checker.take(file, number, proof)
    checker.finish(lists.files[0])
    return checker.report


class _Checker:
    def __init__(self, corpus: Corpus) -> None:
        self.report = Report()
        propositional = propositional_constants(corpus.declarations())
        self._roles = {declaration.name: role(declaration, propositional) for declaration in corpus.declarations()}
        self._theorems = Mentions()
        self._premises = Mentions()
        self._telling: set[str] = set()
        self._proofs = 0
        self._named = 0

    def read(self, file: Path) -> None:
        """Check one list."""
        number = 0
        try:
            for number, line in read_lines(file, ended=False):
                try:
                    proof = read_proof(line)
                except ValueError as error:
                    self.report.fault(file, number, str(error))
                else:
                    self.take(file, number, proof)
        except SidecarError as error:
            cut = error.code == "bad_request"
            self.report.fault(file, number + 1, "the file is cut off here" if cut else error.message)

    def take(self, file: Path, number: int, proof: Proof) -> None:
        """Count one proof."""
        self._proofs += 1
        self._named += len(proof.premises)
        self._theorems.add(proof.theorem, file, number)
        for premise in proof.premises:
            self._premises.add(premise, file, number)
        if self._has(proof.theorem) and any(
            premise != proof.theorem and self._has(premise) and self._roles[premise].premise
            for premise in proof.premises
        ):
            self._telling.add(proof.theorem)

    def _has(self, name: str) -> bool:
        """Whether an index has a name: auxiliary and private ones are left out."""
        return name in self._roles and not self._roles[name].hidden

    def finish(self, first: Path) -> None:
        """Say what came of all proofs; what concerns none of them in particular is said of the first file."""
        self.report.counts.update(
            {
                "proofs": self._proofs,
                "theorems": len(self._theorems),
                "theorems whose proofs an index uses": len(self._telling),
                "mentions of premises": self._named,
                "premises": len(self._premises),
            }
        )
        self._theorems.warn(self.report, "theorem", self._roles, "not in the corpus")
        self._premises.warn(self.report, "premise", self._roles, "not in the corpus")
        if not self._telling and not self.report.faults:
            message = "no proof is of a theorem of the corpus and uses one of its premises: an index learns nothing"
            self.report.fault(first, 1, message)
