"""The tools that an agent gets: `search` and `premises`.

In: arguments that the SDK has checked against the signatures below. Out: the sidecar's answers, cut to what an agent
can use; its errors become errors of the tool, with field and way out, so that the agent can correct itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import Field

from sidecar import __version__
from sidecar.client import LocalClient, about_example
from sidecar.errors import SidecarError

START_SECONDS = 35.0
"""What a call waits for a server that is starting, before it says so instead of an answer. The first call may have to
start one, which may first have to build the example library's index; and many hosts give up after a minute."""

DEADLINE_MS = 20_000
"""What an agent waits at most for an answer of a running server."""

INSTRUCTIONS = (
    "Finds declarations of Lean 4 libraries (Mathlib, or what the user has indexed). Use `premises` with a proof "
    "state to get lemmas that help to close it, and `search` to find declarations by meaning, words or name, and to "
    "see the statement of a name."
)

K = Annotated[int, Field(description="How many, best first.", ge=1)]
Imports = Annotated[
    list[str] | None,
    Field(description="Directly imported modules of the file; only what they make visible is offered. Default: all."),
]


@dataclass(frozen=True)
class Declaration:
    """A declaration that was found.

    Attributes:
        name, kind, module: As in Lean.
        signature: Its statement.
        docstring: Its documentation, `""` when there is none.
        link: Its place on the web, where documentation is published.
        deprecated: Whether it is.
        replacement: What to use in its place, where that is known.
    """

    name: str
    kind: str
    module: str
    signature: str
    docstring: str
    link: str | None
    deprecated: bool
    replacement: str | None


@dataclass(frozen=True)
class Declarations:
    """What `search` answers: declarations, best first, and what to know about the answer."""

    declarations: list[Declaration]
    warnings: list[str]


@dataclass(frozen=True)
class Premise:
    """A premise that was selected."""

    name: str
    kind: str | None
    module: str | None


@dataclass(frozen=True)
class Premises:
    """What `premises` answers: premises, most useful first, and what to know about the answer."""

    premises: list[Premise]
    warnings: list[str]


def make_server(client: LocalClient) -> MCPServer[Any]:
    """An MCP server whose tools ask this client."""
    tools = _Tools(client)
    known = [_strict(tool) for tool in (tools.search, tools.premises)]
    return MCPServer("lean-sidecar", instructions=INSTRUCTIONS, version=__version__, tools=known)


def _strict(function: Callable[..., Any]) -> Tool:
    """A tool that refuses an argument which it does not have, and whose schema says so; the SDK's own drop it."""
    tool = Tool.from_function(function, annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema(by_alias=True)
    return tool


class _Tools:
    """The tools; the SDK runs each call in a thread of its own, and makes its schema from signature and docstring."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client
        self._revision = ""
        self._about_index: list[str] = []

    def search(
        self,
        query: Annotated[
            str, Field(description="What is sought: plain words, LaTeX, a Lean statement, or a (partial) name.")
        ],
        k: K = 10,
        modules: Annotated[
            list[str] | None, Field(description="Only below these modules, such as `Mathlib.Order`.")
        ] = None,
        kinds: Annotated[
            list[str] | None, Field(description="Only of these kinds, such as theorem, def, structure, instance.")
        ] = None,
        imports: Imports = None,
    ) -> Declarations:
        """Find Lean declarations by what they say, by their words, or by their names."""
        answer = self._ask("search", query=query, k=k, modules=modules, kinds=kinds, imports=imports)
        return Declarations([_declaration(result) for result in answer["results"]], self._warnings(answer))

    def premises(
        self,
        goal: Annotated[
            str, Field(description="A proof state as Lean prints it: hypotheses one a line, then `⊢` and the target.")
        ],
        k: K = 32,
        imports: Imports = None,
        theorem: Annotated[
            str | None, Field(description="Full name of the theorem that is being proved; never offered.")
        ] = None,
        module: Annotated[str | None, Field(description="Module that is being written.")] = None,
        namespace: Annotated[str | None, Field(description="Namespace that is open at the goal.")] = None,
        exclude: Annotated[
            list[str] | None, Field(description="Names that are not wanted; nor are their proofs looked at.")
        ] = None,
    ) -> Premises:
        """Select the premises (lemmas, definitions) that most likely help to close a Lean goal."""
        answer = self._ask(
            "premises",
            goal=goal,
            k=k,
            imports=imports,
            theorem=theorem,
            module=module,
            namespace=namespace,
            exclude=exclude,
        )
        chosen = [Premise(entry["name"], entry["kind"], entry["module"]) for entry in answer["premises"]]
        return Premises(chosen, self._warnings(answer))

    def _ask(self, method: str, **params: object) -> Mapping[str, Any]:
        given = {name: value for name, value in params.items() if value is not None}
        try:
            return self._client.call(method, {**given, "deadline_ms": DEADLINE_MS})
        except SidecarError as error:
            raise ToolError(str(error)) from None

    def _warnings(self, answer: Mapping[str, Any]) -> list[str]:
        """What to know about an answer; first of all, when it comes from the example library."""
        if self._revision != answer["revision"]:
            try:
                index = self._client.status()["index"]
            except SidecarError:
                index = None  # it is asked again beside the next answer
            else:
                self._revision = answer["revision"]
            about = None if index is None else about_example(index)
            self._about_index = [] if about is None else [about]
        return [*self._about_index, *(warning["message"] for warning in answer["warnings"])]


def _declaration(result: Mapping[str, Any]) -> Declaration:
    deprecated = result["deprecated"]
    return Declaration(
        name=result["name"],
        kind=result["kind"],
        module=result["module"],
        signature=result["signature"],
        docstring=result["docstring"],
        link=result["link"],
        deprecated=deprecated is not False,
        replacement=deprecated or None,
    )
