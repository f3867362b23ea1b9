"""Files in the format of HPO-B; the released handler agrees if `HPOB_HANDLER` is the path of its module."""

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks import run
from hpo_envs.integrations.hpob import DESIGNS, FILES, HPOB
from tests.helpers import rejects

SEEDS = [f"test{i}" for i in range(5)]


def written(folder: Path) -> Path:
    """Two search spaces, of which the second is only in the train part."""
    rng = np.random.default_rng(3)

    def task(d: int) -> dict[str, Any]:
        x = np.round(rng.random((30, d)), 3)
        return {"X": x.tolist(), "y": np.round(rng.random((30, 1)), 4).tolist()}

    parts = {
        "train": {"4796": {"3": task(3), "31": task(3)}, "5527": {"3": task(2)}},
        "validation": {"4796": {"37": task(3)}},
        "test": {"4796": {"3549": task(3), "3918": task(3)}},
    }
    for part, data in parts.items():
        (folder / FILES[part]).write_text(json.dumps(data), encoding="utf-8")
    designs = {
        space: {dataset: {s: rng.permutation(30)[:5].tolist() for s in SEEDS} for dataset in sets}
        for space, sets in parts["test"].items()
    }
    (folder / DESIGNS).write_text(json.dumps(designs), encoding="utf-8")
    return folder


def test_tables_are_files(tmp_path: Path) -> None:
    hpob = HPOB(written(tmp_path))
    assert [*hpob.tasks("test")] == [("4796", "3549"), ("4796", "3918")]
    table = hpob.table("4796", "3918")
    data = json.loads((tmp_path / FILES["test"]).read_text())["4796"]["3918"]
    order = table.source_index.tolist()
    assert sorted(order) == list(range(30))
    assert order != list(range(30))
    assert table.values[:, 0, 0, 0].tolist() == [data["y"][i][0] for i in order]
    assert table.features.tolist() == [data["X"][i] for i in order]
    assert (table.metrics[0].name, table.metrics[0].goal, table.metrics[0].high) == ("accuracy", "max", 1.0)
    assert "HPO-B" in table.provenance.citation
    assert "MIT" in table.provenance.licence
    assert any("test part" in note for note in table.provenance.notes)


def test_it_is_environment_and_distribution_of_tasks(tmp_path: Path) -> None:
    split = HPOB(written(tmp_path)).split()
    assert [len(p) for p in (split.train, split.validation, split.test)] == [3, 1, 2]
    rejects("HPO-B-v3 must draw its tasks and have some in 'train', got 3 of its own", split.drawn, "train")
    env_id, kwargs = split.test[0]
    assert env_id == "TableHPO-hpob-4796-3549-v0"
    assert gym.make(env_id, **kwargs).unwrapped.table.name == "user/hpob-4796-3549"  # type: ignore[attr-defined]
    assert len(run("bo", env_id, [0], budget=6, env_kwargs=kwargs)[0]) == 6


def test_v2_has_all_tasks_of_train_parts_search_spaces(tmp_path: Path) -> None:
    hpob = HPOB(written(tmp_path), "v2")
    assert {*hpob.tasks("test")} == {("5527", "3"), *(("4796", d) for d in ("3", "31", "37", "3549", "3918"))}
    assert not [*hpob.tasks("train")]


def test_what_is_not_there(tmp_path: Path) -> None:
    hpob = HPOB(written(tmp_path))
    (tmp_path / FILES["train"]).rename(tmp_path / "aside")
    assert len(HPOB(tmp_path).table("4796", "3918")) == 30  # of the test part
    rejects(FILES["train"], HPOB(tmp_path).table, "4796", "3", error=FileNotFoundError)
    (tmp_path / "aside").rename(tmp_path / FILES["train"])
    rejects("space and data set must be a task of HPO-B v3, got '4796' and '7'", hpob.table, "4796", "7")
    rejects("initial designs must be those of a test task, got '5527' and '3'", hpob.designs, "5527", "3")
    data = json.loads((tmp_path / FILES["test"]).read_text())
    known = json.loads((tmp_path / DESIGNS).read_text())
    known["4796"]["3918"]["test0"][0] = -1
    (tmp_path / DESIGNS).write_text(json.dumps(known))
    rejects("design test0 of 4796/3918 must have rows below 30, got", HPOB(tmp_path).designs, "4796", "3918")
    for y, text in (([[0.5]] * 29, r"and \(29, 1\)"), ([[float("nan")]] * 30, "y finite"), ("x", "must have arrays")):
        data["4796"]["3549"]["y"] = y
        (tmp_path / FILES["test"]).write_text(json.dumps(data))
        rejects(text, HPOB(tmp_path).table, "4796", "3549")
    for broken in ("{", "[]", '{"4796": []}'):
        (tmp_path / FILES["test"]).write_text(broken)
        rejects("meta-test-dataset.json must be JSON of search spaces", HPOB(tmp_path).table, "4796", "3549")
    with pytest.raises(ValueError, match="version must be one of v2, v3, got 'v9'"):
        HPOB(tmp_path, "v9")  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_released_handler_sees_same(version: Any, tmp_path: Path, capsys: Any) -> None:
    """A method that takes the candidate nearest to the best so far, with the handler and with our environment."""
    path = os.environ.get("HPOB_HANDLER")
    if path is None:
        pytest.skip("HPOB_HANDLER is not the path of the released hpob_handler.py")
    pytest.importorskip("xgboost", reason="the released handler imports xgboost")
    spec = importlib.util.spec_from_file_location("hpob_handler", path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    hpob = HPOB(written(tmp_path), version)
    handler = module.HPOBHandler(root_dir=str(tmp_path), mode=version, surrogates_dir=str(tmp_path))
    assert {(s, d) for s in handler.get_search_spaces() for d in handler.get_datasets(s)} == {*hpob.tasks("test")}

    class Nearest:
        def observe_and_suggest(self, X_obs: Any, y_obs: Any, X_pen: Any) -> int:
            return int(((X_pen - X_obs[np.argmax(y_obs)]) ** 2).sum(axis=1).argmin())

    for dataset in ("3549", "3918"):
        for seed in SEEDS:
            theirs = handler.evaluate(Nearest(), "4796", dataset, seed, n_trials=8)
            assert [*map(float, theirs)] == pytest.approx(ours(hpob, dataset, seed, 8), abs=1e-12)


def ours(hpob: HPOB, dataset: str, seed: str, trials: int) -> list[float]:
    """The same method on our environment: best normalised accuracy after the design and after each trial."""
    table = hpob.table("4796", dataset)
    env = gym.make(f"TableHPO-hpob-4796-{dataset}-v0", shuffle=False, budget=30)
    env.reset(seed=0)
    y = {row: float(env.step(row)[1]) for row in hpob.designs("4796", dataset)[seed]}
    low, high = table.final("accuracy").min(), table.final("accuracy").max()
    best = [max(y.values())]
    for _ in range(trials):
        if best[-1] == high:
            break
        at = table.features[max(y, key=lambda r: (y[r], -[*y].index(r)))]
        free = sorted({*range(len(table))} - {*y}, key=lambda r: int(table.source_index[r]))
        row = min(free, key=lambda r: float(((table.features[r] - at) ** 2).sum()))
        y[row] = float(env.step(row)[1])
        best.append(max(y.values()))
    best += [high] * (trials + 1 - len(best))
    return [(b - low) / (high - low) for b in best[: trials + 1]]
