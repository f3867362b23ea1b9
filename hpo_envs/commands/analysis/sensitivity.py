"""`hpo-envs sensitivity`: how sensitive a model is to its hyperparameters, on any environment."""

from __future__ import annotations

import argparse
import json
from typing import Any

EPILOG = """examples:
  hpo-envs sensitivity --env CharHPO-inflection-hun-lstm-v0
  hpo-envs sensitivity --env CharHPO-g2p-dut-transformer-v0 --hyperparameters batch_size
  hpo-envs sensitivity --env NMTHPO-swen-v0 --metric bleu --rope 0.5 --k 10 25 50
  hpo-envs sensitivity --env CharHPO-v0 --runs 1000 --arguments task=g2p lang=geo architecture=lstm --json

metrics (Wiemerslage, Gorman and von der Wense 2024, section 3; arrows point to less sensitive):
  rel@k       k-th best score in per cent of the best            up
  mean@k      mean of the first k scores, likewise               up
  best        per cent of runs within --rope of the best         up
  equivalent  mean per cent of runs within --rope of a run       up
  rho         rank correlation of similarity and performance     up
  maxima      runs better than both neighbours in similarity     down
  change      mean change of the score between neighbours        down

Where the actions are the rows of a table, every row is a run; elsewhere --runs random actions are taken.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("--env", default="CharHPO-g2p-dut-lstm-v0", help="id of the environment (default: %(default)s)")
    parser.add_argument("--metric", help="metric that is the score (default: the environment's reward)")
    parser.add_argument("--hyperparameters", help="similarity by these alone, separated by commas (default: all)")
    parser.add_argument("--k", type=int, nargs="+", help="of rel@k and mean@k (default: 25 50 100 150, up to all rows)")
    parser.add_argument(
        "--rope",
        type=float,
        help="what makes no difference, in the metric's unit (default: a tenth of what the best is above the median; "
        "the paper: 1 point of accuracy)",
    )
    parser.add_argument("--variant", default="paper", help="paper or published (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=200, help="random actions, where needed (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random actions (default: %(default)s)")
    parser.add_argument("--arguments", nargs="+", default=[], metavar="NAME=VALUE", help="of the environment")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Prints the metrics."""
    from hpo_envs.benchmarks.analysis import sensitivity

    arguments = dict(_argument(text) for text in args.arguments)
    configs, scores, orders, source = runs_of(args.env, arguments, args.metric, args.runs, args.seed)
    chosen = args.hyperparameters.split(",") if args.hyperparameters else None
    configs = _columns(configs, chosen)
    ks = args.k or [k for k in sensitivity.KS if k < len(scores)]
    orders = {name: order for name, order in orders.items() if name in configs.columns}
    rope = sensitivity.rope_of(scores) if args.rope is None else args.rope
    result = sensitivity.analyse(configs, scores, ks=ks, rope=rope, variant=args.variant, orders=orders)
    if args.json:
        print(
            json.dumps(
                {**source, "runs": len(scores), "rope": rope, "variant": args.variant, "metrics": result}, indent=2
            )
        )
        return 0
    print(f"{args.env}: {len(scores)} runs of {source['kind']} table {source['table']}, {source['score']}")
    said = "" if args.rope is not None else ": a tenth of what the best is above the median"
    print(
        f"similarity by {', '.join(configs.columns)}; variant {args.variant}; rope {rope:.3g} {source['unit']}{said}\n"
    )
    for name, value in result.items():
        print(f"{name:12} {'undefined' if value is None else f'{value:10.2f}'}")
    return 0


def _argument(text: str) -> tuple[str, Any]:
    """Name and value of `name=value`; values are JSON, or text where they are not."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--arguments must be NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def runs_of(
    env_id: str, arguments: dict[str, Any], metric: str | None, runs: int, seed: int
) -> tuple[Any, Any, dict[str, Any], Any]:
    """Configurations (a DataFrame) and scores of an environment's runs.

    Every row of the table where actions are rows that the table has hyperparameters of; else random actions.

    Returns:
        Configurations, (n,) scores (higher is better), orders of the categoricals, and what the scores are.

    Raises:
        ValueError: Unknown metric, no hyperparameters, or `runs` < 2.
    """
    import gymnasium as gym
    import numpy as np
    import pandas as pd

    from hpo_envs import registry

    registry.known("--env", env_id)
    env: Any = gym.make(env_id, disable_env_checker=True, **arguments)
    e = env.unwrapped
    t = e.table
    source = {"env": env_id, "table": t.name, "kind": t.provenance.kind, "score": metric or "reward"}
    source["unit"] = t.metrics[t.metric(metric or e.objectives[0])].unit
    orders = {h.name: list(h.values) for h in t.space if h.kind == "categorical"}
    rows = isinstance(e.action_space, (gym.spaces.Discrete, gym.spaces.MultiDiscrete)) and len(t.space) > 0
    if rows:
        m = t.metrics[t.metric(metric or e.objectives[0])]
        scores = m.sign * t.final(m.name)
        known = ~np.isnan(scores)
        source["score"] = m.name if m.sign > 0 else f"-{m.name}"
        configs = pd.DataFrame([t.config(i) for i in np.flatnonzero(known)])
        return configs, scores[known], orders, source
    if runs < 2:
        raise ValueError(f"--runs must be an int >= 2, got {runs}")
    env.action_space.seed(seed)
    records: list[dict[str, Any]] = []
    scores = []
    terminated = True
    for _ in range(runs):
        if terminated:
            # The same seed again: where a task is drawn, all runs are of one task.
            source["table"] = env.reset(seed=seed)[1]["table"]
            t = e.table
        _, reward, terminated, _, info = env.step(env.action_space.sample())
        if not info.get("config"):
            raise ValueError(f"--env must have hyperparameters, {env_id} has none")
        sign = t.metrics[t.metric(metric)].sign if metric else 1.0
        scores.append(sign * info["metrics"][metric] if metric else float(np.atleast_1d(reward)[0]))
        records.append(info["config"])
    return pd.DataFrame(records), np.array(scores), orders, source


def _columns(configs: Any, chosen: list[str] | None) -> Any:
    """The chosen columns, or all that vary."""
    if chosen is None:
        return configs[[c for c in configs.columns if configs[c].nunique() > 1]]
    for name in chosen:
        if name not in configs.columns:
            raise ValueError(f"--hyperparameters must be among {', '.join(configs.columns)}, got {name!r}")
    return configs[chosen]
