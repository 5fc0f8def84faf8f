"""What a premise request asks and what it answers.

In: the fields of the wire method `premises`, already typed. Out: the records that the selector takes and gives, and the
maps that go over the wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Method = Literal["fused", "neural", "symbolic", "locality"]
"""How premises are ranked: by all methods together, or by one of them alone."""

METHODS: Final[tuple[Method, ...]] = get_args(Method)

Origin = Literal["index", "environment", "file"]
"""Where a premise comes from: the index, a registered environment, or the texts of the request itself."""


@dataclass(frozen=True, slots=True)
class LocalPremise:
    """A premise that the index does not know, or whose text differs from the indexed one.

    Attributes:
        name: Full name; an indexed premise of the same name gives way to this one.
        text: Raw wire text: perhaps `/-- doc -/` and a line end, then one line `kind name binders : type`.
        constants: Constants of the statement, or None to read them from the text.
        module: Module that declares it; None means the module of the request.
    """

    name: str
    text: str
    constants: tuple[str, ...] | None = None
    module: str | None = None


@dataclass(frozen=True, slots=True)
class PremiseRequest:
    """One request for premises.

    Attributes:
        goal: The goal as Lean prints it: hypotheses one a line, then `⊢ target`.
        k: Largest number of premises to answer, at least 1.
        imports: Directly imported modules; their declarations and those of everything they import are visible. None
            together with `environment` None: everything is visible.
        environment: Id of a registered environment; its imports and premises are added to those given here.
        premises: Premises of the current file, in the order of the file: the last one is the nearest.
        symbols: Constants of the goal, or None to read them from its text.
        theorem: Full name of what is being proved; it is never offered, nor are its deprecated aliases, and the
            proofs of these tell nothing.
        module: Module that is being written; decides what is near.
        exclude: Names that are not wanted; their proofs tell nothing either.
        method: See `Method`.
        namespace: Namespace that is open at the goal; used for locality where `theorem` is None.
    """

    goal: str
    k: int = 32
    imports: tuple[str, ...] | None = None
    environment: str | None = None
    premises: tuple[LocalPremise, ...] = ()
    symbols: tuple[str, ...] | None = None
    theorem: str | None = None
    module: str | None = None
    exclude: tuple[str, ...] = ()
    method: Method = "fused"
    namespace: str | None = None

    def as_wire(self) -> dict[str, object]:
        """The map that a client sends; fields that are left at None are left out."""
        wire: dict[str, object] = {"goal": self.goal, "k": self.k, "method": self.method}
        for key in ("imports", "symbols"):
            value = getattr(self, key)
            if value is not None:
                wire[key] = list(value)
        for key in ("environment", "theorem", "module", "namespace"):
            value = getattr(self, key)
            if value is not None:
                wire[key] = value
        if self.exclude:
            wire["exclude"] = list(self.exclude)
        if self.premises:
            wire["premises"] = [_premise_wire(premise) for premise in self.premises]
        return wire


def _premise_wire(premise: LocalPremise) -> dict[str, object]:
    wire: dict[str, object] = {"name": premise.name, "text": premise.text}
    if premise.constants is not None:
        wire["constants"] = list(premise.constants)
    if premise.module is not None:
        wire["module"] = premise.module
    return wire


@dataclass(frozen=True, slots=True)
class PremiseWarning:
    """Something that the caller should know about an answer that is nevertheless complete.

    Attributes:
        code: Stable, for programs: `unknown_modules`, `nothing_visible`, `hypotheses_dropped`, `target_cut`,
            `empty_goal`, `premises_refused`, `premises_cut`, `duplicate_premises`, `environment_incomplete`.
        message: For people.
    """

    code: str
    message: str

    def as_wire(self) -> dict[str, object]:
        """The map that goes over the wire."""
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True)
class SelectedPremise:
    """One premise of an answer.

    Attributes:
        name: Full name.
        score: Never rises with the rank; comparable within one answer only (and, for one method and index, between
            answers).
        origin: See `Origin`.
        kind: Kind of declaration, or None where a text does not say it.
        module: Module that declares it, or None where it is not known.
        ranks: 1-based rank in each method's own ranking, for the methods that ranked it.
    """

    name: str
    score: float
    origin: Origin
    kind: str | None
    module: str | None
    ranks: dict[str, int]

    def as_wire(self) -> dict[str, object]:
        """The map that goes over the wire."""
        return {
            "name": self.name,
            "score": self.score,
            "origin": self.origin,
            "kind": self.kind,
            "module": self.module,
            "ranks": self.ranks,
        }


@dataclass(frozen=True, slots=True)
class PremiseAnswer:
    """The premises for a goal.

    Attributes:
        premises: Best first, at most k; no name occurs twice.
        warnings: See `PremiseWarning`.
        revision: Revision of the index that answered.
        visible: How many premises could have been answered.
        timings: Milliseconds by stage (`normalise`, `embed`, `encode`, `neural`, `symbolic`, `proofs`, `locality`,
            `formula`, `fuse`, `other`) and `total`. Encoding overlaps the stages of other rankings, so stages may add
            up to more.
    """

    premises: tuple[SelectedPremise, ...]
    warnings: tuple[PremiseWarning, ...]
    revision: str
    visible: int
    timings: dict[str, float]

    def as_wire(self) -> dict[str, object]:
        """The map that goes over the wire."""
        return {
            "premises": [premise.as_wire() for premise in self.premises],
            "warnings": [warning.as_wire() for warning in self.warnings],
            "revision": self.revision,
            "visible": self.visible,
            "timings": self.timings,
        }
