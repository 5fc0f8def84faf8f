"""The methods of the protocol: how each reads its request and answers it.

In: a checked request and the server's state. Out: the map that goes over the wire.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from sidecar.encoder.base import Encoder, Purpose
from sidecar.encoder.tower import documents_of
from sidecar.prove.provers import find_provers
from sidecar.select.environment import EnvironmentRequest
from sidecar.select.request import PremiseRequest
from sidecar.server.fields import Fields
from sidecar.server.graphics import gpus
from sidecar.server.schema import (
    EmbedCall,
    FeedbackCall,
    ProveCall,
    SearchCall,
    read_embed,
    read_environment,
    read_feedback,
    read_nothing,
    read_premises,
    read_prove,
    read_search,
)
from sidecar.server.state import ServerState
from sidecar.settings import Limits

BULK_TEXTS = 64
"""Requests to encode more texts than this let short requests go first."""

PROVE_MARGIN_SECONDS = 0.2
"""How long before its deadline a race ends, so that its answer arrives in time; at most a tenth of the deadline."""

PROVE_GRACE_SECONDS = 1.0

Wire = dict[str, object]


@dataclass(frozen=True, slots=True)
class Method:
    """One method.

    Attributes:
        read: Makes the typed request of the fields.
        run: Answers it; its last argument is the event loop's time at which nobody waits any more.
        grace_seconds: How much longer than the deadline `run` may take: it keeps the deadline itself.
    """

    read: Callable[[Fields, Limits], Any]
    run: Callable[[ServerState, Any, float], Awaitable[Wire]]
    grace_seconds: float = 0.0


async def _status(state: ServerState, call: None, until: float) -> Wire:
    provers = await asyncio.to_thread(find_provers)
    # An encoder that runs on a GPU has loaded torch; nobody else need.
    used = await asyncio.to_thread(gpus, sys.modules.get("torch"))
    return {**state.status(), "gpus": used, "provers": [prover.name for prover in provers]}


async def _reload(state: ServerState, call: None, until: float) -> Wire:
    changed = await state.reload()
    return {"changed": changed, "revision": state.revision}


async def _environment(state: ServerState, call: EnvironmentRequest, until: float) -> Wire:
    state.metrics.texts.labels("environment").inc(len(call.premises))
    async with state.use() as loaded:
        return (await asyncio.to_thread(state.environments.register, call, loaded.index)).as_wire()


async def _premises(state: ServerState, call: PremiseRequest, until: float) -> Wire:
    state.metrics.texts.labels("premises").inc(len(call.premises))
    async with state.use() as loaded:
        return (await loaded.selector.select(call)).as_wire()


async def _search(state: ServerState, call: SearchCall, until: float) -> Wire:
    async with state.use() as loaded:
        request = call.request
        if call.environment is not None:
            imports = await asyncio.to_thread(state.environments.imports, call.environment)
            request = replace(request, imports=imports)
        return (await loaded.engine.search(request, until)).as_wire()


async def _embed(state: ServerState, call: EmbedCall, until: float) -> Wire:
    state.metrics.texts.labels("embed").inc(len(call.texts))
    async with state.use() as loaded:
        batcher = loaded.batchers["search" if call.purpose == "question" else "premises"]
        texts = await asyncio.to_thread(_canonical, call.texts, call.purpose, batcher.encoder)
        vectors = await batcher.encode(texts, call.purpose, bulk=len(texts) > BULK_TEXTS)
        return {
            "vectors": await asyncio.to_thread(lambda: vectors.astype("<f4").tobytes()),
            "dimension": batcher.encoder.dimension,
            # What it may be compared with: for a query tower the vectors of its documents.
            "fingerprint": documents_of(batcher.encoder).fingerprint,
        }


def _canonical(texts: tuple[str, ...], purpose: Purpose, encoder: Encoder) -> list[str]:
    """Texts as the index writes them, so that their vectors can be compared with its own."""
    from sidecar.text.declaration import premise_text
    from sidecar.text.goal import goal_text
    from sidecar.text.query import query_text

    if purpose == "goal":
        return [goal_text(text, encoder.max_tokens, encoder.count_tokens).text for text in texts]
    return [premise_text(text) if purpose == "declaration" else query_text(text) for text in texts]


async def _prove(state: ServerState, call: ProveCall, until: float) -> Wire:
    left = until - asyncio.get_running_loop().time()
    seconds = left - min(PROVE_MARGIN_SECONDS, left / 10)
    return (await state.race.run(call.problem, seconds, call.provers)).as_wire()


async def _feedback(state: ServerState, call: FeedbackCall, until: float) -> Wire:
    stored = await asyncio.to_thread(state.feedback.record, call.goal, call.premises, call.tactic)
    return {"stored": stored}


METHODS: dict[str, Method] = {
    "status": Method(read_nothing, _status),
    "environment": Method(read_environment, _environment),
    "premises": Method(read_premises, _premises),
    "search": Method(read_search, _search),
    "embed": Method(read_embed, _embed),
    "prove": Method(read_prove, _prove, PROVE_GRACE_SECONDS),
    "feedback": Method(read_feedback, _feedback),
    "reload": Method(read_nothing, _reload),
}
"""Every method by its name on the wire."""
