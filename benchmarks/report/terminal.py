"""A track as text: its ranking, what it says, and what the columns are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hpo_envs.benchmarks.report import sentences

LEGEND = """\
mean regret: 0 is the best there is, 1 the median configuration; {score}; [95 % interval] for other seeds
elsewhere: the same mean, with the interval for other environments like these
here, there: best on these environments and on others like these, may be best as well, worse, or open (cannot be told)
at the end: regret when the budget is spent; solved: runs that end with the best there is"""


def of_track(track: Mapping[str, Any]) -> str:
    """The ranking of a track, its verdict and a legend."""
    head = ("agent", "runs", "mean regret", "elsewhere", "here", "there", "at the end", "solved")
    rows = [
        (
            r["agent"],
            str(sum(r["n"])),
            sentences.score(r),
            sentences.interval(r["elsewhere"]) if r["elsewhere"][1] is not None else "-",
            r["here"],
            r["there"],
            sentences.interval(r["final"]),
            f"{r['solved']:.0%}",
        )
        for r in track["ranking"]
    ]
    title = f"{track['name']}: {sentences.runs(track)}"
    legend = LEGEND.format(score=sentences.SCORES[track["score"]])
    return "\n\n".join([f"{title}\n{aligned([head, *rows])}", " ".join(sentences.verdict(track)), legend])


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned columns, the first one underlined."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])
