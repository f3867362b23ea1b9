"""Pictures for notebooks: functions of frames that return matplotlib's axes.

>>> from hpo_envs.benchmarks import plots, run
>>> runs = run("random", "NMTHPO-zhen-v0", range(4))
>>> axes = plots.incumbent(runs.to_frame())
"""

from hpo_envs.benchmarks.plots.configurations import importance, parallel_coordinates
from hpo_envs.benchmarks.plots.runs import ecdf, incumbent, pareto, ranking

__all__ = ["ecdf", "importance", "incumbent", "parallel_coordinates", "pareto", "ranking"]
