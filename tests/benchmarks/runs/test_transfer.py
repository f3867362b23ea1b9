"""The transfer track: source tables, equal for all agents, and their description in headers."""

import copy
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents import Source
from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.runs import problem_of, run, transfer
from hpo_envs.benchmarks.runs.record import environment_of
from hpo_envs.benchmarks.study import store
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import from_data
from hpo_envs.families.registry import SPECS, held_out_of
from hpo_envs.tables.table import Table
from tests.helpers import ROOT, rejects

NMT = ("zhen", "ruen", "jaen", "enja", "swen", "soen")


def sources(env_id: str, distribution: str = transfer.FAMILY, **kwargs: Any) -> transfer.Transfer:
    return transfer.sources_of(gym.make(env_id, **kwargs), distribution)


@pytest.mark.parametrize(
    ("env_id", "distribution", "others"),
    [
        ("NMTHPO-zhen-v0", "family", ["ruen", "jaen", "enja", "swen", "soen"]),
        ("NMTHPO-jaen-v0", "family", ["zhen", "ruen", "swen", "soen"]),
        ("NMTHPO-enja-mo-v0", "family", ["zhen", "ruen", "swen", "soen"]),
        ("NMTLC-ft-zhen-v0", "family", ["ruen", "jaen", "enja", "swen", "soen", "ft-fren"]),
        ("NMTHPO-swen-v0", "CharHPO", None),
        ("TextMini-pos_mlt-crf-v0", "family", ["entities", "relations_wol", "tones_vie", "words_vie"]),
        ("CharHPO-g2p-dut-lstm-v0", "NMTHPO", list(NMT)),
    ],
)
def test_no_source_shares_language_with_problem(env_id: str, distribution: str, others: list[str] | None) -> None:
    known = sources(env_id, distribution)
    mine = set(held_out_of(SPECS[env_id].tables))
    assert known.excluded == tuple(sorted(mine))
    assert mine or distribution != "family"
    assert not any(mine & {*f["languages"]} for f in known.facts)
    assert SPECS[env_id].tables[0] not in [f["table"] for f in known.facts]
    names = [s.name.partition("/")[2].removesuffix("-crf") for s in known.sources]
    assert [s.name for s in known.sources] == [f["table"] for f in known.facts]
    assert len(names) == 24 if others is None else names == others
    assert {f["kind"] for f in known.facts} == {"measured"}


def test_another_class_of_models_of_a_task_group_is_no_source() -> None:
    excluded = sources("TextMini-polarity-joint-v0")
    assert excluded.excluded == ("sentence polarity, sentiment",)
    assert "textmini/reviews-joint" in [s.name for s in excluded.sources]
    rejects("transfer must be one of .* whose family has no split", sources, "TextMini-polarity-neural-v0")
    rejects("whose family has no split", sources, "TaskSet-gru128-v0")


def test_all_of_language_is_left_out() -> None:
    names = [f["table"] for f in sources("CharHPO-g2p-dut-lstm-v0").facts]
    assert len(names) == 20
    assert not any("dut" in name for name in names)


def test_features_are_problems_and_values_lie_on_its_scale() -> None:
    table: Table = gym.make("NMTHPO-zhen-v0").unwrapped.tables[0]
    known = {s.name: s for s in sources("NMTHPO-zhen-v0").sources}
    assert all(not s.feature_names and s.features.shape[1] == 6 for s in known.values())
    assert set(known["nmthpo/ruen"].features.ravel()) == set(table.features.ravel())
    # 1,000 to 32,000 symbols where zh-en has 10,000 to 50,000, and 1 to 6 layers where it has 2 to 4.
    swahili = known["nmthpo/swen"].features
    assert np.allclose(np.unique(swahili[:, 0]) * 40 + 10, [1, 2, 4, 8, 16, 32])
    assert np.unique(swahili[:, 1]).tolist() == [-0.5, 0.0, 1.0, 2.0]


def test_what_table_lacks_has_names_of_its_own() -> None:
    known = {s.name.partition("/")[2]: s for s in sources("NMTLC-ruen-v0").sources}
    assert known["zhen"].feature_names == ("layers", "embed", "hidden", "init_lr")
    assert known["zhen"].shared(("bpe", "layers", "embed", "hidden", "init_lr")) == ([0, 1, 2, 3], [1, 2, 3, 4])
    assert not known["swen"].feature_names
    far = sources("NMTHPO-zhen-v0", "CharHPO").sources[0]
    assert far.shared(("bpe", "layers")) == ([], [])
    problem = problem_of(gym.make("NMTLC-ruen-v0"), "family").with_features(("layers", "embed"))
    assert [s.features.shape[1] for s in problem.sources] == [2] * len(problem.sources)
    assert {s.feature_names for s in problem.sources} == {()}


def test_curves_end_where_runs_do() -> None:
    for s in sources("NMTLC-soen-v0", levels=5).sources:
        assert s.curves is not None
        assert s.curve_costs is not None
        assert s.levels is not None
        assert s.curves.shape == (len(s.costs), len(s.levels), 1)
        last = np.nanmax(np.where(np.isnan(s.curves[..., 0]), np.nan, np.arange(len(s.levels))), axis=1).astype(int)
        assert np.array_equal(s.curves[np.arange(len(last)), last], s.rewards)
        assert np.allclose(np.nanmax(s.curve_costs, axis=1), s.costs)


def test_rows_are_sorted_whatever_tables_order() -> None:
    params = transfer._params("NMTHPO-ruen-v0", ())
    table = params.table
    mixed = table.subset(np.random.default_rng(0).permutation(len(table)))
    one = transfer._source(params, table)
    two = transfer._source(gym.make("NMTHPO-ruen-v0", table=mixed).unwrapped.params, table)
    assert digest(one) == digest(two)
    assert digest(one) != digest(sources("NMTHPO-zhen-v0").sources[2])


def test_all_agents_get_same_immutable_sources() -> None:
    taken: list[Any] = []

    class Keeps(RandomSearch):
        def __init__(self, problem: Any, seed: int) -> None:
            super().__init__(problem, seed)
            taken.append(problem)

    with_sources = run(Keeps, "NMTHPO-zhen-v0", [0, 1], env_kwargs={"subsample": 0.8}, transfer="family")
    without = run(Keeps, "NMTHPO-zhen-v0", [0, 1], env_kwargs={"subsample": 0.8})
    assert [len(p.sources) for p in taken] == [5, 5, 0, 0]
    assert taken[0].sources is taken[1].sources
    source = taken[0].sources[0]
    for array in (source.features, source.rewards, source.costs):
        rejects("cannot set WRITEABLE", array.setflags, write=True)
    assert all(np.array_equal(a.rewards, b.rewards) for a, b in zip(with_sources, without, strict=True))
    assert "transfer" not in without[0].header
    assert with_sources[0].header["transfer"]["excluded"] == ["chi"]


def digest(source: Source) -> str:
    return hashlib.sha256(b"".join(a.tobytes() for a in (source.features, source.rewards, source.costs))).hexdigest()


_SCRIPT = """
import warnings, gymnasium as gym
from hpo_envs.benchmarks import problem_of
from tests.benchmarks.runs.test_transfer import digest
print([digest(s) for s in problem_of(gym.make("NMTHPO-swen-mo-v0"), "family").sources])
"""


def test_another_process_gets_same_bytes() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True)
    problem = problem_of(gym.make("NMTHPO-swen-mo-v0"), "family")
    assert done.stdout.strip() == str([*map(digest, problem.sources)])
    assert len({*map(digest, type(problem).from_bytes(problem.to_bytes()).sources)}) == len(problem.sources) == 5


@pytest.mark.parametrize(
    ("env_id", "asked", "message"),
    [
        ("NMTHPO-zhen-v0", "CharHP", "transfer must be one of family, .*, got 'CharHP', did you mean 'CharHPO'"),
        ("FIESTA-ner-v0", "family", "whose family has no split"),
        ("FIESTA-ner-v0", "NMTHPO", "not configurations with features"),
        ("NMTHPO-v0", "family", "not configurations with features"),
        ("NMTHPO-zhen-mo-v0", "CharHPO", "transfer must be family for several objectives"),
    ],
)
def test_what_cannot_be_transferred_is_reported(env_id: str, asked: str, message: str) -> None:
    rejects(message, sources, env_id, asked)


def test_runs_with_sources_are_apart_and_resumed_only_on_same(tmp_path: Path) -> None:
    data = {"seeds": 2, "budget": 3, "agents": ["random"], "environments": ["NMTHPO-zhen-v0"]}
    study = from_data({**data, "transfer": "family"})
    assert (conduct(study, tmp_path).made, conduct(study, tmp_path).found) == (2, 2)
    rejects("agree on what was run: .* with transfer", conduct, from_data({**data, "seeds": 3}), tmp_path)
    runs = store.read(tmp_path)
    assert {environment_of(r.header) for r in runs} == {"NMTHPO-zhen-v0 (subsample=0.8, transfer=NMTHPO)"}
    other = copy.deepcopy(runs[0])
    other.header["transfer"]["sources"][0]["sha256"] = hashlib.sha256(b"").hexdigest()
    rejects("agree on what was run: .* with transfer sources", store.Store(tmp_path).check, [other.header])
    rejects("runs must share their sources", Comparison.of, [runs[1], other])
    other.header["transfer"]["sources"][0]["languages"] = ["zh"]
    rejects("sources must share no language with .*, got chi", Comparison.of, [other])
