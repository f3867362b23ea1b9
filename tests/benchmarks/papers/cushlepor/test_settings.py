"""The published numbers are explained."""

from __future__ import annotations

from hpo_envs.benchmarks.papers.common import expected


def test_published_numbers_are_explained():
    for p in expected("cushlepor").values():
        needs = p.details["why not"].startswith("needs hpo-envs fetch")
        assert bool(p.details["why not"]) == (p.details["reproducible"] == "no" or needs)
