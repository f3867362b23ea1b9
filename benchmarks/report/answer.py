"""Summary section of a report: cards of tracks, with pictures of their rankings and intervals."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hpo_envs.benchmarks.analysis.intervals import FEWEST_GROUPS
from hpo_envs.benchmarks.plots import COLOURS, most
from hpo_envs.benchmarks.report import numbers, sentences

KEY = (
    '<p class="soft key"><span class="spans"><i class="here"></i></span> 95&nbsp;% interval on these tasks '
    '<span class="spans"><i class="there"></i></span> across tasks <span class="spans base">'
    "<i></i></span> random search. Lower (left) is better.</p>"
)


def of_track(track: Mapping[str, Any], says: Sequence[str], link: str, looks: Mapping[str, int]) -> str:
    """Return a track's card as HTML: name, sentences, picture; `link` is an anchor, `looks` indices in `COLOURS`."""
    text = f"<p><b>{escape(says[0])}</b> {escape(' '.join(says[1:]))}</p>"
    name = f'<h3><a href="#{link}">{escape(track["name"])}</a></h3><p class="soft">{sentences.runs(track)}</p>'
    return f'<article class="card">{name}{text}{_picture(track, link, looks)}</article>'


def _picture(track: Mapping[str, Any], link: str, looks: Mapping[str, int]) -> str:
    """Return the ranking's picture as HTML: rows of dots and intervals, with positions relative to the row's width."""
    ranking, raw = track["ranking"], track.get("raw")
    names = most([r["agent"] for r in ranking])
    shown = [(place, r) for place, r in enumerate(ranking, 1) if r["agent"] in names]
    spans = {"here": "mean"} if track["groups"] < FEWEST_GROUPS else {"there": "elsewhere", "here": "mean"}
    ends = [v for _, r in shown for k in spans.values() for v in r[k] if v is not None]
    low = min(ends) if raw else min(0.0, *ends)
    spread = max(ends) - low or 1.0

    def at(value: float) -> float:
        return float(100 * (value - low) / spread)

    base = (f'<i class="base" style="left:{at(r["mean"][0]):.1f}%"></i>' for r in ranking if r["agent"] == "random")
    rule, rows = next(base, ""), []
    for place, r in shown:
        drawn = "".join(
            f'<i class="{kind}" style="left:{at(r[key][1]):.1f}%;width:{at(r[key][2]) - at(r[key][1]):.1f}%"></i>'
            for kind, key in spans.items()
            if r[key][1] is not None
        )
        colour = f"var(--c{looks[r['agent']] % len(COLOURS)})"
        rows.append(
            f'<li style="--own:{colour}"><span class="who">{place}. {escape(r["agent"])}</span>'
            f'<span class="spans" aria-hidden="true">{rule}{drawn}<b style="left:{at(r["mean"][0]):.1f}%"></b></span>'
            f'<span class="value">{escape(numbers.interval(r["mean"]))}</span></li>'
        )
    if not raw:
        rows.append('<li class="soft" aria-hidden="true"><span></span><span class="axis">0: best known</span></li>')
    rest = len(ranking) - len(shown)
    more = f'<p class="soft"><a href="#{link}">{rest} more in the ranking</a></p>' if rest else ""
    return f'<ol class="answer">{"".join(rows)}</ol>{more}'
