"""List environment ids by family with the kind of their table and their task group; with --agents, list the agents.

`measured`: recorded results; `surrogate`: a model of the whole space, or synthetic results. Ids whose files
are not installed are listed last.
"""

import argparse
import itertools
import json
import operator
from typing import Any

from hpo_envs.commands import agents
from hpo_envs.families.registry import SPECS, Spec, group_of, installed, kind_of, own, plugin_specs
from hpo_envs.tables import store
from hpo_envs.tables.plugins import of_id

EPILOG = """\
examples:
  hpo-envs list                   all ids
  hpo-envs list nmthpo            ids with this text in their name
  hpo-envs list --agents          all agents, and what they work on
  hpo-envs list --agents levels   agents for multi-fidelity problems
  hpo-envs list --json            machine-readable output"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    text = "part of an id, family or agent, in any case"
    parser.add_argument("text", nargs="?", default="", metavar="TEXT", help=text)
    parser.add_argument("--agents", action="store_true", help="agents instead of environments")
    parser.add_argument("--json", action="store_true", help="print a JSON list of objects")


def run(args: argparse.Namespace) -> int:
    """Print the matching ids or agents."""
    if args.agents:
        found = agents.rows(args.text)
        print(json.dumps(found, indent=2) if args.json else agents.listing(found))
        return 0
    every = {s.id: s for s in (*SPECS.values(), *plugin_specs(), *own())}.values()
    chosen = [s for s in every if args.text.lower() in f"{s.family} {s.id}".lower()]
    if not chosen:
        families = ", ".join(dict.fromkeys(s.family for s in SPECS.values()))
        raise ValueError(f"text must be part of an id or of a family ({families}), got {args.text!r}")
    rows = [_row(s) for s in chosen]
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    widths = {k: max(len(r[k]) for r in rows) for k in ("id", "group")}

    def line(r: dict[str, Any]) -> str:
        group = "" if r["group"] == r["id"] else r["group"]
        start = f"  {r['id']:<{widths['id']}}  {r['kind']:<9}  {group:<{widths['group']}}"
        arguments = ", ".join(f"{k}={v!r}" for k, v in r["arguments"].items())
        return f"{start}  {arguments}".rstrip()

    there = [r for r in rows if r["installed"]]
    family_of = operator.itemgetter("family", "summary", "plugin")
    for (family, summary, plugin), group in itertools.groupby(there, family_of):
        print(f"{family}: {summary}{f' (plugin: {plugin})' if plugin else ''}")
        for r in group:
            print(line(r))
    for command, group in itertools.groupby([r for r in rows if not r["installed"]], operator.itemgetter("fetch")):
        print(f"\nAfter `{command}`:")
        for r in group:
            print(line(r))
    return 0


def _row(spec: Spec) -> dict[str, Any]:
    return {
        "id": spec.id, "family": spec.family, "kind": kind_of(spec), "installed": installed(spec),
        "fetch": store.command(spec.tables), "plugin": plugin.package if (plugin := of_id(spec.id)) else "",
        "summary": spec.page.partition("\n")[0], "arguments": dict(spec.kwargs), "tables": list(spec.tables),
        "group": group_of(spec.id), "datasets": list(dict.fromkeys(name.partition("/")[0] for name in spec.tables)),
    }  # fmt: skip
