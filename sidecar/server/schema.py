"""What each method accepts and answers.

In: the decoded map of a request. Out: the record that the room behind the method takes, or a `bad_request` that names
the field. The names on the wire are the names of the records' fields; every method also accepts `deadline_ms`. `FIELDS`
and `ANSWERS` list what a method accepts and what is in the map that it answers with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sidecar.corpus.records import KINDS
from sidecar.encoder.base import Purpose
from sidecar.errors import SidecarError
from sidecar.search.request import SearchRequest
from sidecar.select.environment import EnvironmentRequest, ModuleHashes, SentPremise
from sidecar.select.request import METHODS as SELECTION_METHODS
from sidecar.select.request import LocalPremise, PremiseRequest
from sidecar.server.fields import Fields
from sidecar.settings import Limits
from sidecar.wire import Value

DEFAULT_K = {"premises": 32, "search": 10}

FIELDS: dict[str, tuple[str, ...]] = {
    "status": (),
    "reload": (),
    "premises": (
        "goal",
        "k",
        "imports",
        "environment",
        "premises",
        "symbols",
        "theorem",
        "module",
        "namespace",
        "exclude",
        "method",
    ),
    "search": ("query", "k", "modules", "kinds", "imports", "environment", "rewrite", "rerank"),
    "environment": ("imports", "modules", "premises"),
    "embed": ("texts", "purpose"),
    "prove": ("problem", "provers"),
    "feedback": ("goal", "premises", "tactic"),
}
"""Every method and its fields, besides `deadline_ms`."""

ENCODER_ANSWER = {
    "name": "text: as `--encoder` takes it",
    "dimension": "number: of its vectors",
    "max_tokens": "number: longer texts are cut",
    "fingerprint": "text: of everything that changes a vector",
    "backend": "text: what runs it, and where",
    "documents": "text: fingerprint of the encoder whose vectors it may be compared with",
}

WARNINGS_ANSWER = {
    "warnings[].code": "text: stable, for programs",
    "warnings[].message": "text: for people",
}

ERROR = {
    "error.code": "text: kind of error, see `sidecar.errors.HTTP_STATUS`",
    "error.message": "text: what is wrong, for people",
    "error.field": "text, or left out: field at fault",
    "error.hint": "text, or left out: the way out",
    "error.retry_after": "number, or left out: seconds after which the same call may succeed",
}
"""What is answered in place of a method's answer, with the status of its code, where something is wrong."""

ANSWERS: dict[str, dict[str, str]] = {
    "status": {
        "version": "text: release of the server",
        "protocol": "number: of the protocol",
        "instance": "text: anew for each process",
        "pid": "number: its process",
        "uptime_s": "number: seconds since it started",
        "revision": "text: of the index",
        "index.folder": "text: path of the index",
        "index.example": "boolean: whether it is the example library's",
        "index.declarations": "number",
        "index.premises": "number: declarations that are premises",
        "index.targets": "number: declarations that search finds",
        "index.deprecated": "number: of them",
        "index.hidden": "number: declarations that nothing offers",
        "index.modules": "number",
        "index.constants": "number: different constants of statements",
        "index.words": "number: different words",
        "index.proofs": "number: theorems whose proof is known",
        "index.revisions": "map: name → revision of what the corpus was made from",
        **{f"encoder.{field}": said for field, said in ENCODER_ANSWER.items()},
        **{f"search_encoder.{field}": said for field, said in ENCODER_ANSWER.items()},
        "reranker": "text or nil: name of the reranker",
        "queue": "number: requests that wait for a model or run in it",
        "limits": "map: name → number, see `Limits`",
        "feedback": "boolean: whether feedback is kept",
        "gpus[].device": "number: as torch counts",
        "gpus[].name": "text",
        "gpus[].memory_used_bytes": "number: of all processes",
        "gpus[].memory_own_bytes": "number: of this server",
        "gpus[].memory_total_bytes": "number",
        "gpus[].busy_percent": "number or nil: nil where NVML does not tell",
        "provers": "list: names of the external provers that were found",
    },
    "reload": {
        "changed": "boolean: whether another index is served now",
        "revision": "text: of the index",
    },
    "premises": {
        "premises[].name": "text: full name; best first, at most k",
        "premises[].score": "number: never rises with the rank; comparable within one answer",
        "premises[].origin": "text: `index`, `environment` or `file`",
        "premises[].kind": "text or nil: kind of declaration",
        "premises[].module": "text or nil: module that declares it",
        "premises[].ranks": "map: method → rank there, from 1",
        **WARNINGS_ANSWER,
        "revision": "text: of the index",
        "visible": "number: premises that could have been answered",
        "timings": "map: stage → milliseconds, and `total`",
    },
    "search": {
        "results[].name": "text: full name; best first, at most k",
        "results[].kind": "text: kind of declaration",
        "results[].module": "text: module that declares it",
        "results[].signature": "text: statement as a person reads it",
        "results[].docstring": "text: light Markdown, empty where there is none",
        "results[].link": "text or nil: its place in the documentation",
        "results[].score": "number: falls with the rank; comparable within one answer",
        "results[].why[].method": "text: what found it",
        "results[].why[].rank": "number: its rank there, from 1",
        "results[].why[].detail": "text: for people",
        "results[].deprecated": "boolean, text or nil: false, the replacement, or nil where that is not known",
        "rewritten": "text or nil: what was searched for too",
        **WARNINGS_ANSWER,
        "revision": "text: of the index",
        "timings": "map: stage → milliseconds, and `total`",
    },
    "environment": {
        "environment": "text: id for later requests",
        "missing": "list: hashes of premises whose text is to be sent",
        "unknown_modules": "list: imports that the index does not have",
        "revision": "text: of the index",
    },
    "embed": {
        "vectors": "bytes: float32, little-endian, text by text",
        "dimension": "number: of a vector",
        "fingerprint": "text: of the encoder whose vectors they may be compared with",
    },
    "prove": {
        "status": "text: `theorem`, `counter_satisfiable`, `timeout`, `gave_up` or `no_prover`",
        "prover": "text or nil: the one that decided",
        "used": "list: names of the axioms that were used",
        "used_from": "text or nil: `proof`, or `problem` where no proof was printed and all axioms are named",
        "provers[].name": "text",
        "provers[].status": "text: as above, `error`, or `stopped` where another one was faster",
        "provers[].milliseconds": "number: how long it ran",
        "provers[].detail": "text, or left out: what it complained about",
    },
    "feedback": {"stored": "boolean: whether it was kept"},
}
"""What each method answers: path of a field → its type and meaning."""

PREMISE_FIELDS = ("name", "text", "constants", "module")
HASH_BYTES = 16
PURPOSES: tuple[Purpose, ...] = ("goal", "question", "declaration")


@dataclass(frozen=True, slots=True)
class SearchCall:
    """A search, and the environment whose imports it should keep to, if it names one."""

    request: SearchRequest
    environment: str | None


@dataclass(frozen=True, slots=True)
class EmbedCall:
    """Texts to be encoded."""

    texts: tuple[str, ...]
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class ProveCall:
    """A TPTP problem and the provers to try; None for all."""

    problem: str
    provers: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class FeedbackCall:
    """Which premises closed a goal, by which tactic."""

    goal: str
    premises: tuple[str, ...]
    tactic: str | None


def read_fields(method: str, values: Mapping[str, Value]) -> Fields:
    """Check that every field of a request is known."""
    return Fields(values, (*FIELDS[method], "deadline_ms"))


def read_deadline(fields: Fields, limits: Limits) -> float:
    """Seconds that a request may take."""
    return fields.integer("deadline_ms", 1, limits.deadline_ms, "deadline_ms", limits.deadline_ms) / 1000


def read_nothing(fields: Fields, limits: Limits) -> None:
    """The request of a method without fields."""


def read_premises(fields: Fields, limits: Limits) -> PremiseRequest:
    """The request of `premises`."""
    return PremiseRequest(
        goal=fields.text("goal", limits.goal_bytes, "goal_bytes"),
        k=fields.integer("k", 1, limits.k, "k", DEFAULT_K["premises"]),
        imports=_names(fields, "imports", limits.imports, "imports", limits),
        environment=fields.optional_text("environment", limits.name_bytes, "name_bytes"),
        premises=_local_premises(fields, limits),
        symbols=_names(fields, "symbols", limits.premises, "premises", limits),
        theorem=fields.optional_text("theorem", limits.name_bytes, "name_bytes"),
        module=fields.optional_text("module", limits.name_bytes, "name_bytes"),
        exclude=_names(fields, "exclude", limits.premises, "premises", limits) or (),
        method=fields.choice("method", SELECTION_METHODS, "fused"),
        namespace=fields.optional_text("namespace", limits.name_bytes, "name_bytes"),
    )


def read_environment(fields: Fields, limits: Limits) -> EnvironmentRequest:
    """The request of `environment`."""
    imports = _names(fields, "imports", limits.imports, "imports", limits)
    if imports is None:
        raise SidecarError("bad_request", "missing", field="imports", hint="send [] for a file that imports nothing")
    modules = [
        ModuleHashes(
            module=_name(entry, "module", limits),
            hashes=entry.texts("hashes", limits.items, "items", HASH_BYTES, "a hash") or (),
        )
        for entry in fields.maps("modules", limits.imports, "imports", ("module", "hashes"))
    ]
    premises = [
        SentPremise(
            hash=entry.text("hash", HASH_BYTES, "a hash"),
            name=_name(entry, "name", limits),
            text=entry.text("text", limits.text_bytes, "text_bytes"),
            constants=_names(entry, "constants", limits.premises, "premises", limits),
        )
        for entry in fields.maps("premises", limits.premises, "premises", (*PREMISE_FIELDS, "hash"))
    ]
    return EnvironmentRequest(imports, tuple(modules), tuple(premises))


def read_search(fields: Fields, limits: Limits) -> SearchCall:
    """The request of `search`."""
    kinds = _names(fields, "kinds", len(KINDS) + 1, "kinds", limits) or ()
    for number, kind in enumerate(kinds):
        if kind not in KINDS and kind != "lemma":
            raise SidecarError(
                "bad_request", f"{kind!r} is no kind", field=f"kinds[{number}]", hint=f"kinds: {', '.join(KINDS)}"
            )
    request = SearchRequest(
        query=fields.text("query", limits.text_bytes, "text_bytes"),
        k=fields.integer("k", 1, limits.k, "k", DEFAULT_K["search"]),
        modules=_names(fields, "modules", limits.imports, "imports", limits) or (),
        kinds=kinds,
        imports=_names(fields, "imports", limits.imports, "imports", limits),
        rewrite=fields.boolean("rewrite", True),
        rerank=fields.boolean("rerank", False),
    )
    environment = fields.optional_text("environment", limits.name_bytes, "name_bytes")
    if environment is not None and request.imports is not None:
        raise SidecarError("bad_request", "send either imports or an environment", field="environment")
    return SearchCall(request, environment)


def read_embed(fields: Fields, limits: Limits) -> EmbedCall:
    """The request of `embed`."""
    texts = fields.texts("texts", limits.texts, "texts", limits.text_bytes, "text_bytes")
    if texts is None:
        raise SidecarError("bad_request", "missing", field="texts")
    return EmbedCall(texts, fields.choice("purpose", PURPOSES))


def read_prove(fields: Fields, limits: Limits) -> ProveCall:
    """The request of `prove`."""
    return ProveCall(
        problem=fields.text("problem", limits.body_bytes, "body_bytes"),
        provers=_names(fields, "provers", limits.premises, "premises", limits),
    )


def read_feedback(fields: Fields, limits: Limits) -> FeedbackCall:
    """The request of `feedback`."""
    return FeedbackCall(
        goal=fields.text("goal", limits.goal_bytes, "goal_bytes"),
        premises=_names(fields, "premises", limits.premises, "premises", limits) or (),
        tactic=fields.optional_text("tactic", limits.text_bytes, "text_bytes"),
    )


def _local_premises(fields: Fields, limits: Limits) -> tuple[LocalPremise, ...]:
    """The premises of a file, of which a request may hold thousands."""
    found: list[LocalPremise] = []
    for number, value in enumerate(fields.array("premises", limits.premises, "premises")):
        plain = _plain_premise(value, limits)
        if plain is None:
            entry = fields.map_at("premises", number, value, PREMISE_FIELDS)
            plain = LocalPremise(
                name=_name(entry, "name", limits),
                text=entry.text("text", limits.text_bytes, "text_bytes"),
                constants=_names(entry, "constants", limits.premises, "premises", limits),
                module=entry.optional_text("module", limits.name_bytes, "name_bytes"),
            )
        found.append(plain)
    return tuple(found)


def _plain_premise(value: Value, limits: Limits) -> LocalPremise | None:
    """A premise of a short name and text alone, as nearly all are; None where more must be looked at."""
    if not isinstance(value, dict) or len(value) != 2:
        return None
    name, text = value.get("name"), value.get("text")
    if not isinstance(name, str) or not isinstance(text, str) or not name:
        return None
    # A character takes at most four bytes.
    fits = 4 * len(name) <= limits.name_bytes and 4 * len(text) <= limits.text_bytes
    return LocalPremise(name, text) if fits else None


def _names(fields: Fields, name: str, most: int, most_limit: str, limits: Limits) -> tuple[str, ...] | None:
    names = fields.texts(name, most, most_limit, limits.name_bytes, "name_bytes")
    if names is not None and not all(map(str.strip, names)):
        number = next(number for number, entry in enumerate(names) if not entry.strip())
        raise SidecarError(
            "bad_request", "is empty, it must be a name", field=f"{fields.path(name)}[{number}]", hint="leave it out"
        )
    return names


def _name(fields: Fields, name: str, limits: Limits) -> str:
    value = fields.text(name, limits.name_bytes, "name_bytes")
    if not value:
        raise SidecarError("bad_request", "is empty", field=fields.path(name))
    return value
