"""A comparison as one self-contained page: no library, no request to a network, readable from a file."""

from hpo_envs.benchmarks.report.page import render
from hpo_envs.benchmarks.report.sentences import verdict

__all__ = ["render", "verdict"]
