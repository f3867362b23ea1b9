"""Trainings of this project's tables: process, record, and checks of repeated trainings."""

import importlib.util
import pickle

import pytest

from hpo_envs.families.cellmini import measure as cells
from hpo_envs.families.charmini.measure import suite
from hpo_envs.families.training import process
from hpo_envs.families.training import record as records
from tests.hpo_envs.families.training import falling

MODULE = falling.__name__
TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="extra live is not installed")


@TORCH
def test_process_goes_on_from_checkpoint_and_dies_alone(tmp_path):
    trainer = process.Trainer(MODULE, 300.0)
    whole = trainer.train({}, 2)
    first = trainer.train({}, 1, tmp_path)
    second = trainer.train({}, 2, tmp_path)
    ended = {"loss": 0.25, "parameters": 7}
    assert {**whole, "seconds": 0} == {**ended, "epochs": [{"loss": 0.5}, {"loss": 0.25}], "seconds": 0}
    assert ({**second, "seconds": 0}, first["loss"]) == ({**ended, "epochs": [{"loss": 0.25}], "seconds": 0}, 0.5)
    with pytest.raises(ChildProcessError, match="epochs must be > 2, the number already trained, got 1"):
        trainer.train({}, 1, tmp_path)
    lost = trainer.train({"factor": 2.0}, 2)
    assert (lost["diverged"], lost["epochs"]) == (True, [{"loss": 2.0}])
    trainer._process.kill()
    trainer._process.wait()
    assert trainer.train({}, 1)["loss"] == 0.5
    trainer.close()


@TORCH
def test_training_that_takes_too_long_is_ended():
    trainer = pickle.loads(pickle.dumps(process.Trainer(MODULE, 0.01)))
    with pytest.raises(TimeoutError, match="a training must end within 0.01 s"):
        trainer.train({"sleep": 60.0}, 1)
    assert trainer._process is None


def test_answer_has_what_last_epoch_measured():
    answer = process.answer(falling.begin, {"of": {"factor": 0.1}, "epochs": 1, "folder": None})
    assert answer == {"loss": 0.1, "epochs": [{"loss": 0.1}], "parameters": 7, "seconds": answer["seconds"]}


def test_training_that_fails_says_so():
    answer = process.answer(falling.begin, {"of": {"factor": 0.05}, "epochs": 3, "folder": None})
    assert (answer["failed"], answer["epochs"]) == (True, [{"loss": 0.05}])
    kept = records.record("a", falling.begin(0.05), 3, ["numpy"])
    assert (kept["status"], len(kept["epochs"]), [*kept["versions"]]) == ("failed", 1, ["python", "numpy"])
    assert kept["processor"] == records.processor(torch=False)


def test_missing_package_is_named():
    with pytest.raises(ModuleNotFoundError, match=r'trainings need nosuch: pip install "hpo_envs\[live\]"'):
        process.Trainer(MODULE, 1.0, ("numpy", "nosuch"))


@pytest.mark.parametrize("wrong", [0, -1.0, True, "9", float("nan")])
def test_seconds_are_number(wrong):
    with pytest.raises(ValueError, match="seconds must be a number > 0, got"):
        process.Trainer(MODULE, wrong)


@TORCH
def test_record_is_plain_data():
    kept = records.record("a", falling.begin(), 2)
    assert (kept["task"], kept["status"], kept["epochs"], kept["parameters"]) == ("a", "ok", [(0.5,), (0.25,)], 7)
    assert (len(kept["seconds"]), kept["processor"]) == (2, records.processor())
    assert kept["versions"]["torch"] == records.trainer().__version__


@TORCH
def test_training_that_diverges_keeps_epochs_before():
    kept = records.record("a", falling.begin(1.4), 5)
    assert (kept["status"], len(kept["epochs"]), len(kept["seconds"])) == ("diverged", 3, 3)


def test_keys_depend_on_every_part_and_not_on_order_of_settings():
    assert records.key_of("lstm", 0, {"a": 1, "b": 2}) == records.key_of("lstm", 0, {"b": 2, "a": 1})
    others = [("lstm", 0, {"a": 1}), ("lstm", 1, {"a": 1}), ("lstm", 0, {"a": 2})]
    assert len({records.key_of(*parts) for parts in others}) == 3
    assert records.key_of("cell", 3, "1:l0") == 7754151486757684768
    assert 0 <= records.key_of("x") < 2**63


SUITE = suite("eng")


def record(task, correct, nll=1.0, status="ok", epochs=20):
    kept = {"task": task, "status": status, "epochs": [[correct, 300, nll, 2.0, 5, 310]] * epochs}
    return kept | {"seconds": [1.0] * epochs, "parameters": 7, "processor": "a", "versions": {}}


@pytest.fixture
def arrays():
    # Accuracies of 20, 21 and 22 per cent; the others have no spread.
    spread = [record(f"eng-lstm-0-{seed}", 100 + 5 * seed) for seed in range(3)]
    return SUITE.packing.pack(
        [*spread, *(record(f"eng-lstm-1-{seed}", 50) for seed in range(3)), record("eng-lstm-2-0", 50)]
    )


def test_spread_of_seeds_is_pooled_over_complete_configurations(arrays):
    assert SUITE.pooled(arrays, (0, 0)).tolist() == pytest.approx([(0.5 * 1.0) ** 0.5, 0.0])


def test_equal_counts_and_losses_within_their_rounding_are_same(arrays):
    check = SUITE.compare(arrays, record("eng-lstm-0-0", 100, nll=1.0 + 4e-7))
    assert (check.verdict, check.deviations) == ("same", 0.0)


def test_loss_beyond_what_is_kept_is_same_again():
    exploded = record("eng-lstm-3-0", 50, nll=4e5)
    check = SUITE.compare(SUITE.packing.pack([exploded]), exploded)
    assert check.verdict == "same"


@pytest.mark.parametrize(
    "new, verdict",
    [
        (record("eng-lstm-0-0", 100, nll=1.01), "agrees"),
        (record("eng-lstm-0-0", 105), "agrees"),
        (record("eng-lstm-0-0", 120), "differs"),
        (record("eng-lstm-0-0", 100, epochs=7), "differs"),
        (record("eng-lstm-0-0", 100, epochs=20, status="diverged"), "differs"),
    ],
)
def test_other_numbers_agree_within_three_deviations_of_seeds(arrays, new, verdict):
    assert SUITE.compare(arrays, new).verdict == verdict


def test_what_was_never_measured_cannot_be_compared(arrays):
    with pytest.raises(ValueError, match="task must be one of the stored trainings, got 'eng-lstm-2-1'"):
        SUITE.compare(arrays, record("eng-lstm-2-1", 50))


def test_every_beginning_of_list_is_table():
    tasks = SUITE.tasks(4)
    assert len(set(tasks)) == 24
    assert tasks[:7] == [*(f"eng-{a}-0-{s}" for a in ("lstm", "transformer") for s in range(3)), "eng-lstm-1-0"]
    assert cells.SUITE.tasks(2) == ["0-0", "0-1", "1-0", "1-1"]
