"""Runs of given actions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


def run_of(actions: list[list[int]], workers: int = 1) -> Any:
    class Run(SimpleNamespace):
        def __len__(self) -> int:
            return len(self.actions)

    return Run(
        seed=0,
        actions=np.array(actions),
        header={"env": "NASBenchNLP-wikitext2-v0", "env_kwargs": {"workers": workers}},
    )
