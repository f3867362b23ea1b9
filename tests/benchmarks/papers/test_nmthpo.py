"""The numbers of Zhang and Duh 2020, the outcomes of its claims, and the AutoML-2022 protocol."""

import sys
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.common import Published, Reproduction
from hpo_envs.benchmarks.papers.nmthpo import analysis, figures, reproduce, settings
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo import PAIRS


def test_every_number_of_paper_is_there() -> None:
    published = analysis.expected()
    assert (sum(key[0] == 3 for key in published), sum(key[0] == 4 for key in published)) == (99, 90)
    assert {key[2] for key in published if key[0] == 3} == set(settings.SINGLE)
    assert {key[2] for key in published if key[0] == 4} == set(settings.MULTI)


def test_verdict_of_entry() -> None:
    def entry(mean: float, std: float, published: str | None, published_std: str = "") -> analysis.Entry:
        of_paper = published and Published(published, {"std": published_std})
        return analysis.Entry(3, "zhen", "RS", "ftb", mean, std, 100, of_paper or None)

    # Combined standard error sqrt(3^2/100 + 4^2/100) = .5; rounding hides .5.
    assert entry(11.0, 4.0, "10", "3").z == pytest.approx(1.0)
    assert (entry(11.4, 4.0, "10", "3").verdict, entry(11.6, 4.0, "10", "3").verdict) == ("agrees", "differs")
    assert (entry(8.4, 4.0, "10", "3").verdict, entry(10.2, 4.0, "10", "3").z) == ("differs", 0.0)
    assert entry(8.0, 4.0, None).verdict == "not at hand"


def _claims(**changed: float) -> dict[str, str]:
    """Claims on the published numbers after some changes; methods without text are 10 % better than GB_EI_M."""
    values = {key: [p.value] for key, p in analysis.expected().items() if key[0] > 2}
    for pair in PAIRS:
        for method in settings.SINGLE:
            for score in ("ftb", "ftc", "fb"):
                values.setdefault((3, pair, method, score), [0.9 * values[3, pair, "GB_EI_M", score][0]])
    for name, value in changed.items():
        table, pair, method, score = name.split("__")
        values[int(table[1:]), pair, method, score] = [value]
    rows = {"zhen": 118, "ruen": 176, "jaen": 150, "enja": 168, "swen": 767, "soen": 604}
    return {c["claim"]: c["verdict"] for c in analysis.claims(analysis.entries(values), rows)}


def test_claims_hold_on_published_numbers_and_not_on_others() -> None:
    published = _claims()
    assert set(published.values()) == {"holds"}
    broken = _claims(t4__swen__BO_M__fta=700.0)
    assert [t for t in published if broken[t] != published[t]] == [
        "on sw-en BO_M needs less than half of the fta of RS"
    ]
    broken = _claims(t3__enja__GB_EI_M__ftb=70.0)
    assert [t for t in published if broken[t] != published[t]][-1].startswith("on en-ja GB_EI_M reduces")


def test_gaussian_process_search_reproduces_on_ja_en() -> None:
    """BO_EI_R on ja-en: published 20 ± 11 evaluations; 30 trials, three combined standard errors."""
    trials = settings.evaluate((3, "jaen", "BO_EI_R"), list(range(30)))
    entries = analysis.entries({(3, "jaen", "BO_EI_R", s): [t[s] for t in trials] for s in ("ftb", "ftc", "fb")})
    assert all(abs(e.z or 0.0) < 3.0 for e in entries)


def test_scores_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce, "LOOKUPS", 25)
    monkeypatch.setattr(reproduce, "OURS", ("random", "bo-ehvi-matern52"))
    monkeypatch.setattr(reproduce, "LEARNING", ("tst-tpe",))
    monkeypatch.setattr(reproduce, "PUBLIC", ("soen",))
    with Reproduction(tmp_path, trials=2) as r:
        rows = reproduce.automl2022(r)
    assert [row["method"] for row in rows] == ["random", "bo-ehvi-matern52", "tst-tpe"]
    found = [float(row["soen"].split()[0]) for row in rows]
    assert np.isfinite(found).all()
    assert max(found) > 0.0


def test_fixed_target_of_tied_rows() -> None:
    table = store.load("nmthpo/zhen")
    bleu = table.final("bleu")
    row = settings.target_row(table, "zhen")
    assert (bleu == bleu.max()).sum() == 3
    assert bleu[row] == bleu.max() == 14.66
    assert table.configs[row].tolist() == list(settings.ZHEN_TARGET)


@pytest.mark.parametrize("pair", PAIRS)
def test_every_printed_value_is_that_of_table(pair: str) -> None:
    assert [a == b for *_, a, b in reproduce.compare(pair, store.load(f"nmthpo/{pair}"))] == [True] * 4


def test_another_table_differs() -> None:
    found = reproduce.compare("soen", store.load("nmthpo/swen"))
    assert not any(printed == ours for *_, printed, ours in found)


def test_numbers_of_figures_are_found_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(figures, "FIGURE5", figures.FIGURE5[:1])
    r = Reproduction(tmp_path)
    (importance,), correlations = figures.figure5(r), figures.figure4(r)
    assert (importance["panel"], float(importance["bpe"]) > 0.0) == ("en-ja, top 1 %", True)
    assert [row["pair"] for row in correlations] == [*PAIRS.values()]
    assert (correlations[2]["en-ja"], correlations[2]["so-en"]) == ("0.964", "0.084")
    assert not [*tmp_path.iterdir()]


def test_correlations_of_figure_4() -> None:
    tables = {pair: store.load(f"nmthpo/{pair}") for pair in PAIRS}
    pairs = list(PAIRS)
    rho = figures.correlations(tables)
    assert len(figures.common_configurations(tables)["zhen"]) == 28
    assert rho[pairs.index("jaen"), pairs.index("soen")] == pytest.approx(0.084, abs=5e-4)
    assert rho[pairs.index("jaen"), pairs.index("enja")] == pytest.approx(0.964, abs=5e-4)


def test_course_of_surrogate_error() -> None:
    table = store.load("nmthpo/jaen")
    best, errors = figures.course(table, "jaen", "BO_EI_M", [0, 1], 25)
    assert best.shape == errors.shape == (2, 25)
    assert (np.diff(best, axis=1) >= 0).all()
    assert (errors[:, -1] < errors[:, 0]).all()
