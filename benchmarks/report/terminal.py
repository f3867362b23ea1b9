"""A track as text: ranking, verdict and legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hpo_envs.benchmarks.analysis import significance
from hpo_envs.benchmarks.report import sentences

SCALE = {
    False: "lower is better: 0 is the best known score, 1 the median configuration",
    True: "no known scale, lower is better",
}

LEGEND = """\
{name}: {score} [95 % interval over seeds]; {scale}
on these tasks: best, tied for best, worse, or inconclusive, with the tasks fixed and only the seeds random"""

ACROSS = """
across tasks: the same for random tasks, with the 95 % interval of the mean"""

ENDS = """
final regret: at the end; solved: runs that end with the best known configuration"""


def of_track(track: Mapping[str, Any]) -> str:
    """Ranking of a track, its verdict and a legend; without columns across tasks where these are too few."""
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
        columns["across tasks"] = [f"{r['there']} {sentences.interval(r['elsewhere'])}" for r in ranking]
    if name != "final regret":
        columns["final regret"] = [sentences.interval(r["final"]) for r in ranking]
    columns["solved"] = [sentences.share(r["solved"]) for r in ranking]
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    title = f"{track['name']}: {sentences.runs(track)}"
    legend = LEGEND.format(name=name, scale=SCALE[raw], score=sentences.measure(track)) + ACROSS * across + ENDS
    return "\n\n".join([f"{title}\n{aligned(rows)}", " ".join(sentences.verdict(track)), legend])


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned columns, the first one underlined."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])
