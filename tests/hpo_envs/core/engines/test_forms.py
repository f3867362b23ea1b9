"""The batched form of each engine equals its scalar form, which is compared with a model."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from hpo_envs.core.engines.bandit.batched import BanditVectorEnv
from hpo_envs.core.engines.bandit.params import BanditParams
from hpo_envs.core.engines.bandit.scalar import BanditEnv
from hpo_envs.core.engines.curves.batched import CurvesVectorEnv
from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.core.engines.lookup.batched import LookupVectorEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.tables import user
from hpo_envs.testing import batches
from hpo_envs.tuning import tune
from tests.helpers import WIDE
from tests.hpo_envs.core.engines.bandit import model as bandit
from tests.hpo_envs.core.engines.curves import model as curves
from tests.hpo_envs.core.engines.lookup import model as lookup

ENGINES: dict[str, tuple[Any, Any, Any]] = {
    "bandit": (BanditParams.of, BanditEnv, BanditVectorEnv),
    "curves": (CurveParams.of, CurvesEnv, CurvesVectorEnv),
    "lookup": (LookupParams.of, LookupEnv, LookupVectorEnv),
}
"""Params, scalar and batched form."""

VIEWS = ({"shuffle": True}, {"subsample": 0.5}, {"shuffle": True, "subsample": 0.5})
"""Shuffled and subsampled rows."""


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Engines and arguments: all settings that are compared with a model, and tables in every view."""
    yield from (("bandit", bandit.arguments(setting)) for setting in bandit.SETTINGS)
    yield from (("curves", curves.arguments(setting)) for setting in curves.SETTINGS)
    yield from (("lookup", {"names": (), **lookup.arguments(setting)}) for setting in lookup.SETTINGS)
    for view in VIEWS:
        yield from (("bandit", {"task": "tdsa8", "budget": 30, **view, **w}) for w in ({}, {"batch_size": 3}, WORKERS))
        runs = {"name": "nmtlc/ft-zhen", "objective": "log_perplexity", "levels": 4, "budget": 12.0}
        yield from (("curves", {**runs, **view, **w}) for w in ({}, WORKERS))
        yield "lookup", {"names": ("nmthpo/zhen",), "budget": 12, **view}
        yield "lookup", {"names": ("nasbenchnlp/ptb-final",), "objective": "test_loss", "budget": 12, **view}


WORKERS = {"workers": 3}
CASES = {f"{engine}-{i}": (engine, arguments) for i, (engine, arguments) in enumerate(cases())}
KINDS = {(engine, *(n for n in ("workers", "shuffle") if n in a)): name for name, (engine, a) in CASES.items()}
"""The last case of each engine, with and without workers, and shuffled."""
RULES = [
    pytest.param(*case, rule, id=f"{name}-{rule}")
    for name, case in CASES.items()
    for rule in batches.BATCH_RULES
    if WIDE or rule == "batch-next-step" or name in KINDS.values()
]
"""Resets, copies and actions are checked by a class that all engines share."""


@pytest.mark.parametrize(("engine", "arguments", "rule"), RULES)
def test_batched_form_keeps(engine: str, arguments: dict[str, Any], rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_long = arguments.get("budget") in (None, "auto") or arguments["budget"] > 40
    monkeypatch.setattr(batches, "STEPS", 200 if is_long else 64)  # through the ends of episodes
    of, scalar, batched = ENGINES[engine]
    params = of(**arguments)
    batches.BATCH_RULES[rule](batches.Subject(lambda: scalar(params), lambda n, **how: batched(n, params, **how), {}))


@pytest.mark.parametrize(("engine", "arguments"), CASES.values(), ids=CASES)
def test_batches_have_types_of_gymnasium_and_rows_of_scalar_form(engine: str, arguments: dict[str, Any]) -> None:
    of, scalar, batched = ENGINES[engine]
    params = of(**arguments)
    one, envs = scalar(params), batched(2, params)
    envs.action_space.seed(0)
    one.reset(seed=0)
    observation, info = envs.reset(seed=0)
    assert (observation.dtype, info["table"].dtype, info["sha256"].dtype) == (np.float32, object, object)
    if "shuffle" in arguments or "subsample" in arguments:
        assert envs.rows[0].tolist() == one.rows.tolist()
    observation, reward, terminated, truncated, info = envs.step(envs.action_space.sample())
    assert (observation.dtype, reward.dtype) == (np.float32, np.float64)
    assert (terminated.dtype, truncated.dtype, info.get("finished", truncated).dtype) == (bool, bool, bool)


@pytest.mark.parametrize("budget, steps", [(0.5, 5), (0.8, 8), (1.0, 10), (1.1, 11)])
def test_rounding_of_costs_adds_no_evaluation(budget: float, steps: int) -> None:
    frame = pd.DataFrame({"x": np.linspace(0.0, 1.0, 40), "score": np.arange(40.0), "seconds": 0.1})
    table = user.from_frame(frame, "score", "max", cost="seconds")
    given: dict[str, Any] = {"table": table, "cost": "seconds", "budget": budget}
    env, envs = gym.make("TableHPO-v0", **given), gym.make_vec("TableHPO-v0", 2, **given)
    env.reset(seed=0), envs.reset(seed=0)
    ends = [(env.step(i)[2], envs.step(np.array([i, i]))[2].any()) for i in range(steps)]
    assert ends == [(False, False)] * (steps - 1) + [(True, True)]
    searched = tune(lambda c: {"score": c["x"], "cost": 0.1}, {"x": (0.0, 1.0)}, budget=budget, budget_unit="cost",
        agent="random", progress=False)  # fmt: skip
    assert len(searched) == steps
