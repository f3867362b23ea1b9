"""Tells how many environments and seeds a question needs, before a study is run.

Two questions: would other seeds name the same winner on these environments, and would other environments like these?
Seeds answer the first, only environments the second. All sizes are in standard deviations of one run; by experience
agents interact with environments by a tau of .4 to .8.
"""

from __future__ import annotations

import argparse

EPILOG = """\
examples:
  hpo-envs power --effect 0.5                        from how many environments and seeds on a winner is found
  hpo-envs power --effect 0.5 --clusters 6 --seeds 20 --agents 16
                                                     of one study
  hpo-envs power --effect 1 --luck 0.5 --replicates 20 --seeds 20
                                                     each run on other rows of its table"""

CLUSTERS, SEEDS = (1, 3, 6, 8, 12, 24, 48), (5, 10, 20, 50, 100)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--effect", type=float, default=0.5, help="how much better an agent is (default: %(default)g)")
    parser.add_argument("--clusters", type=int, help="environments, related ones counted once (default: several)")
    parser.add_argument("--seeds", type=int, help="runs of an agent on an environment (default: several)")
    parser.add_argument("--agents", type=int, default=2, help="number of agents (default: %(default)s)")
    parser.add_argument(
        "--tau",
        type=float,
        default=0.5,
        help="deviation of a lead between environments (default: %(default)g)",
    )
    parser.add_argument(
        "--luck",
        type=float,
        default=0.0,
        help="deviation of a lead between samples of rows (default: %(default)g)",
    )
    parser.add_argument("--replicates", type=int, default=1, help="samples of each table's rows (default: %(default)s)")
    parser.add_argument("--studies", type=int, default=1000, help="studies simulated a cell (default: %(default)s)")
    parser.add_argument("--goal", type=float, default=0.8, help="share of studies to find it in (default: %(default)g)")


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    from hpo_envs.benchmarks.analysis import intervals, power
    from hpo_envs.benchmarks.report import terminal

    if not args.effect > 0:
        raise ValueError(f"--effect must be a number > 0, got {args.effect}")
    if not 0 < args.goal < 1:
        raise ValueError(f"--goal must be in (0, 1), got {args.goal}")
    if args.studies < 1:
        raise ValueError(f"--studies must be an int >= 1, got {args.studies}")
    every = [(k, n) for k in ((args.clusters,) if args.clusters else CLUSTERS) for n in _seeds(args)]
    rows, enough = [], {"these": "", "others": ""}
    for k, n in every:
        plan = power.Study(k, n, args.replicates, args.agents, args.tau, args.luck)
        here, there = power.winners(plan, args.effect, args.studies)
        rows.append([str(k), str(n), f"{here:.0%}", f"{there:.0%}" if k >= intervals.FEWEST_CLUSTERS else "-"])
        for question, share in (("these", here), ("others", there)):
            if share >= args.goal and not enough[question]:
                enough[question] = f"{k} environment{'s' * (k > 1)} x {n} seeds"
    print(terminal.aligned([["environments", "seeds", "on these", "on others"], *rows]))
    print(f"\nshare of {args.studies} simulated studies that name the agent that is better by {args.effect:g}")
    for question, text in (("these", "on these environments"), ("others", "on environments like these")):
        print(f"{text}, in {args.goal:.0%} of studies: {enough[question] or 'none of these'}")
    return 0


def _seeds(args: argparse.Namespace) -> tuple[int, ...]:
    if args.seeds:
        return (args.seeds,)
    return tuple(n for n in SEEDS if n % max(args.replicates, 1) == 0) or (args.replicates,)
