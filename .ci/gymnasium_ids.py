"""Gymnasium's own tests of environments, from a checkout of its repository, on our ids: a plugin of pytest.

    cd CHECKOUT && PYTHONPATH=REPOSITORY/.ci python -m pytest -p gymnasium_ids tests/envs/test_envs.py

Its module that lists the environments to be tested is replaced by our list. Left out are ids with two objectives, whose
rewards Gymnasium's `==` cannot compare, and those that train at each step.
"""

import sys
import types
from typing import Any

import gymnasium as gym

from hpo_envs.families.registry import SPECS

ids = [i for i, s in SPECS.items() if not isinstance(s.kwargs.get("objective"), tuple) and "Live" not in i]
listed: Any = types.ModuleType("tests.envs.utils")
listed.all_testing_env_specs = [gym.spec(i) for i in ids]
listed.all_testing_initialised_envs = [gym.make(i, disable_env_checker=True).unwrapped for i in ids]
sys.modules["tests.envs.utils"] = listed
