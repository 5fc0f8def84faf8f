"""What each method accepts.

In: the decoded map of a request. Out: the record that the room behind the method takes, or a `bad_request` that names
the field. The names on the wire are the names of the records' fields; every method also accepts `deadline_ms`.
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
