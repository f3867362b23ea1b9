"""Whether the luck of a seed on one environment says anything of another.

`python -m hpo_envs.benchmarks.performance.design.luck` prints the correlations of seed-wise scores of random search
between the ids of a family; of independent runs they have mean 0 and standard deviation 1 / sqrt(seeds).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.runs import run
from hpo_envs.core import screen
from hpo_envs.registry import SPECS


def correlations(ids: Sequence[str], seeds: int, table: str, agent: str = "random") -> npt.NDArray[np.float64]:
    """(pairs,) correlation of anytime regret over seeds of each pair of ids, with the table's order of rows."""
    scores = []
    for env_id in ids:
        made = run(agent, env_id, range(seeds), env_kwargs={"table": table, "order": "table"})
        scores.append([regret.anytime(r, regret.after(r)) for r in made])
    return np.asarray(np.corrcoef(scores))[np.triu_indices(len(ids), 1)]


@screen.on()
def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", default="NMTLC", help="default: %(default)s")
    parser.add_argument("--seeds", type=int, default=200, help="default: %(default)s")
    parser.add_argument("--table", default="measured", help="default: %(default)s")
    args = parser.parse_args(argv)
    ids = [s.id for s in SPECS.values() if s.family == args.family]
    found = correlations(ids, args.seeds, args.table)
    print(
        f"{len(found)} pairs of {len(ids)} ids: {found.min():.2f} to {found.max():.2f}, mean {found.mean():.3f}, "
        f"standard deviation {found.std():.3f}; of independent runs {args.seeds**-0.5:.3f}"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
