"""Results as text for the terminal: ranking, verdict and legend of a track; selections of arms; aligned columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from hpo_envs.benchmarks.analysis import significance
from hpo_envs.benchmarks.report import numbers, sentences

LEGEND = """\
{name}: {score} [95 % interval over seeds]; {scale}
on these tasks: best, tied for best, worse, or inconclusive, with the tasks fixed and only the seeds random
{across}final regret: at the end; solved: runs that end with the best known configuration"""

KNOWN = "lower is better: 0 is the best known score, 1 the median configuration"
ACROSS = "across tasks: the same for random tasks, with the 95 % interval of the mean\n"

SELECTIONS = """\
wrong: runs that recommend another arm than the best one, by budget [95 % interval]; until sure: mean evaluations of
the largest budget and the share of runs that stopped before its end because the agent was sure"""


def of_track(track: Mapping[str, Any]) -> str:
    """Return ranking, verdict and legend of a track; of a degenerate one only the verdict.

    There is no column across tasks if that is inconclusive for all.
    """
    title, said = f"{track['name']}: {sentences.runs(track)}", " ".join(sentences.verdict(track))
    if track.get("flat"):
        return f"{title}\n{said}"
    raw, ranking = track.get("raw", False), track["ranking"]
    name = "raw score" if raw else "final regret" if track["score"] == "final" else "mean regret"
    columns: dict[str, Sequence[str]] = {
        "agent": [r["agent"] for r in ranking],
        "runs": [str(sum(r["n"])) for r in ranking],
        name: [sentences.score(r) for r in ranking],
        "on these tasks": [r["here"] for r in ranking],
    }
    across = any(r["there"] != significance.INCONCLUSIVE for r in ranking)
    if across:
        columns["across tasks"] = [f"{r['there']} {numbers.interval(r['elsewhere'])}" for r in ranking]
    if name != "final regret":
        columns["final regret"] = [numbers.interval(r["final"]) for r in ranking]
    columns["solved"] = [numbers.share(r["solved"]) for r in ranking]
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    scale = "no known scale, lower is better" if raw else KNOWN
    legend = LEGEND.format(name=name, scale=scale, score=sentences.measure(track), across=ACROSS * across)
    return "\n\n".join([f"{title}\n{aligned(rows)}", said, legend])


def of_selections(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return rows of text: a header, and one per agent, by largest budget (descending), then by wrong selections."""
    budgets = sorted({r["budget"] for r in records})
    by_agent: dict[str, dict[float, Mapping[str, Any]]] = {}
    for r in records:
        by_agent.setdefault(r["agent"], {})[r["budget"]] = r
    last = {a: of[max(of)] for a, of in by_agent.items()}
    order = sorted(by_agent, key=lambda a: (-last[a]["budget"], last[a]["wrong"][0], last[a]["evaluations"]))
    head = ["agent", *(f"wrong with {b:g}" for b in budgets), "until sure"]
    sure = {a: f"{r['evaluations']:.0f} ({r['sure']:.0%})" if r["sure"] else "-" for a, r in last.items()}
    return [head, *([a, *(_wrong(by_agent[a].get(b)) for b in budgets), sure[a]] for a in order)]


def _wrong(record: Mapping[str, Any] | None) -> str:
    if record is None:
        return "-"
    share, low, high = (100 * v for v in record["wrong"])
    return f"{share:.3g} % [{low:.2g}, {high:.2g}]"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text in aligned columns, the first row underlined."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])
