"""What the figures draw."""

from __future__ import annotations

import numpy as np

from hpo_envs.benchmarks.papers.charhpo import figures, settings


def test_the_cases_of_figure_1_differ_as_the_paper_says() -> None:
    robust, linear, rough, random = figures.of_cases()
    assert robust["equivalent"] == 100
    assert robust["rho"] is None
    assert linear["rho"] == 1
    assert linear["maxima"] == 0
    assert linear["equivalent"] < 10
    assert linear["change"] < rough["change"] < random["change"]
    assert linear["rho"] > rough["rho"] > random["rho"]
    assert rough["rel@25"] == random["rel@25"]


def test_figure_2_has_the_best_configurations_of_tables_8_and_9(sweeps: tuple[settings.Sweep, ...]) -> None:
    published = settings.expected()
    boxes = figures.boxes(sweeps)
    assert len(boxes) == 12
    for box in boxes:
        table = 8 if box["hyperparameter"] == "batch_size" else 9
        wanted = (table, box["task"], box["architecture"], box["hyperparameter"])
        values = [p.value for k, p in published.items() if (k[0], k[1], k[3], k[4]) == wanted]
        assert (box["low"], box["high"], box["mean"]) == (min(values), max(values), np.mean(values))
    # Section 5.5: "in G2P the average LSTM batch size is higher".
    means = {(b["hyperparameter"], b["task"], b["architecture"]): b["mean"] for b in boxes}
    assert means["batch_size", "g2p", "lstm"] > means["batch_size", "g2p", "transformer"]
