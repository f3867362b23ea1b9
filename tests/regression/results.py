"""Committed results: the commit of each, and one of each kind recomputed with today's code.

    python tests/regression/results.py check [KIND...]   # one of each kind again; exit status 1 if a number differs
    python tests/regression/results.py note FILE...      # after a study: these files were made by this commit

`results.csv` has a line for each file, with the sha256 of its bytes, so that a result cannot change under its commit.
"""

import argparse
import csv
import dataclasses
import hashlib
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("results.csv")
COLUMNS = ("file", "commit", "sha256")

COMMITTED = (
    "benchmarks/leaderboard.json.gz", "benchmarks/analysis/references.json", "benchmarks/live/*.csv",
    "benchmarks/learned/training.csv", "benchmarks/learned/results/*", "benchmarks/papers/*/results/*",
)  # fmt: skip

RANDOM = ("NMTHPO-swen-v0", "CharHPO-g2p-arm_e-lstm-v0", "NMTLC-zhen-v0", "CellMini-v0")
"""Ids on which the leaderboard's random search is repeated."""


def files() -> list[str]:
    """The committed results, as paths below the root."""
    return sorted(str(path.relative_to(ROOT)) for pattern in COMMITTED for path in ROOT.glob(pattern))


def sha256(file: str) -> str:
    """The first 16 characters of the sha256 of a file below the root."""
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()[:16]


def listed() -> dict[str, dict[str, str]]:
    """The lines of the list by file."""
    with LIST.open(encoding="utf-8", newline="") as stream:
        return {row["file"]: row for row in csv.DictReader(stream)}


def note(given: Sequence[str], commit: str) -> None:
    """Record that these files were made by a commit; lines of deleted files are removed."""
    rows = listed()
    rows |= {file: {"file": file, "commit": commit, "sha256": sha256(file)} for file in given}
    with LIST.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[file] for file in files() if file in rows)


def differences(before: Any, now: Any, where: str = "") -> Iterator[str]:
    """Places where two JSON values differ by more than rounding."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            yield from differences(before.get(key), now.get(key), f"{where}/{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for i, pair in enumerate(zip(before, now, strict=True)):
            yield from differences(*pair, f"{where}/{i}")
    elif not (isinstance(before, float) and isinstance(now, (int, float)) and math.isclose(before, now, rel_tol=1e-6)):
        if before != now:
            yield f"{where}: {before!r}, now {now!r}"


def papers(work: Path) -> Iterator[str]:
    """Tables of three papers."""
    for paper, part, file in (
        ("charhpo", "tables", "compared.csv"),
        ("cushlepor", "published", "compared.csv"),
        ("nmthpo", "table3", "table3.csv"),
    ):
        command = [sys.executable, "-m", "hpo_envs", "reproduce", paper, "--only", part, "--out", str(work / paper)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        where = f"benchmarks/papers/{paper}/results/{file}"
        yield from differences(_read(ROOT / where), _read(work / paper / file), where)


def leaderboard(work: Path) -> Iterator[str]:
    """Random search on some ids of the leaderboard."""
    from hpo_envs.benchmarks import Comparison
    from hpo_envs.benchmarks.comparison import summary

    stored = summary.read(ROOT / "benchmarks/leaderboard.json.gz")["cells"]
    ids = [{"id": env, "subsample": 0.8} for env in RANDOM]
    comparison = Comparison({"environments": ids, "agents": "random", "seeds": 100}).run()
    for cell in comparison.scores["cells"]:
        label = cell["environment"]
        before = [c for c in stored if (c["agent"], c["environment"]) == ("random", label)]
        if len(before) != 1:
            yield f"leaderboard.json.gz must have random search on {label} once, got {len(before)}"
            continue
        for key in ("anytime", "final"):  # means; intervals are rounded draws
            yield from differences(before[0][key][0], cell[key][0], f"leaderboard.json.gz, random on {label}, {key}")


def references(work: Path) -> Iterator[str]:
    """The first reference of each id that no table lists, except cells, which take minutes."""
    from hpo_envs.benchmarks import references

    path = ROOT / "benchmarks/analysis/references.json"
    stored = {r["name"]: r for r in json.loads(path.read_text(encoding="utf-8"))["references"]}
    firsts = {name.partition(" ")[0]: name for name in reversed(stored) if not name.startswith("NASBenchNLP")}

    class Known(dict[str, Any]):
        def __contains__(self, name: object) -> bool:
            return name not in firsts.values()

        def __missing__(self, name: str) -> dict[str, Any]:
            return {"name": name}

    for found in references.study(Known(stored)):
        yield from differences(stored.get(found["name"]), found, f"references.json, {found['name'][:60]}")


def live(work: Path) -> Iterator[str]:
    """A run of `box-bo` on the first live problem."""
    from threadpoolctl import threadpool_limits

    from hpo_envs.benchmarks.live import problems, study

    with threadpool_limits(1):
        *_, found = study.play(problems.PROBLEMS[0], "box-bo", workers=1, budget=40, seed=5)
    run = dataclasses.astuple(found)[:5]
    stored = {r[:5]: r for r in study.load().itertuples(index=False)}[run]
    for key in ("final", "anytime"):
        yield from differences(getattr(stored, key), getattr(found, key), f"live/results.csv, {run}, {key}")


def learned(work: Path) -> Iterator[str]:
    """Agents with trained weights, on one table."""
    from hpo_envs.benchmarks.learned import adaptation, reproduce

    own = {m: (agent, {"transfer": "family", **given}) for m, (agent, given) in reproduce.METHODS.items()}
    for file, method, given, trials in (
        ("agents.csv", "learned", own, reproduce.TRIALS),
        ("policies.csv", "policy", reproduce.POLICIES, 2 * reproduce.TRIALS),
    ):
        stored = _read(ROOT / "benchmarks/learned/results" / file)
        (before,) = [row for row in stored if (row["id"], row["method"]) == (RANDOM[0], method)]
        found = adaptation.scores(RANDOM[0], *given[method], range(trials)).mean(axis=1)
        now = before | {key: f"{value:.4f}" for key, value in zip(("anytime", "final"), found, strict=True)}
        yield from differences(before, now, f"learned/results/{file}, {method}")


KINDS: dict[str, Callable[[Path], Iterator[str]]] = {
    "papers": papers,
    "leaderboard": leaderboard,
    "references": references,
    "live": live,
    "learned": learned,
}


def _read(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else [*csv.DictReader(text.splitlines())]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("check", "note"))
    parser.add_argument("names", nargs="*", help="kinds to check (default: all), or files to note")
    args = parser.parse_args()
    if args.what == "note":
        head = subprocess.check_output(["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, text=True)
        note(args.names, head.strip())
        return 0
    count = 0
    for name in args.names or KINDS:
        with tempfile.TemporaryDirectory() as work:
            for said in KINDS[name](Path(work)):
                print(said)
                count += 1
    print(f"{', '.join(args.names or KINDS)} recomputed: {count} numbers differ from the committed results")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
