"""`hpo-envs lepor`: score translations with hLEPOR, or tune its weights to your own human scores."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.tables import hlepor
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Table

EPILOG = """\
examples:
  hpo-envs lepor score my.tsv                                  columns hypothesis, reference
  hpo-envs lepor score my.tsv --setting cushlepor-lm-en-de --variant released
  hpo-envs lepor score my.tsv --setting tuned.json             as written by tune
  hpo-envs lepor tune my.tsv --out tuned.json                  columns hypothesis, reference, score
  hpo-envs lepor tune my.tsv --objective kendall --agent cmaes --budget 400
  hpo-envs lepor tune my.tsv --held-out doc3 doc4              needs a column document
  hpo-envs lepor tune wmt-mqm-human-evaluation/ted/zhen --reference B
  hpo-envs lepor presets

files are tab-separated with a header line, UTF-8, no quoting; higher scores are better. tune also takes a folder of
google/wmt-mqm-human-evaluation. Held-out documents are scored but not used for tuning. Without a column `document`
nothing is held out, and the agreement shown is on the training data."""

OBJECTIVES = ("pearson", "kendall", "system_pearson", "rmse")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    what = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    score = what.add_parser("score", help="score the lines of a file; print one score per line and the mean")
    score.add_argument("file", type=Path, help="TSV with columns hypothesis and reference")
    score.add_argument("--setting", default="default", help="a preset, or a JSON file of tune (default: %(default)s)")
    score.add_argument(
        "--variant", default=None, help=f"{', '.join(hlepor.VARIANTS)} (default: the setting's, else paper)"
    )
    tune = what.add_parser("tune", help="find weights that agree with human scores")
    tune.add_argument(
        "data", type=Path, help="TSV with hypothesis, reference, score; or a folder of the WMT MQM release"
    )
    tune.add_argument("--objective", default="pearson", help=f"{', '.join(OBJECTIVES)} (default: %(default)s)")
    tune.add_argument(
        "--agent", default="box-bo", help="an agent for boxes: random, box-bo, tpe, cmaes (default: box-bo)"
    )
    tune.add_argument("--budget", type=int, default=150, help="evaluations (default: %(default)s)")
    tune.add_argument("--seed", type=int, default=0, help="seed of the agent (default: %(default)s)")
    tune.add_argument("--variant", default="released", help=f"{', '.join(hlepor.VARIANTS)} (default: %(default)s)")
    tune.add_argument("--bounds", default="published", help="published or wide (default: %(default)s)")
    tune.add_argument("--held-out", nargs="+", metavar="DOCUMENT", help="documents (default: the last, about 40 %%)")
    tune.add_argument("--score-range", nargs=2, type=float, metavar=("WORST", "BEST"), help="range of scores")
    tune.add_argument("--reference", help="letter of the reference to score against, for a folder")
    tune.add_argument("--out", type=Path, help="JSON file for the parameters found")
    what.add_parser("presets", help="list the published settings")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.action == "presets":
        for name, p in hlepor.PRESETS.items():
            print(f"{name:26} {_text(p)}")
        return 0
    return _score(args) if args.action == "score" else _tune(args)


def _text(p: hlepor.Parameters) -> str:
    return "  ".join(f"{k}={v:g}" for k, v in zip(hlepor.NAMES, p.vector(), strict=True))


def _score(args: argparse.Namespace) -> int:
    from hpo_envs.tables.datasets.cushlepor import text as cushlepor_text

    setting, variant = _setting(args.setting)
    hypotheses, references = cushlepor_text.parse_pairs(args.file.read_bytes(), str(args.file))
    scores = hlepor.score(hypotheses, references, setting, variant=args.variant or variant)
    for value in scores:
        print(f"{value:.6f}")
    print(f"mean {float(np.mean(scores)):.6f}")
    return 0


def _setting(given: str) -> tuple[hlepor.Parameters, str]:
    """A preset by name, or what `tune --out` wrote, and the variant it belongs to."""
    if not given.endswith(".json"):
        return hlepor.preset(given), "paper"
    try:
        content = json.loads(Path(given).read_text(encoding="utf-8"))
    except RecursionError:
        content = None
    found = content.get("parameters") if isinstance(content, dict) else None
    if not isinstance(found, dict) or not all(type(found.get(name)) in (int, float) for name in hlepor.NAMES):
        raise ValueError(f"setting must be a file of `hpo-envs lepor tune --out`, got {given}")
    return hlepor.Parameters(**{k: found[k] for k in hlepor.NAMES}), content.get("variant", "paper")


def load(args: argparse.Namespace) -> Table:
    """The table of a user's file or folder.

    Raises:
        ValueError: Neither, or malformed.
    """
    from hpo_envs.tables.datasets.cushlepor import build as cushlepor

    if args.data.is_dir():
        return cushlepor.from_folder(args.data, reference=args.reference)
    if not args.data.is_file():
        raise ValueError(f"data must be a TSV file or a folder, got {args.data}")
    return cushlepor.from_tsv(args.data, score_range=None if args.score_range is None else tuple(args.score_range))


def _tune(args: argparse.Namespace) -> int:
    from tqdm.auto import tqdm

    from hpo_envs import agents
    from hpo_envs.benchmarks import runs
    from hpo_envs.tables.datasets.cushlepor import agreement
    from hpo_envs.tables.datasets.cushlepor.space import ParameterBox

    entry = agents.entry(args.agent)
    if "box" not in entry.supports:
        boxes = [name for name in agents.names() if "box" in agents.entry(name).supports]
        raise ValueError(f"--agent must be one of {', '.join(boxes)}, got {args.agent!r}")
    table = load(args)
    kwargs: dict[str, Any] = {"table": table, "objective": args.objective, "variant": args.variant}
    kwargs |= {"bounds": args.bounds, "held_out": args.held_out}
    with tqdm(total=args.budget, unit=" evaluations", leave=False) as bar:
        found = runs.run(
            args.agent, "CushLEPOR-ted-ende-v0", [args.seed], budget=args.budget, env_kwargs=kwargs, progress=bar.update
        )[0]
    corpus = agreement.prepare(table, args.variant, args.held_out)
    vector = ParameterBox(args.bounds).natural(np.asarray(found.recommended, dtype=np.float64)[None])[0]
    rounded = [float(f"{v:.6g}") for v in vector]
    tuned = hlepor.Parameters(rounded[0], rounded[1], int(rounded[2]), rounded[3], rounded[4], rounded[5])
    settings = {**hlepor.PRESETS, "tuned": tuned}
    train, *held_out = corpus.evaluate(np.array([p.vector() for p in settings.values()]), kendall=True)
    test = held_out[0] if held_out else {}
    print(f"{table.name}: {len(table)} segments, held out: {', '.join(corpus.held_out) or 'nothing'}")
    print(f"{args.agent}, {len(found)} evaluations, rewarded: {args.objective} ({args.variant} variant)\n")
    heads = ("Pearson", "Kendall", "system r", "RMSE")
    print(f"{'train / held-out' if test else 'train':26} " + " ".join(f"{h:>16}" for h in heads))
    for i, name in enumerate(settings):
        cells = [f"{train[m][i]:.3f}" + (f" / {test[m][i]:.3f}" if test else "") for m in OBJECTIVES]
        print(f"{name:26} " + " ".join(f"{c:>16}" for c in cells))
    print(f"\ntuned: {_text(tuned)}")
    if train["skill"][-1] < 0:
        print("note: on RMSE the best constant beats this setting (skill < 0): use the ranks, not the level, of scores")
    if args.out is not None:
        record = {
            "parameters": dict(zip(hlepor.NAMES, tuned.vector(), strict=True)),
            "variant": args.variant,
            "objective": args.objective,
            "agreement": {k: float(v[-1]) for k, v in train.items() if math.isfinite(v[-1])},
            "held_out": {k: float(v[-1]) for k, v in test.items()},
            "documents_held_out": list(corpus.held_out),
            "agent": args.agent,
            "evaluations": len(found),
            "seed": args.seed,
        }
        record["parameters"]["n"] = int(record["parameters"]["n"])
        atomic.write(args.out, json.dumps(record, indent=1) + "\n")
        print(f"written to {args.out}")
    return 0
