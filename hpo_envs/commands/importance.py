"""`hpo-envs importance`: importance of each hyperparameter, and sensitivity of scores to all of them together."""

import argparse
import contextlib
import json
import math
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from hpo_envs.agents.base import whole
from hpo_envs.tables.checks import extra_module, one_of

EPILOG = """examples:
  hpo-envs importance nmthpo/swen
  hpo-envs importance NMTHPO-swen-v0 --cutoff median --out swen
  hpo-envs importance charhpo/g2p-dut-transformer --metric accuracy --cutoff 80 --pairs 3
  hpo-envs importance runs/ --env NMTHPO-enja-v0
  hpo-envs importance mine/                                 a search by hpo-envs tune --out mine/
  hpo-envs importance CharHPO-g2p-dut-lstm-v0 --sensitivity --rope 1

Functional ANOVA of a random forest (Hutter, Hoos and Leyton-Brown 2014): the share of the variance over the whole space
of each hyperparameter alone, and of each pair beyond that. With --cutoff, predictions are clipped at it: differences
between bad configurations are ignored.

With --sensitivity, of a table: the metrics of Wiemerslage, Gorman and von der Wense (2024, section 3), where runs with
similar configurations are neighbours; up or down: direction of less sensitivity:
  rel@k       k-th best score in per cent of the best            up
  mean@k      mean of the first k scores, likewise               up
  best        per cent of runs within --rope of the best         up
  equivalent  mean per cent of runs within --rope of a run       up
  rho         rank correlation of similarity and performance     up
  maxima      runs better than both neighbours in similarity     down
  change      mean change of the score between neighbours        down
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("source", help="name of a table, id of an environment, or a folder of runs or of a search")
    parser.add_argument("--metric", help="explained metric (default: the reward, or the table's first)")
    parser.add_argument("--cutoff", help="clip scores at this value of the metric, or median (default: none)")
    parser.add_argument("--env", help="environment, for a folder of runs (default: the only one)")
    parser.add_argument("--trees", type=int, default=64, help="trees of the forest (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the forest (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=8, help="interactions to show (default: %(default)s)")
    parser.add_argument("--sensitivity", action="store_true", help="sensitivity of the score to all hyperparameters")
    parser.add_argument("--rope", type=float, help="region of practical equivalence, in the metric's unit, for "
                        "--sensitivity (default: a tenth of best minus median; the paper: 1 point)")  # fmt: skip
    parser.add_argument("--out", type=Path, help="save as .png, .svg and .csv")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


class ImportanceData(NamedTuple):
    """Data of an importance analysis.

    Attributes:
        configs: (n, d) raw values of the configurations.
        scores: (n,) scores, higher is better.
        axes: The d axes, see `forest_importance.Dimension`.
        metric: Name of the metric.
        sign: 1.0 if higher values of the metric are better, else -1.0.
        facts: Facts about the source: its table, environment or search.
    """

    configs: Any
    scores: Any
    axes: Any
    metric: str
    sign: float
    facts: dict[str, Any]


def run(args: argparse.Namespace) -> int:
    """Print the importances, or the sensitivity; with `--out`, save and plot the importances."""
    from hpo_envs.benchmarks.analysis import forest_importance

    if args.sensitivity:
        return _sensitivity(args)
    whole("--trees", args.trees, 1)
    whole("--seed", args.seed, 0)
    if args.out is not None:
        extra_module("matplotlib", "plots", "plots")
    runs = read(args.source, args.metric, args.env)
    cutoff = _cutoff(args.cutoff, runs)
    settings = {"cutoff": cutoff, "trees": args.trees, "seed": args.seed}
    found = forest_importance.importance(runs.configs, runs.scores, runs.axes, **settings)
    order = (-found.main).argsort(kind="stable")
    shares = [{"what": found.names[i], "share": float(found.main[i]), "std": float(found.main_std[i])} for i in order]
    pairs = [{"what": f"{a} x {b}", "share": s} for a, b, s in found.ranked_pairs()[: max(args.pairs, 0)]]
    written = [] if args.out is None else save(args.out, found, runs, [*shares, *pairs])
    facts = {**runs.facts, "metric": runs.metric, "runs": len(runs.scores)}
    facts |= {"cutoff": None if cutoff is None else runs.sign * cutoff, "r2": found.score}
    if args.json:
        print(json.dumps({**facts, "main": shares, "pairs": pairs}, indent=2))
        return 0
    beyond = "" if cutoff is None else f", worse than {runs.sign * cutoff:g} counts as that"
    print(f"{args.source}: {len(runs.scores)} runs, {runs.metric}{beyond}; out-of-bag R2 {found.score:.2f}\n")
    for record in shares:
        print(f"{record['what']:32} {record['share']:6.3f} ± {record['std']:.3f}")
    print("\ninteractions")
    for record in pairs:
        print(f"{record['what']:32} {record['share']:6.3f}")
    if found.warning:
        print(f"\n{found.warning}")
    if "table" in runs.facts and "env" not in runs.facts:
        from hpo_envs.benchmarks.tasks.verdict import properties
        from hpo_envs.tables import store

        if store.exists(name := runs.facts["table"]) and len((table := store.load(name)).levels) == 1:
            if facts_of_table := properties.described(table, runs.metric):
                print("\nproperties", *properties.lines(facts_of_table), sep="\n")
    if written:
        print("\nwritten: " + ", ".join(map(str, written)))
    return 0


def _sensitivity(args: argparse.Namespace) -> int:
    """Print the sensitivity metrics of a table."""
    from hpo_envs.benchmarks.analysis import sensitivity

    table, name = table_of(args.source, args.metric)
    metric = table.metrics[table.metric(name)]
    scores = metric.sign * table.final(name)
    scores = scores[scores == scores]
    rope = sensitivity.rope_of(scores) if args.rope is None else args.rope
    ks = [k for k in sensitivity.KS if k < len(scores)]
    found = sensitivity.analyse(table, ks=ks, rope=rope, metric=name)
    if args.json:
        facts = {"table": table.name, "kind": table.provenance.kind, "metric": name, "runs": len(scores), "rope": rope}
        print(json.dumps({**facts, "metrics": found}, indent=2))
        return 0
    print(f"{args.source}: {len(scores)} runs, {name}; rope {rope:.3g} {metric.unit}\n")
    for key, value in found.items():
        print(f"{key:12} {'undefined' if value is None else f'{value:10.2f}'}")
    return 0


def _cutoff(text: str | None, runs: ImportanceData) -> float | None:
    """Return the cutoff as a score of which higher is better; None without a cutoff."""
    if text is None:
        return None
    if text == "median":
        return float(statistics.median(runs.scores))
    with contextlib.suppress(ValueError):
        if math.isfinite(value := float(text)):
            return runs.sign * value
    raise ValueError(f"--cutoff must be a number or 'median', got {text!r}")


def read(source: str, metric: str | None, env: str | None) -> ImportanceData:
    """Read the evaluations in a table, in the table of an environment, or in a folder of runs or of a search.

    A source that does not exist, or lacks hyperparameters, the metric or the environment, raises a `ValueError`.
    """
    from hpo_envs.benchmarks.analysis import forest_importance
    from hpo_envs.tuning import record

    if (Path(source) / record.NAME).is_file():
        return _of_search(source, metric)
    if Path(source).is_dir():
        return _of_folder(Path(source), metric, env)
    table, name = table_of(source, metric)
    configs, scores, axes = forest_importance.of_table(table, name)
    facts = {"table": table.name, "kind": table.provenance.kind}
    return ImportanceData(configs, scores, axes, name, table.metrics[table.metric(name)].sign, facts)


def table_of(source: str, metric: str | None) -> tuple[Any, str]:
    """Return the table of a name or an environment, and the metric: the given one, else the reward or the first."""
    from hpo_envs.tables import store

    rewarded = None
    if store.exists(source):
        table = store.load(source)
    elif Path(source).exists():
        raise ValueError(f"source must be a table, an id or (without --sensitivity) a folder of results, got {source}")
    else:
        import gymnasium as gym

        from hpo_envs.families import registry

        spec = registry.require_spec("source", source)
        one = len(spec.tables) == 1 and store.exists(spec.tables[0])
        made: Any = gym.make(source, disable_env_checker=True).unwrapped if one else None
        if made is None or made.params.live or made.objectives[0] not in made.table.metric_names:
            raise ValueError(f"source must be a table, or an id whose rewards are in one table, got {source}")
        table, rewarded = made.table, made.objectives[0]
    return table, metric or rewarded or table.metric_names[0]


def _of_folder(folder: Path, metric: str | None, env: str | None) -> ImportanceData:
    """Return distinct configurations (rows of the table, else actions) and their mean rewards on one environment.

    Where actions are pairs of a row and a checkpoint, the checkpoint is one more axis.
    """
    import numpy as np

    from hpo_envs.benchmarks.analysis import forest_importance
    from hpo_envs.benchmarks.comparison.replay import table_of
    from hpo_envs.benchmarks.runs.episodes import kind_of_action
    from hpo_envs.benchmarks.study import store as study

    every = study.read(folder)
    names = list(dict.fromkeys(r.header["env"] for r in every))
    if not names:
        raise ValueError(f"source must be a folder with runs, got none in {folder}")
    env = one_of("--env", names[0] if env is None and len(names) == 1 else env, names)
    runs = [r for r in every if r.header["env"] == env]
    h = runs[0].header
    name = h["objectives"][0]
    if metric not in (None, name):
        raise ValueError(f"--metric must be {name} on stored runs, which have only the reward, got {metric!r}")
    if "move" in runs[0].evaluated:
        raise ValueError(f"--env must have configurations as actions, got {env}, whose candidates take several actions")
    actions = np.concatenate([r.actions.reshape(len(r), -1) for r in runs])
    rewards = np.concatenate([r.rewards.reshape(len(r), -1)[:, 0] for r in runs])
    distinct, where = np.unique(actions, axis=0, return_inverse=True)
    scores = np.bincount(where.ravel(), rewards) / np.bincount(where.ravel())
    table = table_of(h)
    ints, parts = distinct.dtype.kind in "iu", distinct.shape[1]
    if ints and (parts == 1 or (parts == 2 and kind_of_action(h["env"], h["env_kwargs"]) == "fidelity")):
        configs, axes = forest_importance.space_of(table)
        configs = configs[distinct[:, 0]]
        if parts == 2:
            reached = table.levels[distinct[:, 1:]]
            configs = np.hstack([configs, reached])
            axes += forest_importance.axes_of(reached, [table.level_unit], ints)
    else:
        configs = distinct.astype(np.float64)
        axes = forest_importance.axes_of(configs, [x.name for x in table.space], ints)
    sign = table.metrics[table.metric(name)].sign if name in table.metric_names else 1.0
    return ImportanceData(configs, scores, axes, name, sign, {"table": table.name, "kind": h["kind"], "env": h["env"]})


def _of_search(source: str, metric: str | None) -> ImportanceData:
    """Return the successes of a search; ValueError for another metric, none of several, or too few distinct ones."""
    from hpo_envs.tuning import load

    tuned = load(source)
    names = tuned.header["objectives"]
    k = names.index(one_of("--metric", metric if len(names) > 1 or metric else names[0], names))
    configs, scores, axes = tuned.configurations(k)
    if len(scores) < 2 or not axes:
        got = f"{len(scores)} scores of {len(axes)} hyperparameters that vary, in {source}"
        raise ValueError(f"source must be a search with at least two scores of different configurations, got {got}")
    sign = 1.0 if tuned.header["goals"][k] == "max" else -1.0
    return ImportanceData(configs, scores, axes, names[k], sign, {"search": source})


def save(out: Path, found: Any, runs: ImportanceData, shares: list[dict[str, Any]]) -> list[Path]:
    """Save importances as CSV and plot them, with marginals of the most important hyperparameters; return the files."""
    from hpo_envs.benchmarks.plots.configurations import draw_importance
    from hpo_envs.tables.files import atomic

    table = out.with_name(out.name + ".csv")
    atomic.write_csv(table, shares, ["what", "share", "std"])
    return [table, *draw_importance(found, runs.metric, runs.axes, runs.sign, out)]
