"""A track as text: its ranking, what it says, and what the columns are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hpo_envs.benchmarks.report import sentences

SCALE = {False: "0 is the best there is, 1 the median configuration", True: "no scale is known, lower is better"}

LEGEND = """\
{name}: {scale}; {score}; [95 % interval] for other seeds
for others: the same mean, with the interval for other environments like these
on these, on others: best, may be best as well, worse, or open (cannot be told), on these environments and on others
at the end: the same when the budget is spent; solved: runs that end with the best there is"""


def of_track(track: Mapping[str, Any]) -> str:
    """The ranking of a track, its verdict and a legend."""
    raw = track.get("raw", False)
    name = "raw score" if raw else "mean regret"
    head = ("agent", "runs", name, "for others", "on these", "on others", "at the end", "solved")
    rows = [
        (
            r["agent"],
            str(sum(r["n"])),
            sentences.score(r),
            sentences.interval(r["elsewhere"]) if r["elsewhere"][1] is not None else "-",
            r["here"],
            r["there"],
            sentences.interval(r["final"]),
            sentences.share(r["solved"]),
        )
        for r in track["ranking"]
    ]
    title = f"{track['name']}: {sentences.runs(track)}"
    legend = LEGEND.format(name=name, scale=SCALE[raw], score=sentences.measure(track))
    return "\n\n".join([f"{title}\n{aligned([head, *rows])}", " ".join(sentences.verdict(track)), legend])


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned columns, the first one underlined."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])
