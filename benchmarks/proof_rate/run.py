"""Runs the hammer on theorems of Mathlib. Needs a Lean toolchain.

Usage: `python -m benchmarks.proof_rate.run MODULES --output FOLDER [--at statements|steps] [--setting NAME]...
[--fraction N] [--seconds N] [--known EXTRACTION] [--jobs N] [--ray]`, where MODULES is a file with one module name a
line. The tactic is tried at the statement of each theorem, or at each step of each proof, by Mathlib's hook for this.
Every setting and module gives one file `FOLDER/<statements or steps>/<setting>/<module>.jsonl`; what is there already
is left out, so an interrupted run can be continued. `--known` is an extraction of the same modules, from which the
setting `truth` takes its premises. With `--ray` the work is spread over the machines of the running Ray cluster; each
needs this folder built at the same path.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.proof_rate.settings import MEASURES, Setting, all_settings, setting_named
from benchmarks.proof_rate.trials import read_output, unreadable
from training.data.extraction import read_extraction

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Plan:
    """What is the same for every module and setting.

    Attributes:
        at: One of `MEASURES`.
        output: Folder of the results.
        fraction: One in so many theorems or goals is tried.
        known: File with the premises of each theorem, for the setting `truth`.
    """

    at: str
    output: Path
    fraction: int = 1
    known: Path | None = None

    def known_for(self, setting: Setting) -> Path | None:
        """The file with the premises of each theorem, if the setting uses it."""
        return self.known if setting.premises == "truth" else None


def known_premises(extraction: Path) -> dict[str, list[str]]:
    """Theorem → the premises of its root: the first state of each theorem that has any."""
    known: dict[str, list[str]] = {}
    for example in read_extraction(extraction):
        known.setdefault(example.theorem, list(example.gold))
    return known


def command(module: str, setting: Setting, plan: Plan) -> list[str]:
    """The command line for one module."""
    arguments = ["lake", "exe", "proof_rate", module, "--fraction", str(plan.fraction)]
    if plan.at == "steps":
        return [*arguments, "--steps"]
    known = plan.known_for(setting)
    return [*arguments, "--tactic", setting.tactic, *(["--known", str(known)] if known is not None else [])]


def environment(setting: Setting, plan: Plan) -> dict[str, str]:
    """The environment variables of that command."""
    hook = setting.hook(plan.known_for(setting)) if plan.at == "steps" else {}
    return {**os.environ, **hook}


def run_module(module: str, setting: Setting, plan: Plan) -> str | None:
    """Try one setting on one module and write its results; what went wrong, if anything."""
    target = plan.output / plan.at / setting.name / f"{module}.jsonl"
    if target.exists():
        return None
    finished = subprocess.run(
        command(module, setting, plan),
        cwd=FOLDER,
        env=environment(setting, plan),
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        return f"{setting.name} {module}: {finished.stderr.strip()[-500:]}"
    if finished.stderr.strip():
        # The file may not elaborate as a whole beside the plugin; theorems behind an error are missing then.
        print(f"{setting.name} {module}: {finished.stderr.strip()[-500:]}", file=sys.stderr)
    trials = read_output(finished.stdout, module)
    if trials and all(unreadable(trial) for trial in trials):
        return f"{setting.name} {module}: {trials[0].message[-500:]}"
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    rows = [asdict(trial) for trial in trials]
    temporary.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    temporary.replace(target)
    return None


def on_this_machine(work: Callable[[str, Setting], str | None], jobs: int) -> Callable[..., Iterable[str | None]]:
    """Spread calls over threads, each of which waits for one process."""

    def spread(modules: list[str], settings: list[Setting]) -> Iterable[str | None]:
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(work, modules, settings)

    return spread


def on_a_cluster(work: Callable[[str, Setting], str | None]) -> Callable[..., Iterable[str | None]]:
    """Spread calls over the machines of a running Ray cluster."""
    import ray  # type: ignore[import-not-found,unused-ignore]

    ray.init(address="auto")
    remote = ray.remote(num_cpus=2)(work)

    def spread(modules: list[str], settings: list[Setting]) -> Iterable[str | None]:
        waiting = [remote.remote(module, setting) for module, setting in zip(modules, settings, strict=True)]
        while waiting:
            done, waiting = ray.wait(waiting)
            yield from ray.get(done)

    return spread


def main() -> int:
    """Run everything that has no result yet; 1 when something failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("modules", type=Path, help="file with one module name a line")
    parser.add_argument("--output", type=Path, required=True, help="folder of the results")
    parser.add_argument("--at", choices=MEASURES, default=MEASURES[0], help="where the tactic is tried")
    parser.add_argument("--setting", action="append", help="name of a setting; all when not given")
    parser.add_argument("--fraction", type=int, default=1, help="try one in so many theorems, or goals of steps")
    parser.add_argument("--seconds", type=int, default=30, help="time limit of one call")
    parser.add_argument("--known", type=Path, help="extraction from which the setting truth takes its premises")
    parser.add_argument("--jobs", type=int, default=1, help="processes at the same time on this machine")
    parser.add_argument("--ray", action="store_true", help="spread over the running Ray cluster")
    arguments = parser.parse_args()
    modules = [line.strip() for line in arguments.modules.read_text(encoding="utf-8").splitlines() if line.strip()]
    try:
        chosen = [setting_named(name, arguments.seconds) for name in arguments.setting or ()]
    except KeyError as error:
        names = ", ".join(setting.name for setting in all_settings())
        parser.error(f"there is no setting {error}; the settings are {names}")
    settings = chosen or all_settings(arguments.seconds)
    output: Path = arguments.output.resolve()
    known: Path | None = None
    if any(setting.premises == "truth" for setting in settings):
        if arguments.known is None:
            parser.error("the setting truth needs --known EXTRACTION")
        output.mkdir(parents=True, exist_ok=True)
        known = output / "known.json"
        known.write_text(json.dumps(known_premises(arguments.known), ensure_ascii=False), encoding="utf-8")
    plan = Plan(arguments.at, output, arguments.fraction, known)
    needed = ["proof_rate", "ProofRate.Steps", "LeanHammerExt.Hammer", *modules]
    subprocess.run(["lake", "build", *needed], cwd=FOLDER, check=True)

    def work(module: str, setting: Setting) -> str | None:
        return run_module(module, setting, plan)

    spread = on_a_cluster(work) if arguments.ray else on_this_machine(work, arguments.jobs)
    pairs = [(module, setting) for module in modules for setting in settings]
    failed = 0
    for number, fault in enumerate(spread([pair[0] for pair in pairs], [pair[1] for pair in pairs]), start=1):
        failed += fault is not None
        print(f"{number} of {len(pairs)}" if fault is None else fault, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
