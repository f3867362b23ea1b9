"""Read your scores and select the best model, with its probability, and the next model to evaluate."""

from __future__ import annotations

import argparse
import csv
import json
import math
from pathlib import Path
from typing import Any

from hpo_envs.tables.checks import nearest

EPILOG = """\
scores.csv has one column per model with its name as header, one evaluation per line (empty: not evaluated),

  bert,lstm,svm
  0.812,0.790,0.744
  0.805,0.797,0.751
  0.809,0.801,
  ,0.795,0.748

or the columns `model` and `score`, one evaluation per line. Each evaluation should be on a random train-test split with
a random seed (Moss et al. 2019); each model needs three.

The confidence is the posterior probability that the model has the highest mean, for independent Gaussian scores. If
all models were evaluated on the same splits, it is too low.

examples:
  hpo-envs select scores.csv
  hpo-envs select scores.csv --confidence 0.99 --batch 4
  hpo-envs select accuracies.csv --transform logit --bounds 0 100
  hpo-envs select losses.csv --lower-is-better --json"""


PROPOSERS = ("ttts", "t3c", "ttei", "bts", "lucb", "track-and-stop", "nonadaptive")
"""Agents that can say what to evaluate next, given scores."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", type=Path, metavar="FILE", help="CSV file with scores, see below")
    parser.add_argument(
        "--confidence", type=float, default=0.95, help="confidence at which to stop (default: %(default)s)"
    )
    parser.add_argument("--batch", type=int, default=1, help="evaluations to propose (default: %(default)s)")
    parser.add_argument("--lower-is-better", action="store_true", help="for losses and error rates")
    parser.add_argument("--transform", default="none", help="none, or logit of the score between its bounds")
    parser.add_argument("--bounds", type=float, nargs=2, default=(0.0, 1.0), metavar=("LOW", "HIGH"),
                        help="bounds of the metric, for logit (default: 0 1)")  # fmt: skip
    parser.add_argument("--agent", default="ttts", help="agent that proposes evaluations (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the proposal (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    result = advise(
        read_scores(args.file),
        confidence=args.confidence,
        batch=args.batch,
        lower_is_better=args.lower_is_better,
        transform=args.transform,
        bounds=tuple(args.bounds),
        agent=args.agent,
        seed=args.seed,
    )
    print(json.dumps(result, indent=1) if args.json else format_advice(result))
    return 0


def read_scores(path: Path) -> dict[str, list[float]]:
    """Scores by model, in the order of the file.

    Raises:
        ValueError: Not such a file; the message names line, column and value.
        FileNotFoundError: No such file.
    """
    with open(path, newline="", encoding="utf-8-sig") as stream:
        try:
            lines = [(number, [c.strip() for c in row]) for number, row in enumerate(csv.reader(stream), start=1)]
        except csv.Error as error:
            raise ValueError(f"{path} must be comma-separated text, got {error}") from None
    lines = [(number, row) for number, row in lines if any(row)]
    if not lines:
        raise ValueError(f"{path} must have a header and scores, got an empty file")
    (_, header), body = lines[0], lines[1:]
    long = {"model", "score"} <= {h.lower() for h in header}
    if not long and (len(set(header)) != len(header) or "" in header):
        raise ValueError(f"{path}, line 1: names of models must be there and unique, got {header}")
    scores: dict[str, list[float]] = {} if long else {name: [] for name in header}
    columns = [h.lower() for h in header]
    for number, row in body:
        if len(row) > len(header):
            raise ValueError(f"{path}, line {number}: must have {len(header)} cells, got {len(row)}")
        cells = row + [""] * (len(header) - len(row))
        if long:
            name, text = cells[columns.index("model")], cells[columns.index("score")]
            if not name:
                raise ValueError(f"{path}, line {number}: a model must have a name")
            scores.setdefault(name, []).append(_number(text, path, number, "score"))
            continue
        for name, text in zip(header, cells, strict=True):
            if text:
                scores[name].append(_number(text, path, number, name))
    return scores


def advise(
    scores: dict[str, list[float]],
    *,
    confidence: float = 0.95,
    batch: int = 1,
    lower_is_better: bool = False,
    transform: str = "none",
    bounds: tuple[float, float] = (0.0, 1.0),
    agent: str = "ttts",
    seed: int = 0,
) -> dict[str, Any]:
    """Select the best model, its confidence, and the model to evaluate next.

    Args:
        scores: At least two models, at least three finite scores each.
        confidence: Selection is decided once the best model's probability exceeds this.
        batch: Evaluations to propose.
        lower_is_better: For losses.
        transform: `none` or `logit`.
        bounds: Lowest and highest score of the metric, for `logit`.
        agent: A registered fixed-confidence agent that makes the proposal.
        seed: Its seed.

    Returns:
        `models` (name -> evaluations, mean, deviation, probability), `best`, `confidence` (reached), `wanted`,
        `decided`, `tied` (models as probable as the best), `next` (names to evaluate; empty once decided).

    Raises:
        ValueError: One model, a model with fewer than three scores, a score that is not finite or outside the
            bounds of the logit, or a wrong argument.
    """
    import gymnasium as gym
    import numpy as np

    from hpo_envs import agents
    from hpo_envs.agents.bandits.best_arm import MINIMUM, best_probability, moments

    names = list(scores)
    if len(names) < 2:
        raise ValueError(f"scores must have at least two models, got {len(names)}")
    few = {name: len(values) for name, values in scores.items() if len(values) < MINIMUM}
    if few:
        listed = ", ".join(f"{name} has {count}" for name, count in few.items())
        raise ValueError(f"each model must have at least {MINIMUM} evaluations, got too few: {listed}")
    if isinstance(batch, bool) or batch != int(batch) or batch < 1:
        raise ValueError(f"batch must be an int >= 1, got {batch!r}")
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"bounds must be two finite numbers, the lower first, got {bounds!r}")
    if agent not in PROPOSERS:
        raise ValueError(f"agent must be one of {', '.join(PROPOSERS)}, got {agent!r}{nearest(agent, PROPOSERS)}")
    sign = -1.0 if lower_is_better else 1.0
    problem = agents.Problem(
        gym.spaces.Discrete(len(names)), reward_bounds=np.sort(sign * np.array([[low, high]]), axis=1)
    )
    who: Any = agents.make(agent, problem, seed, confidence=confidence, transform=transform, rule="exact")
    for i, name in enumerate(names):
        for score in scores[name]:
            if not math.isfinite(score):
                raise ValueError(f"scores of {name} must be finite, got {score!r}")
            if transform == "logit" and not low < score < high:
                raise ValueError(
                    f"scores of {name} must lie strictly between the bounds {low:g} and {high:g} for the logit, "
                    f"got {score!r}"
                )
            who.tell(i, sign * score, {})
    pi = best_probability(who.belief.posterior())
    counts, means, squares = moments([scores[name] for name in names])
    top = int(pi.argmax())
    decided = bool(pi[top] > confidence)
    return {
        "models": {
            name: {
                "evaluations": int(counts[i]),
                "mean": float(means[i]),
                "deviation": float(np.sqrt(squares[i] / (counts[i] - 1.0))),
                "probability": float(pi[i]),
            }
            for i, name in enumerate(names)
        },
        "best": names[top],
        "confidence": float(pi[top]),
        "wanted": confidence,
        "decided": decided,
        "tied": [names[i] for i in range(len(names)) if i != top and pi[top] - pi[i] < 1e-9],
        "next": [] if decided else [names[int(who.ask())] for _ in range(batch)],
    }


def format_advice(result: dict[str, Any]) -> str:
    """The result for people."""
    models = result["models"]
    width = max(5, *(len(name) for name in models))
    lines = [f"{'model':{width}} {'evaluations':>11} {'mean':>10} {'deviation':>10} {'P(best)':>8}"]
    for name, m in sorted(models.items(), key=lambda item: -item[1]["probability"]):
        lines.append(
            f"{name:{width}} {m['evaluations']:11d} {m['mean']:10.5g} {m['deviation']:10.3g} {m['probability']:8.4f}"
        )
    best, reached, wanted = result["best"], result["confidence"], result["wanted"]
    lines.append("")
    if result["decided"]:
        lines.append(f"{best} is the best model with confidence {reached:.4f} (wanted: {wanted:g}).")
    elif result["tied"]:
        lines.append(f"undecided: {best} and {', '.join(result['tied'])} tie at {reached:.4f} (wanted: {wanted:g}).")
    else:
        lines.append(f"undecided: {best} leads with confidence {reached:.4f} (wanted: {wanted:g}).")
    if result["next"]:
        lines.append(f"evaluate next: {', '.join(result['next'])}")
    return "\n".join(lines)


def _number(text: str, path: Path, line: int, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{path}, line {line}, column {column}: a score must be a finite number, got {text!r}")
    return value
