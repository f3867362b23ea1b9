"""What every id and every agent does, as digests: a change of any number that the suite returns shows here.

    python tests/regression/digests.py record            # after a change that is meant; explain it in the CHANGELOG
    python tests/regression/digests.py check             # everything, in about five minutes on two cores
    python tests/regression/digests.py check --portable  # only what does not depend on the kernel of BLAS

For each id and each kind of table: 200 random steps in the scalar and in the batched form, and for each agent that
fits two runs with the id's own budget. It uses nothing but the entry points that stay as they are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

# One thread: sums of several depend on their number.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402

PATH = Path(__file__).with_name("digests.json")
KINDS = ("measured", "surrogate")
SEEDS = (0, 1)
STEPS = 200

Task = tuple[str, str, str]
"""Id, kind of table, and an agent's name or `scalar` or `batched`."""


def put(h: Any, value: Any) -> None:
    """Adds a value to a hash: its type, shape and bits, keys sorted."""
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            h.update(f"{key}:".encode())
            put(h, value[key])
    elif isinstance(value, np.ndarray) and value.dtype == object:
        put(h, value.tolist())
    elif isinstance(value, np.ndarray):
        h.update(f"{value.dtype}{value.shape}".encode())
        h.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (list, tuple)):
        h.update(f"[{len(value)}".encode())
        for v in value:
            put(h, v)
    elif isinstance(value, (float, np.floating)):
        h.update(float(value).hex().encode())
    elif isinstance(value, (bool, np.bool_, int, np.integer, str)) or value is None:
        h.update(str(value).encode())
    else:
        raise TypeError(f"no digest of {type(value)}")


def steps(env_id: str, kind: str, batched: bool) -> str:
    """Digest of 200 steps with random actions, through the ends of episodes."""
    h = hashlib.sha256()
    if batched:
        env: Any = gym.make_vec(env_id, num_envs=3, table=kind)
        space = env.single_action_space
    else:
        env = gym.make(env_id, table=kind, disable_env_checker=True)
        space = env.action_space
    space.seed(7)
    put(h, env.reset(seed=7))
    for _ in range(STEPS):
        action = np.stack([np.asarray(space.sample()) for _ in range(3)]) if batched else space.sample()
        out = env.step(action)
        put(h, out)
        if not batched and (out[2] or out[3]):
            put(h, env.reset())
    env.close()
    return h.hexdigest()[:16]


def runs(env_id: str, kind: str, agent: str) -> str:
    """Digest of an agent's runs."""
    from hpo_envs import benchmarks

    h = hashlib.sha256()
    for r in benchmarks.run(agent, env_id, SEEDS, env_kwargs={"table": kind}):
        put(h, [r.seed, r.actions, r.rewards, r.costs, np.asarray(r.recommended)])
    return h.hexdigest()[:16]


def digest(task: Task) -> tuple[Task, str]:
    """The digest of a task, or the error that it ends in."""
    env_id, kind, what = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = (
                steps(env_id, kind, what == "batched") if what in ("scalar", "batched") else runs(env_id, kind, what)
            )
        except Exception as error:  # an error is an outcome, too, and may not change unnoticed
            value = f"{type(error).__name__}: {error}"[:100]
    return task, value


def tasks(ids: Sequence[str] = (), kinds: Sequence[str] = KINDS) -> Iterator[Task]:
    """Everything that has a digest."""
    from hpo_envs import agents, benchmarks, registry

    for env_id in registry.SPECS:
        if ids and env_id not in ids:
            continue
        for kind in kinds:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    env = gym.make_vec(env_id, num_envs=1, table=kind)
                except Exception as error:
                    if not isinstance(error, (ValueError, OSError)):
                        raise
                    continue
            yield env_id, kind, "scalar"
            yield env_id, kind, "batched"
            problem = benchmarks.problem_of(env)
            for name in agents.names():
                alias = agents.AGENTS[name].alias_of
                if (alias is None or name == "optuna") and agents.fits(name, problem):
                    yield env_id, kind, name
            env.close()


def machine() -> dict[str, Any]:
    """What digests may depend on besides this project's code."""
    import scipy
    import scipy.linalg  # loads its own BLAS
    from threadpoolctl import threadpool_info

    kernels = sorted({str(i.get("architecture")) for i in threadpool_info() if i["user_api"] == "blas"})
    return {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "kernels": kernels,
        "machine": platform.machine(),
    }


def compute(todo: Sequence[Task], jobs: int) -> dict[str, str]:
    """Digests of tasks by `id/kind/agent`."""
    from tqdm import tqdm

    found: dict[str, str] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for task, value in tqdm(pool.map(digest, todo, chunksize=4), total=len(todo), disable=not sys.stderr.isatty()):
            found["/".join(task)] = value
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Records or checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "check"))
    parser.add_argument("--file", type=Path, default=PATH, help="where the digests are")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ids", default="", help="some ids, separated by commas")
    parser.add_argument("--agents", default="", help="some agents (or scalar, batched), separated by commas")
    parser.add_argument("--kinds", default=",".join(KINDS), help="measured, surrogate or both")
    args = parser.parse_args(arguments)
    some = args.agents.split(",") if args.agents else ()
    todo = [t for t in tasks([i for i in args.ids.split(",") if i], args.kinds.split(",")) if not some or t[2] in some]
    now = compute(todo, args.jobs)
    if args.action == "record":
        args.file.write_text(json.dumps({"machine": machine(), "digests": now}, indent=0) + "\n", encoding="utf-8")
        print(f"{len(now)} digests recorded")
        return 0
    before = json.loads(args.file.read_text(encoding="utf-8"))["digests"]
    missing = [k for k in now if k not in before]
    changed = [k for k in now if k in before and before[k] != now[k]]
    for k in changed:
        print(f"changed: {k}: {before[k]} -> {now[k]}")
    for k in missing:
        print(f"new: {k}")
    print(f"{len(now)} compared, {len(changed)} changed, {len(missing)} new")
    return 1 if changed else 0


if __name__ == "__main__":
    raise SystemExit(main())
