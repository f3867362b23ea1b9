"""What agents can work on."""

from __future__ import annotations

import gymnasium as gym

from hpo_envs import agents, benchmarks


def test_fits() -> None:
    for name, spec_id, expected in [
        ("random", "NMTHPO-zhen-mo-v0", True),
        ("bo", "NMTHPO-zhen-v0", True),
        ("ttts", "NMTHPO-zhen-v0", False),
        ("ttts", "FIESTA-tdsa8-v0", True),
        ("bo", "FIESTA-tdsa8-v0", False),
        ("hyperband", "NMTLC-zhen-v0", True),
        ("hyperband", "NMTHPO-zhen-v0", False),
        ("box-bo", "CushLEPOR-ted-ende-v0", True),
        ("bo-ehvi-rbf", "NMTHPO-zhen-mo-v0", True),
        ("bo-ehvi-rbf", "NMTHPO-zhen-v0", False),
    ]:
        problem = benchmarks.problem_of(gym.make(spec_id, table="surrogate"))
        assert agents.fits(name, problem) is expected, (name, spec_id)
