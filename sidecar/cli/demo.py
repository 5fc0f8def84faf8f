"""`lean-sidecar demo`: the main job from end to end on the embedded example library.

In: nothing. Out: tables. The index is built, a server is started by a bridge, goals go through the bridge as frames
exactly as the Lean plugin sends them, and everything stops at the end. Nothing outside a temporary folder is touched.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sidecar.cli.output import note, print_json
from sidecar.corpus.example_questions import ExampleGoal, ExampleQuestion, example_questions
from sidecar.errors import SidecarError, room_or

K = 8
SHOWN_GOALS = (4, 9, 17, 29, 37)
"""The goals whose premises are shown one by one; all of them are asked and counted."""
SHOWN_QUESTIONS = (5, 12, 18)


def run_demo(picture: Path | None, *, as_json: bool) -> int:
    """Run the demo.

    Args:
        picture: SVG file to write what is shown to, or None.
        as_json: Print JSON instead of tables.

    Returns:
        Exit status: 0 when every goal and question was answered.
    """
    import asyncio
    from dataclasses import replace

    from sidecar.client import BridgeClient
    from sidecar.corpus.source import example_corpus
    from sidecar.encoder.load import DEFAULTS, load_encoder
    from sidecar.index.build import build_index
    from sidecar.launch import stop_server
    from sidecar.settings import Settings

    goals, questions = example_questions()
    with tempfile.TemporaryDirectory(prefix="lean-sidecar-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        began = time.perf_counter()
        encoders = {role: load_encoder(name) for role, name in DEFAULTS.items()}
        manifest = build_index(
            example_corpus(), folder / "index", encoders["premises"], search_encoder=encoders["search"]
        )
        note(f"index of {manifest.counts['declarations']} declarations built in {time.perf_counter() - began:.1f} s")
        settings = replace(
            Settings(),
            data_folder=folder / "data",
            cache_folder=folder / "cache",
            runtime_folder=folder / "run",
            index=folder / "index",
            url=None,
        )
        try:
            with BridgeClient(environment=_environment(folder)) as bridge:
                status = bridge.status()
                environments = {goal.imports: bridge.environment(goal.imports)["environment"] for goal in goals}
                premises = [bridge.premises(goal.goal, K, environment=environments[goal.imports]) for goal in goals]
                results = [bridge.search(question.query, K) for question in questions]
        finally:
            asyncio.run(stop_server(settings))
    if as_json:
        print_json(
            {
                "status": status,
                "goals": [{"goal": goal.goal, "answer": answer} for goal, answer in zip(goals, premises, strict=True)],
                "questions": [
                    {"query": question.query, "answer": answer}
                    for question, answer in zip(questions, results, strict=True)
                ],
            }
        )
    else:
        _show(goals, premises, questions, results, picture)
    return 0


def _environment(folder: Path) -> dict[str, str]:
    """The environment of the bridge: ours, with every folder inside the demo's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LEAN_SIDECAR_")}
    return {
        **kept,
        "LEAN_SIDECAR_DATA": str(folder / "data"),
        "LEAN_SIDECAR_CACHE": str(folder / "cache"),
        "LEAN_SIDECAR_RUNTIME": str(folder / "run"),
        "LEAN_SIDECAR_INDEX": str(folder / "index"),
        "LEAN_SIDECAR_IDLE_SECONDS": "120",
    }


def _show(
    goals: list[ExampleGoal],
    premises: list[dict[str, Any]],
    questions: list[ExampleQuestion],
    results: list[dict[str, Any]],
    picture: Path | None,
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(record=picture is not None, width=110 if picture is not None or not sys.stdout.isatty() else None)
    selected = Table(title="premises for a goal (✓ closes it)", title_justify="left", show_lines=True)
    for column in ("goal", "visible", "selected premises", "ms"):
        selected.add_column(column, overflow="fold")
    for number in SHOWN_GOALS:
        goal, answer = goals[number], premises[number]
        names = Text("\n").join(
            Text(f"✓ {name}", style="bold green") if name in goal.premises else Text(f"  {name}")
            for name in (premise["name"] for premise in answer["premises"])
        )
        selected.add_row(Text(goal.goal), str(answer["visible"]), names, f"{answer['timings']['total']:.0f}")
    console.print(selected)

    found = Table(title="answers to a question (✓ expected)", title_justify="left", show_lines=True)
    for column in ("question", "declarations", "ms"):
        found.add_column(column, overflow="fold")
    for number in SHOWN_QUESTIONS:
        question, answer = questions[number], results[number]
        names = Text("\n").join(
            Text(f"✓ {result['signature']}", style="bold green")
            if result["name"] in question.answers
            else Text(f"  {result['signature']}")
            for result in answer["results"][:4]
        )
        found.add_row(Text(question.query), names, f"{answer['timings']['total']:.0f}")
    console.print(found)

    needed = sum(len(goal.premises) for goal in goals)
    hit = sum(
        len({premise["name"] for premise in answer["premises"]} & set(goal.premises))
        for goal, answer in zip(goals, premises, strict=True)
    )
    first = sum(
        any(result["name"] in question.answers for result in answer["results"][:3])
        for question, answer in zip(questions, results, strict=True)
    )
    console.print(
        f"{len(goals)} goals: {hit} of {needed} needed premises are among the first {K}. "
        f"{len(questions)} questions: {first} have a right answer among the first 3."
    )
    if picture is not None:
        try:
            console.save_svg(str(picture), title="lean-sidecar demo")
        except OSError as error:
            detail = f"{picture} cannot be written: {error.strerror}"
            hint = room_or(error, "choose another file")
            raise SidecarError("forbidden", detail, field="picture", hint=hint) from None
