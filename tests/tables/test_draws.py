"""Draws by hashing."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables import draws


def test_the_sequence_is_that_of_splitmix64() -> None:
    """The numbers that its authors' program prints for this seed."""
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert draws.sequence(np.array([1234567], np.uint64), 5).tolist() == known
    assert draws.sequence(np.array([1234567], np.uint64), 2).tolist() == known[:2]
