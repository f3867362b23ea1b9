"""Lists and pages of the registered agents: supported ids, hyperparameters with type, default and meaning."""

import functools
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs import agents
from hpo_envs.agents.registry import install, load
from hpo_envs.benchmarks.runs import transfer
from hpo_envs.commands import docstrings
from hpo_envs.families.registry import SPECS, held_out_of, installed

WORKS_ON = {
    "rows": "rows of a table",
    "features": "candidates with features",
    "levels": "(row, checkpoint) pairs",
    "grid": "values of a grid",
    "box": "continuous boxes",
    "arms": "noisy arms",
    "cells": "cells built node by node",
    "objectives": "several objectives",
    "box-objectives": "continuous boxes with two objectives",
}
"""Meanings of the words in `Registration.supports`."""

SHOWN = ("Formula", "Paper", "Complexity", "Example")
"""Sections of an agent's docstring that its page copies."""


def rows(text: str = "") -> list[dict[str, Any]]:
    """Return a row of JSON values for each agent with a text, in any case, in its name, summary or kinds of problems.

    Agents of one algorithm are adjacent, in the order of the registry; aliases are left out.

    Raises:
        ValueError: No agent matches.
    """
    found = []
    every = {**agents.AGENTS, **{name: agents.entry(name) for name in agents.names()}}
    targets = list(dict.fromkeys(e.target for e in every.values()))
    for name, e in sorted(every.items(), key=lambda item: targets.index(item[1].target)):
        row = {"name": name, "works_on": list(e.supports), "extra": e.package or e.extra, "summary": e.summary}
        row["algorithm"] = next(n for n, other in every.items() if other.target == e.target)
        if e.alias_of is None and text.lower() in f"{name} {e.summary} {' '.join(e.supports)}".lower():
            found.append(row)
    if not found:
        raise ValueError(f"text must be part of an agent's name, summary or kind ({', '.join(WORKS_ON)}), got {text!r}")
    return found


def listing(found: list[dict[str, Any]]) -> str:
    """Format rows as an aligned table with a legend; further agents of an algorithm are indented below its first."""
    cells, above = [("agent", "works on", "package", "summary")], None
    for r in found:
        works, setting = ", ".join(r["works_on"]), above is not None and above["algorithm"] == r["algorithm"]
        same = setting and above is not None and above["works_on"] == r["works_on"]
        name = f"  {r['name']}" if setting else r["name"]
        cells.append((name, "" if same else works, r["extra"] or "", r["summary"]))
        above = r
    widths = [max(len(line[i]) for line in cells) for i in range(3)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(line, widths, strict=False)), line[3]]) for line in cells]
    words = "; ".join(f"{k}: {v}" for k, v in WORKS_ON.items())
    return "\n".join([*lines, "", textwrap.fill(words, 110)])


def describe(name: str) -> dict[str, Any]:
    """Return facts about an agent as JSON values; an unknown name raises a `ValueError`."""
    e = agents.entry(name)
    cls = load(e.target)
    doc = docstrings.doc_of(cls)
    settings = {
        setting: {"type": kind, "default": repr(e.kwargs[setting]) if setting in e.kwargs else default, "what": what}
        for setting, kind, default, what in hyperparameters(cls)
    }
    return {
        "agent": name, "summary": e.summary, "works_on": list(e.supports), "extra": e.extra, "plugin": e.package,
        "alias_of": e.alias_of, "class": e.target.replace(":", "."), "hyperparameters": settings,
        "passed_on": forwarded(cls), "ids": fitting(name), "page": doc.text, "given": doc.items("Given"),
        **{heading.lower(): doc.sections.get(heading, "") for heading in SHOWN},
    }  # fmt: skip


def hyperparameters(cls: Any) -> list[tuple[str, str, str, str]]:
    """Return (name, type, default, meaning) of each hyperparameter, also those of base classes and `agents.make`.

    All are texts; the default of a required one, and a meaning that is not documented, are empty.
    """
    found: dict[str, tuple[str, str, str, str]] = {}
    for base in cls.__mro__:
        init = base.__dict__.get("__init__") or base.__dict__.get("__new__")
        if init is None or base is object:
            continue
        for name, kind, default, meaning in _arguments(init, base):
            known = found.setdefault(name, (name, kind, default, meaning))
            if not known[3] or (known[3].startswith("See `") and known[3].count(" ") < 3):  # see another docstring
                found[name] = (*known[:3], meaning or known[3])
        if not any(p.kind == p.VAR_KEYWORD for p in inspect.signature(init).parameters.values()):
            break
    return [*found.values(), *_arguments(agents.make, agents.make)]


def _arguments(function: Any, documented: Any) -> Iterator[tuple[str, str, str, str]]:
    """Yield (name, type, default, meaning) of each argument of a function that is a hyperparameter."""
    meanings = docstrings.doc_of(documented).items("Args")
    for name, p in inspect.signature(function).parameters.items():
        if name in ("self", "cls", "name", "problem", "seed") or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            continue
        annotation = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
        yield name, annotation, "" if p.default is p.empty else repr(p.default), meanings.get(name, "")


def forwarded(cls: Any) -> str:
    """Return name and description of the arguments that are passed on to another library; empty without any."""
    for name, text in docstrings.doc_of(cls).items("Args").items():
        if name.startswith("**") and "Arguments of" in text:
            return f"`{name}`: {text}"
    return ""


def fitting(name: str) -> list[str]:
    """Return the installed ids that an agent supports; for agents that need sources, those with source tasks."""
    every = ((i, problem, held_out_of(SPECS[i].tables)) for ids, problem in _problems() for i in ids)
    ours = {i: replace(problem, held_out=excluded) for i, problem, excluded in every}
    if agents.entry(name).sources:  # where a track allows transfer
        divided = [i for i in ours if transfer.of_family(i)]
        ours = {i: _helped(ours[i]) for i in divided if ours[i].held_out and ours[i].base is not None}
    return [i for i, problem in ours.items() if agents.fits(name, problem)]


def _helped(problem: agents.Problem) -> agents.Problem:
    """Return the problem with a source task that has a single evaluated configuration."""
    assert problem.base is not None
    one = problem.base[:1]
    return replace(problem, sources=(agents.Source("other", one, np.zeros((1, problem.objectives)), np.ones(1)),))


@functools.cache
def _problems() -> list[tuple[list[str], agents.Problem]]:
    """Return groups of installed ids with the same class and argument names, each with the problem of its first id."""
    from hpo_envs.benchmarks import problem_of

    alike: dict[Any, list[str]] = {}
    for spec in filter(installed, SPECS.values()):
        alike.setdefault((spec.entry_point, *sorted(spec.kwargs)), []).append(spec.id)
    found = []
    for ids in alike.values():
        env = gym.make(ids[0])
        found.append((ids, problem_of(env)))
        env.close()
    return found


def page(facts: dict[str, Any]) -> str:
    """Format the facts about an agent as a page of text."""
    names = {"alias of": facts["alias_of"], "class": facts["class"]}
    extra = install(facts["extra"]) if facts["extra"] else ""
    works = ", ".join(WORKS_ON[s] for s in facts["works_on"])
    head = {"works on": works, "needs": extra, "plugin of": facts["plugin"], **names}
    lines = [facts["agent"], "=" * len(facts["agent"]), facts["summary"], ""]
    lines += [f"{k:<12}{v}" for k, v in head.items() if v]
    lines += [_wrapped("fits        ", ", ".join(facts["ids"]) or "none of the registered ids", 12)]
    lines += ["", "Hyperparameters"]
    for name, setting in facts["hyperparameters"].items():
        default = f" = {setting['default']}" if setting["default"] else ""
        lines.append(_wrapped(f"  {name}{default}".ljust(28) + "  ", setting["what"], 30))
    if facts["passed_on"]:
        lines.append(_wrapped("  ", facts["passed_on"], 4))
    if not facts["hyperparameters"] and not facts["passed_on"]:
        lines.append("  none")
    lines += ["", facts["page"]]
    for heading in SHOWN:
        if text := facts[heading.lower()]:
            lines += ["", f"{heading}:", textwrap.indent(text, "    ")]
    if facts["given"]:
        lines += ["", "Given:"]
        lines += [_wrapped(f"    {k:<10}", v, 14) for k, v in facts["given"].items()]
    return "\n".join(lines)


def _wrapped(start: str, text: str, indent: int) -> str:
    filled = textwrap.fill(text, 110, initial_indent=start, subsequent_indent=" " * indent, break_on_hyphens=False)
    return (filled or start).rstrip()
