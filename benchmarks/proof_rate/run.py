"""Runs the hammer on theorems of Mathlib. Needs a Lean toolchain.

Usage: `python -m benchmarks.proof_rate.run MODULES --output FOLDER [--setting NAME]... [--fraction N] [--seconds N]
[--known EXTRACTION] [--jobs N] [--ray]`, where MODULES is a file with one module name a line. Every setting and module
gives one file `FOLDER/<setting>/<module>.jsonl`; what is there already is left out, so an interrupted run can be
continued. `--known` is an extraction of the same modules, from which the setting `truth` takes its premises. With
`--ray` the work is spread over the machines of the running Ray cluster; each needs this folder built at the same path.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from benchmarks.proof_rate.settings import Setting, all_settings, setting_named
from benchmarks.proof_rate.trials import read_output
from training.data.extraction import read_extraction

FOLDER = Path(__file__).parent


def known_premises(extraction: Path) -> dict[str, list[str]]:
    """Theorem → the premises of its root: the first state of each theorem that has any."""
    known: dict[str, list[str]] = {}
    for example in read_extraction(extraction):
        known.setdefault(example.theorem, list(example.gold))
    return known


def command(module: str, setting: Setting, fraction: int, known: Path | None) -> list[str]:
    """The command line for one module."""
    arguments = ["lake", "exe", "proof_rate", module, "--tactic", setting.tactic, "--fraction", str(fraction)]
    return arguments + (["--known", str(known)] if known is not None else [])


def run_module(module: str, setting: Setting, output: Path, fraction: int, known: Path | None) -> str | None:
    """Try one setting on one module and write its results; what went wrong, if anything."""
    target = output / setting.name / f"{module}.jsonl"
    if target.exists():
        return None
    finished = subprocess.run(
        command(module, setting, fraction, known), cwd=FOLDER, capture_output=True, text=True, check=False
    )
    if finished.returncode != 0:
        return f"{setting.name} {module}: {finished.stderr.strip()[-500:]}"
    if finished.stderr.strip():
        # The file may not elaborate as a whole beside the plugin; theorems behind an error are missing then.
        print(f"{setting.name} {module}: {finished.stderr.strip()[-500:]}", file=sys.stderr)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    rows = [asdict(trial) for trial in read_output(finished.stdout, module)]
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
    parser.add_argument("--setting", action="append", help="name of a setting; all when not given")
    parser.add_argument("--fraction", type=int, default=1, help="try one in so many theorems")
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
    subprocess.run(["lake", "build", "proof_rate", "LeanHammerExt.Hammer", *modules], cwd=FOLDER, check=True)

    def work(module: str, setting: Setting) -> str | None:
        truth = known if setting.premises == "truth" else None
        return run_module(module, setting, output, arguments.fraction, truth)

    spread = on_a_cluster(work) if arguments.ray else on_this_machine(work, arguments.jobs)
    pairs = [(module, setting) for module in modules for setting in settings]
    failed = 0
    for number, fault in enumerate(spread([pair[0] for pair in pairs], [pair[1] for pair in pairs]), start=1):
        failed += fault is not None
        print(f"{number} of {len(pairs)}" if fault is None else fault, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
