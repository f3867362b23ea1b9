import numpy as np
import pytest

from hpo_envs.families.training.record import Training, key_of, processor, record, trainer
from tests.hpo_envs.families.training.falling import begin

pytest.importorskip("torch")


def test_record_is_plain_data():
    kept = record("a", begin(), 2)
    assert (kept["task"], kept["status"], kept["epochs"], kept["parameters"]) == ("a", "ok", [(0.5,), (0.25,)], 7)
    assert len(kept["seconds"]) == 2
    assert kept["processor"] == processor()
    assert kept["versions"]["torch"] == trainer().__version__


def test_training_that_diverges_keeps_epochs_before():
    kept = record("a", begin(1.4), 5)
    assert (kept["status"], len(kept["epochs"]), len(kept["seconds"])) == ("diverged", 3, 3)


class Rate:
    def __init__(self) -> None:
        self.steps = 0

    def state(self) -> dict[str, np.ndarray]:
        return {"steps": np.array(self.steps)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.steps = int(state["steps"])


class Parameters:
    def __init__(self) -> None:
        self.flat = np.zeros(3)


class Model(Training):
    def epoch(self) -> None:
        pass

    def __init__(self) -> None:
        self._parameters, self._adam, self.epochs = Parameters(), Rate(), 0


def test_model_goes_on_where_its_arrays_were():
    one, other = Model(), Model()
    one._parameters.flat[:], one._adam.steps, one.epochs = [1.0, 2.0, 3.0], 7, 2
    flat = other._parameters.flat
    other.restore({k: v.copy() for k, v in one.state().items()})
    assert (flat.tolist(), other._adam.steps, other.epochs, other.size) == ([1.0, 2.0, 3.0], 7, 2, 3)


def test_keys_depend_on_every_part_and_not_on_order_of_settings():
    assert key_of("lstm", 0, {"a": 1, "b": 2}) == key_of("lstm", 0, {"b": 2, "a": 1})
    assert len({key_of("lstm", 0, {"a": 1}), key_of("lstm", 1, {"a": 1}), key_of("lstm", 0, {"a": 2})}) == 3
    assert key_of("cell", 3, "1:l0") == 7754151486757684768
    assert 0 <= key_of("x") < 2**63
