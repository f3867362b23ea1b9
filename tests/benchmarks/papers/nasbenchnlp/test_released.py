"""The released environment, step by step."""

from __future__ import annotations

import dataclasses
import json

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.row_order import natural
from tests.benchmarks.papers.nasbenchnlp.released import ReleasedEnvironment, first_runs
from tests.helpers import needs_upstream


@needs_upstream
def test_golden_released_variant_on_the_measured_logs() -> None:
    """The variant charges and answers what the released environment does, on 400 random trainings of real logs."""
    from hpo_envs.tables.datasets.nasbenchnlp.logs import read_archive
    from hpo_envs.tables.datasets.nasbenchnlp.names import LOGS

    records = first_runs(read_archive(store.read(LOGS), LOGS))
    assert len(records) == 291
    t = natural(store.load("nasbenchnlp/wikitext2"))
    first = {"values": t.values[:, :1], "cost": t.cost[:, :1], "status": t.status[:, :1]}
    t = dataclasses.replace(t, **first, provenance=dataclasses.replace(t.provenance, sha256=""))
    released = ReleasedEnvironment(records)
    env = gym.make("NASBenchNLP-wikitext2-v0", table=t, budget=None, variant="released").unwrapped
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    cut = [r for r, record in enumerate(records) if record["status"] != "OK"]
    # The fourth run that diverged, after 23 epochs, is the second one of its recipe.
    assert sorted(len(records[r]["val"]) for r in cut) == [1, 1, 19]
    for k in range(400):
        row = int(rng.choice(cut)) if k % 10 == 0 else int(rng.integers(291))
        epoch = int(rng.integers(50))
        _, reward, _, _, info = env.step([row, epoch])
        recipe = json.loads(records[row]["recipe"])
        released.train(recipe, epoch)
        reached = released.states[row]["epoch"]
        assert info["reached"] == reached
        assert env.total_cost == pytest.approx(released.total_time(), rel=1e-9, abs=1e-6)
        state = released.query(recipe, min(epoch, reached))
        assert (info["status"] == "ok") == (state["status"] == "OK")
        if not np.isnan(state["val_loss"]):
            assert reward == -state["val_loss"]
            assert info["held_out"]["test_loss"] == state["test_loss"]
        if released.best is not None:
            assert env.best == released.best
            assert env.best_held_out["test_loss"] == released.best_test_loss()
    ten, fifty = next(r for r in range(291) if r not in released.states and len(records[r]["val"]) == 50), 50
    released.reset()
    recipe = json.loads(records[ten]["recipe"])
    released.train(recipe, 10)
    assert released.total_time() == pytest.approx(sum(records[ten]["wall"][:10])), "11 epochs seen, 10 paid"
    released.train(recipe, fifty)
    assert released.total_time() == pytest.approx(sum(records[ten]["wall"][:49])), "50 epochs seen, 49 paid"
