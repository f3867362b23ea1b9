"""The sweeps, how the published numbers interpret them, and the published numbers."""

import functools
from dataclasses import dataclass

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Published
from hpo_envs.tables import store
from hpo_envs.tables.datasets.charhpo import RUNS, SCHEDULERS, parts
from hpo_envs.tables.datasets.charhpo import build as charhpo
from hpo_envs.tables.frames import natural
from hpo_envs.tables.table import Floats, Table

REVERSED = {"warmup_samples": "reduceonplateau", **dict.fromkeys(("factor", "min_lr", "patience"), "warmupinvsqrt")}
"""Scheduler under which the published similarity keeps a conditional hyperparameter: the opposite of appendix A. Of
24 counts of maxima, all agree with Table 12; with the values of the text, 3 do."""


@dataclass(frozen=True)
class Sweep:
    """A random search of one task, language and architecture."""

    task: str  # `inflection` or `g2p`
    lang: str  # language code of Table 6
    architecture: str  # `lstm` or `transformer`
    table: Table
    sampled: Floats  # (200, 16) drawn values, including inactive ones
    file: Floats  # (rows, 16) drawn values of all rows of the file, including those beyond the sweep's 200
    file_accuracy: Floats  # (rows,) development accuracy of these rows in per cent
    test: float  # test accuracy of the best run in per cent, as upstream recorded it

    @property
    def accuracy(self) -> Floats:
        """(200,) development accuracy in per cent."""
        return self.table.final("accuracy")

    def ranked(self, published: bool) -> Floats:
        """Return (200, d) values that define the similarity of runs in the published numbers, or else in the text."""
        names = [h.name for h in self.table.space]
        if not published:
            varied = [j for j, h in enumerate(self.table.space) if h.low < h.high]
            return self.table.configs[:, varied]
        configs = self.sampled.copy()
        scheduler = configs[:, names.index("scheduler")]
        for name, kept in REVERSED.items():
            configs[scheduler != SCHEDULERS.index(kept), names.index(name)] = 0.0
        # In the text, these two count as well.
        return configs[:, [j for j, name in enumerate(names) if name not in ("attention_heads", "decoder_layers")]]


@functools.cache
def sweeps() -> tuple[Sweep, ...]:
    """Return all 24 sweeps; cached."""
    out = []
    for name in charhpo.NAMES:
        runs, table = charhpo.recorded(name), natural(store.load(name))
        sampled = runs.drawn[:RUNS]
        out.append(Sweep(*parts(name), table, sampled, runs.drawn, runs.accuracy, runs.test))
    return tuple(out)


Key = tuple[int, str, str, str, str]
"""Table, task, language ("" or "avg" for averages), architecture, quantity."""


def expected() -> dict[Key, Published]:
    """Return the published values of Tables 3 to 6 and 8 to 12, which can be computed from the sweeps."""
    found = common.expected("charhpo").items()
    return {(int(key[0]), *key[1:]): p for key, p in found if key[0] != "7"}  # type: ignore[misc]
