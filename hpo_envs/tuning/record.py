"""Record of a search on disk: journal, resumption, refusal of other spaces or changed code, subfolders, as a run.

    mine/evaluations.journal    what is searched; then, for each evaluation, that it began, and the result of it; and
                                other budgets that were asked for
    mine/checkpoints/           of functions that keep some

An evaluation that began and did not end is retried; one that ended never is, unless the power failed within
`UNSYNCED` seconds of evaluations.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.runs.journal import Journal
from hpo_envs.benchmarks.study.store import CODE_KEYS, code_of
from hpo_envs.tables.checks import shown
from hpo_envs.tables.table import STATUSES

NAME = "evaluations.journal"

FIXED = ("function", "space", "objectives", "goals", "epochs", "agent", "hyperparameters", "seed", "budget_unit")
"""Settings that a resumed search must keep; budget and workers may change."""

TUPLE = "tuple"
"""Key of a tuple's parts, which JSON would make a list."""

UNSYNCED = 1.0
"""Seconds of evaluations that need not be on the disk yet: waiting for it takes longer than a fast function."""


@dataclass(repr=False)
class Evaluation:
    """One evaluation.

    Attributes:
        number: Place in the order in which evaluations began, from 0.
        action: As plain data.
        config: Natural values of the active hyperparameters, as the function receives them; what is neither a number,
            text, None, nor a list or tuple of these, such as a class, is text once it is read from the disk.
        status: `running`, or one of `STATUSES`.
        rewards: One per objective, higher is better; None while it runs, and of failed ones.
        metrics: All numbers that the function returned.
        spent: What it took of the budget.
        cost: What it cost: what the function said, else its seconds.
        seconds: What it took.
        best: Where it was trained by epochs, the best reward on the way.
        error: Traceback, or what was wrong; empty if there is none.
        started: When, in seconds since 1970.
        worker: Host and process.
        ended: Place in the order in which they ended.
        given: Whether it is an initial configuration of the user.
        curve: [step, score] of each report of a training that may be stopped early.
        forecast: Score at the end of a training that was stopped early, as far as others foretell it.
        owner: Of several processes that share the search, the one that evaluates it.
        repeats: Number of the evaluation that it repeats, to confirm its score; -1: none.
        violations: By how much it violates each constraint, which holds where 0 or negative.
    """

    number: int
    action: Any
    config: dict[str, Any]
    status: str = "running"
    rewards: list[float] | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    spent: float = 0.0
    cost: float = 0.0
    seconds: float = 0.0
    best: float | None = None
    error: str = ""
    started: float = 0.0
    worker: str = ""
    ended: int = -1
    given: bool = False
    curve: list[list[float]] = field(default_factory=list)
    violations: list[float] = field(default_factory=list)
    forecast: float | None = None
    repeats: int = -1
    owner: str = ""

    def __repr__(self) -> str:
        came = ", ".join(f"{name} {value:.6g}" for name, value in self.metrics.items()) or self.error.strip()[-80:]
        return f"<Evaluation {self.number}: {self.status}, {came or 'no score'}, {self.config}>"

    @property
    def feasible(self) -> bool:
        """Whether it has a score and satisfies all constraints."""
        return self.rewards is not None and all(v <= 0.0 for v in self.violations)

    @property
    def whole(self) -> bool:
        """Whether it is not a training that was stopped early, whose end is not known."""
        return self.status != "truncated" or not self.curve

    @property
    def score(self) -> float:
        """Sum of the rewards; minus infinity if there are none."""
        return float(sum(self.rewards)) if self.rewards is not None else -np.inf

    @property
    def rank(self) -> tuple[bool, float]:
        """Key by which evaluations are sorted: complete trainings before those stopped early, then by score."""
        return self.whole, self.score


def by(header: Mapping[str, Any]) -> str:
    """Agent of a search; for `auto`, the one that it picked."""
    return f"{header['agent']} ({header['picked']})" if "picked" in header else str(header["agent"])


class SearchRecord:
    """The evaluations of a search, each written to disk before `begin` or `end` returns.

    Args:
        folder: Made with the first record.
        header: What is searched, plain data; None to read what is there.
        keep: Whether to continue with changed code, which the record says; otherwise it is refused.

    Attributes:
        folder: Where it is.
        header: As it is on the disk, with the budget and the code of the last call; `changed` has the numbers of the
            first evaluations with other code than those before.
        evaluations: In the order in which evaluations began.
        steps: (number, whether it ended) in the order in which it happened.
        ended: Evaluations that ended, in that order.
        spent: What they took of the budget.
        failed: How many of them have no score.
        best: The feasible one with the largest score, the first of equal ones; None before the first.

    Raises:
        ValueError: The folder holds another search, or one made with other code, or is damaged.
        FileNotFoundError: It holds none, and none is begun.
    """

    def __init__(self, folder: Path | str, header: Mapping[str, Any] | None = None, keep: bool = False) -> None:
        self.folder = Path(folder)
        path = self.folder / NAME
        if header is None and not path.is_file():
            raise FileNotFoundError(f"folder must hold {NAME}, got {self.folder}")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._journal = Journal(path)
        if not self._journal.records:
            self._journal.append({"what": "search", **(header or {})})
        first = self._journal.records[0]
        if first.get("what") != "search" or not {*FIXED, "budget", "run"} <= first.keys() or not _is_header(first):
            self._refuse(0)
        self.header = {k: v for k, v in first.items() if k != "what"}
        space = [h.get("name") for h in self.header["space"] if isinstance(h, dict)]
        self._names = {name: place for place, name in enumerate(space)}
        self.evaluations: list[Evaluation] = []
        self.steps: list[tuple[int, bool]] = []
        self.ended: list[Evaluation] = []
        self.spent = 0.0
        self.best: Evaluation | None = None
        self.failed = 0
        self._running: dict[int, Evaluation] = {}
        self._unsynced = 0.0
        for number, record in enumerate(self._journal.records[1:], 1):
            if not self._follows(record):
                self._refuse(number)
            self._take(record)
        if header is None:
            return
        if changed := self._check(json.loads(json.dumps(header)), keep):
            self._add({"what": "code", "code": changed})
        if header["budget"] != self.header["budget"]:
            self._add({"what": "budget", "budget": header["budget"]})

    def _check(self, new: Mapping[str, Any], keep: bool) -> dict[str, Any]:
        """Code that has changed, by the keys of `CODE_KEYS`.

        Raises:
            ValueError: Another search, or changed code that is not kept.
        """
        for key in (*FIXED, "constraints"):
            old, given = self.header.get(key), new.get(key)
            if old != given:
                if key == "space":
                    old, given = _changed(old or [], given or [])
                raise ValueError(
                    f"a resumed search must have the settings of the stored one: {self.folder} has {key} {old!r}, "
                    f"got {given!r}. Choose another folder"
                    + ("; sources=[...] or accept_changed=True learns from this one" * (key == "space"))
                )
        if keep:
            return {key: v for key in CODE_KEYS if (v := new["run"].get(key)) != self.header["run"].get(key)}
        before, now = (
            {f"{key} {n}": v for key in CODE_KEYS for n, v in h["run"].get(key, {}).items()} for h in (self.header, new)
        )
        for key in sorted(before.keys() | now.keys()):
            if before.get(key) != now.get(key):
                raise ValueError(
                    f"a resumed search must have the code of the stored one: {self.folder} has {key} "
                    f"{before.get(key)!r}, got {now.get(key)!r}. Choose another folder, start another search "
                    "within it: accept_changed=True (--accept-changed), or continue with its evaluations: "
                    "accept_changed='keep'"
                )
        return {}

    def _refuse(self, number: int) -> NoReturn:
        raise ValueError(
            f"{self.folder / NAME}, line {number + 1}: must be a valid record at this place, got "
            f"{shown(self._journal.records[number])}"
        )

    def _follows(self, record: Mapping[str, Any]) -> bool:
        """Return whether a search can have written a record after those before."""
        what, number = record.get("what"), record.get("number")
        if what == "budget":
            return record.keys() == {"what", "budget"} and _is_number(record["budget"], 0.0)
        if what == "code":
            return record.keys() == {"what", "code"} and isinstance(record["code"], dict)
        if type(number) is not int:
            return False
        if what == "begun":
            action: Any = record.get("action")
            parts = action if isinstance(action, list) else [action]
            alike = not self.evaluations or np.shape(action) == np.shape(self.evaluations[0].action)
            known = {"what", "number", "action", "config"} == record.keys() - {
                "given",
                "repeats",
                "owner",
            } and isinstance(record["config"], dict)
            return known and number == len(self.evaluations) and all(map(_is_number, parts)) and alike
        if what == "taken":
            known = record.keys() == {"what", "number", "owner"} and isinstance(record["owner"], str)
            return known and number in self._running
        if (
            what != "ended"
            or number not in self._running
            or not record.keys() <= {"what", *Evaluation.__dataclass_fields__}
        ):
            return False
        rewards, metrics, best = record.get("rewards"), record.get("metrics", {}), record.get("best")
        curve, violations = record.get("curve", []), record.get("violations", [])
        if not isinstance(curve, list) or not all(isinstance(point, list) and len(point) == 2 for point in curve):
            return False
        points = [value for point in curve for value in point]
        scores = [0.0] * len(self.header["objectives"]) if rewards is None else rewards
        return (
            record.get("status") in STATUSES
            and isinstance(scores, list)
            and len(scores) == len(self.header["objectives"])
            and isinstance(metrics, dict)
            and isinstance(violations, list)
            and len(violations) in (0, len(self.header.get("constraints", ())))
            and all(
                map(
                    _is_number,
                    [*scores, *metrics.values(), best or 0.0, *violations, record.get("forecast", 0.0), *points],
                )
            )
            and all(_is_number(record.get(key, 0.0), 0.0) for key in ("spent", "cost", "seconds"))
            and _is_number(record.get("started", 0.0), 0.0, 2.0**33)
            and all(isinstance(record.get(key, ""), str) for key in ("error", "worker"))
        )

    def _must_follow(self, record: dict[str, Any]) -> None:
        """Check a record before it is on the disk, for what is there stays."""
        if not self._follows(record):
            raise ValueError(
                f"{self.folder / NAME} must continue with a valid record, got {shown(record)}: nothing was added"
            )

    def _take(self, record: Mapping[str, Any]) -> None:
        facts = {k: v for k, v in _readable(record).items() if k != "what"}
        if record["what"] == "budget":
            self.header |= facts
            return
        if record["what"] == "code":
            changed = [*self.header.get("changed", []), len(self.evaluations)]
            self.header |= {"run": {**self.header["run"], **facts["code"]}, "changed": changed}
            return
        number = facts.pop("number")
        if record["what"] == "begun":
            config = facts["config"]
            names = sorted(config, key=lambda name: self._names.get(name, len(self._names)))
            facts["config"] = {name: decoded(config[name]) for name in names}
            self.evaluations.append(Evaluation(number, **facts))
            self._running[number] = self.evaluations[-1]
        elif record["what"] == "taken":
            self._running[number].owner = facts["owner"]
            return
        else:
            evaluation = self._running.pop(number)
            evaluation.__dict__.update(facts, ended=len(self.ended))
            self.ended.append(evaluation)
            self.spent += evaluation.spent
            self.failed += evaluation.rewards is None
            if evaluation.feasible and (self.best is None or evaluation.rank > self.best.rank):
                self.best = evaluation
        self.steps.append((number, record["what"] == "ended"))

    def begin(self, action: Any, config: Mapping[str, Any], given: bool = False, **more: Any) -> Evaluation:
        """Record the start of an evaluation; `more` are attributes of it."""
        more |= {"given": True} if given else {}
        listed = action.tolist() if isinstance(action, (np.ndarray, np.generic)) else action
        values = {name: encoded(value) for name, value in config.items()}
        facts = {"number": len(self.evaluations), "action": listed, "config": values}
        self._add({"what": "begun", **facts, **more})
        return self.evaluations[-1]

    def end(self, number: int, **facts: Any) -> Evaluation:
        """Record the result of an evaluation: the attributes of `Evaluation` by name."""
        self._add({"what": "ended", "number": number, **facts})
        return self.evaluations[number]

    def take(self, number: int, owner: str) -> Evaluation:
        """Record that another process evaluates what a dead one began."""
        self._add({"what": "taken", "number": number, "owner": owner})
        return self.evaluations[number]

    def follow(self) -> list[tuple[int, bool]]:
        """Read what other processes have added; return the new `steps`. The caller holds the lock on the folder."""
        before, known = len(self.steps), len(self._journal.records)
        for number, record in enumerate(self._journal.follow(), known):
            if not self._follows(record):
                self._refuse(number)
            self._take(record)
        return self.steps[before:]

    def _add(self, record: dict[str, Any]) -> None:
        unsynced = self._unsynced + record.get("seconds", 0.0)
        sync = record["what"] in ("budget", "code") or unsynced >= UNSYNCED
        self._journal.append(record, sync, self._must_follow)
        self._unsynced = 0.0 if sync else unsynced
        self._take(self._journal.records[-1])

    def discard(self) -> None:
        """Remove the record of a search without any success."""
        (self.folder / NAME).unlink()

    @property
    def running(self) -> list[Evaluation]:
        """Evaluations that were started and have not ended."""
        return [*self._running.values()]

    def run(self) -> Run | None:
        """The search as a run, for scores and reports; None before the first success.

        A failed or infeasible evaluation has the lowest reward of the others, which no curve of incumbents shows.
        """
        ended = self.ended
        good = [e.rewards for e in ended if e.feasible and e.rewards is not None]
        if self.best is None:
            return None
        worst = np.min(good, axis=0).tolist()
        rewards = np.array([e.rewards if e.feasible and e.rewards is not None else worst for e in ended])
        h = self.header
        header = {**h["run"], "budget": h["budget"], "agent": h["agent"], "hyperparameters": h["hyperparameters"]}
        if "code" in h:
            header |= {"agent": f"{h['agent']}@{h['code']}", "algorithm": h["agent"], "changed": True}
        elif "picked" in h:
            header |= {"agent": by(h), "algorithm": h["agent"]}
        return Run(
            h["seed"],
            np.array([e.action for e in ended]),
            rewards if len(h["objectives"]) > 1 else rewards[:, 0],
            np.array([e.spent for e in ended]),
            np.array(self.best.action),
            header,
            {
                "status": np.array([STATUSES.index(e.status) for e in ended], np.int8),
                "price": np.array([e.cost for e in ended]),
            },
        )


def _changed(*spaces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Differences of two search spaces of headers, by hyperparameter."""
    told = [
        {h["name"]: {k: h[k] for k in sorted(h) if k != "name" and (h[k] or k == "low")} for h in space}
        for space in spaces
    ]
    return [{n: h for n, h in one.items() if any(other.get(n) != h for other in told)} for one in told]


def encoded(value: Any) -> Any:
    """A value in JSON: tuples are marked, and what JSON cannot express becomes text."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        parts = [*map(encoded, value)]
        return {TUPLE: parts} if isinstance(value, tuple) else parts
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def decoded(value: Any) -> Any:
    """The value that `encoded` encoded."""
    if isinstance(value, dict) and isinstance(value.get(TUPLE), list):
        return tuple(map(decoded, value[TUPLE]))
    return [*map(decoded, value)] if isinstance(value, list) else value


def plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as it will be read from a record."""
    return {name: decoded(encoded(value)) for name, value in config.items()}


def _is_number(value: Any, low: float = -sys.float_info.max, high: float = sys.float_info.max) -> bool:
    return isinstance(value, (int, float)) and low <= value <= high


def _is_header(header: Mapping[str, Any]) -> bool:
    kinds = {"run": dict, "hyperparameters": dict, "objectives": list, "space": list, "agent": str, "function": str}
    known = all(isinstance(header[key], kind) for key, kind in kinds.items())
    return known and type(header["seed"]) is int and _is_number(header["budget"], 0.0)


def _readable(value: Any) -> Any:
    """Plain data without lone surrogates, which JSON has escapes for, but UTF-8 and pandas refuse."""
    if isinstance(value, dict):
        return {_readable(k): _readable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_readable(v) for v in value]
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def apart(folder: Path, header: Mapping[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Folder and header of a search: a subfolder named after its code, where `folder` has a search with other code."""
    code = code_of(header["run"])
    if not (folder / NAME).is_file() or code_of(SearchRecord(folder).header["run"]) == code:
        return folder, {**header}
    return folder / code, {**header, "code": code}


def other_space(folder: Path, header: Mapping[str, Any]) -> Path | None:
    """Subfolder for a search, named after its space, where `folder` has one in another space; else None."""
    if not (folder / NAME).is_file() or SearchRecord(folder).header["space"] == header["space"]:
        return None
    return folder / hashlib.sha256(json.dumps(header["space"], sort_keys=True).encode()).hexdigest()[:8]


def folders(folder: Path) -> Iterator[Path]:
    """The folders of searches in a folder, itself included, sorted."""
    yield from sorted(path.parent for path in folder.rglob(NAME))


def runs_of(folder: Path) -> Iterable[Run]:
    """The searches in a folder as runs; those without a success are left out."""
    return [run for each in folders(folder) if (run := SearchRecord(each).run()) is not None]
