"""Digests of every id and agent: a change of any number that the suite returns is detected here.

    python tests/regression/digests.py check               # everything, about four minutes of processor time
    python tests/regression/digests.py check --small       # only what the tests compare, within a minute
    python tests/regression/digests.py check --apart       # each seed of an agent in a batch of its own
    python tests/regression/digests.py processors --small  # the same on simulated other processors

For each id: 200 random steps in the scalar and in the batched form, and for each agent that
fits two runs with the id's own budget. Agents of other packages run on few ids, where they are installed: their
numbers are those of a version. Agents that learn from other tables run with these at hand, too, on few ids. It uses
nothing but the entry points that stay as they are.

The record is `digests/`: a file per family with key, digest and, of agents, outcome (mean and standard deviation of the
rewards, by objective), and `machine.json`. Steps are exact by construction and must have the same digest everywhere.
Agents use BLAS, LAPACK and trees of other packages: their digests must be the same where `machine()` is that of the
record; elsewhere the mean reward must lie near the recorded one (`distance`). Most x86-64
processors with AVX-512 become that machine by `OPENBLAS_CORETYPE=SkylakeX`.

After a change that is meant, or with a new id or agent, say in the CHANGELOG what changed, and record it (`--ids` and
`--agents` narrow all commands; with `--journal FILE` a run that was stopped goes on). In part, on another machine than
that of the record, agents have `-` for a digest and are compared by outcome everywhere.

Recording raises the number version (`benchmarks/runs/numbers.csv`) of each family with other steps, and of each agent
with other runs on an id whose steps are the same. Agents of other packages have few digests or none: whoever changes
what one does raises its number by hand.
"""

import argparse
import csv
import functools
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

# One thread: sums of several depend on their number.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402

FOLDER = Path(__file__).with_name("digests")
NUMBERS = Path(__file__).parents[2] / "benchmarks" / "runs" / "numbers.csv"
COLUMNS = ("kind", "name", "version", "sha256")
"""Columns of the number versions: `family` or `agent`, its name, the version, and the sha256 of what was recorded."""
SEEDS = (0, 1)
STEPS = 200

# What tests compare: the steps of every id, and agents where they are quick.
COSTLY = ("bo", "bo-spread", "bo-thompson", "box-bo", "freeze-thaw")
"""Agents that take most of the time; tests compare them on the ids in `FEW`."""
SLOWEST = ("box-bo",)
"""Agents that are compared only at night."""
FEW = ("NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0", "NMTHPO-v0", "NMTLC-ft-zhen-v0", "CharHPO-v0", "FunctionHPO-v0")
QUICK = (
    "NMTHPO-zhen-", "NMTHPO-v0", "NMTLC-ft-zhen-", "FIESTA-tdsa8-", "FIESTA-gaussian-", "CharHPO-inflection-alb-lstm-",
    "CharHPO-v0", "NASBenchNLP-cell-", "Function",
)  # fmt: skip
"""Starts of the ids on which tests compare the other agents of this package."""

PICKS = "auto"
"""The agent that picks another one, whose digests cover its runs."""

CHANGED = (
    "what the suite returns changed: if that is meant, say so in the CHANGELOG, then record anew as the docstring of "
    "tests/regression/digests.py says"
)

NEW = (
    "nothing was recorded of what is new, so that no change of it would be seen: record it as the docstring of "
    "tests/regression/digests.py says"
)

HELPED = ("NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0", "NMTLC-ft-zhen-v0", "CharHPO-inflection-alb-lstm-v0")
"""Ids on which agents also run with the tables of other languages as sources, if that changes their runs."""
SOURCES = "+sources"
"""Suffix of the name of an agent that has sources."""

STEPPED = ("scalar", "batched")
ELSEWHERE = "-\t"
"""Prefix of an outcome recorded on another machine than the rest."""

Task = tuple[str, str, str]
"""Id, kind of table, and an agent's name (see `SOURCES`) or one of `STEPPED`."""

_V4 = "X86_V4 AVX512_ICL AVX512_SPR"
FEATURES = {
    "all": {},
    "no AVX-512": {"NPY_DISABLE_CPU_FEATURES": _V4},
    "no AVX2": {
        "NPY_DISABLE_CPU_FEATURES": f"X86_V3 {_V4}",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-FMA4",
    },
}
"""Processor features that NumPy, and in the last case the C library, may use, by environment variables."""
KERNELS = ("SkylakeX", "Haswell", "Zen", "Nehalem")
"""Kernels of OpenBLAS."""


def put(h: Any, value: Any) -> None:
    """Add a value to a hash: its type, shape and bits, keys sorted."""
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


def given(env_id: str) -> dict[str, Any]:
    """Arguments of an environment."""
    from hpo_envs.families import registry

    family = registry.family_of(env_id)
    return {} if family is None else dict(family.example)


def steps(env_id: str, batched: bool, count: int = STEPS) -> str:
    """Digest of steps with random actions, across the ends of episodes."""
    h = hashlib.sha256()
    if batched:
        env: Any = gym.make_vec(env_id, num_envs=3, **given(env_id))
        space = env.single_action_space
    else:
        env = gym.make(env_id, disable_env_checker=True, **given(env_id))
        space = env.action_space
    space.seed(7)
    put(h, env.reset(seed=7))
    for _ in range(count):
        action = np.stack([np.asarray(space.sample()) for _ in range(3)]) if batched else space.sample()
        out = env.step(action)
        put(h, out)
        if not batched and (out[2] or out[3]):
            put(h, env.reset())
    env.close()
    return h.hexdigest()[:10]


def runs(env_id: str, agent: str, apart: bool = False) -> str:
    """Digest and outcome of an agent's runs, with all seeds in one batch or each in its own."""
    from hpo_envs import benchmarks

    h = hashlib.sha256()
    name, transfer = agent.removesuffix(SOURCES), "family" if agent.endswith(SOURCES) else None
    batches = [[seed] for seed in SEEDS] if apart else [SEEDS]
    how: Any = {"env_kwargs": given(env_id), "transfer": transfer}
    made = [r for seeds in batches for r in benchmarks.run(name, env_id, seeds, **how)]
    for r in made:
        put(h, [r.seed, r.actions, r.rewards, r.costs, np.asarray(r.recommended)])
    return f"{h.hexdigest()[:10]}\t{outcome([r.rewards for r in made])}"


def outcome(rewards: Sequence[Any]) -> str:
    """Mean and standard deviation of the rewards of several runs, for each objective."""
    columns = np.concatenate([np.asarray(r, float) for r in rewards]).reshape(sum(map(len, rewards)), -1).T
    return " ".join(f"{column.mean():.6g}±{column.std():.2g}" for column in columns)


def distance(known: str, now: str) -> float:
    """Distance of an outcome from the recorded one, for the worst objective.

    In tolerances: one recorded standard deviation and a tenth of the mean. Where all but few rewards are nearly the
    same, one configuration that fails changes the mean by many deviations.
    """
    pairs = [[tuple(map(float, c.split("±"))) for c in text.split()] for text in (known, now)]
    return max(abs(a - b) / (s + 0.1 * abs(a) + 1e-300) for (a, s), (b, _) in zip(*pairs, strict=True))


def same(key: str, known: str, now: str, bits: bool) -> bool:
    """Return whether a result equals the recorded one: bit for bit, or an agent's by its outcome."""
    if known == now or key.endswith(STEPPED) or (bits and not known.startswith(ELSEWHERE)):
        return known == now
    return "\t" in known and "\t" in now and distance(known.partition("\t")[2], now.partition("\t")[2]) <= 1.0


def digest(task: Task, apart: bool = False) -> tuple[Task, str]:
    """The digest of a task, with the outcome of an agent, or the error that it raises."""
    env_id, _, what = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = steps(env_id, what == "batched") if what in STEPPED else runs(env_id, what, apart)
        except Exception as error:  # an error is an outcome, too, and may not change unnoticed
            value = " ".join(f"{type(error).__name__}: {error}".split())[:100]
    return task, value


def tasks(ids: Sequence[str] = ()) -> Iterator[Task]:
    """All tasks that have a digest, on ids whose tables ship."""
    from hpo_envs import agents, benchmarks
    from hpo_envs.families import registry
    from hpo_envs.tables import store

    live = [spec.id for family in registry.FAMILIES.values() if family.example for spec in family.ids]
    ships = [i for i, spec in registry.SPECS.items() if not any(map(store.files, spec.tables))]
    for env_id in [*ships, *live]:
        if ids and env_id not in ids:
            continue
        kind = registry.kind_of(registry.SPECS[env_id]) if env_id in registry.SPECS else "live"  # calls a function
        env = gym.make_vec(env_id, num_envs=1, **given(env_id))
        yield from ((env_id, kind, form) for form in STEPPED)
        problem = benchmarks.problem_of(env)
        helped = benchmarks.problem_of(env, "family") if env_id in HELPED else problem
        for name in agents.names():
            entry = agents.AGENTS[name]
            here = entry.extra is None or (entry.installed and env_id in FEW)
            if not here or entry.alias_of or entry.external or name == PICKS:
                continue
            if agents.fits(name, problem):
                yield env_id, kind, name
            learns = entry.sources or entry.unseen or name == "freeze-thaw"
            if learns and env_id in HELPED and agents.fits(name, helped):
                yield env_id, kind, f"{name}{SOURCES}"
        env.close()


def small(keys: Iterable[str]) -> list[str]:
    """The keys that tests compare."""
    from hpo_envs.agents import AGENTS

    out = []
    for key in keys:
        env_id, _, what = key.split("/")
        external = what in AGENTS and AGENTS[what].extra is not None
        where = () if what in SLOWEST else FEW if what in COSTLY else QUICK
        if what in STEPPED or (not external and env_id.startswith(where)):
            out.append(key)
    return out


def read(folder: Path = FOLDER) -> dict[str, str]:
    """Read the record: digests, and outcomes after a tab, by `id/kind/agent`."""
    lines = (line for path in folder.glob("*.tsv") for line in path.read_text(encoding="utf-8").splitlines())
    return dict(sorted(line.split("\t", 1) for line in lines))


def write(record: Mapping[str, str], folder: Path = FOLDER) -> None:
    """Replace the record by the results of this machine."""
    from hpo_envs.families import registry

    folder.mkdir(exist_ok=True)
    files: dict[str, list[str]] = {}
    for key in sorted(record):
        family = registry.family_of(key.partition("/")[0])
        if family is not None:
            files.setdefault(family.name, []).append(f"{key}\t{record[key]}\n")
    for name, lines in files.items():
        folder.joinpath(f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    if here(folder):
        folder.joinpath("machine.json").write_text(json.dumps(machine(), indent=1) + "\n", encoding="utf-8")


Numbers = dict[tuple[str, str], tuple[int, str]]
"""Number version, and sha256 of what was recorded, by kind and name."""


def numbers() -> Numbers:
    """The number versions."""
    with NUMBERS.open(encoding="utf-8", newline="") as stream:
        return {(row["kind"], row["name"]): (int(row["version"]), row["sha256"]) for row in csv.DictReader(stream)}


def of_key(key: str) -> tuple[str, str]:
    """Kind and name that a digest belongs to."""
    from hpo_envs.families import registry

    env_id, _, what = key.split("/")
    if what not in STEPPED:
        return "agent", what.removesuffix(SOURCES)
    family = registry.family_of(env_id)
    return "family", family.name if family else ""


def recorded(record: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Sha256 of the record of every family and agent."""
    from hpo_envs import agents
    from hpo_envs.families import registry

    owners = [("family", name) for name in registry.FAMILIES]
    owners += [("agent", name) for name, entry in agents.AGENTS.items() if entry.alias_of is None]
    lines: dict[tuple[str, str], list[str]] = {owner: [] for owner in sorted(owners)}
    for key in sorted(record):
        lines.get(of_key(key), []).append(f"{key}\t{record[key]}\n")
    return {owner: hashlib.sha256("".join(some).encode()).hexdigest()[:16] for owner, some in lines.items()}


def raised(known: Numbers, before: Mapping[str, str], after: Mapping[str, str], changed: Iterable[str]) -> Numbers:
    """The number versions after a record was made.

    Args:
        known: Number versions before.
        before: The record before; if it is not that of `known`, what changed is unknown.
        after: The record now.
        changed: Keys whose digests have changed.
    """
    changed = {*changed}
    moved = {key.partition("/")[0] for key in changed if key.endswith(STEPPED)}
    owners = {of_key(key) for key in changed if key.endswith(STEPPED) or key.partition("/")[0] not in moved}
    owners |= {owner for owner, sha256 in recorded(before).items() if known.get(owner, (1, sha256))[1] != sha256}
    now = recorded(after)
    return {o: (known[o][0] + (o in owners) if o in known else 1, sha256) for o, sha256 in now.items()}


def write_numbers(rows: Numbers) -> None:
    """Replace the number versions."""
    with NUMBERS.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([COLUMNS, *((*owner, *row) for owner, row in rows.items())])


def here(folder: Path = FOLDER) -> bool:
    """Return whether the record was made on such a machine, or is empty."""
    path = folder / "machine.json"
    return not path.exists() or json.loads(path.read_text(encoding="utf-8")) == machine()


@functools.cache
def machine() -> dict[str, Any]:
    """The parts of this machine that agents may depend on."""
    import scipy.linalg  # loads its own BLAS
    import sklearn
    from threadpoolctl import threadpool_info

    kernels = sorted({str(i.get("architecture")) for i in threadpool_info() if i["user_api"] == "blas"})
    return {
        "numpy": np.__version__, "scipy": scipy.__version__, "sklearn": sklearn.__version__, "kernels": kernels,
        "features": np.show_config(mode="dicts")["SIMD Extensions"].get("found", []),
        "libc": " ".join(platform.libc_ver()), "machine": platform.machine(),
    }  # fmt: skip


def compute(todo: Sequence[Task], jobs: int, journal: Path | None = None, apart: bool = False) -> dict[str, str]:
    """Compute digests, and outcomes after a tab, of tasks by `id/kind/agent`.

    Args:
        todo: The tasks.
        jobs: Number of parallel processes.
        journal: File in which results are kept, so that a run can be resumed.
        apart: See `runs`.
    """
    from tqdm import tqdm

    lines = journal.read_text(encoding="utf-8").splitlines() if journal and journal.exists() else []
    found = dict(line.split("\t", 1) for line in lines)
    rest = [task for task in todo if "/".join(task) not in found]
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(digest, task, apart) for task in rest]
        for future in tqdm(as_completed(futures), total=len(futures), disable=not sys.stderr.isatty()):
            task, value = future.result()
            found["/".join(task)] = value
            if journal:
                with journal.open("a", encoding="utf-8") as file:
                    file.write("/".join(task) + f"\t{value}\n")
    return {key: found[key] for key in map("/".join, todo)}


def processors(options: Sequence[str]) -> int:
    """Print what changes with OpenBLAS's kernel and NumPy's features; return 1 if steps or outcomes change."""
    print("| OpenBLAS | NumPy | steps that differ | runs that differ | farthest outcome | agents that differ |")
    print("|---|---|---:|---:|---:|---|")
    status, base = 0, {}
    for kernel in KERNELS:
        for features, variables in FEATURES.items():
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, __file__, "record", "--folder", folder, *options]
                others = {**os.environ, **variables, "OPENBLAS_CORETYPE": kernel}
                subprocess.run(command, env=others, check=True, stdout=subprocess.DEVNULL)
                now = read(Path(folder))
            base = base or now
            differ = sorted(key for key in base if base[key] != now[key])
            agents = [key for key in differ if not key.endswith(STEPPED)]
            bad = [key for key in differ if not same(key, base[key], now[key], bits=False)]
            far = max((distance(base[k].partition("\t")[2], now[k].partition("\t")[2]) for k in agents), default=0.0)
            names = ", ".join(f"`{name}`" for name in sorted({key.rpartition("/")[2] for key in agents}))
            counts = f"{len(differ) - len(agents)} of {sum(k.endswith(STEPPED) for k in base)} | {len(agents)}"
            print(f"| {kernel} | {features} | {counts} | {far:.2f} | {names} |", *bad, flush=True)
            status |= bool(bad)
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Record, check, or compare processors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "check", "processors"))
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the record is")
    parser.add_argument("--jobs", type=int, default=2, help="processes side by side (default: %(default)s)")
    parser.add_argument("--journal", type=Path, help="keeps what was computed, so that the same command goes on")
    parser.add_argument("--apart", action="store_true", help="each seed of an agent in a batch of its own")
    parser.add_argument("--small", action="store_true", help="only what the tests compare")
    parser.add_argument("--ids", nargs="*", default=[], help="some ids")
    parser.add_argument("--agents", nargs="*", default=[], help="some agents, or scalar, batched")
    args = parser.parse_args(arguments)
    if args.action == "processors":
        return processors((sys.argv[1:] if arguments is None else list(arguments))[1:])
    todo = [task for task in tasks(args.ids) if not args.agents or task[2] in args.agents]
    wanted = set(small("/".join(t) for t in todo)) if args.small else {"/".join(t) for t in todo}
    todo = [task for task in todo if "/".join(task) in wanted]
    partial = args.ids or args.agents or args.small
    before, now = read(args.folder), compute(todo, args.jobs, args.journal, args.apart)
    if args.action == "check":
        return report(before, now, here(args.folder))
    old, bits = before, here(args.folder)
    if not partial:
        before = {}
        args.folder.joinpath("machine.json").unlink(missing_ok=True)
    elif not bits:
        fresh = {key: re.sub(r"^\w{10}\t", ELSEWHERE, value) for key, value in now.items()}
        now = {key: before[key] if same(key, before.get(key, ""), now[key], False) else fresh[key] for key in now}
    write({**before, **now}, args.folder)
    if args.folder == FOLDER:
        changed = (key for key in now if key in old and not same(key, old[key], now[key], bits))
        known, after = numbers(), raised(numbers(), old, read(), changed)
        write_numbers(after)
        for (kind, name), (version, _) in after.items():
            if version > known.get((kind, name), (version, ""))[0]:
                print(f"number version of the {kind} {name} raised to {version}")
    print(f"{len(now)} digests recorded")
    return 0


def report(before: Mapping[str, str], now: Mapping[str, str], bits: bool) -> int:
    """Print what changed and what is new; return 1 if there is any."""
    new = [key for key in now if key not in before]
    changed = [key for key in now if key in before and not same(key, before[key], now[key], bits)]
    for key in changed:
        print(f"changed: {key}: {before[key]} -> {now[key]}")
    for key in new:
        print(f"new: {key}: {now[key]}")
    for keys, sentence in ((changed, CHANGED), (new, NEW)):
        if keys:
            print(sentence)
    how = "" if bits else ", agents by outcome: recorded on another machine (digests/machine.json)"
    print(f"{len(now)} compared, {len(changed)} changed, {len(new)} new{how}")
    return 1 if changed or new else 0


if __name__ == "__main__":
    raise SystemExit(main())
