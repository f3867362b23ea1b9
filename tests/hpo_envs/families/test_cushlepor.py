"""CushLEPOR environments: the box, agreement metrics compared with textbook ones, options, held-out documents."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from scipy import stats

from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import build as cushlepor
from tests.helpers import rejects, started

ID = "CushLEPOR-ted-ende-v0"


def step(action, **kwargs):
    env = started(gym.make(ID, **kwargs))
    return env.unwrapped.step(action)


def test_corners_of_published_box():
    low, high = (step(np.full(6, v, np.float32))[4]["config"] for v in (-1, 1))
    assert low == {"alpha": 1.0, "beta": 1.0, "n": 1, "weight_elp": 1.0, "weight_pos": 1.0, "weight_pr": 1.0}
    assert high == {"alpha": 10.0, "beta": 10.0, "n": 4, "weight_elp": 15.0, "weight_pos": 15.0, "weight_pr": 15.0}
    assert isinstance(low["n"], np.integer)


def test_wide_box_is_logarithmic():
    middle = step(np.zeros(6, np.float32), bounds="wide")[4]["config"]
    assert (middle["alpha"], middle["n"]) == (pytest.approx(1.0), 4)
    mine = step(np.zeros(6, np.float32), bounds={"alpha": (0, 2), "n": (3, 3)})[4]["config"]
    assert (mine["alpha"], mine["n"], mine["beta"]) == (1.0, 3, 5.5)


@pytest.mark.parametrize("variant", hlepor.VARIANTS)
def test_metrics_are_textbook_ones(variant):
    table = store.load("cushlepor/ted-ende")
    action = np.array([0.3, -0.6, 0.1, -0.9, 0.4, -0.2], np.float32)
    _, reward, *_, info = step(action, variant=variant, objective=("kendall", "rmse", "pearson"))
    vector = [info["config"][name] for name in hlepor.NAMES]
    scores = hlepor.segment_scores(cushlepor.statistics(table, variant), hlepor.Parameters(*vector))
    human, systems = table.values[:, 0, 0, 0], table.configs[:, 0]
    for part, found in ((table.configs[:, 3] == 0, info["metrics"]), (table.configs[:, 3] == 1, info["held_out"])):
        x, y = scores[part], human[part]
        means = np.array([[v[systems[part] == s].mean() for s in range(13)] for v in (x, y)])
        want = {
            "pearson": stats.pearsonr(x, y).statistic,
            "kendall": stats.kendalltau(x, y).statistic,
            "system_pearson": stats.pearsonr(*means).statistic,
            "rmse": np.sqrt(np.mean((x - y) ** 2)),
            "skill": 1 - np.mean((x - y) ** 2) / y.var(),
        }
        assert found == pytest.approx(want, rel=1e-9, abs=1e-12)
    metrics = info["metrics"]
    assert reward.tolist() == [metrics["kendall"], -metrics["rmse"], metrics["pearson"]]


def test_default_reward_is_pearson_and_kendall_is_on_demand():
    _, reward, *_, info = step(np.zeros(6, np.float32))
    assert reward == info["metrics"]["pearson"]
    assert "kendall" not in info["metrics"]
    assert step(np.zeros(6, np.float32), objective="rmse")[1] == -info["metrics"]["rmse"]
    assert step(np.zeros(6, np.float32), objective="system_pearson")[1] == info["metrics"]["system_pearson"]


def test_rewards_see_no_held_out_document():
    """Human scores of held-out documents change only the held-out metrics."""
    table = store.load("cushlepor/ted-ende")
    values = table.values.copy()
    test = table.configs[:, 3] == 1
    values[test, 0, 0, 0] = 1 - values[test, 0, 0, 0]
    changed = replace(table, values=values, provenance=replace(table.provenance, sha256=""))
    one = step(np.zeros(6, np.float32))
    other = started(gym.make(ID, table=changed))
    two = other.step(np.zeros(6, np.float32))
    assert (one[1], one[4]["metrics"]) == (two[1], two[4]["metrics"])
    assert one[4]["held_out"]["pearson"] == pytest.approx(-two[4]["held_out"]["pearson"])


def test_documents_can_be_held_out_by_name():
    a = step(np.zeros(6, np.float32), held_out=("talk.1",))[4]
    b = step(np.zeros(6, np.float32), held_out=("talk.3", "talk.4", "talk.5", "talk.6"))[4]
    assert a["held_out"] == pytest.approx(b["metrics"], rel=1e-9)


def test_users_file_is_task(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("score\thypothesis\treference\n1\ta b c\ta b c\n0\ta c\tb\n0.5\ta\ta b c\n", encoding="utf-8")
    env = gym.make(ID, table=cushlepor.from_tsv(path))
    _, info = env.reset(seed=0)
    assert info["table"] == "cushlepor/mine"
    _, reward, *_, info = env.step(np.zeros(6, np.float32))
    assert "held_out" not in info
    assert 0.9 < reward <= 1
    assert info["metrics"]["system_pearson"] == 0.0  # one system: nothing to correlate
    envs = started(gym.make_vec(ID, num_envs=2, table=cushlepor.from_tsv(path)))
    assert envs.step(np.zeros((2, 6)))[1] == pytest.approx([reward] * 2)


def test_presets_as_actions():
    env = started(gym.make(ID).unwrapped)
    for name in ("default", "cushlepor-psqm-zh-en"):
        config = env.step(env.action_of(name))[4]["config"]
        assert [config[k] for k in hlepor.NAMES] == pytest.approx(hlepor.preset(name).vector(), rel=1e-6)
    rejects("must lie in the box", env.action_of, hlepor.Parameters(alpha=50))


def test_many_settings_in_one_call_are_scored_in_chunks():
    envs = started(gym.make_vec(ID, num_envs=150, budget=None))
    envs.action_space.seed(0)
    actions = envs.action_space.sample()
    _, rewards, *_, info = envs.step(actions)
    for i in (0, 63, 64, 149):
        _, reward, *_, one = step(actions[i])
        assert rewards[i] == pytest.approx(reward, rel=1e-12)
        assert info["held_out"]["rmse"][i] == pytest.approx(one["held_out"]["rmse"], rel=1e-12)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"objective": "pearsn"}, "objective must be one of .*, got 'pearsn', did you mean 'pearson'"),
        ({"objective": ()}, "objective must name at least one of"),
        ({"cost": "seconds"}, "cost must be one of evaluations, got 'seconds'"),
        ({"variant": "release"}, "variant must be one of .*, did you mean 'released'"),
        ({"bounds": "wid"}, "bounds must be one of .*, did you mean 'wide'"),
        ({"bounds": {"alfa": (1, 2)}}, "name in bounds must be one of .*, got 'alfa', did you mean 'alpha'"),
        ({"bounds": {"alpha": (2, 1)}}, r"bounds of alpha must be 0 <= low < high, got \(2, 1\)"),
        ({"bounds": {"n": (0, 9)}}, r"bounds of n must be ints .*, got \(0, 9\)"),
        ({"bounds": {"n": (0.5, 2)}}, r"bounds of n must be ints"),
        ({"pair": "ted-ened"}, "pair must be one of ted-ende"),
        ({"labels": "psqm"}, "table must be one of cushlepor/ted-ende.*, got 'cushlepor/ted-ende-psqm'"),
    ],
)
def test_invalid_arguments_are_rejected(kwargs, message):
    rejects(message, gym.make, ID, **{**kwargs})


def test_news_of_2020_has_labels_of_two_kinds():
    for kwargs, labels in (({}, "psqm"), ({"labels": "mqm"}, "mqm")):
        name = f"cushlepor/newstest2020-zhen-{labels}"
        if store.missing(name):
            with pytest.raises(store.TableNotInstalled, match=f"^table {name} is not installed"):
                gym.make("CushLEPOR-newstest2020-zhen-v0", **kwargs)
        else:
            assert gym.make("CushLEPOR-newstest2020-zhen-v0", **kwargs).unwrapped.table.name == name
