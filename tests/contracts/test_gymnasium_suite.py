"""What Gymnasium's own tests ask of environments and of batches, asked of all ids: `.ci/nightly clients`.

Its tests are in no wheel. `.ci/gymnasium_ids.py` runs `tests/envs/test_envs.py` of a checkout on our ids; here its
vector tests are restated: a batch is what `SyncVectorEnv` makes of scalar environments, in each autoreset mode.
"""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from tests.helpers import ONE_OF_EACH, short

pytest.importorskip("torchrl", reason="run by .ci/nightly clients")


def batch(spec_id: str, **kwargs: Any) -> Any:
    return gym.make_vec(spec_id, num_envs=3, **short(spec_id), **kwargs)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("spec_id", ONE_OF_EACH)
def test_batches_are_what_gymnasium_makes_of_scalar_environments(spec_id: str, mode: AutoresetMode) -> None:
    def one() -> Any:
        return gym.make(spec_id, disable_env_checker=True, **short(spec_id))

    ours = batch(spec_id, autoreset_mode=mode)
    assert VectorEnv in type(ours.unwrapped).__bases__  # skrl looks nowhere else
    if hasattr(ours.unwrapped, "reward_space"):
        pytest.skip("SyncVectorEnv has no room for vector rewards; MOSyncVectorEnv is compared in test_rl_tools.py")
    theirs = SyncVectorEnv([one] * 3, autoreset_mode=mode)
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space", "num_envs"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert np.array_equal(ours.reset(seed=[5, 6, 7])[0], theirs.reset(seed=[5, 6, 7])[0])
    ours.action_space.seed(0)
    for _ in range(12):
        actions = ours.action_space.sample()
        a, b = ours.step(actions), theirs.step(actions)
        assert a[0] in ours.observation_space
        for mine, other in zip(a[:4], b[:4], strict=True):
            assert np.allclose(mine, other, rtol=1e-12, atol=0)
        if "final_obs" in b[4]:
            assert np.array_equal(a[4]["_final_obs"], b[4]["_final_obs"])
            assert np.array_equal(a[4]["_final_info"], b[4]["_final_info"])
            for mine, other in zip(a[4]["final_obs"], b[4]["final_obs"], strict=True):
                assert (mine is None and other is None) or np.allclose(mine, other, rtol=1e-12, atol=0)
    ours.close()
    theirs.close()


@pytest.mark.parametrize("spec_id", ONE_OF_EACH)
def test_a_batch_repeats_itself_and_survives_a_pickle(spec_id: str) -> None:
    """As `test_env_determinism_rollout` and `test_pickle_env` ask of scalar environments."""
    one, other = batch(spec_id), batch(spec_id)
    assert data_equivalence(one.reset(seed=0), other.reset(seed=0), exact=True)
    one.action_space.seed(0)
    for _ in range(8):
        actions = one.action_space.sample()
        assert data_equivalence(one.step(actions), other.step(actions), exact=True)
    again = pickle.loads(pickle.dumps(one))
    actions = one.action_space.sample()
    assert data_equivalence(one.step(actions), again.step(actions), exact=True)
