"""The embedded tables of nmthpo beside the measured ones."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo import build as nmthpo
from hpo_envs.tables.datasets.nmthpo import fit as fit_nmthpo
from hpo_envs.tables.fitting import out_of_fold as sur

PAIRS = list(nmthpo.PAIRS)


@pytest.mark.parametrize("pair", PAIRS)
def test_shipped_values_are_physical_and_rounded(pair):
    table = store.load(f"nmthpo/{pair}-grid", "surrogate")
    assert table.provenance.kind == "surrogate"
    assert len(table) == len(nmthpo.grid(pair))
    assert table.metric_names == tuple(fit_nmthpo.RULES)
    for metric, rule in fit_nmthpo.RULES.items():
        v = table.final(metric)
        assert (v >= rule.low).all(), metric
        assert (v <= rule.high).all(), metric
        np.testing.assert_allclose(v / rule.step, np.rint(v / rule.step), rtol=0, atol=1e-6, err_msg=metric)


def test_shipped_files_are_small():
    assert (fit_nmthpo.DATA / "nmthpo.npz").stat().st_size < 100_000
    assert (fit_nmthpo.DATA / "nmthpo_fit.csv").stat().st_size < 10_000


@pytest.mark.measured
@pytest.mark.parametrize("pair", PAIRS)
def test_same_configurations_in_the_same_order(pair):
    for name in (f"nmthpo/{pair}", f"nmthpo/{pair}-grid"):
        measured, embedded = store.load(name, "measured"), store.load(name, "surrogate")
        assert measured.keys == embedded.keys
        assert measured.space == embedded.space
        assert measured.metrics == embedded.metrics
        np.testing.assert_array_equal(measured.features, embedded.features)


@pytest.mark.measured
@pytest.mark.parametrize("pair", PAIRS)
def test_no_measurement_travels_in_disguise(pair):
    """Shipped values coincide with measured ones as often as they do with those of the neighbouring ranks.

    The number of parameters is exempt: it is arithmetic, and nobody has to train a model to know it.
    """
    measured, embedded = store.load(f"nmthpo/{pair}", "measured"), store.load(f"nmthpo/{pair}", "surrogate")
    for metric in ("bleu", "decoding_seconds", "perplexity", "gpu_memory"):
        a, b = measured.final(metric), embedded.final(metric)
        rank = np.argsort(np.argsort(a, kind="stable"), kind="stable")
        by_rank = np.sort(a)
        chance = np.mean([(by_rank[np.clip(rank + s, 0, len(a) - 1)] == b).mean() for s in (-3, -2, -1, 1, 2, 3)])
        deviation = np.sqrt((chance + 1 / len(a)) / len(a))
        assert (a == b).mean() <= chance + 4 * deviation, metric


def test_the_lead_goes_to_the_best_predicted_configuration():
    bleu = np.round(np.linspace(5.0, 14.95, 200), 2)
    best = np.isin(np.arange(200), (3, 150))  # one configuration in two rows
    led = fit_nmthpo.led(bleu, best, 0.7, 0.3)
    top = np.quantile(bleu, fit_nmthpo.TOP)
    assert led[best] == pytest.approx(top + 0.7, abs=0.006)
    others = led[~best]
    assert others.max() == pytest.approx(top + 0.4, abs=0.006)
    assert (np.diff(others) >= 0).all(), "their order stays"
    assert (led[~best & (bleu <= top)] == bleu[~best & (bleu <= top)]).all()
    assert fit_nmthpo.lead(np.append(np.linspace(0, 9, 10), [9.33, 10.01])) == pytest.approx((0.7, 0.7))


def committed_errors() -> dict[tuple[str, str], dict[str, str]]:
    with open(fit_nmthpo.DATA / "nmthpo_fit.csv") as file:
        return {(row["table"], row["metric"]): row for row in csv.DictReader(file)}


@pytest.mark.measured
def test_refitting_gives_what_ships_and_its_committed_error():
    """The smallest pair; `python -m hpo_envs.tables.datasets.nmthpo.fit --check` does this for all."""
    zhen = fit_nmthpo.fit("zhen")
    fit_nmthpo.check({"zhen_values": zhen.grid(), "zhen_measured": zhen.cells})
    for row in fit_nmthpo.report(zhen):
        assert float(committed_errors()["zhen", row["metric"]]["r2"]) == pytest.approx(float(row["r2"]), abs=5e-3)


@pytest.mark.parametrize("change", ["one value much", "many values a little"])
def test_check_rejects_other_values(change):
    with np.load(fit_nmthpo.DATA / "nmthpo.npz") as shipped:
        values = shipped["zhen_values"].copy()
    fit_nmthpo.check({"zhen_values": values})
    if change == "one value much":
        values[3, 0] += 0.5
    else:
        values[: len(values) // 8, 4] += 1.0
    with pytest.raises(ValueError, match="zhen_values must agree with the shipped values"):
        fit_nmthpo.check({"zhen_values": values})


@pytest.mark.measured
def test_committed_errors_are_those_of_the_shipped_values():
    committed = committed_errors()
    assert len(committed) == len(PAIRS) * len(fit_nmthpo.RULES)
    for (pair, metric), row in committed.items():
        y = store.load(f"nmthpo/{pair}", "measured").final(metric)
        y = np.where((metric == "gpu_memory") & (y == 0), np.nan, y)
        e = sur.error(y, store.load(f"nmthpo/{pair}", "surrogate").final(metric))
        assert float(row["r2_noise"]) == pytest.approx(e.r2, abs=6e-4)
        assert float(row["tau_noise"]) == pytest.approx(e.tau, abs=6e-4)


def test_zhen_rows_that_differ_in_bpe_alone_share_what_they_share_upstream():
    table = store.load("nmthpo/zhen", "surrogate")
    groups = np.array(fit_nmthpo.groups("zhen", table.configs))
    twins = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    assert (len(twins), max(len(t) for t in twins)) == (57, 3)
    for metric, rule in fit_nmthpo.RULES.items():
        v = table.final(metric)
        assert all(np.ptp(v[t]) == 0 for t in twins) == (rule.repeated or metric == "parameters"), metric
    fold = sur.folds(list(groups), 20, "nmthpo zhen")
    assert all(len(set(fold[t])) == 1 for t in twins)
