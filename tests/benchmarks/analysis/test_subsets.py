"""A run that has a part of the rows is scored on that part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks.analysis import reference, regret, subsets
from hpo_envs.benchmarks.runs import Run, run


def _runs(env_id: str, kwargs: dict[str, Any], share: float) -> list[Run]:
    return run("random", env_id, range(4), env_kwargs={"table": "surrogate", **kwargs, "share": share})


def test_regret_is_that_of_the_rows_that_a_run_has() -> None:
    for case in (("NMTHPO-zhen-v0", {"budget": None}), ("NMTHPO-zhen-mo-v0", {"budget": None})):
        runs = _runs(*case, share=0.3)
        scales = regret.scales(runs)
        assert len(scales) == 4
        for r in runs:
            scale, table = scales[regret.key(r)], reference.table_of(r.header)
            own = reference.final_rewards(subsets.of(table, subsets.key(r.header)), r.header["objectives"])
            assert len(own) == round(0.3 * len(table)) == len(r)
            assert regret.final(r, scale) == pytest.approx(0.0)
            assert reference.of_run(r).best.tolist() == own.max(axis=0).tolist()
            if len(scale.origin) == 1:
                assert scale.origin[0] == np.median(own)


def test_arms_keep_their_means_under_a_share() -> None:
    runs = _runs("FIESTA-tdsa8-v0", {}, share=0.5)
    scales = regret.scales(runs)
    for r in runs:
        scale, means = scales[regret.key(r)], reference.final_rewards(reference.table_of(r.header), ["f1"])[:, 0]
        assert scale.means is not None
        assert scale.means.tolist() == means.tolist()
        assert scale.best[0] == means[sorted(set(r.evaluated["row"].tolist()))].max()
        assert 0.0 <= regret.final(r, scale) <= 1.0
