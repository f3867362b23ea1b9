"""Regret by hand and against definitions, and every word of its errors.

`tests/robustness/mutation.py` shows that these tests notice nearly every change of an operator, a number, a name or
a text.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

from hpo_envs import benchmarks
from hpo_envs.agents.models.hypervolume import hypervolume
from hpo_envs.benchmarks.analysis import reference, regret
from hpo_envs.benchmarks.analysis.regret import Scale
from hpo_envs.benchmarks.runs import Run
from hpo_envs.tables import store
from hpo_envs.tables.table import Metric, Provenance, Table
from tests.helpers import raises

NAN, INF = float("nan"), float("inf")
SURROGATE = {"table": "surrogate"}
ONE = Scale(np.array([10.0]), np.array([5.0]), "table")

SOURCE = Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none")
METRICS = (
    Metric("score", "", "max", -10.0, 10.0),
    Metric("loss", "", "min", -10.0, 10.0),
    Metric("size", "", "min", 0.0, 99.0),
)
FINALS = np.array([[1.0, 5.0, 1.0], [4.0, 2.0, 2.0], [2.0, 1.0, 3.0], [-1.0, 0.0, 9.0], [NAN, NAN, NAN]])


def table(levels: int = 1, **changes: Any) -> Table:
    """Four measured rows and one that never was; where there are two levels, the first is 3 better in every row."""
    values = np.repeat(FINALS[:, None, None, :], levels, axis=2)
    if levels > 1:
        values[:, 0, 0, 0] += 3.0
        values[:, 0, 0, 1] -= 3.0
    given: dict[str, Any] = {
        "name": "toy/scores", "keys": tuple("abcde"), "metrics": METRICS, "values": values,
        "cost": np.where(np.isnan(values[..., 0]), NAN, np.cumsum(np.ones((5, 1, levels)), axis=2)),
        "levels": np.arange(1.0, levels + 1), "provenance": SOURCE,
    }  # fmt: skip
    return Table(**{**given, **changes})


def run(rewards: Any, *, costs: Any = None, actions: Any = None, **header: Any) -> Run:
    r = np.asarray(rewards, dtype=float)
    head: dict[str, Any] = {
        "env": "Toy-v0", "env_kwargs": {}, "table": "toy/scores", "kind": "surrogate", "sha256": "x",
        "objectives": ["score"], "budget": 10.0, "cost_unit": "evaluations", **header,
    }  # fmt: skip
    spent = np.ones(len(r)) if costs is None else np.asarray(costs, dtype=float)
    return Run(0, np.zeros(len(r), int) if actions is None else np.asarray(actions), r, spent, 0, head)


def test_scales_of_tables_by_hand() -> None:
    one = regret.of_table(table(), ["score"])
    assert (one.best.tolist(), one.origin.tolist(), one.source, one.volume, one.means) == ([4], [1.5], "table", 0, None)
    assert regret.of_table(table(2), ["score"]).best.tolist() == [7.0], "the best may be at any level"
    low = regret.of_table(table(), ["loss"])
    assert (low.best.tolist(), low.origin.tolist()) == ([0.0], [-1.5])
    assert regret.of_table(table(2), ["loss"]).best.tolist() == [3.0]
    # With repeats, one lucky run at the only level is no target: the mean counts.
    lucky = np.concatenate([table().values, table().values], axis=1)
    lucky[0, :, 0, 0] = [9.0, -9.0]
    cost = np.where(np.isnan(lucky[..., 0]), NAN, 1.0)
    assert regret.of_table(table(values=lucky, cost=cost), ["score"]).best.tolist() == [4.0]
    bandit = regret.of_table(table(), ["loss"], bandit=True)
    assert (bandit.best.tolist(), bandit.origin.tolist(), bandit.source) == ([0.0], [-1.5], "table")
    assert bandit.means is not None
    assert bandit.means.tolist() == [-5.0, -2.0, -1.0, -0.0]


def test_scales_of_two_objectives_by_hand() -> None:
    two = regret.of_table(table(), ["score", "loss"])
    # Front, higher is better: (4, -2), (2, -1), (-1, 0); its worst corner and a tenth of its width more.
    assert two.best.tolist() == [4.0, 0.0]
    assert two.origin == pytest.approx([-1.5, -2.2])
    a, b, c = 5.5 * 0.2, 3.5 * 1.0, 0.5 * 1.0
    assert two.volume == pytest.approx(a + b + c)
    assert (two.source, two.means) == ("table", None)
    # One point is a front of no width: a tenth of its size counts, or of 1.
    alone = regret._several(np.array([[20.0, 0.5]]), "seen")
    assert alone.origin == pytest.approx([18.0, 0.4])
    assert alone.volume == pytest.approx(0.2)
    assert alone.source == "seen"
    negative = regret._several(np.array([[-20.0, 0.5], [-21.0, 0.5]]), "seen")
    assert negative.origin == pytest.approx([-22.0, 0.4])
    with raises("objectives must be one or two for hypervolume, got 3"):
        regret.of_table(table(), ["score", "loss", "size"])


def test_regret_of_one_objective_by_hand() -> None:
    scale = Scale(np.array([4.0]), np.array([2.0]), "table")
    r = run([1.0, 3.0, 2.5, 4.0, 9.0])
    assert regret.after(r, scale).tolist() == [1.0, 0.5, 0.5, 0.0, 0.0]
    assert regret.final(r, scale) == 0.0
    assert regret.final(run([3.5]), scale) == 0.25
    assert type(regret.final(r, scale)) is float
    for flat in (2.0, 1.0):
        assert regret.after(r, Scale(np.array([flat]), np.array([2.0]), "table")).tolist() == [0.0] * 5
    wide = Scale(np.array([2.5]), np.array([2.0]), "table")
    assert regret.after(run([2.25]), wide).tolist() == [0.5]


def test_regret_of_bandits_by_hand() -> None:
    scale = Scale(np.array([4.0]), np.array([2.0]), "table", means=np.array([4.0, 3.0, 2.0]))
    # Means so far: arm 1 alone; arm 2 leads by one lucky pull; after its second pull arm 1 leads again; then arm 0.
    r = run([-1.0, 5.0, -9.0, 0.0, 1.0], actions=[1, 2, 2, 0, 1])
    assert regret.after(r, scale).tolist() == [0.5, 1.0, 0.5, 0.0, 0.0]
    tie = run([1.0, 1.0], actions=[2, 0])
    assert regret.after(tie, scale).tolist() == [1.0, 0.0], "the first of equal arms"
    assert regret.final(dataclasses.replace(r, recommended=2), scale) == 1.0
    assert regret.final(dataclasses.replace(r, recommended=np.array([1, 1])), scale) == 0.5
    late = run([0.5, 3.0, 3.0], actions=[0, 1, 1])
    assert regret.after(late, scale).tolist() == [0.0, 0.5, 0.5]


def area(points: np.ndarray, corner: np.ndarray) -> float:
    """Hypervolume above a corner by slices: as wide as each step of the first reward, as high as the best second."""
    good = points[(points > corner).all(axis=1)]
    xs = np.unique(np.append(good[:, 0], corner[0]))
    return sum((b - a) * (good[good[:, 0] >= b, 1].max() - corner[1]) for a, b in itertools.pairwise(xs))


def test_regret_of_two_objectives_is_lost_area() -> None:
    rng = np.random.default_rng(3)
    points = rng.random((25, 2)) * 2 - 0.5
    points[7], points[11] = points[3], [0.9, -1.0]  # seen before, and outside the corner
    scale = Scale(np.ones(2), np.zeros(2), "table", volume=3.0)
    r = run(points, objectives=["score", "loss"])
    expected = [min(max(1 - area(points[: i + 1], scale.origin) / 3.0, 0.0), 1.0) for i in range(25)]
    assert regret.after(r, scale).tolist() == pytest.approx(expected)
    assert regret.final(r, scale) == pytest.approx(expected[-1])
    small = dataclasses.replace(scale, volume=0.01)
    assert regret.after(r, small)[-1] == 0.0
    edge = run([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], objectives=["score", "loss"])
    assert regret.after(edge, scale) == pytest.approx([1.0, 1.0, 1 - 0.25 / 3])


def test_regret_over_a_budget_by_hand() -> None:
    r = np.array([0.8, 0.5, 0.1])
    assert regret.at_evaluations(r, 5).tolist() == [0.8, 0.5, 0.1, 0.1, 0.1]
    assert regret.at_evaluations(r, 2).tolist() == [0.8, 0.5]
    costs = np.array([2.0, 3.0, 100.0])
    shares = [0.1, 0.2, 0.49, 0.5, 0.99, 1.0]
    assert regret.at_costs(r, costs, 10.0, shares).tolist() == [1.0, 0.8, 0.8, 0.5, 0.5, 0.1]
    assert len(regret.at_costs(r, costs, 10.0)) == 100
    assert regret.at_costs(r, costs, 10.0)[[18, 19, 48, 49, 98, 99]].tolist() == [1.0, 0.8, 0.8, 0.5, 0.5, 0.1]
    # Three tenths added up are a hair more than 0.3, and count as finished there.
    assert regret.at_costs(np.array([0.9, 0.8, 0.7]), np.full(3, 0.1), 1.0, [0.3]).tolist() == [0.7]
    evaluations = run([0, 0, 0], budget=5.0)
    assert regret.anytime(evaluations, r) == pytest.approx((0.8 + 0.5 + 0.1 * 3) / 5)
    assert regret.anytime(run([0], budget=0.4), r[:1]) == pytest.approx(0.8)
    assert regret.anytime(run([0, 0, 0], budget=1.6), r) == pytest.approx(0.65)
    assert type(regret.anytime(evaluations, r)) is float
    timed = run([0, 0, 0], costs=costs, budget="10", cost_unit="s")
    assert regret.anytime(timed, r) == pytest.approx(regret.at_costs(r, costs, 10.0).mean())
    assert type(regret.anytime(timed, r)) is float


def test_runtimes_by_hand() -> None:
    r = run([0, 0, 0], costs=[2.0, 3.0, 4.0])
    seen = np.array([0.5, 0.7, 0.1])
    assert regret.runtimes(r, seen, [0.6, 0.5, 0.4, 0.1, 0.0999]).tolist() == [2.0, 2.0, 9.0, 9.0, INF]
    assert regret.runtimes(r, seen, ["0.1"]).tolist() == [9.0]
    assert regret.runtimes(r, seen, [0.1 - 5e-10]).tolist() == [9.0], "a hair of slack"
    assert regret.runtimes(r, seen).shape == (21,)
    assert regret.TARGETS[0] == pytest.approx(10**-0.1)
    assert regret.TARGETS[-2:] == pytest.approx([0.01, 0.0])
    assert (regret.SHARES[0], regret.SHARES[-1], len(regret.SHARES)) == (0.01, 1.0, 100)


def test_problems_are_told_apart() -> None:
    r = run([0.0])
    assert regret.key(r) == '["Toy-v0", {}, "toy/scores", "surrogate", "x", ["score"]]'
    for change in ("env", "env_kwargs", "table", "kind", "sha256", "objectives"):
        assert regret.key(run([0.0], **{change: "other"})) != regret.key(r)
    assert regret.key(run([0.0], budget=3.0)) == regret.key(r)
    assert regret.key(run([0.0], env_kwargs={"b": 1, "a": {2}})).startswith('["Toy-v0", {"a": "{2}", "b": 1}')


def test_scales_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = table(), table(2, name="toy/curves")
    tables = {t.name: t for t in (one, two)}
    monkeypatch.setattr(store, "exists", tables.__contains__)
    monkeypatch.setattr(store, "load", lambda name, kind: tables[name] if kind == "surrogate" else None)
    known = {"env": "NMTHPO-swen-v0", "sha256": one.provenance.sha256}
    found = regret.scales([run([1.0], **known), run([99.0], **known), run([1.0], **known, budget=3.0)])
    (scale,) = found.values()
    assert (scale.best.tolist(), scale.source) == ([4.0], "table"), "luck of a run does not move the table's best"
    assert list(found) == [regret.key(run([1.0], **known))]
    arms = regret.scales([run([1.0], env="FIESTA-tdsa8-v0", sha256=one.provenance.sha256)])
    (scale,) = arms.values()
    assert scale.means is not None
    curves = {"env": "NMTLC-swen-v0", "table": "toy/curves", "sha256": two.provenance.sha256}
    (scale,) = regret.scales([run([1.0], **curves)]).values()
    assert (scale.best.tolist(), scale.means) == ([7.0], None)
    with raises(
        f"runs must be scored against the table they were made on: toy/scores (surrogate) has sha256 "
        f"{one.provenance.sha256}, the runs say x"
    ):
        regret.scales([run([1.0], env="NMTHPO-swen-v0")])
    # Environments that nobody registered may answer more than their table has.
    more = [run([1.0, 6.0], sha256=one.provenance.sha256), run([5.0], sha256=one.provenance.sha256)]
    (scale,) = regret.scales(more).values()
    assert (scale.best.tolist(), scale.origin.tolist(), scale.source) == ([6.0], [1.5], "seen")
    (scale,) = regret.scales([run([2.0], sha256=one.provenance.sha256)]).values()
    assert (scale.best.tolist(), scale.source) == ([4.0], "seen")
    pair = {"objectives": ["score", "loss"], "sha256": one.provenance.sha256}
    (scale,) = regret.scales([run([[9.0, 9.0]], **pair)]).values()
    assert (scale.best.tolist(), scale.source) == ([4.0, 0.0], "table")
    # No table at all: the best of what was seen, and the middle of the first results.
    gone = [run([1.0, 6.0], table="gone"), run([3.0, 2.0], table="gone"), run([2.5], table="gone")]
    (scale,) = regret.scales(gone).values()
    assert (scale.best.tolist(), scale.origin.tolist(), scale.source) == ([6.0], [2.5], "seen")
    (scale,) = regret.scales([run([[1.0, 2.0], [2.0, 1.0]], table="gone")]).values()
    assert (scale.best.tolist(), scale.source) == ([2.0, 2.0], "seen")
    monkeypatch.setattr(reference, "of_run", lambda r: reference.Reference(np.array([7.0]), np.array([[7.0]])))
    long = {"env": "CushLEPOR-ted-ende-v0"}
    family = regret.registry.find(long["env"])
    assert family is not None, "the id is registered"
    (scale,) = regret.scales([run([1.0, 2.0], **long), run([3.0, 5.0], **long)]).values()
    assert (scale.best.tolist(), scale.origin.tolist(), scale.source) == ([7.0], [2.0], "searched")
    (scale,) = regret.scales([run([1.0, 8.0], **long)]).values()
    assert scale.best.tolist() == [8.0]
    assert math.isfinite(scale.volume)


def test_memory_does_not_grow_with_the_budget() -> None:
    assert regret.anytime(run([1.0, 2.0], budget=1e12), np.array([1.0, 0.5])) == pytest.approx(0.5)
    assert regret.anytime(run([1.0, 2.0], budget=4.0), np.array([1.0, 0.5])) == 0.625
    assert regret.anytime(run([1.0, 2.0, 3.0], budget=2.0), np.array([1.0, 0.5, 0.0])) == 0.75


def test_regret_is_kept_between_origin_and_best() -> None:
    r = run([4.0, 7.5, 6.0, 11.0], budget=4.0)
    after = regret.after(r, ONE)
    # Worse than the origin counts as the origin, better than the best known as the best.
    assert after.tolist() == [1.0, 0.5, 0.5, 0.0]
    assert regret.anytime(r, after) == 0.5
    assert regret.final(r, ONE) == 0.0
    assert regret.runtimes(r, after, [1.0, 0.5, 0.1, 0.0]).tolist() == [1.0, 2.0, 4.0, 4.0]
    short = run([7.5], budget=4.0)
    assert regret.runtimes(short, regret.after(short, ONE), [0.5, 0.1]).tolist() == [1.0, np.inf]
    assert regret.anytime(short, regret.after(short, ONE)) == 0.5


def test_regret_by_cost_counts_what_is_finished() -> None:
    r = run([7.5, 10.0], costs=[30.0, 90.0], cost_unit="s", budget=100.0)
    after = regret.after(r, ONE)
    shares = [0.1, 0.29, 0.3, 0.99, 1.0]
    # The second training costs more than is left and counts at the end.
    assert regret.at_costs(after, r.costs, 100.0, shares).tolist() == [1.0, 1.0, 0.5, 0.5, 0.0]
    # Read at 1 to 100 per cent: 29 times 1, 70 times 0.5, once 0.
    assert regret.anytime(r, after) == pytest.approx((29 + 35) / 100)
    assert regret.runtimes(r, after, [0.5, 0.0]).tolist() == [30.0, 120.0]


def test_the_first_of_equal_arms_is_a_bandits_favourite() -> None:
    scale = regret.Scale(np.array([3.0]), np.array([2.0]), "table", means=np.array([1.0, 2.0, 3.0]))
    r = run([9.0, 5.0, 1.0, 6.0], actions=[1, 2, 1, 2])
    # Arm 1 leads with 9, then has mean 5, as arm 2 (the first of equals leads); then arm 2 has 5.5.
    assert regret.after(r, scale).tolist() == [1.0, 1.0, 1.0, 0.0]
    assert regret.final(r, scale) == 1.0


def test_regret_of_two_objectives_is_hypervolume() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(60, 2))
    scale = regret._several(points, "table")
    r = run(points)
    after = regret.after(r, scale)
    brute = [1 - hypervolume(-points[: k + 1], -scale.origin) / scale.volume for k in range(60)]
    assert after == pytest.approx(np.clip(brute, 0, 1), abs=1e-12)
    assert after[-1] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="objectives must be one or two"):
        regret._several(rng.uniform(size=(5, 3)), "table")


def test_the_scale_of_a_table_is_its_optimum(runs: list[Run]) -> None:
    r = runs[0]
    scale = regret.scales([r])[regret.key(r)]
    assert scale.best == pytest.approx(reference.of_run(r).best)
    table = store.load(r.header["table"], "surrogate")
    assert scale.origin == pytest.approx(np.median(table.final("bleu")))
    # A row that is best at a level before its last counts with that level.
    curves = next(r for r in runs if r.header["env"].startswith("NMTLC"))
    t = store.load(curves.header["table"], "surrogate")
    best = -np.nanmin(t.values[..., t.metric("log_perplexity")])
    assert regret.scales([curves])[regret.key(curves)].best == pytest.approx(best)
    stale = dataclasses.replace(r, header={**r.header, "sha256": "0" * 64})
    with pytest.raises(ValueError, match="runs must be scored against the table they were made on"):
        regret.scales([stale])


def test_what_nobody_knows_is_measured_against_what_was_seen() -> None:
    seen = benchmarks.run("random", "CharHPO-v0", [0], budget=8)
    scale = regret.scales(seen)[regret.key(seen[0])]
    table = store.load(seen[0].header["table"], "surrogate").final(seen[0].header["objectives"][0])
    assert scale.source == "seen"
    assert scale.best[0] == max(seen[0].rewards.max(), table.max())
    assert scale.origin[0] == np.median(table)
    own = [dataclasses.replace(r, header={**r.header, "table": "mine/own"}) for r in seen]
    assert regret.scales(own)[regret.key(own[0])].best[0] == seen[0].rewards.max()
    searched = benchmarks.run("random", "CushLEPOR-ted-ende-v0", [0], budget=5, env_kwargs=SURROGATE)
    scale = regret.scales(searched)[regret.key(searched[0])]
    assert scale.source == "searched"
    assert scale.best[0] > searched[0].rewards.max()
