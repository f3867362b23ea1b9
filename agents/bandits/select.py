"""Select the best model by your scores, with the probability that it is the best, and propose evaluations.

    python -m hpo_envs.agents.bandits.select scores.csv --confidence 0.99 --batch 4
    python -m hpo_envs.agents.bandits.select accuracies.csv --transform logit --bounds 0 100
    python -m hpo_envs.agents.bandits.select losses.csv --lower-is-better --json

scores.csv has one column per model with its name as header, one evaluation per line (empty: not evaluated), or the
columns `model` and `score`. Each evaluation should be on a random train-test split with a random seed (Moss et al.
2019); each model needs three. The probability is that of the highest mean, for independent Gaussian scores. If all
models were evaluated on the same splits, it is usually too low.
"""

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym

from hpo_envs.agents.bandits.best_arm import MINIMUM, best_probability
from hpo_envs.agents.bandits.top_two import TTTS
from hpo_envs.agents.base import whole
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of, regular


def read_scores(path: Path | str) -> dict[str, list[float]]:
    """Return the scores of each model, by name in the order of the file.

    Raises:
        ValueError: The file is no CSV file, two columns have one name, the first numbers the lines, or a score is not
            a number; the message then names the model.
        OSError: The file cannot be read.
    """
    import pandas as pd

    # Without a header, longer lines are errors; only empty cells are none.
    how: Any = {"dtype": str, "skipinitialspace": True, "header": None, "keep_default_na": False, "na_values": [""]}
    lines = pd.read_csv(regular(Path(path)), **how)
    frame = lines[1:].set_axis([str(name).strip() for name in lines.iloc[0]], axis=1)
    known = {name.lower(): name for name in frame}
    if len(known) < frame.shape[1]:
        raise ValueError(f"columns of {path} must have different names, got {', '.join(frame)}")
    if {"model", "score"} <= known.keys():
        groups = frame.groupby(known["model"], sort=False)[known["score"]]
        columns = {str(name): column for name, column in groups}
    else:
        columns = {name: frame[name] for name in frame}
        first = next(iter(columns.values())).tolist()
        if len(first) > 1 and first in ([*map(str, range(len(first)))], [*map(str, range(1, len(first) + 1))]):
            raise ValueError(f"columns of {path} must be scores of models, got {frame.columns[0]}, which numbers lines")
    scores = {}
    for name, column in columns.items():
        try:
            scores[name] = [float(text) for text in column.dropna()]
        except ValueError as error:
            raise ValueError(f"scores of {name} in {path} must be numbers, got {error}") from None
    return scores


def advise(
    scores: Mapping[str, Sequence[float]], *, confidence: float = 0.95, batch: int = 1, lower_is_better: bool = False,
    transform: str = "none", bounds: tuple[float, float] = (0.0, 1.0), seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Return the best model, its probability, and the models that `ttts` proposes to evaluate next.

    Args:
        scores: At least two models, at least three finite scores each.
        confidence: The selection is decided if the best model's probability exceeds this.
        batch: Number of evaluations to propose.
        lower_is_better: Whether scores are losses.
        transform: `none`, or `logit` to model the log odds of scores between `bounds`.
        bounds: Lowest and highest score of the metric, for `logit`.
        seed: Seed of the proposal.

    Returns:
        `models` (by name: evaluations, mean and deviation of the scores, probability), `best` (name), `confidence`
        (its probability), `wanted` (the argument `confidence`), `decided`, `tied` (names of other models that are as
        probable as the best, to 1e-9), `next` (`batch` names, which may repeat; empty once decided).

    Raises:
        ValueError: There are fewer than two models, a model has fewer than three scores, a score is NaN, beyond 1e150
            in size or not strictly between the bounds of the logit, or an argument is invalid.
    """
    names, (low, high) = list(scores), bounds
    if len(names) < 2:
        raise ValueError(f"scores must have at least two models, got {len(names)}")
    if few := [f"{name} has {len(values)}" for name, values in scores.items() if len(values) < MINIMUM]:
        raise ValueError(f"each model must have at least {MINIMUM} evaluations, got too few: {', '.join(few)}")
    batch, sign = whole("batch", batch, 1), -1.0 if lower_is_better else 1.0
    one_of("transform", transform, ("none", "logit"))
    of_rewards = (-high, -low) if lower_is_better else (low, high)
    problem = Problem(gym.spaces.Discrete(len(names)))
    agent = TTTS(problem, seed, confidence=confidence, bounds=of_rewards if transform == "logit" else None)
    for i, name in enumerate(names):
        for score in scores[name]:
            agent.tell(i, sign * score, {})
    pi = best_probability(agent.belief.posterior())
    top = int(pi.argmax())
    decided = bool(pi[top] > confidence)
    return {
        "models": {
            name: {
                "evaluations": len(values), "mean": statistics.fmean(values), "deviation": statistics.stdev(values),
                "probability": p,
            }
            for (name, values), p in zip(scores.items(), pi.tolist(), strict=True)
        },
        "best": names[top],
        "confidence": float(pi[top]),
        "wanted": confidence,
        "decided": decided,
        "tied": [names[i] for i in range(len(names)) if i != top and pi[top] - pi[i] < 1e-9],
        "next": [] if decided else [names[int(agent.ask())] for _ in range(batch)],
    }  # fmt: skip


def format_advice(result: Mapping[str, Any]) -> str:
    """Return the result of `advise` as text: a table of the models, the decision and the proposal."""
    models, best = result["models"], result["best"]
    width = max(5, *map(len, models))
    lines = [f"{'model':{width}} {'evaluations':>11} {'mean':>10} {'deviation':>10} {'P(best)':>8}"]
    for name, m in sorted(models.items(), key=lambda item: -item[1]["probability"]):
        numbers = f"{m['evaluations']:11d} {m['mean']:10.5g} {m['deviation']:10.3g} {m['probability']:8.4f}"
        lines.append(f"{name:{width}} {numbers}")
    said = "is the best model with confidence" if result["decided"] else "leads with confidence"
    if result["tied"] and not result["decided"]:
        said = f"and {', '.join(result['tied'])} tie at"
    lines += ["", f"{'' if result['decided'] else 'undecided: '}{best} {said} {result['confidence']:.4f} "
              f"(wanted: {result['wanted']:g})."]  # fmt: skip
    return "\n".join([*lines, *([f"evaluate next: {', '.join(result['next'])}"] if result["next"] else [])])


def main(words: Sequence[str] | None = None) -> None:
    """Print the advice on a file of scores; exit with status 2 after an invalid argument or file."""
    parser = argparse.ArgumentParser(
        prog="python -m hpo_envs.agents.bandits.select",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, help="CSV file with scores")
    parser.add_argument("--confidence", type=float, default=0.95, help="where to stop (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=1, help="evaluations to propose (default: %(default)s)")
    parser.add_argument("--lower-is-better", action="store_true", help="for losses and error rates")
    parser.add_argument("--transform", default="none", help="none, or logit of the score between its bounds")
    parser.add_argument("--bounds", type=float, nargs=2, default=(0.0, 1.0), help="of the metric (default: 0 1)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the proposal (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    options = vars(parser.parse_args(words))
    file, as_json = options.pop("file"), options.pop("json")
    try:
        result = advise(read_scores(file), **options)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print(json.dumps(result, indent=1) if as_json else format_advice(result))


if __name__ == "__main__":
    main()
