"""Random invalid input to every entry point that takes data; see hostile.py for what counts as a failure.

HPO_ENVS_FUZZ sets the number of inputs of each entry.
"""

import base64
import contextlib
import dataclasses
import hashlib
import io
import json
import os
import string
import tomllib
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hpo_envs import benchmarks
from hpo_envs.agents.bandits import select
from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.study import parquet, store, study
from hpo_envs.benchmarks.study.block import Block
from hpo_envs.commands import main
from hpo_envs.families.registry import SPECS, installed
from hpo_envs.tables import hlepor
from hpo_envs.tables import store as tables
from hpo_envs.tables.cells import recipe
from hpo_envs.tables.datasets.cushlepor import score as cushlepor_score
from hpo_envs.tables.datasets.cushlepor import text as cushlepor_text
from hpo_envs.tables.files import packs
from hpo_envs.tables.user import reader
from tests.helpers import ONE_OF_EACH, WIDE, started
from tests.robustness import hostile

pytestmark = pytest.mark.hostile

COVERS = ("hpo_envs.benchmarks.study.parquet",)
"""Modules whose input is generated in this file."""

EXAMPLES = int(os.environ.get("HPO_ENVS_FUZZ", "30"))
many = settings(
    max_examples=EXAMPLES, deadline=None, database=None, derandomize=not WIDE, suppress_health_check=list(HealthCheck)
)


FEW = settings(many, max_examples=max(EXAMPLES // 6, 5))


@pytest.fixture(autouse=True)
def memory(request: pytest.FixtureRequest) -> Iterator[None]:
    if "spec_id" in request.fixturenames:  # tables are loaded once and kept
        spec_id = request.getfixturevalue("spec_id")
        gym.make(spec_id, disable_env_checker=True)
    with hostile.bounded():
        yield


# -- what is fed -------------------------------------------------------------------------------------------------------

numbers = st.one_of(
    st.integers(), st.floats(), st.sampled_from([10**400, -(10**30), 1e308, -0.0, float("nan"), 2**63, True])
)
words = st.one_of(st.text(max_size=20), st.sampled_from(["", "\x00", "\ud800", "nan", "-inf", "1e999", "x" * 999, "²"]))
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, words),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(words, inner, max_size=5)),
    max_leaves=12,
)
DEEP = b"[" * 200_000


@st.composite
def damaged(draw: st.DrawFn, good: bytes) -> bytes:
    """A valid file with pieces cut, duplicated, overwritten or replaced by text that tends to cause errors."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        a = draw(st.integers(0, max(len(data) - 1, 0)))
        b = min(len(data), a + draw(st.integers(0, 40)))
        short = [b"", b"\x00", b'"', b"\t", b"\n", b"\r", b"nan", b"1e999", b"-1", b"\xff\xfe", b",,,", b"{", b"null"]
        hurt = [*short, b"9" * 5000]
        piece = draw(st.one_of(st.sampled_from(hurt), st.binary(max_size=8), st.just(bytes(data[a:b]) * 2)))
        data[a:b] = piece
    return bytes(data)


def bytes_like(good: bytes) -> st.SearchStrategy[bytes]:
    """Mostly nearly valid files, and some random ones."""
    return st.one_of(damaged(good), damaged(good), damaged(good), st.binary(max_size=200), st.just(good))


# -- upstream's formats ------------------------------------------------------------------------------------------------

PAIRS = b"hypothesis\treference\tscore\tdocument\na b c\ta b d\t0.5\td1\nx y\tx y\t0.9\td2\n"
CELL = {"i": {"op": "linear", "input": ["x", "h_prev_0"]}, "h_new_0": {"op": "activation_tanh", "input": ["i"]}}
READERS: dict[str, tuple[bytes, Callable[[bytes], object]]] = {
    "TSV own segments": (PAIRS, lambda d: cushlepor_text.parse_tsv(d, "file")),
    "TSV own pairs": (PAIRS, lambda d: cushlepor_text.parse_pairs(d, "file")),
}  # fmt: skip


@pytest.mark.parametrize("entry", READERS)
@many
@given(data=st.data())
def test_files(entry: str, data: st.DataObject) -> None:
    good, reader = READERS[entry]
    content = data.draw(bytes_like(good))
    with hostile.guarded():
        reader(content)


@pytest.mark.parametrize("entry", READERS)
def test_good_files_are_read(entry: str) -> None:
    """The files that are damaged above are valid before, if such small files can be."""
    good, reader = READERS[entry]
    assert reader(good) is not None


@many
@given(
    value=st.one_of(
        anything,
        st.dictionaries(
            st.sampled_from([*CELL, "x", "h_new_1"]), st.one_of(anything, st.sampled_from([*CELL.values()]))
        ),
    )
)
@example(value=DEEP.decode())
@example(value={"i": CELL["i"], "h_new_00": CELL["h_new_0"]})
@example(value={f"n{i}": {"op": "linear", "input": [f"n{i + 1}"] * 50} for i in range(24)})
def test_recipes(value: Any) -> None:
    for given_ in (value, json.dumps(value)):
        with hostile.guarded():
            recipe.parse(given_)


# -- what we wrote ourselves -------------------------------------------------------------------------------------------

KEPT = packs.pack(tables.load("nmthpo/zhen"))
HEADER = {"env": "E", "agent": "a", "table": "t", "kind": "surrogate", "sha256": "0"}
RUNS = parquet.encode(
    Block.of([Run(s, np.arange(4), np.arange(4.0), np.ones(4), np.int64(1), {**HEADER, "seed": s}) for s in (0, 1)])
)


def put(folder: Path, content: bytes) -> None:
    """Make these bytes the only part of a folder, under a name with their hash."""
    for old in folder.glob("*.parquet"):
        old.unlink()
    (folder / f"a-0-1-{hashlib.sha256(content).hexdigest()}.parquet").write_bytes(content)


@many
@given(content=bytes_like(KEPT))
@example(content=KEPT[:-1])
@example(content=KEPT[:33])
@example(content=KEPT[:-9] + bytes([KEPT[-9] ^ 1]) + KEPT[-8:])
def test_kept_tables(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """A damaged file is refused; `load` builds the table again."""
    with hostile.guarded():
        packs.unpack(content)
        assert content == KEPT


@many
@given(head=anything, shape=st.lists(st.integers(0, 6), max_size=5))
def test_kept_tables_that_lie(head: Any, shape: list[int]) -> None:
    with np.load(io.BytesIO(KEPT[32:])) as data:
        arrays = {k: data[k] for k in data.files}
    old = json.loads(arrays["head"].tobytes())
    lies: list[dict[str, Any]] = [{"values": np.zeros(shape)}, {"status": np.zeros(3)}]
    for lie in (head, {**old, "fields": head}, {**old, "metrics": head}):
        lies.append({"head": np.frombuffer(json.dumps(lie).encode(), np.uint8)})
    for lie in lies:
        sink = io.BytesIO()
        np.savez(sink, **{**arrays, **lie})
        with hostile.guarded():
            packs.unpack(hashlib.sha256(sink.getvalue()).digest() + sink.getvalue())


@many
@given(content=bytes_like(RUNS))
def test_stored_runs(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "fuzz" / "E"
    folder.mkdir(parents=True, exist_ok=True)
    put(folder, content)
    with hostile.guarded(folder):
        store.read(folder.parent)


@many
@given(header=anything, layout=anything)
def test_stored_runs_that_lie(tmp_path_factory: pytest.TempPathFactory, header: Any, layout: Any) -> None:
    """Complete files of this format with false metadata or columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.getbasetemp() / "fuzz2" / "E"
    folder.mkdir(parents=True, exist_ok=True)
    table = pq.ParquetFile(io.BytesIO(RUNS)).read()
    meta = json.loads(table.schema.metadata[parquet.META])
    lies = [
        {**meta, "header": header},
        {**meta, "layout": layout},
        {**meta, "schema": header},
        {**meta, "runs": header},
        header,
    ]
    for key in (packed := json.loads(zlib.decompress(base64.b85decode(meta["runs"])))):
        lie = base64.b85encode(zlib.compress(json.dumps({**packed, key: header}).encode())).decode()
        lies.append({**meta, "runs": lie})
    tables = [table.replace_schema_metadata({parquet.META: json.dumps(lie)}) for lie in lies]
    for column, value in (("step", ["x"] * 8), ("cost", [[1.0]] * 8), ("action", [[]] * 8), ("reward", [None] * 8)):
        tables.append(table.set_column(table.schema.get_field_index(column), column, pa.array(value)))
    for lie in (*tables, table.replace_schema_metadata({}), table.drop_columns("reward"), table.slice(0, 0)):
        sink = io.BytesIO()
        pq.write_table(lie, sink)
        put(folder, sink.getvalue())
        with hostile.guarded(folder):
            store.read(folder.parent)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Run], dict[str, Any]]:
    """Runs, and their summary as `hpo-envs report --summary` writes it."""
    made = [r for agent in ("random", "bo-spread") for r in benchmarks.run(agent, "NMTHPO-zhen-v0", [0, 1], budget=3)]
    folder = tmp_path_factory.mktemp("compared")
    store.write(made, folder)
    with contextlib.redirect_stdout(io.StringIO()):
        assert main.main(["report", str(folder), "--summary", str(folder / "scores.json")]) == 0
    return made, json.loads((folder / "scores.json").read_text("utf-8"))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places in nested data; of long lists only the beginning."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, v in inner:
        yield from places(v, (*path, key))


def exchanged(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value at a place; without the place if the new value is Ellipsis."""
    value = json.loads(json.dumps(value))
    last = value
    for key in path[:-1]:
        last = last[key]
    if new is ...:
        del last[path[-1]]
    else:
        last[path[-1]] = new
    return value


def report_of(path: Any, folder: Any) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        with hostile.guarded(folder, allowed=()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            status = main.main(["report", str(path), "--out", str(folder / "page.html")])
    assert status in (0, 2), err.getvalue()
    if status == 2:
        assert err.getvalue().startswith("hpo-envs: error: ")
        assert err.getvalue().count("\n") == 1


@many
@given(data=st.data())
def test_summaries(tmp_path_factory: pytest.TempPathFactory, compared: Any, data: st.DataObject) -> None:
    """Summaries with one wrong or missing value, or damaged bytes."""
    good = compared[1]
    whole = json.dumps(good).encode()
    new = data.draw(st.one_of(anything, st.just(...)))
    content = data.draw(
        st.one_of(
            damaged(whole),
            anything.map(lambda v: json.dumps(v).encode()),
            st.sampled_from(sorted(places(good), key=str)).map(lambda p: json.dumps(exchanged(good, p, new)).encode()),
            st.just(DEEP),
        )
    )
    folder = tmp_path_factory.getbasetemp() / "summaries"
    folder.mkdir(exist_ok=True)
    (folder / "scores.json").write_bytes(content)
    report_of(folder / "scores.json", folder)


@many
@given(data=st.data())
def test_reports_of_runs_that_lie(tmp_path_factory: pytest.TempPathFactory, compared: Any, data: st.DataObject) -> None:
    """Parquet files with false or incomplete headers."""
    folder = tmp_path_factory.getbasetemp() / "lies"
    (folder / "E").mkdir(parents=True, exist_ok=True)
    made = compared[0]
    common = set.intersection(*(set(places(r.header)) for r in made))  # agents have different sources
    path = data.draw(st.sampled_from(sorted(common, key=str)))
    new = data.draw(st.one_of(anything, st.just(...)))
    runs = [dataclasses.replace(r, header=exchanged(r.header, path, new)) for r in made]
    with contextlib.suppress(Exception):  # what cannot even be written
        put(folder / "E", parquet.encode(Block.of(runs)))
    report_of(folder, folder)
    with hostile.guarded(folder):
        list(store.Store(folder).once())


@FEW
@given(content=st.data())
def test_data_bases_of_optuna(tmp_path_factory: pytest.TempPathFactory, content: st.DataObject) -> None:
    optuna = pytest.importorskip("optuna")
    folder = tmp_path_factory.getbasetemp() / "optuna"
    folder.mkdir(exist_ok=True)
    file, good = folder / "study.db", folder / "good.db"
    if not good.exists():
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(study_name="s", storage=f"sqlite:///{good}")
        study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_int("n", 1, 3), n_trials=4)
    whole = good.read_bytes()
    file.write_bytes(content.draw(st.one_of(damaged(whole), damaged(whole), st.binary(max_size=200), st.just(whole))))
    out, err = io.StringIO(), io.StringIO()
    words = ["table", "from-optuna", "s", "--storage", f"sqlite:///{file}", "--dry-run", "--name", "fuzz"]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        with hostile.guarded(folder, allowed=()):
            status = main.main(words)
    assert status in (0, 2), err.getvalue()


def test_data_base_that_is_not_there_is_not_made(tmp_path: Any, cli: Any) -> None:
    pytest.importorskip("optuna")
    words = ["table", "from-optuna", "s", "--storage", f"sqlite:///{tmp_path}/typo.db"]
    assert "there is no file" in cli(words, 2)
    assert not list(tmp_path.iterdir())


# -- a user's files ----------------------------------------------------------------------------------------------------

SELECT = b"bert,lstm,svm\n.812,.790,.744\n.805,.797,.751\n.809,.801,.74\n.81,.795,.748\n"


@many
@given(content=bytes_like(SELECT))
@example(content=b"a,b\n1e308,1\n-1e308,2\n1e308,3\n")
@example(content=b"a,b\n1,1\n1,1\n1,1\n")
@example(content=b'a,"b\n' + b"x" * 200_000)
def test_scores_of_select(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "scores.csv"
    path.write_bytes(content)
    with hostile.guarded():
        result = select.advise(select.read_scores(path))
        assert all(0.0 <= m["probability"] <= 1.0 for m in result["models"].values())
        select.format_advice(result)


@many
@given(
    content=st.one_of(
        anything.map(lambda v: json.dumps(v).encode()),
        anything.map(lambda v: json.dumps(dict.fromkeys(hlepor.NAMES, v)).encode()),
        st.binary(max_size=50),
    )
)
@example(content=DEEP)
@example(content=json.dumps(dict.fromkeys(hlepor.NAMES, "x")).encode())
@example(content=json.dumps(dict.fromkeys(hlepor.NAMES, 1e300)).encode())
def test_settings_of_lepor(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "setting.json"
    path.write_bytes(content)
    with hostile.guarded():
        hlepor.score(["a b"], ["a c"], cushlepor_score.setting_of(str(path)))


@many
@given(hypotheses=st.lists(words, max_size=3), references=st.lists(words, max_size=3))
def test_texts_of_lepor(hypotheses: list[str], references: list[str]) -> None:
    with hostile.guarded():
        scores = hlepor.score(hypotheses, references)
        assert np.isfinite(scores).all()
        assert ((scores >= 0) & (scores <= 1)).all()


# -- the command line --------------------------------------------------------------------------------------------------

VOCABULARY = [
    *main.COMMANDS, "--help", "--version", "--debug", "--json", "--env", "--agents", "--seeds", "--budget", "--table",
    "--out", "--list", "--all", "--from", "--mirror", "--bounds", "--agent",
    "-1", "0", "nan", "1e999", "all", "NMTHPO-zhen-v0", "nmthpo",
    "random", "surrogate", "measured", "..", "/", "/dev/null", "logit", "ftp://x", "https://", "--held-out", "-", "--",
]  # fmt: skip


@many
@given(words=st.lists(st.one_of(st.sampled_from(VOCABULARY), st.text(string.printable, max_size=6)), max_size=7))
@example(words=["fetch", "nmthpo", "--from", "/"])
def test_command_line(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    """Words in any order: help, an error in one line, or the command's own work, which is prevented here."""
    folder = tmp_path_factory.getbasetemp() / "line"
    folder.mkdir(exist_ok=True)
    for command in ("compare", "reproduce", "sensitivity", "report"):
        if command in words:
            words = [*words, "--no-such-option"]
    out, err = io.StringIO(), io.StringIO()
    where = {"HPO_ENVS_DATA": str(folder / "data")}
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        for key, value in where.items():
            patch.setenv(key, value)
        patch.chdir(folder)
        patch.setattr("requests.Session.get", _no_network)
        patch.setattr("time.sleep", lambda s: None)
        if "--debug" in words:  # asks for the traceback
            words = [w for w in words if w != "--debug"]
        with hostile.guarded(folder, allowed=()):
            status = main.main(words)
    assert status in (0, 1, 2), err.getvalue()
    if status == 2:
        assert err.getvalue().startswith("hpo-envs: error: "), err.getvalue()


def _no_network(*_: Any, **__: Any) -> Any:
    import requests

    raise requests.ConnectionError("no network in tests")


# -- environments ------------------------------------------------------------------------------------------------------

ACTIONS = st.one_of(
    st.none(), st.booleans(), numbers, words, st.binary(max_size=4),
    st.lists(numbers, max_size=7), st.tuples(numbers, numbers), st.dictionaries(words, numbers, max_size=2),
    st.lists(st.lists(numbers, max_size=3), max_size=3),
    st.lists(numbers, max_size=7).map(lambda v: np.array(v, dtype=object)),
    st.lists(st.floats(), max_size=7).map(lambda v: np.array(v, dtype=np.float32)),
    st.lists(st.integers(-3, 9), max_size=7).map(lambda v: np.array(v, dtype=np.int64)),
    st.sampled_from([np.array(3), np.array([3]), np.int8(2), np.uint64(2**63), np.float64(1.0), np.array("1"), 1j]),
)  # fmt: skip


IDS = [i for i, spec in SPECS.items() if installed(spec)] if WIDE else ONE_OF_EACH


def equip(spec_id: str, form: str) -> Any:
    if form == "scalar":
        return gym.make(spec_id, disable_env_checker=True).unwrapped
    return gym.make_vec(spec_id, num_envs=2)


@pytest.mark.parametrize("form", ["scalar", "batched"])
@pytest.mark.parametrize("spec_id", IDS)
def test_actions(spec_id: str, form: str) -> None:
    env = started(equip(spec_id, form))

    @FEW
    @given(action=ACTIONS)
    @example(action=10**400)
    @example(action=np.array(3))
    def step(action: Any) -> None:
        with hostile.guarded(allowed=(ValueError, gym.error.ResetNeeded)):
            observation, reward, terminated, _, _ = env.step(action)
            assert np.isfinite(observation).all()
            assert np.isfinite(reward).all()
            if form == "scalar" and terminated:
                env.reset()

    step()


OPTIONS = st.one_of(
    st.none(),
    st.dictionaries(
        st.one_of(words, st.sampled_from(["table", "tables", "task", "reset_mask"])),
        st.one_of(anything, st.sampled_from(["zhen", np.array([True, False]), np.array([1, 0])])),
        max_size=3,
    ),
)


@pytest.mark.parametrize("form", ["scalar", "batched"])
@pytest.mark.parametrize("spec_id", IDS)
def test_seeds_and_options(spec_id: str, form: str) -> None:
    env = equip(spec_id, form)

    @FEW
    @given(seed=st.one_of(st.none(), numbers, words, st.lists(numbers, max_size=3)), options=OPTIONS)
    def reset(seed: Any, options: Any) -> None:
        with hostile.guarded(allowed=(ValueError, gym.error.Error)):
            observation, _ = env.reset(seed=seed, options=options)
            assert np.isfinite(observation).all()

    reset()


FAMILIES = {SPECS[i].family: i for i in IDS}


@pytest.mark.parametrize("spec_id", FAMILIES.values())
def test_arguments(spec_id: str) -> None:
    value = st.one_of(anything, st.sampled_from(["bleu", (), ("bleu",), "evaluations", 1, 20.5, np.float32(3), "auto"]))

    @FEW
    @given(kwargs=st.dictionaries(st.sampled_from(["table", "objective", "cost", "budget"]), value, min_size=1))
    def make(kwargs: Any) -> None:
        kwargs = {**kwargs}
        with hostile.guarded():
            gym.make(spec_id, disable_env_checker=True, **kwargs).unwrapped.reset(seed=0)
        with hostile.guarded():
            gym.make_vec(spec_id, num_envs=2, **kwargs).reset(seed=0)

    make()


# -- a user's tables and studies ---------------------------------------------------------------------------------------

OWN = b"lr,layers,opt,score,seconds\n0.1,2,adam,0.5,10\n0.01,2,sgd,0.6,12\n0.1,4,adam,0.7,11\n0.1,4,adam,0.71,11\n"


@many
@given(
    content=bytes_like(OWN),
    bounds=st.sampled_from([None, (0.0, 1.0), (1.0, 0.0), (float("nan"), 1.0)]),
    cost=st.sampled_from([None, "seconds"]),
)
@example(content=b"x" * 200_000 + b",score\n1,2\n", bounds=None, cost=None)
@example(content=b"a,score\n" + b"1e308,1e308\n-1e308,-1e308\n", bounds=None, cost=None)
@example(content=b"a,a,score\n1,2,3\n2,3,4\n", bounds=None, cost=None)
def test_csv_of_table(tmp_path_factory: pytest.TempPathFactory, content: bytes, bounds: Any, cost: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "own.csv"
    path.write_bytes(content)
    options: dict[str, Any] = {} if bounds is None else {"bounds": {"score": bounds}}
    with hostile.guarded(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = reader.from_csv(path, "score", "max", cost=cost, **options)
        env = started(gym.make("TableHPO-v0", table=table).unwrapped)
        assert np.isfinite(env.step(len(table) - 1)[1])


STUDY = b"""environments = ["NMTHPO-zhen-v0", {id = "NMTHPO-v0", budget = 5}]
agents = ["random", {name = "gp", algorithm = "bo", hyperparameters = {}}]
seeds = "0-9"
"""


@many
@given(content=bytes_like(STUDY))
@example(content=STUDY.replace(b'"0-9"', b"999999999999"))
@example(content=STUDY.replace(b'"0-9"', b'"0-999999999999"'))
@example(content=STUDY.replace(b'"0-9"', b'["0-999999", "1000000-1999999", 7, 7]'))
@example(content=b"a = " + DEEP)
def test_study_files(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "study.toml"
    path.write_bytes(content)
    with hostile.guarded():
        study.from_file(path)


@many
@given(
    value=st.dictionaries(st.sampled_from(["environments", "agents", "seeds", "table", "budget", "x"]), anything),
    key=st.sampled_from(["environments", "agents", "seeds", "table", "budget"]),
    wrong=anything,
)
def test_study_data(value: Any, key: str, wrong: Any) -> None:
    for data in (value, {**tomllib.loads(STUDY.decode()), key: wrong}):
        with hostile.guarded():
            study.from_data(data)
