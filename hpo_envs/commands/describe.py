"""Show the page of an id, an agent or a search.

The page of an id shows spaces, tables with their provenance, and a citation; the page of an agent, hyperparameters
and supported ids; the page of a search (a folder of `tune`), the best configuration, evaluations and failures.
"""

import argparse
import itertools
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents import AGENTS, names
from hpo_envs.commands import agents
from hpo_envs.families.registry import FAMILIES, SPECS, Spec, find
from hpo_envs.tables import catalogue, store
from hpo_envs.tables.checks import nearest
from hpo_envs.tables.table import Table

EPILOG = """\
examples:
  hpo-envs describe NMTHPO-swen-v0          an environment
  hpo-envs describe bo                      an agent, see `hpo-envs list --agents`
  hpo-envs describe mine/                   a search by hpo-envs tune --out mine/
  hpo-envs describe NMTHPO-swen-v0 --json   machine-readable output"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("subject", metavar="NAME", help="id or agent, see `hpo-envs list [--agents]`, or a search")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the page of an id, an agent or a search, or its facts as JSON."""
    name = args.subject.removeprefix("hpo_envs:")
    spec = find(name)
    if spec is None and Path(name).is_dir():
        facts, text = _search(name)
    elif spec is not None:
        facts, text = describe(spec), _page
    elif name in AGENTS or name in names():
        facts, text = agents.describe(name), agents.page
    else:
        raise ValueError(
            "name must be an id that `hpo-envs list` shows or an agent that `hpo-envs list --agents` shows, "
            f"got {name!r}{nearest(name, [*SPECS, *names()])}"
        )
    print(json.dumps(facts, indent=2, allow_nan=False) if args.json else text(facts))
    return 0


def _search(folder: str) -> tuple[dict[str, Any], Callable[[dict[str, Any]], str]]:
    """Return facts about a search by `tune`, and the function that formats them as text."""
    from hpo_envs.tuning import load
    from hpo_envs.tuning.record import by

    tuned = load(folder)
    h, ended = tuned.header, [e for e in tuned if e.ended >= 0]
    best = tuned.best if tuned.pareto and len(h["objectives"]) == 1 else None
    facts = {
        "best": best and best.config, "metrics": best and best.metrics, "pareto": len(tuned.pareto),
        "function": h["function"], "agent": by(h), "evaluations": len(ended),
        "failed": len(ended) - len(tuned.successes), "budget": f"{h['budget']:g} {h['budget_unit']}",
        "seconds": sum(e.seconds for e in ended), "workers": _at_once(ended),
        "space": {hp.name: _range(hp) for hp in tuned.stored[0].space},
    }  # fmt: skip
    return facts, lambda shown: "\n".join(
        f"{k:<12}{json.dumps(v) if isinstance(v, dict) else v}" for k, v in shown.items()
    )


def _at_once(ended: list[Any]) -> int:
    """Return the largest number of finished evaluations that ran concurrently at any time."""
    times = sorted([(e.started, 1) for e in ended] + [(e.started + e.seconds, -1) for e in ended])
    return max(itertools.accumulate(step for _, step in times), default=0)


def describe(spec: Spec) -> dict[str, Any]:
    """Return facts about an id as JSON values; raise `TableNotInstalled` if the files of its table are missing."""
    example = FAMILIES[spec.family].example
    env = gym.make(spec.id, **example).unwrapped
    params: Any = env.params  # type: ignore[attr-defined]
    tables = params.tables
    spaces = {"action": env.action_space, "observation": env.observation_space}
    if isinstance(getattr(env, "reward_space", None), gym.Space):
        spaces["reward"] = env.reward_space  # type: ignore[attr-defined]
    budget = float(getattr(env, "budget", np.inf))
    facts = {
        "id": spec.id, "family": spec.family, "entry_point": spec.entry_point,
        "vector_entry_point": spec.vector_entry_point, "arguments": {**spec.kwargs, **FAMILIES[spec.family].example},
        "spaces": {k: space_text(s) for k, s in spaces.items()}, "cost_unit": getattr(env, "cost_unit", ""),
        "budget_unit": params.budget_unit, "budget": budget if np.isfinite(budget) else None,
        "tables": [_table(t) for t in tables], "properties": _properties(tables, getattr(env, "objectives", ())),
        "citation": list(dict.fromkeys(t.provenance.citation for t in tables)), "page": spec.page,
    }  # fmt: skip
    env.close()
    return facts


def _properties(tables: Any, objectives: Any) -> dict[str, float] | None:
    """Return measured properties of the table if an id has one table, one objective and one level; else None."""
    from hpo_envs.benchmarks.tasks.verdict import properties

    if len(tables) != 1 or len(objectives) != 1 or len(tables[0].levels) != 1:
        return None
    return properties.described(tables[0], objectives[0])


def space_text(space: gym.Space[Any]) -> str:
    """Format a space in one line: boxes by the range of their bounds, long texts shortened."""
    if isinstance(space, gym.spaces.Box):
        return f"Box({space.low.min():g} to {space.high.max():g}, shape {space.shape}, {space.dtype})"
    if isinstance(space, gym.spaces.Dict):
        return "Dict(" + ", ".join(f"{k}: {space_text(s)}" for k, s in space.spaces.items()) + ")"
    return textwrap.shorten(str(space), 160, placeholder=" ...")


def _table(table: Table) -> dict[str, Any]:
    p, setting = table.provenance, catalogue.settings().get(table.name)
    metrics = [{"name": m.name, "unit": m.unit, "goal": m.goal, "low": m.low, "high": m.high, "what": m.description}
               for m in table.metrics]  # fmt: skip
    return {
        "name": table.name, "kind": p.kind,
        "setting": setting._asdict() | {"group": setting.group} if setting else None, "owner": store.owner(table.name),
        "rows": len(table), "repeats": table.repeats, "levels": len(table.levels), "level_unit": table.level_unit,
        "level_range": [float(table.levels[0]), float(table.levels[-1])], "cost_unit": table.cost_unit,
        "space": {h.name: _range(h) for h in table.space}, "metrics": metrics, "upstream": p.upstream,
        "commit": p.commit, "licence": p.licence, "sha256": p.sha256, "notes": list(p.notes),
    }  # fmt: skip


def _range(h: Any) -> str:
    if h.values:
        steps = {b - a for a, b in itertools.pairwise(h.values)} if h.kind != "categorical" else set()
        if len(h.values) > 12 and len(steps) == 1:
            return f"{h.values[0]}, {h.values[1]}, ..., {h.values[-1]}"
        return ", ".join(map(str, h.values))
    scale = " (log of 1 - value)" if h.complement and h.log else " (log)" if h.log else ""
    return "{} to {}".format(*h.bounds) + scale


def _page(facts: dict[str, Any]) -> str:
    lines = [facts["id"], "=" * len(facts["id"])]
    lines += [f"{k + ' space':<18}{v}" for k, v in facts["spaces"].items()]
    budget = "the whole table" if facts["budget"] is None else f"{facts['budget']:g} {facts['budget_unit']}"
    lines += [f"{'budget':<18}{budget}"]
    lines += [f"{'arguments':<18}" + (", ".join(f"{k}={v!r}" for k, v in facts["arguments"].items()) or "none fixed")]
    for t in facts["tables"]:
        lines += ["", *_table_lines(t)]
    if facts["properties"]:
        from hpo_envs.benchmarks.tasks.verdict import properties

        lines += ["", "Properties", *properties.lines(facts["properties"])]
    lines += [""] + [textwrap.fill(c, 110, initial_indent="Cite: ", subsequent_indent="  ") for c in facts["citation"]]
    return "\n".join([*lines, "", facts["page"]])


def _table_lines(t: dict[str, Any]) -> list[str]:
    levels = f"{t['levels']} levels ({t['level_range'][0]:g} to {t['level_range'][1]:g} {t['level_unit']})"
    if t["levels"] == 1:
        levels = f"1 level ({t['level_unit']})"
    by = f" by {t['owner']}" if t["kind"] == "measured" else ""
    head = f"Table {t['name']} ({t['kind']}{by}): {t['rows']} rows, {t['repeats']} repeat(s), {levels}"
    width = max(18, *(len(m["name"]) + 2 for m in t["metrics"]))
    setting = t["setting"]
    lines = [head] + ([f"  task group        {setting['group']}; {setting['model']}"] if setting else [])
    lines += [f"  {name:<18}{text}" for name, text in t["space"].items()]
    for m in t["metrics"]:
        bounds = f"{m['low']:g} to {m['high']:g} {m['unit']}"
        lines.append(f"  {m['name']:<{width}}{m['goal']}  {bounds:<22}  {m['what']}".rstrip())
    lines += [f"  from              {t['upstream']} at {t['commit']}, licence: {t['licence']}"]
    lines += [f"  sha256            {t['sha256']}"]
    return lines + [textwrap.fill(n, 110, initial_indent="  note: ", subsequent_indent="    ") for n in t["notes"]]
