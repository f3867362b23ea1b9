"""The vectors that the published package was asked about."""

from __future__ import annotations

import json

import numpy as np

from hpo_envs.benchmarks.papers.cushlepor import package_check


def test_package_vectors_are_the_ones_of_the_golden_file():
    golden = json.loads(package_check.GOLDEN.read_text(encoding="utf-8"))
    assert np.array_equal(package_check.vectors(), golden["vectors"])
