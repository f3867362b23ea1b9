"""Scales of regret: by hand, independent of the folder, and without any table when runs are scored."""

import dataclasses
import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.benchmarks import Comparison, problem_of
from hpo_envs.benchmarks.analysis import scales
from hpo_envs.benchmarks.analysis.scales import Scales, of_header
from hpo_envs.benchmarks.report import charts, sentences
from hpo_envs.benchmarks.runs import run
from hpo_envs.benchmarks.runs.episodes import Episodes
from hpo_envs.tables import store
from hpo_envs.tables.table import Metric, Provenance, Table
from tests.helpers import ONE_OF_EACH, started

NAN = float("nan")
SOURCE = Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none")
METRICS = (Metric("score", "", "max", -10.0, 10.0), Metric("loss", "", "min", -10.0, 10.0))
FINALS = np.array([[1.0, 5.0], [4.0, 2.0], [2.0, 1.0], [-1.0, 0.0], [NAN, NAN]])


def table(levels: int = 1, **changes: Any) -> Table:
    """Four measured rows and one that was not measured; with two levels, the first is better by 3 in every row."""
    values = np.repeat(FINALS[:, None, None, :], levels, axis=2)
    if levels > 1:
        values[:, 0, 0, 0] += 3.0
    given: dict[str, Any] = {
        "name": "toy/scores", "keys": tuple("abcde"), "metrics": METRICS, "values": values,
        "cost": np.where(np.isnan(values[..., 0]), NAN, np.cumsum(np.ones((5, 1, levels)), axis=2)),
        "levels": np.arange(1.0, levels + 1), "provenance": SOURCE,
    }  # fmt: skip
    return Table(**{**given, **changes})


def scale_of(t: Table, **kwargs: Any) -> scales.Scale:
    env_id = "TableLC-v0" if len(t.levels) > 1 else "TableHPO-v0"
    env: Any = gym.make(env_id, table=t, disable_env_checker=True, **kwargs).unwrapped
    return Scales(env_id, env.params, kwargs).of(0)


def test_scales_of_tables_by_hand() -> None:
    one = scale_of(table(), objective="score")
    assert (one.best.tolist(), one.reference.tolist(), one.source, one.signs.tolist()) == ([4.0], [1.5], "table", [1.0])
    assert (one.front.tolist(), one.repeats, one.noise) == ([], 1, 0.0)
    low = scale_of(table(), objective="loss")
    assert (low.best.tolist(), low.reference.tolist(), low.signs.tolist()) == ([0.0], [-1.5], [-1.0])
    # Front, higher is better: (4, -2), (2, -1), (-1, 0); its worst corner and a tenth of its width more.
    two = scale_of(table(), objective=("score", "loss"))
    assert (two.best.tolist(), two.reference) == ([4.0, 0.0], pytest.approx([-1.5, -2.2]))
    assert two.front.tolist() == [[-1.0, 0.0], [2.0, -1.0], [4.0, -2.0]]


def test_repeats_are_averaged_and_their_noise_is_recorded() -> None:
    twice = np.concatenate([table().values, table().values], axis=1)[:4]
    twice[0, :, 0, 0] = [9.0, -7.0]
    lucky = table(keys=tuple("abcd"), values=twice, cost=np.ones((4, 2, 1)))
    scale = scale_of(lucky, objective="score")
    assert (scale.best.tolist(), scale.reference.tolist()) == ([4.0], [1.5])
    # One of four rows has deviation 8 sqrt 2; the means' is sqrt(3.25).
    assert (scale.repeats, scale.noise) == (2, pytest.approx(np.sqrt(128 / 4 / 3.25)))


def test_the_scale_is_the_one_that_the_user_gives_and_else_scores_are_raw() -> None:
    env: Any = gym.make("CharHPO-v0", disable_env_checker=True).unwrapped
    params = dataclasses.replace(env.params, known=(np.array([99.0]), np.array([50.0])))
    scale = Scales("CharHPO-v0", params, {}).of(0)
    assert (scale.source, scale.best.tolist(), scale.reference.tolist()) == ("given", [99.0], [50.0])
    unknown = Scales("Mine-v0", env.params, {}).of(0)
    assert (unknown.source, unknown.best.tolist()) == ("none", [])
    two: Any = gym.make("CharHPO-v0", disable_env_checker=True, objective=("accuracy", "runtime")).unwrapped
    bounds, ends = Scales("CharHPO-v0", two.params, {}).of(0), (two.params.high.tolist(), two.params.low.tolist())
    assert (bounds.source, (bounds.best.tolist(), bounds.reference.tolist())) == ("bounds", ends)


def test_headers_keep_scales_to_the_bit() -> None:
    for env_id, share in (("NMTHPO-zhen-mo-v0", 0.5), ("FIESTA-tdsa8-v0", 1.0), ("NASBenchNLP-wikitext2-v0", 1.0)):
        for r in run("random", env_id, [0, 1], env_kwargs={"subsample": share, "budget": 4}):
            scale = of_header(json.loads(json.dumps(r.header)))
            assert (scale.header(), scale.front.shape[1]) == (r.header["scale"], len(r.header["objectives"]))


def test_subsample_has_its_own_scale() -> None:
    for env_id in ("NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0"):
        runs = run("random", env_id, range(4), env_kwargs={"budget": None, "subsample": 0.3})
        for r in runs:
            scale, t = of_header(r.header), store.load(r.header["table"])
            seen = np.unique(r.rewards, axis=0).reshape(-1, len(r.header["objectives"]))
            assert (len(r), scale.best.tolist()) == (round(0.3 * len(t)), seen.max(axis=0).tolist())
            if len(scale.front):
                assert scale.front.tolist() == seen[pareto_front(seen)].tolist()
            else:
                assert scale.reference[0] == np.median(r.rewards)
        assert len({json.dumps(r.header["scale"]) for r in runs}) == 4


@pytest.mark.parametrize(
    "case", [("NMTHPO-v0", {}), ("NMTHPO-zhen-v0", {"subsample": 0.3}), ("NMTHPO-zhen-mo-v0", {"subsample": 0.3}),
             ("NASBenchNLP-ptb-final-v0", {"subsample": 0.1}), ("FIESTA-ner-v0", {})], ids=str
)  # fmt: skip
def test_scales_of_many_episodes_are_those_of_each(case: tuple[str, dict[str, Any]]) -> None:
    envs = started(gym.make_vec(case[0], num_envs=5, **case[1]), seed=3)
    episodes, scales = Episodes.of(envs), Scales(case[0], envs.unwrapped.params, {})
    rows = [None] * 5 if episodes.shares is None else episodes.shares
    alone = [scales.of(table, own).header() for table, own in zip(episodes.tables.tolist(), rows, strict=True)]
    assert scales.headers(episodes.tables, episodes.shares) == alone


def test_arms_have_the_scale_of_the_repeats_that_are_drawn() -> None:
    for kwargs in ({}, {"fix_split": 7}):
        (r,) = run("random", "FIESTA-ner-v0", [0], env_kwargs={"budget": 60, **kwargs})
        assert of_header(r.header).best[0] == r.evaluated["truth"].max()


@pytest.mark.parametrize("env_id", ONE_OF_EACH)
def test_an_id_of_every_kind_has_a_scale(env_id: str) -> None:
    """References are stored by the hash of the table; `python -m hpo_envs.benchmarks.references` recomputes them."""
    env: Any = gym.make(env_id, disable_env_checker=True).unwrapped
    for k in range(len(env.params.tables)):
        scale = Scales(env_id, env.params, {}).of(k)
        assert scale.source == ("reference" if env.params.kind in ("box", "graph") else "table")
        assert (scale.best >= scale.reference).all()
        assert scale.best[0] > scale.reference[0] or env_id.startswith("CharHPO")


def test_scores_depend_on_no_other_run_and_on_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [
        r
        for env_id in ("CharHPO-v0", "CushLEPOR-ted-ende-v0", "NMTHPO-zhen-mo-v0", "NASBenchNLP-cell-v0")
        for agent in ("random", "box-bo" if "Char" in env_id else "random")
        for r in run(agent, env_id, range(5), env_kwargs={"budget": 6})
    ]
    runs = list({(r.header["env"], r.header["agent"], r.seed): r for r in runs}.values())

    def gone(*names: str) -> Table:
        raise store.TableNotInstalled(f"{names} is not there")

    monkeypatch.setattr(store, "load", gone)
    whole = {(c["environment"], c["agent"]): c for c in Comparison.of(runs).summary()["cells"]}
    alone = Comparison.of([r for r in runs if r.header["agent"] == "random"]).summary()["cells"]
    assert alone == [whole[c["environment"], "random"] for c in alone]


def test_an_environment_whose_best_is_its_median_is_in_no_average() -> None:
    ids = ["CharHPO-g2p-geo-lstm-v0", "CharHPO-g2p-geo-transformer-v0", "CharHPO-g2p-hun-lstm-v0"]
    kwargs: dict[str, Any] = {"budget": 4}
    runs = [r for a in ("random", "regularized-evolution") for i in ids for r in run(a, i, range(5), **kwargs)]
    alone, together = sorted(Comparison.of(runs).summary()["tracks"], key=lambda t: len(t["environments"]))
    assert (alone["environments"], together["environments"]) == ([ids[0]], ids[1:])
    assert (alone["flat"], together["flat"]) == (True, False)
    assert sentences.verdict(alone)[0].startswith("Degenerate task")
    assert [together] == Comparison.of([r for r in runs if r.header["env"] != ids[0]]).summary()["tracks"]


def test_flat_runs_of_environment_that_draws_its_task_are_left_out() -> None:
    kwargs = {"sweeps": ("g2p-geo-lstm", "g2p-hun-lstm"), "budget": 3}
    runs = [r for a in ("random", "box-bo") for r in run(a, "CharHPO-v0", range(12), env_kwargs=kwargs)]
    flat = [r for r in runs if r.header["table"].endswith("geo-lstm")]
    (track,) = Comparison.of(runs).summary()["tracks"]
    others = [r for r in runs if not r.header["table"].endswith("geo-lstm")]
    (rest,) = Comparison.of(others).summary()["tracks"]
    env = track["environments"][0]
    assert (track["left_out"], {**track, "left_out": {}}) == ({env: len(flat)}, rest)
    assert sentences.verdict(track)[-1].startswith(f"{len(flat)} runs on {env} are excluded: ")


def test_raw_scores_are_ranked_on_one_environment_each() -> None:
    kwargs = {"budget": 5, "variant": "paper"}
    runs = [r for a in ("random", "box-bo") for r in run(a, "CushLEPOR-ted-ende-v0", range(6), env_kwargs=kwargs)]
    found = Comparison.of(runs).summary()
    (track,) = found["tracks"]
    assert track["raw"]
    assert [*track["curves"]] == ["regret"]
    assert found["environments"][0]["optimum"] == "none"
    assert [(c["ylabel"], c["ylog"]) for c in charts.of_environments(found)] == [("raw score", False)]
    assert problem_of(gym.make("CushLEPOR-ted-ende-v0")).objectives == 1
    for standing in track["ranking"]:
        mean, low, high = standing["mean"]
        assert low < mean < high < 0.0
        by_hand = [-np.maximum.accumulate(r.rewards).mean() for r in runs if r.header["agent"] == standing["agent"]]
        assert mean == pytest.approx(np.mean(by_hand), rel=1e-3)
        assert standing["solved"] is None
