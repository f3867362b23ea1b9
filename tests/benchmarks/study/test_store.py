"""The store of runs: bit-identical after reading, complete or absent, without duplicates, never mixed."""

import base64
import copy
import dataclasses
import json
import multiprocessing
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.runs import Run, run
from hpo_envs.benchmarks.runs.episodes import seeds_of
from hpo_envs.benchmarks.study import flat, parquet, store
from hpo_envs.benchmarks.study.block import Block
from hpo_envs.tables import store as tables
from tests.helpers import rejects

HEADER = {
    "env": "NMTHPO-zhen-v0", "env_kwargs": {}, "budget": 20.0, "agent": "random", "hyperparameters": {},
    "versions": {"numpy": "2.0.0"}, "table": "nmthpo/zhen", "kind": "surrogate", "sha256": "a" * 64,
}  # fmt: skip


def make(seed: int, k: int = 5, **header: Any) -> Run:
    """A run of k evaluations whose numbers depend on its seed."""
    values = np.arange(k) + seed / 7
    header = {**HEADER, "seed": seed, **header}
    header["reset_seed"] = seeds_of(header["env"], seed)[0]
    return Run(seed, np.arange(k) + seed, values, np.ones(k), np.int64(seed), header)


def equal(a: Run, b: Run) -> bool:
    pairs = [(getattr(a, n), getattr(b, n)) for n in ("actions", "rewards", "costs", "recommended")]
    return (a.seed, a.header) == (b.seed, b.header) and all(
        np.asarray(x).dtype == np.asarray(y).dtype and np.array_equal(x, y, equal_nan=True) for x, y in pairs
    )


KINDS = {
    "rows": ("NMTHPO-zhen-v0", {}),
    "two objectives": ("NMTHPO-zhen-mo-v0", {}),
    "values of a grid": ("NMTHPO-v0", {}),
    "rows and levels": ("NMTLC-zhen-v0", {"cost": "evaluations"}),
    "arms": ("FIESTA-tdsa8-v0", {}),
    "box": ("CushLEPOR-ted-ende-v0", {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_runs_of_every_kind_of_action_come_back(tmp_path: Path, kind: str) -> None:
    env, kwargs = KINDS[kind]
    runs = run("random", env, [2, 1], budget=3, env_kwargs={**kwargs})
    assert store.write(runs, tmp_path) == 2
    again = store.read(tmp_path)
    assert [r.seed for r in again] == [1, 2]
    assert all(equal(a, b) for a, b in zip(sorted(runs, key=store.key_of), again, strict=True))
    assert store.digest(runs) == store.digest(again)
    assert store.read(tmp_path, agent="tpe") == store.read(tmp_path, env="NMTHPO-swen-v0") == []


def arrays(shape: tuple[int, ...], *dtypes: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(dtypes).flatmap(
        lambda d: hnp.arrays(
            d, shape, elements=st.integers(-5, 2**31 - 1) if np.dtype(d).kind == "i" else hnp.from_dtype(np.dtype(d))
        )
    )


@st.composite
def any_run(draw: st.DrawFn, seed: int) -> Run:
    k = draw(st.integers(0, 4))
    entry = draw(st.sampled_from([(), (1,), (3,), (2, 2), (0,)]))
    rewards = draw(arrays((k, *draw(st.sampled_from([(), (1,), (2,)]))), np.float64))
    return dataclasses.replace(
        make(seed),
        actions=draw(arrays((k, *entry), np.int64, np.int32, np.float32, np.float64)),
        rewards=rewards,
        costs=draw(arrays((k,), np.float64)),
        recommended=draw(arrays(entry, np.int64, np.float32))[()],
    )


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_any_arrays_come_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("runs")
    runs = [data.draw(any_run(seed)) for seed in range(3)]
    store.write(runs, folder)
    assert all(equal(a, b) for a, b in zip(runs, store.read(folder), strict=True))


def test_what_no_column_can_hold_is_rejected(tmp_path: Path) -> None:
    for bad in (np.array([None] * 5), np.array(["a"] * 5)):
        with pytest.raises(ValueError, match="action must hold numbers of at most 64 bits"):
            store.write([dataclasses.replace(make(0), actions=bad)], tmp_path)
    with pytest.raises(ValueError, match=r"must hold integers between -2\*\*53 and 2\*\*53, got 9007199254740993"):
        store.write([dataclasses.replace(make(0), actions=np.array([0, 2**53 + 1, 0, 1, 2]))], tmp_path)
    with pytest.raises(ValueError, match="arrays of evaluations must be among action, .*, got luck"):
        store.write([dataclasses.replace(make(0), evaluated={"luck": np.zeros(5)})], tmp_path)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_writing_again_adds_only_what_is_new(tmp_path: Path) -> None:
    assert store.write([make(1), make(3)], tmp_path) == 2
    first = {p.name: p.read_bytes() for p in (tmp_path / "NMTHPO-zhen-v0").iterdir()}
    assert store.write([make(s) for s in range(5)], tmp_path) == 3
    assert store.write([make(s) for s in range(5)], tmp_path) == 0
    assert store.write([make(1, agent="other")], tmp_path) == 1
    assert [store.key_of(r)[1:] for r in store.read(tmp_path)] == [("other", 1), *(("random", s) for s in range(5))]
    now = {p.name: p.read_bytes() for p in (tmp_path / "NMTHPO-zhen-v0").iterdir()}
    assert first.items() <= now.items()
    assert [n.rpartition("-")[0] for n in sorted(now)] == ["other-1-1", "random-0-4", "random-1-3"]
    rejects("distinct seeds, got 7 of random twice", store.write, [make(7), make(7)], tmp_path)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"sha256": "b" * 64}, "sha256 of table nmthpo/zhen 'aaa"),
        ({"kind": "measured"}, "kind 'surrogate', random would add 'measured'"),
        ({"budget": 30.0}, "budget 20.0, random would add 30.0"),
        ({"versions": {"numpy": "2.1.0"}}, "versions numpy '2.0.0', random would add '2.1.0'"),
        ({"env_kwargs": {"objective": "ter"}}, "env_kwargs objective None, random would add 'ter'"),
        ({"hyperparameters": {"x": 1}}, "hyperparameters x None, random would add 1"),
        ({"budget": 30.0, "agent": "other"}, "budget 20.0, other would add 30.0"),
    ],
)
def test_runs_with_different_headers_are_not_mixed(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    store.write([make(0)], tmp_path)
    before = store.read(tmp_path)
    rejects(message, store.write, [make(1, **change)], tmp_path)
    rejects(message, store.write, [make(1), make(2, **change)], tmp_path / "fresh" if "agent" in change else tmp_path)
    assert all(equal(a, b) for a, b in zip(before, store.read(tmp_path), strict=True))


def test_another_agent_or_id_is_no_mixture(tmp_path: Path) -> None:
    store.write([make(0)], tmp_path)
    store.write([make(0, agent="bo", hyperparameters={"x": 1})], tmp_path)
    store.write([make(0, env="NMTHPO-swen-v0", table="nmthpo/swen", sha256="c" * 64, budget=3.0)], tmp_path)
    assert len(store.read(tmp_path)) == 3


def test_regret_is_null_without_a_scale() -> None:
    about = {"objectives": ["bleu"], "cost_unit": "evaluations", "versions": {}, "env_kwargs": {}}
    block = Block.of([make(0, **about, scale={"source": "none", "best": [], "reference": []})])
    summary = flat.runs([block])
    assert flat.evaluations(block)["regret"].null_count == len(block.run(0)) > 0
    assert [summary[name].to_pylist() for name in ("mean_regret", "final_regret")] == [[None], [None]]


@pytest.mark.hostile
def test_names_that_are_no_file_names(tmp_path: Path) -> None:
    agents = ["../up", "a/b", "a", "a-1", "f.<locals>.Agent", "a-1-2"]
    for agent in agents:
        store.write([make(1, agent=agent), make(2, agent=agent)], tmp_path / "runs")
        assert [r.header["agent"] for r in store.read(tmp_path / "runs", agent=agent)] == [agent] * 2
    assert ([p.name for p in tmp_path.iterdir()], len(store.read(tmp_path / "runs"))) == (["runs"], 2 * len(agents))


def test_pandas_duckdb_and_polars_read_it_without_us(tmp_path: Path) -> None:
    pandas, duckdb, polars = map(pytest.importorskip, ("pandas", "duckdb", "polars"))
    one = run("random", "NMTHPO-zhen-v0", range(3))
    two = run("random", "NMTHPO-zhen-mo-v0", range(2))
    curves = run("random", "NMTLC-zhen-v0", [0], budget=4, env_kwargs={"cost": "evaluations"})
    box = run("random", "CushLEPOR-ted-ende-v0", [0], budget=3)
    store.write([*one, *two, *curves, *box], tmp_path)
    frame = pandas.read_parquet(tmp_path / "NMTHPO-zhen-v0")
    assert frame.groupby("seed").reward.max().to_dict() == {r.seed: r.rewards.max() for r in one}
    assert frame[frame.seed == 1].regret.tolist() == regret.after(one[1]).tolist()
    assert (frame.ask_seconds > 0).all()
    fidelity = pandas.read_parquet(tmp_path / "NMTLC-zhen-v0").fidelity
    assert fidelity.tolist() == tables.load("nmtlc/zhen").levels[curves[0].evaluated["level"]].tolist()
    every = f"{tmp_path}/*/*.parquet"
    question = "SELECT seed, max(rewards[2]) FROM '{}' WHERE environment = 'NMTHPO-zhen-mo-v0' GROUP BY 1 ORDER BY 1"
    rows = duckdb.execute(question.format(every)).fetchall()
    assert rows == [(r.seed, r.rewards[:, 1].max()) for r in two]
    assert len(polars.read_parquet(every)) == sum(map(len, (*one, *two, *curves, *box)))
    (meta,) = duckdb.execute(f"SELECT value FROM parquet_kv_metadata('{tmp_path}/*-mo-v0/*.parquet')").fetchone()
    assert (json.loads(meta)["header"]["budget"], json.loads(meta)["schema"]) == (50.0, 1)


@pytest.mark.hostile
def test_files_of_others_are_rejected_or_ignored(tmp_path: Path) -> None:
    store.write([make(0)], tmp_path)
    folder = tmp_path / "NMTHPO-zhen-v0"
    (folder / "notes.txt").write_text("mine")
    assert len(store.read(tmp_path)) == 1
    (part,) = folder.glob("*.parquet")
    (folder / "random-1-1.parquet").write_bytes(part.read_bytes())
    rejects("random-1-1.parquet must have a name with a sha256", store.read, tmp_path)
    (folder / "random-1-1.parquet").unlink()
    (folder / part.name.replace("random-0", "random-1")).write_bytes(part.read_bytes()[:-9])
    rejects("must have the sha256 in its name", store.read, tmp_path)
    mine = part.rename(tmp_path / "mine")
    part.symlink_to(mine)
    rejects(f"got a symbolic link to {mine}", store.read, tmp_path)
    rejects("runs must be in a folder", store.read, tmp_path / "nowhere", error=FileNotFoundError)


def write_in_steps(folder: Path, ready: Any, order: list[int]) -> None:
    """A process that stores seeds one by one."""
    ready.wait()
    for seed in order:
        store.write([make(seed, k=200), make(seed + 1, k=200)], folder)


@pytest.mark.hostile
def test_small_parts_that_unpack_to_large_ones_are_rejected(tmp_path: Path) -> None:
    table = flat.evaluations(Block.of([known(0, 2)]))
    meta: dict[str, Any] = {"schema": flat.SCHEMA, "header": make(0).header, "layout": []}
    at = table.schema.get_field_index("status")
    for large, runs, message in (
        (pa.concat_tables([table] * 2**17).combine_chunks(), b"", "must be at most 10000000 bytes unpacked"),
        (table.set_column(at, "status", pa.nulls(2, pa.int64())), b"", "status of another type"),
        (table, b'{"a":[' + b"[]," * 2**21 + b"[]]}", "runs of more than 4194304 bytes"),
    ):
        packed = {**meta, "runs": base64.b85encode(zlib.compress(runs)).decode()}
        data = parquet.bytes_of(large.replace_schema_metadata({parquet.META: json.dumps(packed)}))
        path = tmp_path / parquet.name_of("random", np.array([0]), data)
        path.write_bytes(data)
        assert len(data) < 60_000
        rejects(message, parquet.decode, path)


@pytest.mark.hostile
@pytest.mark.parametrize("other", ["NMTHPO-zhen-v0/bo", "NMTHPO-ruen-v0/random"])
def test_part_in_place_of_another_is_rejected(tmp_path: Path, other: str) -> None:
    store.write([make(0, env="NMTHPO-zhen-v0", agent="random")], tmp_path)
    (part,) = tmp_path.rglob("*.parquet")
    env, agent = other.split("/")
    place = tmp_path / env / part.name.replace("random", agent)
    place.parent.mkdir(exist_ok=True)
    part.rename(place)
    rejects("must be NMTHPO-zhen-v0/random-0-0-.*, got a renamed or moved file", store.read, tmp_path, env, agent)
    rejects("renamed or moved", store.Store(tmp_path).seeds, env, agent)


@pytest.mark.hostile
def test_two_writers_store_each_run_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(2)
    orders = [list(range(0, 40)), list(range(39, -1, -1))]
    crew = [context.Process(target=write_in_steps, args=(tmp_path, ready, order)) for order in orders]
    for p in crew:
        p.start()
    for p in crew:
        p.join()
        assert p.exitcode == 0
    again = store.read(tmp_path)
    assert [r.seed for r in again] == list(range(41))
    assert all(equal(r, make(r.seed, k=200)) for r in again)


def known(seed: int, k: int = 5) -> Run:
    """A run whose values are all known."""
    evaluated = {
        "row": np.arange(k, dtype=np.int32),
        "level": np.full(k, 2, np.int16),
        "repeat": np.full(k, seed, np.int16),
        "status": np.zeros(k, np.int8),
        "truth": np.linspace(0, 1, k) + seed,
    }
    return dataclasses.replace(make(seed, k), evaluated=evaluated, recommended_truth=np.float64(seed / 3))


def test_what_is_known_of_evaluations_comes_back(tmp_path: Path) -> None:
    runs = [known(s, k) for s, k in ((0, 3), (1, 5))]
    store.write(runs, tmp_path)
    again = store.read(tmp_path)
    assert store.digest(again) == store.digest(runs) != store.digest([make(0, 3), make(1, 5)])
    assert (again[1].evaluated.keys(), again[1].recommended_truth) == (runs[1].evaluated.keys(), 1 / 3)
    ((_, block),) = store.Store(tmp_path).blocks()
    assert (block.starts.tolist(), block.arrays["level"].dtype) == ([0, 3, 8], np.int16)
    assert np.array_equal(block.arrays["reward"], np.concatenate([r.rewards for r in runs]))


@pytest.mark.hostile
def test_no_flipped_bit_and_no_cut_is_read(tmp_path: Path) -> None:
    runs = [known(s) for s in range(4)]
    store.write(runs, tmp_path)
    (part,) = tmp_path.rglob("*.parquet")
    data, rng = part.read_bytes(), np.random.default_rng(0)
    for _ in range(500):
        bad = bytearray(data)
        bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
        part.write_bytes(bad if rng.random() < 0.9 else data[: rng.integers(len(data))])
        rejects("must have the sha256 in its name", store.read, tmp_path)
    part.write_bytes(data)
    assert store.digest(store.read(tmp_path)) == store.digest(runs)


@pytest.mark.hostile
def test_runs_that_two_processes_stored_are_read_once(tmp_path: Path) -> None:
    first, second = store.Store(tmp_path), store.Store(tmp_path)
    assert first.seeds("NMTHPO-zhen-v0", "random") == second.seeds("NMTHPO-zhen-v0", "random") == set()
    assert [len(b) for b in (*first.add([*map(make, range(3))]), *second.add([*map(make, range(1, 5))]))] == [3, 4]
    assert [r.seed for r in store.read(tmp_path)] == [0, 1, 2, 3, 4]
    assert store.Store(tmp_path).seeds("NMTHPO-zhen-v0", "random") == set(range(5))
    third = store.Store(tmp_path)
    third.seeds("NMTHPO-zhen-v0", "random")
    store.write([dataclasses.replace(make(9), costs=np.full(5, 2.0))], tmp_path)
    third.add([make(9)])
    rejects("a run must have one result, got .*9.* different", store.read, tmp_path)


def test_publishing_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = store.Store(tmp_path)
    kept.add([make(0)])
    for name in ("listdir", "scandir"):
        monkeypatch.setattr(store.os, name, lambda *a: pytest.fail("a listing"))
    monkeypatch.setattr(store.parquet, "decode", lambda *a: pytest.fail("a part was read"))
    monkeypatch.setattr(store.atomic, "write", lambda path, data: path.write_bytes(data))
    assert [len(block) for block in kept.add([make(1), make(0)])] == [1]


def test_part_of_later_format_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store.parquet.flat, "SCHEMA", 3)
    store.write([make(0)], tmp_path)
    monkeypatch.undo()
    rejects("file of runs written by this version of hpo_envs, got schema 3, not 1", store.read, tmp_path)


def test_digest_sees_every_bit() -> None:
    a = [make(0), make(1)]
    assert store.digest(a) == store.digest(a[::-1]) == store.digest(copy.deepcopy(a))
    changed = a[1].rewards.copy()
    changed[3] = np.nextafter(changed[3], np.inf)
    assert store.digest([a[0], dataclasses.replace(a[1], rewards=changed)]) != store.digest(a)
    assert store.digest([a[0], make(1, budget=21.0)]) != store.digest(a)
