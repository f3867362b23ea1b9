"""What models in training share."""

import numpy as np

from hpo_envs.families.training.model import Resumable, key_of


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


class Model(Resumable):
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
