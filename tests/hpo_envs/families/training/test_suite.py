import pytest

from hpo_envs.families.cellmini import measure as cells
from hpo_envs.families.charmini.measure import suite

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
    with pytest.raises(ValueError, match="task must be one that was measured, got 'eng-lstm-2-1'"):
        SUITE.compare(arrays, record("eng-lstm-2-1", 50))


def test_every_beginning_of_list_is_table():
    tasks = SUITE.tasks(4)
    assert len(set(tasks)) == 24
    assert tasks[:7] == [*(f"eng-{a}-0-{s}" for a in ("lstm", "transformer") for s in range(3)), "eng-lstm-1-0"]
    assert cells.SUITE.tasks(2) == ["0-0", "0-1", "1-0", "1-1"]
