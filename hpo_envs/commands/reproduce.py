"""`hpo-envs reproduce`: tables and figures of one paper or all, with a verdict on each published number."""

import argparse
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from hpo_envs.agents.base import whole
from hpo_envs.benchmarks import papers
from hpo_envs.benchmarks.papers.common import COMPARED, Record, counted, reproduce
from hpo_envs.tables import VERSION
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.files import atomic

PAPERS = {m.name: f"papers.{m.name}" for m in pkgutil.iter_modules(papers.__path__) if m.ispkg} | {"learned": "learned"}
"""Name -> package below `benchmarks`. The package's docstring is the title; its module `reproduce` has `PARTS` and
perhaps `STUDIES`, functions by the names for `--only` (studies run only if they are named), and `QUICK`, the number of
trials with `--quick` (default: 1)."""

ALL = "all"
"""Argument that stands for every paper, on one page."""

STYLE = (
    "body { font: 16px/1.5 sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem } "
    "table { border-collapse: collapse; margin: .5rem 0 } td, th { text-align: left; padding: .1rem .6rem } "
    "th { border-bottom: 1px solid #999 } tr.differs td { background: #fdeaea } img { max-width: 100% }"
)


def _title(paper: str) -> str:
    return str(importlib.import_module(f"hpo_envs.benchmarks.{PAPERS[paper]}").__doc__).rstrip(".\n")


EPILOG = """examples:
  hpo-envs reproduce charhpo                        every table, figure and claim of the paper
  hpo-envs reproduce charhpo --only tables          without the optimizers: seconds
  hpo-envs reproduce nasbenchnlp --only numbers --trials 5 --out /tmp/cells
  hpo-envs reproduce fiesta                      every table and figure of the paper
  hpo-envs reproduce fiesta --only table2        one part; an unknown name lists the parts
  hpo-envs reproduce all --jobs 2 --out papers   every table and figure on one page; --quick: two minutes

papers:
""" + "\n".join(f"  {name:12} {_title(name)}" for name in PAPERS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("paper", help=f"a paper, see below, or {ALL}")
    out = "folder for tables and figures (default: studies/reproduce-PAPER or papers)"
    parser.add_argument("--out", type=Path, help=out)
    parser.add_argument("--trials", type=int, help="seeds per optimizer and task (default: the paper's)")
    parser.add_argument("--quick", action="store_true", help="few trials, for a preview")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (default: %(default)s)")
    parser.add_argument("--only", help="one part instead of all; an unknown name lists the parts")


def run(args: argparse.Namespace) -> int:
    """Reproduce a paper or all; return the exit status, 0 if the reproduction ran, whatever the verdicts."""
    one_of("paper", args.paper, [*PAPERS, ALL])
    for name in ("trials", "jobs"):
        if (value := getattr(args, name)) is not None:
            whole(f"--{name}", value, 1)
    whole("--seed", args.seed, 0)
    if args.quick and args.trials is not None:
        raise ValueError(f"--quick chooses the trials itself: it must not be given with --trials, got {args.trials}")
    if args.paper == ALL:
        if args.only is not None:
            raise ValueError(f"--only needs one paper, got {ALL} and {args.only!r}")
        return _all(args, args.out or Path("papers"))
    return _one(args, args.paper, args.out or Path("studies") / f"reproduce-{args.paper}")


def _one(args: argparse.Namespace, paper: str, out: Path) -> int:
    module: Any = importlib.import_module(f"hpo_envs.benchmarks.{PAPERS[paper]}.reproduce")
    studies = getattr(module, "STUDIES", {})
    if args.only is not None:
        one_of("--only", args.only, {**module.PARTS, **studies})
    given = {"trials": getattr(module, "QUICK", 1) if args.quick else args.trials, "jobs": args.jobs, "seed": args.seed}
    return reproduce(paper, module.PARTS, out, only=args.only, studies=studies, **given)


def _all(args: argparse.Namespace, out: Path) -> int:
    """Reproduce every paper with published numbers, and write one page."""
    status, printed = 0, [paper for paper, folder in PAPERS.items() if folder.startswith("papers.")]
    for i, paper in enumerate(printed, start=1):
        print(f"\n[{i} of {len(printed)}] {_title(paper)}", flush=True)
        status = max(status, _one(args, paper, out / paper))
    given = {"--quick": args.quick, "--trials": args.trials, "--seed": args.seed}
    options = "".join(f" {flag}{'' if value is True else f' {value}'}" for flag, value in given.items() if value)
    path = write_page(out, {paper: _title(paper) for paper in printed}, f"hpo-envs reproduce {ALL}{options}")
    print(f"\nall numbers and figures on one page: {path}")
    return status


def write_page(folder: Path, titles: Mapping[str, str], command: str) -> Path:
    """Write `index.html` on the reproductions in a folder, and return its path.

    The folder has a subfolder for each paper, with `compared.csv` and figures. `titles` maps the names of subfolders to
    titles of papers; the page states the `command` that made the results.
    """
    found = {name: atomic.read_csv(folder / name / "compared.csv") for name in titles}
    sections = [_section(folder, name, titles[name], records) for name, records in found.items()]
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Papers reproduced</title>'
        f"<style>{STYLE}</style></head><body><h1>Papers reproduced</h1>"
        f"<p>Made by <code>{escape(command)}</code>, hpo_envs {VERSION}. <em>agrees</em>: equal up to chance and "
        "rounding; <em>differs</em>: not, with the mechanism; <em>not at hand</em>: what it needs is public, "
        "with where it is; <em>never published</em>: what it needs was never released.</p>"
        f"{_overview(titles, found)}{''.join(sections)}</body></html>\n"
    )
    atomic.write(folder / "index.html", page)
    return folder / "index.html"


def _overview(titles: Mapping[str, str], found: Mapping[str, Sequence[Record]]) -> str:
    counts = {name: [*counted(of).values()] for name, of in found.items()}
    rows = [[f'<a href="#{name}">{escape(titles[name])}</a>', *map(str, each)] for name, each in counts.items()]
    total = ["all", *(str(sum(column)) for column in zip(*counts.values(), strict=True))]
    return _html_table(["paper", *counted([])], [*rows, total])


def _section(folder: Path, name: str, title: str, records: Sequence[Record]) -> str:
    """Return the HTML of a paper: the numbers of each table or figure, collapsed unless one differs; then pictures."""
    parts = [f'<h2 id="{name}">{escape(title)}</h2>']
    for where in dict.fromkeys(r["where"] for r in records):
        here = [r for r in records if r["where"] == where]
        said = ", ".join(f"{n} {verdict}" for verdict, n in counted(here).items() if n)
        rows = [[escape(r[column]) for column in COMPARED[1:]] for r in here]
        shown = _html_table(COMPARED[1:], rows, [r["verdict"] for r in here])
        opened = " open" if any(r["verdict"] == "differs" for r in here) else ""
        parts.append(f"<details{opened}><summary>{escape(where)}: {said}</summary>{shown}</details>")
    for path in sorted((folder / name).glob("*.png")):
        label = escape(path.stem.replace("_", " "))
        parts.append(
            f'<figure><img src="{name}/{escape(path.name)}" alt="{label}"><figcaption>{label}</figcaption></figure>'
        )
    return "".join(parts)


def _html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], css: Sequence[str] = ()) -> str:
    """Return an HTML table of columns (text) and cells (HTML); `css` has the class of each row."""
    head = "".join(f"<th>{escape(c)}</th>" for c in columns)
    classes = css or [""] * len(rows)
    body = (
        f'<tr class="{c}">{"".join(f"<td>{v}</td>" for v in row)}</tr>' for c, row in zip(classes, rows, strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
