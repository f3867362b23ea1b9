"""Trained policies as agents, their files, and ridge regression as baseline."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents.models import candidate_net, candidate_set
from hpo_envs.agents.transfer import policy_file
from hpo_envs.agents.transfer.policy import InContext, Policy
from hpo_envs.agents.transfer.policy_file import IN_CONTEXT, PolicyWeights
from hpo_envs.agents.transfer.ridge import Ridge, fit, terms
from hpo_envs.benchmarks import problem_of, run
from hpo_envs.commands.main import main
from tests.agents.helpers import play
from tests.helpers import rejects

FEATURES = ("hyperparameters", "observed", "posterior")


def trained(languages: tuple[str, ...] = ("chi",), names: tuple[str, ...] = (), scale: float = 1.0) -> PolicyWeights:
    rng, shapes = np.random.default_rng(0), candidate_net.shapes(candidate_set.columns(FEATURES), 4)
    weights = {name: scale * rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return PolicyWeights("some", frozenset(languages), FEATURES, 32, 4, (weights,), names)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(policy_file.write(tmp_path / "policy", [trained()]))


def test_file_returns_what_was_written(file: str) -> None:
    (found,), expected = policy_file.read(file).trained, trained()
    assert (found.languages, found.features, found.candidates, found.hidden) == (expected.languages, FEATURES, 32, 4)
    for name, array in expected.members[0].items():
        np.testing.assert_array_equal(found.members[0][name], array.astype(np.float16))
    rejects("must have sha256 00", policy_file.read, file, "00")
    policy_file.write(file, [trained(("deu",))])  # trained again
    assert policy_file.read(file).trained[0].languages == {"deu"}


def hostile(file: str) -> dict[str, bytes]:
    """Bytes of malicious or damaged files by name."""
    good = Path(file).read_bytes()
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}

    def with_record(**changes: Any) -> bytes:
        record = json.loads(str(np.load(file)["record"]))
        record["trained"][0] |= changes
        return packed(entries | {"record.npy": npy(np.array(json.dumps(record)))})

    def npy(array: Any) -> bytes:
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=True)
        return buffer.getvalue()

    def packed(content: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, data in content.items():
                archive.writestr(name, data)
        return buffer.getvalue()

    array = "0/0/score.weight.npy"
    return {
        "empty": b"", "text": b"no archive", "cut": good[: len(good) // 2],
        "flipped": good[:200] + bytes(255 - b for b in good[200:260]) + good[260:],
        "no record": packed({k: v for k, v in entries.items() if k != "record.npy"}),
        "deep": packed(entries | {"record.npy": npy(np.array("[" * 100_000))}),
        "list": packed(entries | {"record.npy": npy(np.array("[]"))}),
        "format": packed(entries | {"record.npy": npy(np.array('{"format": 9}'))}),
        "bomb": packed(entries | {"more": b"0" * (32 << 20)}),
        "bzip2": packed(entries, zipfile.ZIP_BZIP2),  # Python unpacks it beyond the size that it declares
        "no array": packed({k: v for k, v in entries.items() if k != array}),
        "short array": packed(entries | {array: entries[array][:-2]}),
        "nan": packed(entries | {array: npy(np.full((1, 4), np.nan, "<f2"))}),
        "shape": packed(entries | {array: npy(np.zeros((4, 1), "<f2"))}),
        "objects": packed(entries | {array: npy(np.array([print], object))}),
        "giant": packed(entries | {array: entries[array].replace(b"(1, 4)", b"(9**99,)")}),
        "pickle": packed(entries | {array: b"\x80\x04cos\nsystem\n(S'true'\ntR."}),
        "features": with_record(features=["__class__"]), "hidden": with_record(hidden=10**9),
        "members": with_record(members=-1), "candidates": with_record(candidates="many"),
        "numbers": with_record(numbers={"slope": 1e999}), "languages": with_record(languages=7),
    }  # fmt: skip


@pytest.mark.hostile
def test_hostile_files_end_in_one_line_each(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, data in hostile(file).items():
        bad = tmp_path / f"{name}.npz"
        bad.write_bytes(data)
        with pytest.raises(ValueError, match="policy must be a file of ") as raised:
            policy_file.read(str(bad))
        assert "\n" not in str(raised.value), name
        assert main(["compare", "--env", "NMTHPO-zhen-v0", "--agents", f"policy:{bad}", "--out", str(tmp_path)]) != 0
        error = capsys.readouterr().err.strip()
        assert len(error.splitlines()) == 1, (name, error)
    rejects("policy must be a file of ", policy_file.read, str(tmp_path / "none"))


def test_policy_samples_open_candidates_only(file: str) -> None:
    problem = problem_of(gym.make("NMTHPO-ruen-v0", budget=None))
    agents = [Policy(problem, seed, file=file) for seed in (0, 0, 1)]
    asked = np.array([played(agent, 60) for agent in agents])
    assert all(len(set(rows)) == 60 for rows in asked.tolist())
    assert asked[0].tolist() == asked[1].tolist() != asked[2].tolist()
    greedy = [played(Policy(problem, seed, file=file, deterministic=True), 5) for seed in (0, 1)]
    assert greedy[0] == greedy[1]
    agent = agents[0]
    free = agent.free.copy()
    p = np.exp(agent.log_probabilities(free))
    assert p.sum() == pytest.approx(1.0)
    assert not p[~free].any()


def test_failures_use_up_what_is_left_without_a_budget(file: str) -> None:
    agent = Policy(problem_of(gym.make("NMTHPO-ruen-v0", budget=None)), 0, file=file)
    before = agent.observation()["context"]
    agent.tell(agent.ask(), 0.0, {"cost": 1.0, "status": "failed"})
    assert (agent.observation()["context"] < before).any()


def played(agent: Any, steps: int) -> list[int]:
    rows = []
    for step in range(steps):
        rows.append(agent.ask())
        agent.tell(rows[-1], float(np.sin(rows[-1]) + 0.01 * step), {"cost": 1.0})
    return rows


def test_policies_stay_off_languages_and_hyperparameters_that_they_must_not_see(file: str, tmp_path: Path) -> None:
    zhen, dutch = (problem_of(gym.make(i)) for i in ("NMTHPO-zhen-v0", "CharHPO-g2p-dut-lstm-v0"))
    rejects("seen must be True on tables of chi", Policy, zhen, 0, file=file)
    assert Policy(zhen, 0, file=file, seen=True).trained_on == {"chi"}
    other = str(policy_file.write(tmp_path / "other", [trained(names=zhen.feature_names)]))
    rejects("policy must be used on the hyperparameters that it was trained on, bpe", Policy, dutch, 0, file=other)
    with pytest.raises(ValueError, match="problem must have one objective for this agent, got 2"):
        Policy(problem_of(gym.make("NMTHPO-ruen-mo-v0")), 0, file=file)


@pytest.mark.parametrize("transfer", [None, "family"])
def test_shipped_policy_runs_on_both_tracks_unseen(transfer: str | None) -> None:
    for env_id in ("NMTHPO-swen-v0", "CharHPO-inflection-rom-lstm-v0"):
        (one,) = run("learned-policy", env_id, [0], budget=4, transfer=transfer)
        assert "seen" not in one.header
        assert len(set(one.actions)) == 4


def test_shipped_weights_leave_out_what_learned_leaves_out() -> None:
    from hpo_envs.agents.transfer import learned

    ours = {w.name: w.languages for w in policy_file.shipped().trained}
    assert ours == {w.name: w.languages for w in learned.shipped()}
    assert policy_file.SHIPPED.stat().st_size < 100_000


def test_prior_has_no_table_of_a_language_left_out() -> None:
    for prior in policy_file.shipped().priors:
        left_out = prior.languages[0]
        kept = prior.without(left_out)
        assert len(kept.languages) < len(prior.languages)
        assert not any({*known} & {*left_out} for known in kept.languages)
        x = np.random.default_rng(0).random((7, len(prior.names)))
        at = [j for j, known in enumerate(prior.languages) if not {*known} & {*left_out}]
        np.testing.assert_array_equal(kept.predict(x), prior.predict(x)[at])
        np.testing.assert_array_equal(kept.distances(x), prior.distances(x)[at])


def test_ridge_recovers_a_quadratic_function() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((3, 400, 2))
    y = [-np.square(a[:, 0] - 0.3) - 0.5 * np.square(a[:, 1] - 0.8) for a in x]
    coefficients = fit([(a, 7.0 * b + 3.0) for a, b in zip(x, y, strict=True)])
    grid = rng.random((500, 2))
    truth = -np.square(grid[:, 0] - 0.3) - 0.5 * np.square(grid[:, 1] - 0.8)
    assert np.corrcoef(terms(grid) @ coefficients, truth)[0, 1] > 0.95
    with pytest.raises(
        ValueError, match="sources must be tables with all of the problem's features .*, got 0 that lack"
    ):
        Ridge(problem_of(gym.make("NMTHPO-zhen-v0")), 0)


def test_in_context_begins_as_random_search_with_weights_that_have_seen_nothing_of_the_problem() -> None:
    ids = ("NMTHPO-swen-v0", "TaskSet-gru128-v0", "TextMini-names-joint-v0", "CharMini-jpn-lstm-v0", "CellMini-v0")
    for env_id in ids:
        problem = problem_of(gym.make(env_id))
        agent = InContext(problem, 0)
        assert agent.trained_on
        assert not agent.trained_on & {*problem.held_out}
        assert [r.actions[0] for r in run("in-context", env_id, [0, 1], budget=2)] == [
            r.actions[0] for r in run("random", env_id, [0, 1], budget=2)
        ]
    assert {w.name for w in policy_file.read(str(IN_CONTEXT)).trained} >= {"all", "without functions"}
    assert IN_CONTEXT.stat().st_size < 2**20


def test_in_context_acts_on_rewards_in_any_unit_and_blind_on_none() -> None:
    problem = problem_of(gym.make("NMTHPO-ruen-v0"))
    asked = {}
    for name, blind, scale in (("as is", False, 1), ("scaled", False, 1e3), ("blind", True, 1), ("other", True, -1)):
        asked[name] = play(InContext(problem, 1, blind=blind), lambda row, c=scale: c * float(np.sin(row)) - c, 8)
    assert asked["as is"] == asked["scaled"] != asked["blind"]
    assert asked["blind"] == asked["other"]
