"""Pareto fronts of runs with two objectives: attainment surfaces, and their growth with the budget."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.benchmarks.analysis.scales import of_header
from hpo_envs.benchmarks.comparison import targets
from hpo_envs.benchmarks.comparison.scored import AgentRuns
from hpo_envs.tables.table import Floats


def within_budget(rewards: Floats, costs: Floats, budget: float, fraction: float) -> Floats:
    """Return the (k, 2) rewards of the evaluations within a fraction of the budget: at least the first; all for 1."""
    done = int(np.searchsorted(np.cumsum(costs), fraction * budget + 1e-9, "right"))
    return rewards[: max(done if fraction < 1.0 else len(costs), 1)]


def surfaces(
    runs: Sequence[tuple[Floats, Floats]], budget: float, grid: npt.ArrayLike, share: float = 1.0
) -> list[Floats]:
    """Return the three attainment surfaces that 50, 75 and 25 per cent of the runs attain: median and quartiles.

    Each has the second reward at each first reward in `grid`, see `targets.attainment`. `runs` are (k, 2) rewards and
    (k,) costs, of which the evaluations within the fraction `share` of the budget count.
    """
    sets = [within_budget(*run, budget, share) for run in runs]
    return [targets.attainment(sets, grid, s) for s in (0.5, 0.75, 0.25)]


def of_cells(cells: Mapping[tuple[str, str], AgentRuns]) -> dict[str, Any]:
    """Return attainment surfaces of each environment with two objectives, in native units; empty if there is none.

    An entry has `objectives`, `signs`, the grid `x` of the first objective, and `stages`: the three `surfaces` of the
    second objective by fraction of the budget and agent.
    """
    groups: dict[str, dict[str, AgentRuns]] = {}
    for (env, agent), cell in cells.items():
        if cell.fronts:
            groups.setdefault(env, {})[agent] = cell
    result = {}
    for env, by in groups.items():
        header = next(iter(by.values())).header
        grid = _grid([rewards for cell in by.values() for rewards, _ in cell.fronts])
        sign, stages = of_header(header).signs, {}
        for share in (0.25, 0.5, 1.0):
            each = {a: surfaces(cell.fronts, float(header["budget"]), grid, share) for a, cell in by.items()}
            stages[f"{share:.0%}"] = {a: [s * sign[1] for s in found] for a, found in each.items()}
        result[env] = {"objectives": [*header["objectives"]], "signs": sign, "x": grid * sign[0], "stages": stages}
    return result


def _grid(sets: Sequence[Floats]) -> Floats:
    """Return a grid of first rewards: quantiles over all runs' fronts, and those of their joint front."""
    fronts = np.concatenate([s[pareto_front(s)] for s in sets])
    front = fronts[pareto_front(fronts)]
    values = np.quantile(fronts[:, 0], np.linspace(0.1, 1.0, 50))
    return np.unique(np.concatenate([values[values >= front[:, 0].min() - np.ptp(front[:, 0])], front[:, 0]]))
