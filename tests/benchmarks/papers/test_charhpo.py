"""The published numbers of the character transduction paper, its settings, figures and command."""

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.charhpo import analysis, reproduce, settings
from hpo_envs.commands import main


@pytest.fixture(scope="module")
def sweeps() -> tuple[settings.Sweep, ...]:
    return settings.sweeps()


def test_quirks_matter(sweeps: tuple[settings.Sweep, ...]) -> None:
    """Each departure from the text is needed to obtain the published similarity."""
    expected = settings.expected()
    key = (12, "inflection", "hun", "transformer", "maxima")
    one = next(s for s in sweeps if (s.lang, s.task, s.architecture) == ("hun", "inflection", "transformer"))
    for variant, verdict in (("published", "agrees"), ("paper", "differs")):
        values = analysis.of_sweep(one, variant)["maxima"]  # type: ignore[arg-type]
        assert analysis.entry(key, expected[key].text, values).verdict == verdict
    assert (one.ranked(True).shape, one.ranked(False).shape) == ((200, 14), (200, 16))


def test_verdicts_reject_next_value() -> None:
    key = (10, "g2p", "dut", "lstm", "rel@25")
    assert analysis.entry(key, "99.34", [99.3449]).verdict == "agrees"
    assert analysis.entry(key, "99.34", [99.3451]).verdict == "differs"
    assert analysis.entry(key, "99.34", [1.0, 99.34]).ours == 99.34
    rate = (8, "g2p", "dut", "lstm", "learning_rate")
    assert analysis.entry(rate, "1.1e-3", [1.104e-3]).verdict == "agrees"
    assert analysis.entry(rate, "1.1e-3", [1.106e-3]).verdict == "differs"
    assert analysis.entry((8, "", "", "", "beta2"), "1.0", [0.9951]).verdict == "agrees"
    assert analysis.entry((8, "", "", "", "beta2"), "1.0", [0.994]).verdict == "differs"
    assert analysis.entry((8, "", "", "", "batch_size"), "576", [577.0]).verdict == "differs"
    assert analysis.entry((8, "", "", "", "scheduler"), "none", ["warmupinvsqrt"]).verdict == "differs"
    assert analysis.entry((8, "", "", "", "scheduler"), "none", ["warmupinvsqrt", "none"]).verdict == "agrees"


def test_published_tables_are_typed_in_full() -> None:
    counts = [sum(key[0] == t for key in settings.expected()) for t in (3, 4, 5, 6, 8, 9, 10, 11, 12)]
    # Table 4 lost the means of its last column in the text that we have: 4 x (5 means + 5 deviations) are left.
    assert counts == [32, 40, 48, 112, 240, 144, 96, 144, 144]


def test_cases_of_figure_1_differ_as_paper_says() -> None:
    robust, linear, rough, random = reproduce.metrics_of_cases()
    assert robust["equivalent"] == 100
    assert robust["rho"] is None
    assert (linear["rho"], linear["maxima"]) == (1, 0)
    assert linear["equivalent"] < 10
    assert linear["change"] < rough["change"] < random["change"]
    assert linear["rho"] > rough["rho"] > random["rho"]
    assert rough["rel@25"] == random["rel@25"]


def test_figure_2_has_best_configurations_of_tables_8_and_9(sweeps: tuple[settings.Sweep, ...]) -> None:
    published = settings.expected()
    boxes = reproduce.boxes(sweeps)
    assert len(boxes) == 12
    for box in boxes:
        table = 8 if box["hyperparameter"] == "batch_size" else 9
        wanted = (table, box["task"], box["architecture"], box["hyperparameter"])
        values = [p.value for k, p in published.items() if (k[0], k[1], k[3], k[4]) == wanted]
        assert (box["low"], box["high"], box["mean"]) == (min(values), max(values), np.mean(values))
    # Section 5.5: "in G2P the average LSTM batch size is higher".
    means = {(b["hyperparameter"], b["task"], b["architecture"]): b["mean"] for b in boxes}
    assert means["batch_size", "g2p", "lstm"] > means["batch_size", "g2p", "transformer"]


def test_command_writes_what_is_committed_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["reproduce", "charhpo", "--only", "tables", "--out", str(tmp_path)]) == 0
    assert "tables: of 1033 published numbers 1026 agrees, 7 differs, 0 not at hand" in capsys.readouterr().out
    committed = Path(settings.__file__).parent / "results"
    for name in ("tables.csv", "compared.csv"):
        assert (tmp_path / name).read_text() == (committed / name).read_text()
    for part in ("figure1", "figure2"):
        assert main.main(["reproduce", "charhpo", "--only", part, "--out", str(tmp_path)]) == 0
        assert (tmp_path / f"{part}.csv").read_text() == (committed / f"{part}.csv").read_text()
        assert (tmp_path / f"{part}.svg").is_file()
