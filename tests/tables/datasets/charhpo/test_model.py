"""The surrogate of the sweeps."""

import numpy as np
import pytest

from hpo_envs.tables.datasets import charhpo as names
from hpo_envs.tables.datasets.charhpo import build as charhpo
from hpo_envs.tables.datasets.charhpo import model
from hpo_envs.tables.table import feature_matrix


def test_values_of_surrogate_are_possible_scores() -> None:
    for name in charhpo.NAMES:
        t = model.table(name)
        a, worth = t.final("accuracy"), model.WORDS[charhpo.NAMES.index(name)]
        assert a.min() >= 0
        assert a.max() <= 100
        assert np.allclose(a / worth, np.rint(a / worth))
        assert t.final("runtime").min() > 0


def test_one_configuration_and_batch_get_same_answer() -> None:
    s, tasks = model.load(), np.arange(200) % 24
    configs = np.array([model.draws(charhpo.NAMES[t])[i] for i, t in enumerate(tasks)])
    whole = s.evaluate(tasks, configs)
    for i in range(0, 200, 7):
        assert (s.evaluate(int(tasks[i]), configs[i : i + 1])[0] == whole[i]).all()
    order = np.random.default_rng(0).permutation(200)
    assert (s.evaluate(tasks[order], configs[order]) == whole[order]).all()
    assert (s.evaluate(tasks, configs, noise=False) != whole).any()


def test_scores_lie_on_curves_of_their_task() -> None:
    s = model.load()
    tasks = np.repeat([2, 3], 9)
    predicted = np.tile(np.linspace(-2.0, 2.0, 9), 2)
    flat, up = (s.score(tasks, predicted, np.full(18, e)) for e in (0.0, 0.5))
    for t in (2, 3):
        here = tasks == t
        assert flat[here] == pytest.approx(np.interp(predicted[here], model.KNOTS, s.level[t]))
        noise = np.interp(predicted[here], model.KNOTS, s.noise[t])
        assert (up - flat)[here] == pytest.approx(0.5 * noise, abs=1e-9)
    assert (s.score(tasks, predicted, np.full(18, 99.0)) == model.SCORES[1]).all()


def test_inactive_hyperparameters_change_nothing() -> None:
    s, configs = model.load(), model.draws("charhpo/g2p-geo-lstm")
    loud = configs.copy()
    loud[loud[:, 5] != 2, 6] = 4e6
    loud[loud[:, 5] != 1, 7] = 0.7
    assert (s.evaluate(3, configs) == s.evaluate(3, loud)).all()


def test_inputs_are_features_of_table() -> None:
    for arch, architecture in enumerate(names.ARCHITECTURES):
        configs = model.draws(f"charhpo/inflection-rom-{architecture}")
        _, features = feature_matrix(charhpo.space(architecture), configs)
        x = model.inputs(arch, np.full(200, 14 + arch), configs)
        numbers = np.delete(features, [5, 6, 7], axis=1)
        assert (x[:, :15] == np.rint(numbers * model.UNIT)).all()
        assert (x[:, 15] == configs[:, 5]).all()
        assert (x[:, 16] == 7).all()


def test_draws_are_these_numbers() -> None:
    """The noise of the surrogate depends on them."""
    first, second = model.normals(np.array([3, 4]), np.arange(34).reshape(2, 17))
    assert first.tolist() == pytest.approx([0.36788478773342115, 0.06713919930340087], rel=1e-14)
    assert second.tolist() == pytest.approx([-1.6649577622254372, -0.31786072335306065], rel=1e-14)
