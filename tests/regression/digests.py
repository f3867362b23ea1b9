"""What every id and every agent does, as digests: a change of any number that the suite returns shows here.

    python tests/regression/digests.py check             # everything, about a quarter of an hour of processor time
    python tests/regression/digests.py check --portable  # only what does not depend on the kernel of BLAS
    python tests/regression/digests.py check --small     # only what the tests compare, within a minute

After a change that is meant, say in the CHANGELOG what changed, and record anew, once with another kernel and without
vector instructions, so that the record knows what depends on them (`portable`: what does not):

    OPENBLAS_CORETYPE=Nehalem NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR" \\
        python tests/regression/digests.py record --file other.json
    python tests/regression/digests.py record --against other.json

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

# What tests compare is on embedded tables: the steps of every id, and agents where they are quick. Other packages'
# agents are compared in the full check only, because their numbers are those of a version.
COSTLY = ("bo", "bo-spread", "bo-thompson", "box-bo")
"""Agents that take most of the time; they are compared on `FEW` ids."""
FEW = ("NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0", "NMTHPO-v0", "NMTLC-ft-zhen-v0", "CharHPO-v0", "FunctionHPO-v0")
QUICK = ("NMTHPO-", "NMTLC-", "FIESTA-", "CharHPO-inflection-alb-lstm-", "CharHPO-v0", "NASBenchNLP-cell-", "Function")
"""How ids begin on which the other agents are compared."""

CHANGED = (
    "what the suite returns changed: if that is meant, say so in the CHANGELOG, then record anew as the docstring of "
    "tests/regression/digests.py says"
)

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


LIVE = "live"
"""Stands for the kind of table of ids that call a function: the example of their family."""


def given(env_id: str, kind: str) -> dict[str, Any]:
    """Arguments of an environment."""
    from hpo_envs import registry

    family = registry.family_of(env_id)
    return dict(family.example) if kind == LIVE and family is not None else {"table": kind}


def steps(env_id: str, kind: str, batched: bool) -> str:
    """Digest of 200 steps with random actions, through the ends of episodes."""
    h = hashlib.sha256()
    if batched:
        env: Any = gym.make_vec(env_id, num_envs=3, **given(env_id, kind))
        space = env.single_action_space
    else:
        env = gym.make(env_id, disable_env_checker=True, **given(env_id, kind))
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
    for r in benchmarks.run(agent, env_id, SEEDS, env_kwargs=given(env_id, kind)):
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

    live = [spec.id for family in registry.FAMILIES.values() if family.example for spec in family.ids]
    for env_id in [*registry.SPECS, *live]:
        if ids and env_id not in ids:
            continue
        for kind in kinds if env_id in registry.SPECS else (LIVE,):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    env = gym.make_vec(env_id, num_envs=1, **given(env_id, kind))
                except Exception as error:
                    if not isinstance(error, (ValueError, OSError)):
                        raise
                    continue
            yield env_id, kind, "scalar"
            yield env_id, kind, "batched"
            problem = benchmarks.problem_of(env)
            for name in agents.names():
                if agents.AGENTS[name].alias_of is None and agents.fits(name, problem):
                    yield env_id, kind, name
            env.close()


def small(keys: Iterable[str]) -> list[str]:
    """Those of some keys that tests compare."""
    from hpo_envs.agents import AGENTS

    out = []
    for key in keys:
        env_id, kind, what = key.split("/")
        external = what in AGENTS and AGENTS[what].extra is not None
        steps_only = what in ("scalar", "batched")
        where = FEW if what in COSTLY else QUICK
        if kind in ("surrogate", LIVE) and (steps_only or (not external and env_id.startswith(where))):
            out.append(key)
    return out


def comparable(record: Mapping[str, Any]) -> list[str]:
    """Keys whose digests must be the same here: all of them where everything was recorded on the like of it."""
    return list(record["digests"]) if record["machine"] == machine() else list(record.get("portable", ()))


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
    parser.add_argument("--against", type=Path, help="record: digests from another kernel, to tell what is portable")
    parser.add_argument("--portable", action="store_true", help="check: only what does not depend on the kernel")
    parser.add_argument("--small", action="store_true", help="only what the tests compare")
    parser.add_argument("--ids", default="", help="some ids, separated by commas")
    parser.add_argument("--agents", default="", help="some agents (or scalar, batched), separated by commas")
    parser.add_argument("--kinds", default=",".join(KINDS), help="measured, surrogate or both")
    args = parser.parse_args(arguments)
    some = args.agents.split(",") if args.agents else ()
    todo = [t for t in tasks([i for i in args.ids.split(",") if i], args.kinds.split(",")) if not some or t[2] in some]
    record = json.loads(args.file.read_text(encoding="utf-8")) if args.action == "check" else {}
    if args.portable:
        todo = [t for t in todo if "/".join(t) in {*record.get("portable", ())}]
    if args.small:
        few = {*small("/".join(t) for t in todo)}
        todo = [t for t in todo if "/".join(t) in few]
    now = compute(todo, args.jobs)
    if args.action == "record":
        made: dict[str, Any] = {"machine": machine(), "digests": now}
        if args.against:
            other = json.loads(args.against.read_text(encoding="utf-8"))["digests"]
            made["portable"] = [k for k in now if other.get(k) == now[k]]
        args.file.write_text(json.dumps(made, indent=0) + "\n", encoding="utf-8")
        print(f"{len(now)} digests recorded, {len(made.get('portable', ()))} portable")
        return 0
    return report(record["digests"], now)


def report(before: Mapping[str, str], now: Mapping[str, str]) -> int:
    """Prints what changed; returns 1 if anything did."""
    missing = [k for k in now if k not in before]
    changed = [k for k in now if k in before and before[k] != now[k]]
    for k in changed:
        print(f"changed: {k}: {before[k]} -> {now[k]}")
    for k in missing:
        print(f"new: {k}")
    print(f"{len(now)} compared, {len(changed)} changed, {len(missing)} new")
    if changed:
        print(CHANGED)
    return 1 if changed else 0


if __name__ == "__main__":
    raise SystemExit(main())
