"""The network in context: what it is told, what it is trained on, and that no test language is seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hpo_envs.benchmarks.learned import in_context, tasks  # noqa: E402
from hpo_envs.benchmarks.learned.evolution import Settings  # noqa: E402
from hpo_envs.benchmarks.learned.tasks import Draws  # noqa: E402
from hpo_envs.benchmarks.learned.train import Group, groups  # noqa: E402


class Expected(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Prefers what other tables expect most, and keeps what it was told."""

    def forward(self, inputs: torch.Tensor, rows: torch.Tensor, near: torch.Tensor) -> torch.Tensor:
        self.told = inputs, rows, near
        return 1e6 * inputs[..., 0]


def test_an_episode_tells_what_was_observed_and_pays_the_gain() -> None:
    t = tasks.task("NMTHPO-ruen-v0")
    drawn = tasks.draw([t], 2, frozenset(), np.random.default_rng(0), Draws(20, mixed=0.0, some=0.0))
    network = Expected()
    curve, loss = in_context.episode(network, drawn, 6)  # type: ignore[arg-type]
    inputs, rows, near = (v.numpy() for v in network.told)
    order = np.argsort(-inputs[..., 0], axis=1)[:, :6]
    np.testing.assert_array_equal(rows, order[:, :5])
    regret = np.clip((drawn.best[:, None] - np.take_along_axis(drawn.rewards, order, 1)) / drawn.span[:, None], 0, 1)
    np.testing.assert_allclose(curve, np.minimum.accumulate(regret, axis=1))
    assert float(loss) == pytest.approx(-(1.0 - curve[:, -1]).mean() / 6, abs=1e-6), "the softmax is almost sure"
    assert (inputs[..., 2].sum(axis=1) == 5).all()
    assert (inputs[np.arange(2)[:, None], rows, 4].max(axis=1) == 0).all(), "the incumbent is 0 below itself"
    assert (inputs[np.arange(2)[:, None], rows, 6] > 0.99).all(), "each is near itself"
    assert np.allclose(inputs[..., 5], 1 / 6)
    assert near.shape == (2, inputs.shape[1], 5, 4)


def test_no_group_is_tested_on_a_language_that_it_has_seen() -> None:
    every = [i for f in tasks.FAMILIES for i in tasks.ids(f)]
    assert sorted(i for g in groups() for i in in_context.tests(g)) == sorted(every)
    for g in groups():
        assert not set(in_context.tests(g)) & g.languages.keys()


def test_training_is_repeatable_and_lowers_regret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    t = [tasks.task(f"NMTHPO-{p}-v0") for p in ("zhen", "ruen", "jaen")]
    monkeypatch.setattr(in_context, "divided", lambda *_: (t[:2], t[:2]))
    s = replace(Settings(), episodes=8, validation=10, budgets=(5,))
    one, again = (in_context.fit(Group("few", ("NMTHPO",)), s, 14, 0) for _ in range(2))
    for a, b in zip(one.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    drawn = tasks.draw(t[:2], 20, frozenset(), np.random.default_rng(3), tasks.AS_USED)
    torch.manual_seed(0)
    with torch.no_grad():
        before, after = (in_context.episode(n, drawn, 5)[0] for n in (in_context.InContext(), one))
    assert after.mean() < before.mean()
