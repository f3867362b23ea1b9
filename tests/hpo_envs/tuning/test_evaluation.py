"""Whatever a function does, an evaluation comes back."""

import signal
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.tuning.evaluation import Job, perform
from tests.hpo_envs.tuning import helpers


def job(function: Any, form: Any = "score", **given: Any) -> Job:
    config = {"x": 0.5, "kind": "bad"} | given.pop("config", {})
    return Job(0, function, form, config, ("score",), **given)


def test_score_comes_back() -> None:
    done = perform(job(helpers.train))
    ((epoch, outcome),) = done.outcomes
    assert (epoch, outcome.status, outcome.price) == (0, "ok", 2.0)
    assert outcome.metrics == {"score": pytest.approx(0.96)}
    assert ":" in done.worker


@pytest.mark.parametrize(
    "x, status, said", [(0.1, "failed", "no x below 0.2"), (0.3, "diverged", "got nan"), (0.5, "failed", "SystemExit")]
)
@pytest.mark.hostile
def test_what_goes_wrong_is_outcome(x: float, status: str, said: str) -> None:
    ((_, outcome),) = perform(job(helpers.troubled, config={"x": x})).outcomes
    assert outcome.status == status
    assert said in outcome.error


@pytest.mark.hostile
def test_evaluation_that_takes_too_long_is_stopped() -> None:
    ((_, outcome),) = perform(job(helpers.endless, config={"x": 0.1}, seconds=0.05)).outcomes
    assert outcome.status == "failed"
    assert outcome.error.startswith("an evaluation must end within 0.05 s, this one did not\nTraceback")
    assert perform(job(helpers.endless, config={"x": 0.7}, seconds=5.0)).outcomes[0][1].status == "ok"


@pytest.mark.hostile
def test_ctrl_c_is_users() -> None:
    def interrupted(config: Any) -> float:
        if config["x"] > 0.9:
            signal.raise_signal(signal.SIGINT)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perform(job(interrupted, config={"x": 1.0}))
    ((_, outcome),) = perform(job(interrupted)).outcomes
    assert (outcome.status, "must not raise KeyboardInterrupt" in outcome.error) == ("failed", True)


def test_paused_generator_goes_on_in_its_worker() -> None:
    first = perform(job(helpers.epochs, "epochs", epoch=2, training=("a", 1)))
    assert [epoch for epoch, _ in first.outcomes] == [1, 2]
    assert [epoch for epoch, _ in perform(job(helpers.epochs, "epochs", epoch=4, training=("a", 1))).outcomes] == [3, 4]
    # Another search, or a worker that never had it, begins anew.
    assert len(perform(job(helpers.epochs, "epochs", epoch=4, training=("b", 1))).outcomes) == 4
    assert len(perform(job(helpers.epochs, "epochs", epoch=20, training=("b", 1))).outcomes) < 16


def test_checkpoints_are_handed_over(tmp_path: Path) -> None:
    given = {"folder": tmp_path / "7", "training": ("c", 7)}
    gone = [perform(job(helpers.resumed, "checkpoints", epoch=e, **given)).outcomes for e in (3, 9)]
    assert [outcomes[0][1].metrics["gone"] for outcomes in gone] == [0.0, 3.0]
