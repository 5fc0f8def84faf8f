"""The premise selector: one request in, ranked premises out.

In: a goal, what is visible, what is near, premises that the index does not know. Out: the premises that matter, with
the rank that each method gave them. Models run in the batcher's thread, everything else that takes time in worker
threads; a request that is cancelled ends with the stage that runs.

Methods are fused by reciprocal rank (`sidecar.fusion`), because their scores have no common scale. On 800 Mathlib
theorems and the premises that their proofs cite, fusion by rank kept more of them among the first 32 than weighted sums
of the scores did, whatever the weights. Where an encoder brings weights that were learned with it (`learned.py`), these
decide instead.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sidecar.clock import Clock
from sidecar.errors import SidecarError
from sidecar.fusion import fuse
from sidecar.index.index import Index
from sidecar.select.beside import Block, accept, make_block
from sidecar.select.embeddings import Batcher, PremiseEmbeddings
from sidecar.select.environment import Environment, Environments, unknown_environment
from sidecar.select.formulas import rank_by_formula
from sidecar.select.learned import Candidates, LearnedFusion, require_fit
from sidecar.select.locality import LocalityRanking, Place, namespace_of
from sidecar.select.proofs import ProofScope, StandIns, rank_by_proofs
from sidecar.select.ranking import Ranking, rank
from sidecar.select.request import (
    LocalPremise,
    Origin,
    PremiseAnswer,
    PremiseRequest,
    PremiseWarning,
    SelectedPremise,
)
from sidecar.select.statement import goal_constants, missing_goal
from sidecar.select.symbolic import BoolArray, FloatArray, IntArray, SymbolicRanking
from sidecar.select.view import View, Visibility
from sidecar.text.declaration import parse_premise
from sidecar.text.goal import GoalText, goal_text, parse_goal
from sidecar.text.names import components

WEIGHTS: Final[dict[str, float]] = {"formula": 3.0, "neural": 2.0, "symbolic": 1.5, "proofs": 1.25, "locality": 0.5}
"""Weight of each method in the fusion, for the encoder `static`: with 1.0 for its vectors recall@32 of 900 goals of
premises/valid is .553 instead of .577 without proofs, and .619 instead of .631 with them. What proofs use comes first
too often where it weighs more."""

RANK_CONSTANT: Final = 20.0
"""Constant of the fusion: smaller than usual, so that the first ranks of each method keep their lead."""

POOL: Final = 256
"""Premises of each method that take part in the fusion, or k if that is more."""

KEPT_BLOCKS: Final = 4
"""Lists of premises beside the index that are held ready to be ranked: an environment's, a file's. Whoever proves asks
again and again from the same place."""


_BlockKey = tuple[tuple[str, int] | tuple[LocalPremise, ...], bool]
"""An environment with how many premises it has, or the premises themselves; and whether they have vectors."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A request, checked against the index.

    Attributes:
        view: What may be answered.
        text: Canonical text of the goal; None where nothing is to be encoded.
        place: Where the proof is written.
        warnings: What to say about the request.
    """

    view: View
    text: str | None
    place: Place
    warnings: tuple[PremiseWarning, ...]


class PremiseSelector:
    """Selects premises from one index. Belongs to one event loop.

    Args:
        index: The index.
        batcher: Encodes goals and unknown premises; its encoder must be the one that the index was made with.
        embeddings: Cache for unknown premises.
        environments: Registry behind environment ids; without one every id is unknown.
        fusion: Learned weights; without them methods are fused by reciprocal rank, and where they were fitted with
            proofs and the index has none, or the other way round.
        proofs: Whose proofs tell something; fewer than all only to measure what they are worth.

    Raises:
        SidecarError: `conflict` when the encoder is not the index's, or not the one that the weights were fitted with.
    """

    def __init__(
        self,
        index: Index,
        batcher: Batcher,
        embeddings: PremiseEmbeddings,
        environments: Environments | None = None,
        fusion: LearnedFusion | None = None,
        proofs: ProofScope = "all",
    ) -> None:
        index.require_encoder(batcher.encoder, "premises")
        if fusion is not None:
            require_fit(fusion, batcher.encoder)
        self._fusion = fusion if fusion is not None and fusion.proofs == bool(len(index.proofs)) else None
        self._proofs: ProofScope = proofs
        self._index = index
        self._batcher = batcher
        self._embeddings = embeddings
        self._environments = environments
        self._vectors = index.vectors("premises")
        self._symbolic = SymbolicRanking(index.constants, index.premise)
        self._locality = LocalityRanking(index)
        self._visibility = Visibility(index)
        self._blocks: OrderedDict[_BlockKey, Block] = OrderedDict()

    async def select(self, request: PremiseRequest) -> PremiseAnswer:
        """Answer a request.

        Raises:
            SidecarError: `conflict` for an environment that is not registered or an index that was closed,
                `bad_request` for a k below 1, and what encoding raises (`overloaded`).
        """
        if request.k < 1:
            raise SidecarError("bad_request", f"k is {request.k}", field="k", hint="ask for at least one premise")
        clock = Clock()
        with self._index.in_use():
            question, blocks, rankings = await self._ranked(request, clock)
            premises = await asyncio.to_thread(self._finish, request, question, blocks, rankings, clock)
        warnings = [warning for block in blocks for warning in block.warnings]
        return PremiseAnswer(
            premises=tuple(premises),
            warnings=(*question.view.warnings, *question.warnings, *warnings),
            revision=self._index.revision,
            visible=question.view.count,
            timings=clock.finish(),
        )

    async def candidates(self, request: PremiseRequest) -> tuple[list[str], Candidates]:
        """Names and features of everything that the methods rank for a request: what learned weights are fitted on.

        Raises:
            SidecarError: As `select`.
        """
        with self._index.in_use():
            _, blocks, rankings = await self._ranked(request, Clock())
            candidates = Candidates.of(rankings, self._index.deprecated)
            beside = [premise.name for block in blocks for premise in block.premises]
            size = self._index.size
            names = self._index.names(candidates.numbers[candidates.numbers < size].tolist())
            return [*names, *(beside[number - size] for number in candidates.numbers if number >= size)], candidates

    async def _ranked(self, request: PremiseRequest, clock: Clock) -> tuple[_Question, list[Block], dict[str, Ranking]]:
        """The checked request and what every method says."""
        with clock.stage("embed"):
            environment = await self._environment(request.environment)
            blocks = await self._prepare(request, environment)
        with clock.stage("normalise"):
            question = await asyncio.to_thread(self._question, request, environment, blocks)
        # The search by the vector takes all cores and most of the memory's bandwidth, so nothing is done beside it.
        vector, rankings = await asyncio.gather(
            self._encode(question.text, clock),
            asyncio.to_thread(self._rank, request, question, blocks, clock),
        )
        neural = await asyncio.to_thread(self._rank_by_vector, request, question, blocks, vector, clock)
        return question, blocks, rankings | neural

    async def _environment(self, environment: str | None) -> Environment | None:
        if environment is None:
            return None
        if self._environments is None:
            unknown_environment(environment)
        return await asyncio.to_thread(self._environments.get, environment)

    async def _prepare(self, request: PremiseRequest, environment: Environment | None) -> list[Block]:
        """Blocks of the premises beside the index: the environment's, then the file's."""
        vectors = request.method in ("fused", "neural")
        blocks: list[Block] = []
        if environment is not None and environment.premises:
            key: _BlockKey = ((environment.id, len(environment.premises)), vectors)
            blocks.append(await self._block("environment", environment.premises, vectors, key))
        if request.premises:
            blocks.append(await self._block("file", request.premises, vectors, (request.premises, vectors)))
        return blocks

    async def _block(self, origin: Origin, premises: Sequence[LocalPremise], vectors: bool, key: _BlockKey) -> Block:
        """The block of a key, made where it is not held any more."""
        block = self._blocks.pop(key, None) or await self._make_block(origin, premises, vectors)
        self._blocks[key] = block
        while len(self._blocks) > KEPT_BLOCKS:
            self._blocks.popitem(last=False)
        return block

    async def _make_block(self, origin: Origin, premises: Sequence[LocalPremise], vectors: bool) -> Block:
        accepted, warnings = await asyncio.to_thread(accept, premises)
        features = await self._embeddings.features(accepted, self._batcher, vectors=vectors)
        return await asyncio.to_thread(make_block, origin, accepted, features, self._index, self._symbolic, warnings)

    def _question(self, request: PremiseRequest, environment: Environment | None, blocks: Sequence[Block]) -> _Question:
        """All that a request asks, checked against the index."""
        imports = request.imports
        described: list[str] = [premise.module for premise in request.premises if premise.module is not None]
        if environment is not None:
            imports = tuple(dict.fromkeys((*environment.imports, *(imports or ()))))
            described += environment.modules
        if request.module is not None:
            described.append(request.module)
        view = self._visibility.view(imports, described, blocks, request.theorem, request.exclude)
        warnings: list[PremiseWarning] = []
        if environment is not None and environment.missing:
            message = f"{environment.missing} premises of the environment have no text yet: send those it calls missing"
            warnings.append(PremiseWarning("environment_incomplete", message))
        missing = missing_goal(request.goal)
        if missing is not None:
            warnings.append(PremiseWarning("empty_goal", f"there is no goal: {missing}"))
        if parse_goal(request.goal).followed:
            warnings.append(PremiseWarning("several_goals", "the text holds several goals: only the first one counts"))
        text: str | None = None
        if request.method in ("fused", "neural") and view.count:
            encoder = self._batcher.encoder
            goal = goal_text(request.goal, encoder.max_tokens, encoder.count_tokens)
            warnings += _goal_warnings(goal, encoder.max_tokens, missing=missing is not None)
            text = goal.text
        return _Question(view, text, self._place(request, imports), tuple(warnings))

    def _place(self, request: PremiseRequest, imports: tuple[str, ...] | None) -> Place:
        """Where the proof is written."""
        row = self._index.row(request.theorem) if request.theorem is not None else None
        module = request.module
        if row is not None and module is None:
            module = self._index.module(row)
        if row is not None and module != self._index.module(row):
            row = None
        if request.theorem is not None:
            namespace = namespace_of(request.theorem)
        else:
            namespace = components(request.namespace or "")
        return Place(namespace, module, imports or (), row)

    async def _encode(self, text: str | None, clock: Clock) -> FloatArray | None:
        if text is None:
            return None
        with clock.stage("encode"):
            vectors = await self._batcher.encode([text], "goal")
        return np.asarray(vectors[0], dtype=np.float32)

    def _rank(
        self, request: PremiseRequest, question: _Question, blocks: Sequence[Block], clock: Clock
    ) -> dict[str, Ranking]:
        """Rankings that need no vector."""
        allowed = question.view.allowed
        limit = max(POOL, request.k)
        rankings: dict[str, Ranking] = {}
        if request.method in ("fused", "symbolic"):
            with clock.stage("symbolic"):
                statements = [block.statements for block in blocks]
                constants = goal_constants(request.goal, request.symbols or None)
                goal = self._symbolic.goal(constants, statements, printed=not request.symbols)
                relevance = self._symbolic.scores(goal, allowed, statements)
                rankings["symbolic"] = rank(relevance, allowed, limit)
            if request.method == "fused" and len(self._index.proofs):
                with clock.stage("proofs"):
                    used = self._rank_by_proofs(question.view, relevance, blocks, limit)
                    if used is not None:
                        rankings["proofs"] = used
        if request.method == "locality" or (request.method == "fused" and (question.place.is_told or blocks)):
            with clock.stage("locality"):
                scores = self._locality.scores(question.place, [block.places for block in blocks])
                rankings["locality"] = rank(scores, allowed, limit)
        if request.method == "fused":
            with clock.stage("formula"):
                stated = rank_by_formula(self._index, request.goal, allowed)
                if stated is not None:
                    rankings["formula"] = stated
        return rankings

    def _rank_by_proofs(self, view: View, relevance: FloatArray, blocks: Sequence[Block], limit: int) -> Ranking | None:
        size = self._index.size
        beside = StandIns.of([block.rows for block in blocks], size)
        proofs, scope = self._index.proofs, self._proofs
        return rank_by_proofs(proofs, relevance[:size], view.allowed, view.silent, limit, beside=beside, scope=scope)

    def _rank_by_vector(
        self,
        request: PremiseRequest,
        question: _Question,
        blocks: Sequence[Block],
        vector: FloatArray | None,
        clock: Clock,
    ) -> dict[str, Ranking]:
        """The premises nearest to the goal's vector; nothing without one."""
        if vector is None:
            return {}
        allowed = question.view.allowed
        limit = max(POOL, request.k)
        size = self._index.size
        with clock.stage("neural"):
            found, rows = self._vectors.search(vector[None, :], min(limit, size), allowed[:size])
            scores = np.concatenate(
                [found[0][rows[0] >= 0], *(block.vectors @ vector for block in blocks if block.vectors is not None)]
            )
            numbers = np.concatenate([rows[0][rows[0] >= 0], np.arange(size, len(allowed))])
            best = rank(scores.astype(np.float32), allowed[numbers], limit)
            return {"neural": Ranking(numbers[best.numbers], best.scores)}

    def _finish(
        self,
        request: PremiseRequest,
        question: _Question,
        blocks: Sequence[Block],
        rankings: dict[str, Ranking],
        clock: Clock,
    ) -> list[SelectedPremise]:
        """Fuse, let replacements go before what they replace, and name the premises."""
        if not question.view.count:
            return []
        allowed = question.view.allowed
        with clock.stage("fuse"):
            if request.method == "fused" and self._fusion is not None:
                candidates = Candidates.of(rankings, self._index.deprecated)
                likely = self._fusion.scores(candidates)
                if "formula" in rankings:
                    # No proof cites what states its theorem, so what was learned does not know that this closes a goal.
                    stated = np.searchsorted(candidates.numbers, rankings["formula"].numbers)
                    likely[stated[likely[stated].argmax()]] = np.nextafter(likely.max(), np.float32(np.inf))
                best = np.lexsort((candidates.numbers, -likely))[: request.k]
                shares = np.exp(likely - likely.max()) / np.exp(likely - likely.max()).sum()
                numbers, scores = candidates.numbers[best].tolist(), shares[best].tolist()
            elif request.method == "fused":
                # The neural ranking stays whole, so that nothing visible is missing when k is large; those by formulas
                # and by proofs hold nothing that nothing speaks for.
                whole = ("neural", "formula", "proofs")
                telling = {name: one.numbers if name in whole else _telling(one) for name, one in rankings.items()}
                fused = fuse(telling, WEIGHTS, request.k, RANK_CONSTANT)
                numbers, scores = [item.item for item in fused], [item.score for item in fused]
            else:
                alone = rankings[request.method]
                numbers, scores = alone.numbers[: request.k].tolist(), alone.scores[: request.k].tolist()
            numbers = self._replacements_first(numbers, allowed, blocks)
            return self._named(numbers, scores, rankings, blocks)

    def _replacements_first(self, numbers: Sequence[int], allowed: BoolArray, blocks: Sequence[Block]) -> list[int]:
        """Let a deprecated premise change places with its replacement where that is visible and ranks lower."""
        result = list(numbers)
        places = {number: place for place, number in enumerate(result)}
        size = self._index.size
        for place, number in enumerate(result):
            if number >= size or not self._index.deprecated[number]:
                continue
            name = self._visibility.replacement(number)
            better = None if name is None else self._number(name, allowed, blocks)
            if better is None or places.get(better, len(result)) < place:
                continue
            if better in places:
                result[places[better]] = number
                places[number] = places[better]
            result[place] = better
            places[better] = place
        return result

    def _number(self, name: str, allowed: BoolArray, blocks: Sequence[Block]) -> int | None:
        """Number of the allowed premise of a name."""
        row = self._index.row(name)
        if row is not None and allowed[row]:
            return row
        first = self._index.size
        for block in blocks:
            for place, premise in enumerate(block.premises):
                if premise.name == name and allowed[first + place]:
                    return first + place
            first += len(block.premises)
        return None

    def _named(
        self,
        numbers: Sequence[int],
        scores: Sequence[float],
        rankings: Mapping[str, Ranking],
        blocks: Sequence[Block],
    ) -> list[SelectedPremise]:
        size = self._index.size
        ranks = {name: ranking.ranks(numbers) for name, ranking in rankings.items()}
        rows = [number for number in numbers if number < size]
        declarations = dict(zip(rows, self._index.declarations(rows), strict=True))
        beside = [(block.origin, premise) for block in blocks for premise in block.premises]
        selected: list[SelectedPremise] = []
        for number, score in zip(numbers, scores, strict=True):
            found = {name: places[number] for name, places in ranks.items() if number in places}
            if number < size:
                declaration = declarations[number]
                selected.append(
                    SelectedPremise(declaration.name, score, "index", declaration.kind, declaration.module, found)
                )
            else:
                origin, premise = beside[number - size]
                kind = parse_premise(premise.text).kind or None
                selected.append(SelectedPremise(premise.name, score, origin, kind, premise.module, found))
        return selected


def _telling(ranking: Ranking) -> IntArray:
    """The part of a ranking that says something: not what nothing speaks for, nor an order of equals."""
    scores = ranking.scores
    if len(scores) > 1 and scores[0] == scores[-1]:
        return ranking.numbers[:0]
    return ranking.numbers[scores > 0]


def _goal_warnings(goal: GoalText, max_tokens: int, *, missing: bool) -> list[PremiseWarning]:
    """What the encoder could not read of a goal, which may be missing."""
    warnings: list[PremiseWarning] = []
    if not goal.text and not missing:
        warnings.append(PremiseWarning("empty_goal", "the goal holds no word that the encoder could read"))
    if goal.hypotheses_dropped:
        message = (
            f"the goal is longer than the {max_tokens} tokens that the encoder reads:"
            f" {goal.hypotheses_dropped} of {goal.hypotheses} hypotheses, the first ones, were left out"
        )
        warnings.append(PremiseWarning("hypotheses_dropped", message))
    if goal.target_cut:
        message = f"the target alone is longer than the {max_tokens} tokens that the encoder reads: its end was cut"
        warnings.append(PremiseWarning("target_cut", message))
    return warnings
