"""Summaries that are published group by group: new runs of some groups onto what is stored of the others.

A *group* is a family at one budget apart and with the same tables at hand: within it environments come to tracks, and
tracks to their names. A summary has no score of a single run, so that no ranking could be made of old and new ones.
Groups are replaced as wholes, and what comes out is what all runs together would have given.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from hpo_envs.agents import AGENTS
from hpo_envs.benchmarks.comparison.replay import table_of
from hpo_envs.benchmarks.report.publications import FACTS, Found, number, publications
from hpo_envs.families.registry import FAMILIES, SPECS
from hpo_envs.tables import store
from hpo_envs.tables.frames import natural

Group = tuple[str, str, str]
"""Family, budget where it is apart, and whose tables were at hand."""


def onto(stored: Found, found: Found) -> dict[str, Any]:
    """Put the groups of a summary in the place of those that are stored; the other groups stay as they are.

    Groups that no one could run again, because none of their ids is registered, or their budget is no longer one of
    the leaderboard's, are left out: see `gone`.

    Args:
        stored: The summary that was published before.
        found: That of the new runs.

    Returns:
        Their summary, in the order of `ordered`. Tracks that were kept have `earlier`, the index of their publication
        in the summary's `earlier`.

    Raises:
        ValueError: A group lacks environments or agents that are stored of it and still registered; a group that is
            kept has ids that are not registered, or other tables than those that are here.
    """
    replaced = {_group(e) for e in found["environments"]}
    _check_complete(stored, found, replaced)
    away = replaced | set(gone(stored))
    kept = [e for e in stored["environments"] if _group(e) not in away]
    if bad := stale(kept):
        raise ValueError(f"groups that are kept must be of today's tables, got {'; '.join(bad)}: run these anew")
    environments = [*kept, *found["environments"]]
    labels = {e["label"] for e in kept}
    tracks = [t for t in stored["tracks"] if t["environments"][0] in labels]
    numbers, before = sorted(set(map(number, tracks))), publications(stored)
    cells = [*(c for c in stored["cells"] if c["environment"] in labels), *found["cells"]]
    agents = {a["label"]: a for summary in (stored, found) for a in summary["agents"]}
    ranked = {c["agent"] for c in cells} | {a["label"] for a in found["agents"]}
    budgets = {(e["family"], e["budget"]) for e in kept}
    selections = {
        family: [
            *(r for r in stored["selections"].get(family, ()) if (family, r["budget"]) in budgets),
            *found["selections"].get(family, ()),
        ]
        for family in (stored["selections"] | found["selections"])
    }
    merged = {
        **found,
        "environments": environments,
        "agents": [a for label, a in agents.items() if label in ranked],
        "tracks": [*({**t, "earlier": numbers.index(number(t))} for t in tracks), *found["tracks"]],
        "cells": cells,
        "curves": {e: c for e, c in stored["curves"].items() if e in labels} | found["curves"],
        "fronts": {e: f for e, f in stored["fronts"].items() if e in labels} | found["fronts"],
        "selections": {family: records for family, records in selections.items() if records},
    }
    earlier = [{k: before[i][k] for k in FACTS if k in before[i]} for i in numbers]
    return ordered(merged | ({"earlier": earlier} if earlier else {}))


def gone(stored: Found) -> dict[Group, list[str]]:
    """Groups that cannot be run again, each with its environments."""
    groups: dict[Group, list[Found]] = {}
    for e in stored["environments"]:
        groups.setdefault(_group(e), []).append(e)
    return {g: [e["label"] for e in envs] for g, envs in groups.items() if not any(map(_is_run, envs))}


def stale(environments: Iterable[Found]) -> list[str]:
    """Differences of a summary's ids and tables from the installed ones, as sentences."""
    known = functools.cache(_wrong)  # environments share tables
    bad = []
    for e in environments:
        if e["id"] not in SPECS:
            bad.append(f"{e['label']}, whose id is not registered")
        for t in e["tables"]:
            if why := known(e["id"], t["name"], t["kind"], t["sha256"]):
                bad.append(f"{e['label']}, whose table {t['name']} {why}")
    return bad


def ordered(found: Found) -> dict[str, Any]:
    """The same in the order of the leaderboard.

    Environments and tracks are in the order of budgets as their families list them, then of ids; those with other
    tables at hand come last. So do agents of other packages, behind ours in the order of their environments.
    """
    environments = sorted(found["environments"], key=_place)
    at = {e["label"]: i for i, e in enumerate(environments)}
    cells = sorted(found["cells"], key=lambda c: at[c["environment"]])
    first = {a: i for i, a in reversed([*enumerate(c["agent"] for c in cells)])}
    settings = [(e["family"], e["budget"]) for e in environments]
    families = sorted(found["selections"], key=[family for family, _ in settings].index)
    return {
        **found,
        "environments": environments,
        "agents": sorted(found["agents"], key=lambda a: (_is_external(a["name"]), first.get(a["label"], len(cells)))),
        "tracks": sorted(found["tracks"], key=lambda t: min(at[e] for e in t["environments"])),
        "cells": cells,
        "curves": {label: found["curves"][label] for label in at},
        "selections": {f: _by_budget(found["selections"][f], [b for of, b in settings if of == f]) for f in families},
    }


def _by_budget(records: Iterable[Found], budgets: Sequence[float]) -> list[Found]:
    return sorted(records, key=lambda r: budgets.index(r["budget"]))


def _wrong(env_id: str, name: str, kind: str, sha256: str) -> str:
    """Reason why a table differs from the installed one; empty if it does not."""
    if not store.exists(name):
        return "does not exist"
    if store.missing(name):
        return "is not installed here"
    try:
        table = table_of({"env": env_id, "table": name, "kind": kind, "sha256": sha256})
    except ValueError:
        table = store.load(name)
    # In its builder's order the same rows were before they were hashed.
    return "" if sha256 in {t.provenance.sha256 for t in (table, natural(table))} else "has changed"


def _group(e: Found) -> Group:
    given = dict(re.findall(r"[( ](budget|transfer)=([^,)]+)", e["label"]))
    return e["family"] or e["id"], given.get("budget", ""), given.get("transfer", "")


def _budgets(family: str) -> list[str]:
    """Budgets of a family on the leaderboard as labels have them; the first is not apart."""
    more = FAMILIES[family].leaderboard[1:] if family in FAMILIES else ()
    return ["", *(f"{arguments['budget']:g}" for arguments in more)]


def _is_run(e: Found) -> bool:
    """Return whether runs of an environment can be made for the leaderboard."""
    family, budget, _ = _group(e)
    return e["id"] in SPECS and budget in _budgets(family)


def _is_external(agent: str) -> bool:
    """Return whether an agent takes part where it is asked for by its registered name."""
    entry = AGENTS.get(agent)
    return entry is not None and not (entry.entrant or entry.sources or entry.unseen)


def _place(e: Found) -> tuple[bool, int, str]:
    family, budget, helped = _group(e)
    return bool(helped), _budgets(family).index(budget), e["id"]


def _check_complete(stored: Found, found: Found, replaced: set[Group]) -> None:
    """Refuse groups that lack what is stored of them, as far as it can still be run."""
    envs = {e["label"]: e for e in stored["environments"] if _group(e) in replaced and _is_run(e)}
    names = {a["label"]: a["name"] for a in stored["agents"]}
    # Agents that were never registered, `module:factory` or `policy:FILE`, are other people's, and stay.
    agents = {label for label, name in names.items() if name in AGENTS or ":" in name}
    here = {(c["environment"], c["agent"]) for c in found["cells"]}
    cells = ((c["environment"], c["agent"]) for c in stored["cells"])
    lacking = [(e, a) for e, a in cells if e in envs and a in agents and (e, a) not in here]
    if not lacking:
        return
    some = {e for e, _ in here}
    said = []
    for t in stored["tracks"]:
        mine = [(e, a) for e, a in lacking if e in t["environments"]]
        parts = {
            "environments": dict.fromkeys(e for e, _ in mine if e not in some),
            "agents": dict.fromkeys(a for e, a in mine if e in some),
        }
        said += [f"{t['name']} without its {kind} {', '.join(which)}" for kind, which in parts.items() if which]
    families = " ".join(sorted({_group(envs[e])[0] for e, _ in lacking}))
    others = sorted({names[a] for _, a in lacking if _is_external(names[a]) or names[a] not in AGENTS})
    command = f"run --only {families}" + (f" --agents {' '.join(others)}" if others else "")
    raise ValueError(f"runs must have all that is stored of a group, got {'; '.join(said)}: `{command}` makes them")
