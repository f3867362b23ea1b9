"""One page of all reproductions: each published number next to ours, the figures, and why numbers differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from hpo_envs.benchmarks.papers.common import COMPARED, Record, counted
from hpo_envs.tables import VERSION
from hpo_envs.tables.files import atomic

STYLE = (
    "body { font: 16px/1.5 sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem } "
    "table { border-collapse: collapse; margin: .5rem 0 } td, th { text-align: left; padding: .1rem .6rem } "
    "th { border-bottom: 1px solid #999 } tr.differs td { background: #fdeaea } img { max-width: 100% }"
)


def write(folder: Path, titles: Mapping[str, str], command: str) -> Path:
    """Write `index.html` about reproductions that are in a folder, and return its path.

    Args:
        folder: Has one folder per paper, each with `compared.csv` and figures.
        titles: Of the papers, by the name of their folders.
        command: What made them.
    """
    found = {name: atomic.read_csv(folder / name / "compared.csv") for name in titles}
    sections = [_section(folder, name, titles[name], records) for name, records in found.items()]
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Papers reproduced</title>'
        f"<style>{STYLE}</style></head><body><h1>Papers reproduced</h1>"
        f"<p>Made by <code>{escape(command)}</code>, hpo_envs {VERSION}. <em>agrees</em>: equal up to chance and "
        "rounding; <em>differs</em>: not, with the mechanism; <em>reported</em>: not judged, with the reason.</p>"
        f"{_overview(titles, found)}{''.join(sections)}</body></html>\n"
    )
    atomic.write(folder / "index.html", page)
    return folder / "index.html"


def _overview(titles: Mapping[str, str], found: Mapping[str, Sequence[Record]]) -> str:
    rows = [
        [f'<a href="#{name}">{escape(titles[name])}</a>', *map(str, counted(of).values())] for name, of in found.items()
    ]
    total = [sum(column) for column in zip(*(counted(of).values() for of in found.values()), strict=True)]
    return _table(["paper", *counted([])], [*rows, ["all", *map(str, total)]])


def _section(folder: Path, name: str, title: str, records: Sequence[Record]) -> str:
    """A paper: each table or figure with its numbers; those that all agree are folded."""
    parts = [f'<h2 id="{name}">{escape(title)}</h2>']
    for where in dict.fromkeys(r["where"] for r in records):
        here = [r for r in records if r["where"] == where]
        said = ", ".join(f"{n} {verdict}" for verdict, n in counted(here).items() if n)
        rows = [[escape(r[column]) for column in COMPARED[1:]] for r in here]
        shown = _table(COMPARED[1:], rows, [r["verdict"] for r in here])
        opened = " open" if any(r["verdict"] == "differs" for r in here) else ""
        parts.append(f"<details{opened}><summary>{escape(where)}: {said}</summary>{shown}</details>")
    for path in sorted((folder / name).glob("*.png")):
        label = escape(path.stem.replace("_", " "))
        parts.append(
            f'<figure><img src="{name}/{escape(path.name)}" alt="{label}"><figcaption>{label}</figcaption></figure>'
        )
    return "".join(parts)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], css: Sequence[str] = ()) -> str:
    """A table of finished cells, rows with classes."""
    head = "".join(f"<th>{escape(c)}</th>" for c in columns)
    classes = css or [""] * len(rows)
    body = (
        f'<tr class="{c}">{"".join(f"<td>{v}</td>" for v in row)}</tr>' for c, row in zip(classes, rows, strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
