"""The benchmark of transfer: all methods begin with the same known configurations, and are scored alike."""

from dataclasses import replace

import pytest

from hpo_envs.benchmarks.live import study, transfer
from tests.helpers import rejects

TARGETS = {target.name: target for _, target in transfer.PAIRS}


def test_known_configurations_are_the_best_of_each_source_within_the_ranges() -> None:
    frames, found = transfer.earlier("hartmann6-shifted", 3), transfer.known(TARGETS["hartmann6-shifted"], 3)
    assert [len(frame) for frame in frames] == [30, 30]
    best = [f.sort_values("score", ascending=False).drop(columns="score").iloc[k] for f in frames for k in (0, 1)]
    assert found == [row.to_dict() for row in best]
    rejects("optimisers must be one of .*, got 'pints', did you mean 'points'", transfer.play, None, "pints", 6, 3)
    narrow = replace(TARGETS["hartmann6-shifted"], space={f"x{j}": (0.45, 0.55) for j in range(6)})
    assert all(0.45 <= value <= 0.55 for config in transfer.known(narrow, 3) for value in config.values())


@pytest.mark.parametrize("optimiser", transfer.ARMS)
def test_methods_begin_with_known_configurations_but_for_the_cold_one(optimiser: str) -> None:
    if optimiser == "optuna-tpe":
        pytest.importorskip("optuna")
    target, seen = TARGETS["hartmann6-shifted"], []

    def recorded(config: transfer.Config) -> float:
        seen.append(dict(config))
        return target.function(config)

    (row,) = transfer.play(replace(target, function=recorded), optimiser, 6, 3)
    assert row == study.ShortRow(target.name, optimiser, 6, 3, max(map(target.function, seen)))
    begun = [
        all(config[k] == pytest.approx(v) for k, v in known.items())
        for config, known in zip(seen, transfer.known(target, 3), strict=False)
    ]
    assert (len(seen), begun) == (6, [optimiser != "cold"] * 4) or optimiser == "sources"
    if optimiser == "sources":  # in rounds: the best of each search first
        order = [transfer.known(target, 3)[k] for k in (0, 2, 1, 3)]
        assert [pytest.approx(config) for config in order] == seen[:4]
