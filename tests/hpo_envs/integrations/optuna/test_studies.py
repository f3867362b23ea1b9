"""Runs as studies of Optuna."""

import numpy as np
import pytest

from hpo_envs.benchmarks import run
from hpo_envs.integrations.optuna.studies import to_studies
from hpo_envs.tables import user
from hpo_envs.tables.table import STATUSES


@pytest.mark.parametrize(
    "env_id, budget", [("NMTHPO-zhen-v0", 6), ("CharHPO-v0", 6), ("NMTHPO-zhen-mo-v0", 6), ("NMTLC-ft-zhen-v0", 200)]
)
def test_study_has_what_run_has(env_id: str, budget: int) -> None:
    optuna = pytest.importorskip("optuna", reason="extra optuna is not installed")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    runs = run("random", env_id, [0, 1], budget=budget)
    studies = to_studies(runs)
    assert [s.study_name for s in studies] == [f"{env_id}-random-{i}" for i in range(2)]
    for one, study in zip(runs, studies, strict=True):
        assert len(study.trials) == len(one)
        np.testing.assert_array_equal([t.values for t in study.trials], one.rewards.reshape(len(one), -1))
        assert [t.user_attrs["cost"] for t in study.trials] == one.costs.tolist()
        assert study.user_attrs["header"]["sha256"] == one.header["sha256"]
        if env_id.startswith("NMTHPO"):
            frame = runs[:1].to_frame() if one is runs[0] else runs[1:].to_frame()
            assert [t.params for t in study.trials] == frame[[*study.trials[0].params]].to_dict("records")
            assert len(user.from_study(study, "again")) == len(one)


def test_failed_run_is_failed_trial() -> None:
    pytest.importorskip("optuna", reason="extra optuna is not installed")
    runs = run("random", "NASBenchNLP-ptb-final-v0", [0], budget=60)
    failed = [STATUSES[int(s)] in ("failed", "diverged") for s in runs[0].evaluated["status"]]
    assert 0 < sum(failed) < len(failed)
    assert [t.state.name == "FAIL" for t in to_studies(runs)[0].trials] == failed


def test_none_is_a_choice_like_others() -> None:
    given = {"function": lambda config: config["lr"], "space": {"lr": (0.0, 1.0), "clip": [None, 1.0]}}
    (study,) = to_studies(run("random", "FunctionHPO-v0", [0], budget=6, env_kwargs=given))
    assert {trial.params["clip"] for trial in study.trials} == {None, 1.0}
