"""Draws by hashing."""

import numpy as np

from hpo_envs.tables import draws


def test_sequence_is_that_of_splitmix64() -> None:
    """The numbers that the authors' program prints for this seed."""
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert draws.sequence(np.array([1234567], np.uint64), 5).tolist() == known
    assert draws.sequence(np.array([1234567], np.uint64), 2).tolist() == known[:2]


def test_noise_is_these_numbers() -> None:
    """Saved runs depend on these numbers."""
    known = {
        (0, 0): 0x48218226FF3CD4BF,
        (1, 2): 0xB56E5DD1E0C45A68,
        (18446744073709551615, 7): 0xBF72EF20113768DE,
        (123456789, 987654321): 0xEB82A06BC268BAD4,
    }
    for (key, counter), bits in known.items():
        assert draws.mix(key, counter) == bits
        assert draws.mix_many(np.array([key], np.uint64), counter).tolist() == [bits]
    assert draws.uniform(0) == 2.0**-54
    assert draws.uniform(2**64 - 1) == 1.0 - 2.0**-53 < 1.0
    assert draws.uniform(1 << 62) == 0.25 + 2.0**-54
    assert [draws.below(2**64 - 1, 7), draws.below(1 << 63, 10), draws.below(0, 5)] == [6, 5, 0]
    bits_ = np.array([0, 1 << 63, 2**64 - 1, 0x123456789ABCDEF0], np.uint64)
    assert draws.uniform_many(bits_).tolist() == [draws.uniform(int(b)) for b in bits_]
    assert draws.below_many(bits_, 2**21 - 1).tolist() == [draws.below(int(b), 2**21 - 1) for b in bits_]
    assert draws.below_many(bits_, 7).dtype == np.int64
    keys = np.arange(5, dtype=np.uint64)
    assert draws.mix_many(keys, np.arange(5)).tolist() == [draws.mix(k, k) for k in range(5)]
