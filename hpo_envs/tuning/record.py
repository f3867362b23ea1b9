"""Record of a search on disk: journal, syncing, resumption, refusal of changed settings or code, conversion to a run.

    mine/evaluations.journal    settings; then the start and the result of each evaluation, and changes of its process,
                                of the budget and of the code
    mine/checkpoints/           checkpoints of functions that write them
    mine/reports/               scores that trainings report

An evaluation that began but did not end is repeated. A finished one is not, unless a power failure lost it: at most
the last evaluations, of `UNSYNCED` seconds.
"""

import hashlib
import itertools
import json
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.runs.journal import Journal
from hpo_envs.benchmarks.runs.provenance import called
from hpo_envs.benchmarks.study.store import CODE_KEYS, code_of
from hpo_envs.tables.checks import shown
from hpo_envs.tables.table import LARGEST, STATUSES, Hyperparameter
from hpo_envs.tables.user.space import Points, space_of
from hpo_envs.tuning.constraints import checked

NAME = "evaluations.journal"

CHECKPOINTS, REPORTS = "checkpoints", "reports"
"""Subfolders of what trainings leave, which belong to the search of the journal beside them."""

FIXED = tuple("function space objectives goals epochs agent hyperparameters seed budget_unit candidates".split())
"""Settings that a resumed search must keep, besides constraints; budget and workers may change."""

ADDRESS = " at 0x"
"""Part of the text of objects without a text of their own, which differs in each process."""

TUPLE = "tuple"
"""Key that marks a tuple, because JSON has only lists."""

BEGUN = {"action", "config", "given", "repeats", "owner", "ended", "left", "unknown"}
"""Attributes of evaluations that the record of their end must not have."""

MOST_NESTED = 50
"""Largest depth of lists and mappings in a record."""

LATEST = 2.0**33
"""Latest valid start of an evaluation, in seconds since 1970."""

UNSYNCED = 1.0
"""Seconds of evaluations that may be lost in a power failure; syncing each would take longer than a fast function."""


@dataclass(repr=False)
class Evaluation:
    """One evaluation of a search.

    Attributes:
        number: Place in the order in which evaluations began, from 0.
        action: The action as plain data.
        config: Natural values of the active hyperparameters, as passed to the function. Values other than numbers,
            texts, None, and lists or tuples of these (such as classes) are texts after reading from disk.
        status: `running`, or one of `STATUSES`.
        rewards: One reward per objective, higher is better; None while running, and if it failed or diverged.
        metrics: Finite numbers that the function returned, by name; `cost` only if it is an objective.
        spent: Budget used by the evaluation.
        cost: The cost that the function returned, else the seconds it took.
        seconds: Duration in seconds.
        best: Best reward of the configuration so far, if actions have a fidelity and there is one; else None.
        error: Traceback or message; empty if there is none.
        started: Start, in seconds since 1970; 0 if the worker died.
        worker: Host and process id of the worker, `HOST:PID`; empty while running or if the worker died.
        ended: Place in the order in which evaluations ended; -1 while running.
        given: Whether it is a start point, from the user or a source task.
        curve: [step, score] of each report to the trial; empty without reports.
        forecast: Predicted final score of a training that was stopped early; None without one.
        owner: Name of the process that evaluates it, if several share the search; else empty.
        repeats: Number of the evaluation that this one repeats to confirm its score; -1: none.
        violations: Signed violation of each constraint, positive where it is violated; empty without a score.
        unknown: Whether there are constraints whose metrics a training that was stopped did not return.
        stopped: Whether the tuner stopped the training early, or the budget did.
        left: Epochs left to train, if the agent paused the training after this evaluation; else 0.
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
    left: int = 0
    stopped: bool = False
    unknown: bool = False

    def __repr__(self) -> str:
        came = ", ".join(f"{name} {value:.6g}" for name, value in self.metrics.items()) or self.error.strip()[-80:]
        return f"<Evaluation {self.number}: {self.status}, {came or 'no score'}, {self.config}>"

    @property
    def feasible(self) -> bool:
        """Whether the evaluation has a score and is known to satisfy all constraints."""
        return self.rewards is not None and not self.unknown and all(v <= 0.0 for v in self.violations)

    @property
    def whole(self) -> bool:
        """False for a training with a score that is paused or was stopped, not by itself; else True."""
        return not (self.left or self.stopped)

    @property
    def reward(self) -> float:
        """Sum of the rewards; minus infinity if there are none."""
        return float(sum(self.rewards)) if self.rewards is not None else -np.inf

    @property
    def rank(self) -> tuple[tuple[bool, int], float]:
        """Sort key, higher is better: whether the training is complete, how few epochs are left; then the reward."""
        return (self.whole, -self.left), self.reward


def by(header: Mapping[str, Any]) -> str:
    """Return the name of a search's agent; for `auto`, followed by the agent that it picked, in parentheses."""
    return f"{header['agent']} ({header['picked']})" if "picked" in header else str(header["agent"])


class SearchRecord:
    """Record of a search on disk: what `begin` and `end` wrote survives the end of the process.

    Args:
        folder: Folder of the record, which is created if necessary.
        header: Settings of the search as plain data; None to read an existing record.
        keep: Whether to continue after a change of code, which is recorded; otherwise changed code is refused.
        shared: Whether other processes may use the search, whose budget and `confirm` then are not lowered.

    Attributes:
        header: The header on disk, with budget, `confirm` and code of the last call. `changed` lists the numbers of the
            first evaluations after each change of code.
        evaluations: All evaluations, in the order in which they began.
        steps: (number of the evaluation, False for its start or True for its end), in order.
        ended: Finished evaluations, in the order in which they ended.
        spent: Budget used by the finished evaluations.
        failed: Number of finished evaluations without a score.
        best: The first feasible evaluation with the highest rank; None without a feasible one.

    Raises:
        ValueError: The folder holds another search or one with other code, or its journal is damaged.
        FileNotFoundError: The folder holds no search and `header` is None.
    """

    def __init__(
        self, folder: Path | str, header: Mapping[str, Any] | None = None, keep: bool = False, shared: bool = False
    ) -> None:
        self.folder = Path(folder)
        path = self.folder / NAME
        if header is None and not path.is_file():
            raise FileNotFoundError(f"folder must hold {NAME}, got {self.folder}")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._journal = Journal(path)
        if not self._journal.records:
            for part in (self.folder / CHECKPOINTS, self.folder / REPORTS):  # a new search would take them for its own
                if part.is_dir() and any(part.iterdir()):
                    raise ValueError(
                        f"a new search must have a folder without {part.name} of others, got {part}: move them, or "
                        "choose another folder"
                    )
            self._journal.append({"what": "search", **(header or {})})
        first = self._journal.records[0]
        if first.get("what") != "search" or not _holds(_is_header, first):
            self._refuse(0)
        self._points = points_of(first)
        self.header = {"confirm": 0} | {k: v for k, v in first.items() if k != "what"}
        self._names = {h["name"]: place for place, h in enumerate(self.header["space"])}
        self.evaluations: list[Evaluation] = []
        self.steps: list[tuple[int, bool]] = []
        self.ended: list[Evaluation] = []
        self.spent = 0.0
        self.best: Evaluation | None = None
        self.failed = 0
        self._running: dict[int, Evaluation] = {}
        self._unsynced = 0.0
        for number, record in enumerate(self._journal.records[1:], 1):
            if not _holds(self._follows, record):
                self._refuse(number)
            self._take(record)
        if header is None:
            return
        old, new = self.header.get("data", {}), header.get("data", {})
        if other := sorted(name for name in old.keys() & new.keys() if old[name] != new[name]):
            warnings.warn(
                f"the function has other data than at the beginning of the search in {self.folder}: "
                f"{', '.join(other)}. If scores depend on them, choose another folder",
                stacklevel=6,
            )
        if changed := self._check(json.loads(json.dumps(header)), keep):
            self._add({"what": "code", "code": changed})
        now = {name: self.header[name] for name in ("budget", "confirm")}
        new = {name: header.get(name, 0) for name in now}
        for name in (n for n in now if shared and new[n] < now[n]):
            warnings.warn(
                f"the search in {self.folder} keeps its {name} of {now[name]:g}, which processes share, instead of "
                f"{new[name]:g}",
                stacklevel=6,
            )
            new[name] = now[name]
        if new != now:
            self._add({"what": "budget", **new})

    def _check(self, new: Mapping[str, Any], keep: bool) -> dict[str, Any]:
        """Return the changed digests by key of `CODE_KEYS`; raise a ValueError for other settings or refused code."""
        scored = [{k: v for k, v in h.get("program", {}).items() if k != "memory"} for h in (self.header, new)]
        for key in (*FIXED, "constraints", "program"):
            pair: list[Any] = scored if key == "program" else [self.header.get(key), new.get(key)]
            old, given = pair
            if old != given or (key == "space" and _text(old) != _text(given)):  # 1 and True are equal
                if key == "space":
                    spaces = old or [], given or []
                    old, given = _changed(*spaces)
                    if not (old or given):
                        old, given = (f"in the order {', '.join(h['name'] for h in space)}" for space in spaces)
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
        """Return whether a record is valid after the previous ones."""
        what, number = record.get("what"), record.get("number")
        if what == "budget":
            known = {"what", "budget"} == record.keys() - {"confirm"} and type(record.get("confirm", 0)) is int
            return known and record.get("confirm", 0) >= 0 and _is_number(record["budget"], 0.0)
        if what == "code":
            return record.keys() == {"what", "code"} and _is_code(record["code"])
        if type(number) is not int:
            return False
        if what == "begun":
            action: Any = record.get("action")
            parts = action if isinstance(action, list) else [action]
            alike = not self.evaluations or np.shape(action) == np.shape(self.evaluations[0].action)
            optional = {"given", "repeats", "owner", "started"}
            known = {"what", "number", "action", "config"} == record.keys() - optional
            self._points.row({name: decoded(value) for name, value in record["config"].items()})
            known = known and _is_number(record.get("started", 0.0), 0.0, LATEST)
            known = known and type(record.get("given", False)) is bool and isinstance(record.get("owner", ""), str)
            known = known and type(record.get("repeats", -1)) is int and -1 <= record.get("repeats", -1) < number
            return known and number == len(self.evaluations) and all(map(_is_number, parts)) and alike
        if what == "taken":
            known = record.keys() == {"what", "number", "owner"} and isinstance(record["owner"], str)
            return known and number in self._running
        if (
            what != "ended"
            or number not in self._running
            or not record.keys() <= {"what", *Evaluation.__dataclass_fields__} - BEGUN
        ):
            return False
        rewards, metrics, best = record.get("rewards"), record.get("metrics", {}), record.get("best")
        curve, violations = record.get("curve", []), record.get("violations", [])
        if not isinstance(curve, list) or not all(isinstance(point, list) and len(point) == 2 for point in curve):
            return False
        numbers = [record.get("forecast", 0.0), 0.0 if best is None else best, *violations]
        if type(record.get("stopped", False)) is not bool:
            return False
        missing = record.get("status") in ("failed", "diverged")
        scores = [0.0] * len(self.header["objectives"]) if rewards is None else rewards
        return (
            record.get("status") in STATUSES
            and (rewards is None) == missing
            and isinstance(scores, list)
            and len(scores) == len(self.header["objectives"])
            and isinstance(metrics, dict)
            and (rewards is None or metrics.keys() >= {*self.header["objectives"]})
            and isinstance(violations, list)
            and len(violations) in (0, len(self.header.get("constraints", ())))
            and all(map(_is_number, numbers))
            and all(_is_number(v, -LARGEST, LARGEST) for v in (*scores, *metrics.values(), *itertools.chain(*curve)))
            and all(_is_number(record.get(key, 0.0), 0.0) for key in ("spent", "cost", "seconds"))
            and _is_number(record.get("started", 0.0), 0.0, LATEST)
            and all(isinstance(record.get(key, ""), str) for key in ("error", "worker"))
        )

    def _must_follow(self, record: dict[str, Any]) -> None:
        """Raise a ValueError for an invalid record before it is written, because it cannot be removed."""
        if not _holds(self._follows, record):
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
            limited = bool(self.header.get("constraints"))
            evaluation.unknown = limited and evaluation.rewards is not None and not evaluation.violations
            if self.header.get("actions") == "fidelity" and evaluation.status == "ok":
                evaluation.left = self.header["epochs"] - 1 - evaluation.action[1]
            self.ended.append(evaluation)
            self.spent += evaluation.spent
            self.failed += evaluation.rewards is None
            if evaluation.feasible and (self.best is None or evaluation.rank > self.best.rank):
                self.best = evaluation
        self.steps.append((number, record["what"] == "ended"))

    def begin(self, action: Any, config: Mapping[str, Any], given: bool = False, **more: Any) -> Evaluation:
        """Record the start of an evaluation; return the evaluation. `more` are further attributes of `Evaluation`."""
        more |= {"given": True} if given else {}
        listed = action.tolist() if isinstance(action, (np.ndarray, np.generic)) else action
        values = {name: encoded(value) for name, value in config.items()}
        facts = {"number": len(self.evaluations), "action": listed, "config": values, "started": time.time()}
        self._add({"what": "begun", **facts, **more})
        return self.evaluations[-1]

    def end(self, number: int, **facts: Any) -> Evaluation:
        """Record the end of an evaluation; return the evaluation. `facts` are attributes of `Evaluation`."""
        self._add({"what": "ended", "number": number, **facts})
        return self.evaluations[number]

    def take(self, number: int, owner: str) -> None:
        """Record that a process takes over an evaluation that a dead one began."""
        self._add({"what": "taken", "number": number, "owner": owner})

    def follow(self) -> list[tuple[int, bool]]:
        """Read what other processes have added; return the new `steps`. The caller must hold the folder's lock.

        Raises:
            ValueError: An added record is invalid.
        """
        before, known = len(self.steps), len(self._journal.records)
        for number, record in enumerate(self._journal.follow(), known):
            if not _holds(self._follows, record):
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
        """Delete reports, checkpoints and journal, all of which are of this search."""
        for name in (REPORTS, CHECKPOINTS):
            shutil.rmtree(self.folder / name, ignore_errors=True)  # which follows no links
        (self.folder / NAME).unlink()

    @property
    def running(self) -> list[Evaluation]:
        """Evaluations that began and have not ended."""
        return [*self._running.values()]

    def run(self) -> Run | None:
        """Return the search as a run, for scores and reports; None before the first feasible evaluation.

        Evaluations that are infeasible, lack a score or are less complete than the best have, in each objective, the
        lowest reward of the others.
        """
        if self.best is None:
            return None
        ended, most = self.ended, self.best.rank[0]
        good = {e.number: e.rewards for e in ended if e.feasible and e.rank[0] == most and e.rewards is not None}
        worst = np.min([*good.values()], axis=0).tolist()
        rewards = np.array([good.get(e.number, worst) for e in ended])
        status, h = np.array([STATUSES.index(e.status) for e in ended], np.int8), self.header
        header = {**h["run"], "budget": h["budget"], "agent": h["agent"], "hyperparameters": h["hyperparameters"]}
        if "code" in h:
            header |= {"agent": f"{h['agent']}@{h['code']}", "algorithm": h["agent"], "changed": True}
        elif "picked" in h:
            header |= {"agent": by(h), "algorithm": h["agent"]}
        return Run(
            h["seed"], np.array([e.action for e in ended]), rewards if len(h["objectives"]) > 1 else rewards[:, 0],
            np.array([e.spent for e in ended]), np.array(self.best.action), header,
            {"status": status, "price": np.array([e.cost for e in ended])},
        )  # fmt: skip


def _changed(*spaces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, for each of two search spaces, the settings of the hyperparameters that differ in the other."""
    every = [
        {h["name"]: {k: h[k] for k in sorted(h) if k != "name" and (h[k] or k == "low")} for h in space}
        for space in spaces
    ]
    return [{n: h for n, h in one.items() if len({_text(o.get(n)) for o in every}) > 1} for one in every]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def encoded(value: Any) -> Any:
    """Encode a value for JSON: tuples are marked; values other than numbers, texts, None and lists become texts.

    Functions become their name, because their text has an address.
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        parts = [*map(encoded, value)]
        return {TUPLE: parts} if isinstance(value, tuple) else parts
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    return called(value) if callable(value) and ADDRESS in str(value) else str(value)


def decoded(value: Any) -> Any:
    """Decode a value encoded by `encoded`."""
    if isinstance(value, dict) and isinstance(value.get(TUPLE), list):
        return tuple(map(decoded, value[TUPLE]))
    return [*map(decoded, value)] if isinstance(value, list) else value


def plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration as it will be read from a record."""
    return {name: decoded(encoded(value)) for name, value in config.items()}


def points_of(header: Mapping[str, Any]) -> Points:
    """Return the search space that a header describes."""
    return Points(tuple(Hyperparameter(**{k: decoded(v) for k, v in h.items()}) for h in header["space"]))


def _holds(check: Callable[[Any], bool], record: Any) -> bool:
    """Return whether a record satisfies a check, which may raise an error for content of another form."""
    try:
        return _depth(record) <= MOST_NESTED and check(record)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return False


def _depth(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, parts), default=0)


def _is_number(value: Any, low: float = -sys.float_info.max, high: float = sys.float_info.max) -> bool:
    return (type(value) is float or (type(value) is int and abs(value) < 2**63)) and low <= value <= high


def _is_code(run: Any) -> bool:
    return isinstance(run, dict) and all(isinstance(run.get(key, {}), dict) for key in CODE_KEYS)


def _is_header(header: Mapping[str, Any]) -> bool:
    kinds: dict[str, type] = {"hyperparameters": dict, "objectives": list, "goals": list, "agent": str, "function": str}
    kinds |= {"budget_unit": str, "cost_unit": str, "candidates": int}
    more: dict[str, type] = {"actions": str, "picked": str, "program": dict, "bounds": dict, "confirm": int}
    more |= {"data": dict, "objects": list}
    program = header.get("program", {"command": ""})
    names, limits, points = header["objectives"], header.get("constraints", {}), points_of(header)
    if points.space:
        space_of(points.space)
        points.row(points.config(points.raw(np.full((1, len(points.space)), 0.5))[0]))
    required = all(isinstance(header[key], kind) for key, kind in kinds.items())
    if not (required and all(isinstance(header.get(key, kind()), kind) for key, kind in more.items())):
        return False
    goals, epochs, texts = header["goals"], header["epochs"], (program["command"], program.get("file") or "")
    scores = all(isinstance(name, str) for name in names) and len({*names}) == len(names) == len(goals) > 0
    counts = type(header["seed"]) is int and (epochs is None or (type(epochs) is int and epochs > 0))
    amounts = _is_number(header["budget"], 0.0) and header["candidates"] > 1
    runs = program.keys() <= {"command", "file", "pattern", "memory"} and all(isinstance(text, str) for text in texts)
    domains = {h.kind for h in points.space} <= {"int", "float", "categorical"} and {*goals} <= {"max", "min"}
    limited = not limits or checked(limits) == limits
    return scores and counts and amounts and runs and domains and limited and _is_code(header["run"])


def _readable(value: Any) -> Any:
    """Escape lone surrogates, which JSON allows but UTF-8 and pandas do not; other plain data is unchanged."""
    if isinstance(value, dict):
        return {_readable(k): _readable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_readable(v) for v in value]
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def apart(folder: Path, header: Mapping[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Return the folder and the header for a search: those given, unless `folder` holds a search with other code.

    In that case, a subfolder named by the code digest, and a header with the digest as `code`.
    """
    code = code_of(header["run"])
    if not (folder / NAME).is_file() or code_of(SearchRecord(folder).header["run"]) == code:
        return folder, {**header}
    return folder / code, {**header, "code": code}


def other_space(folder: Path, header: Mapping[str, Any]) -> Path | None:
    """Return a subfolder named by the digest of the space if `folder` has a search in another space; else None."""
    if not (folder / NAME).is_file() or SearchRecord(folder).header["space"] == header["space"]:
        return None
    return folder / hashlib.sha256(json.dumps(header["space"], sort_keys=True).encode()).hexdigest()[:8]


def folders(folder: Path) -> Iterator[Path]:
    """Yield the folders of searches in a folder, itself included, in sorted order."""
    yield from sorted(path.parent for path in folder.rglob(NAME))


def runs_of(folder: Path) -> Iterable[Run]:
    """Return the searches in a folder as runs; those without a feasible evaluation are left out."""
    return [run for each in folders(folder) if (run := SearchRecord(each).run()) is not None]
