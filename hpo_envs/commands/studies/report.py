"""Writes a comparison as one self-contained HTML page: who won, by how much, how sure.

The page needs no network and no other file: send it, or open it on a phone. Runs on measured and on embedded tables
are never mixed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

EPILOG = """\
examples:
  hpo-envs report runs/                                 the page of all runs below runs/: runs/report.html
  hpo-envs report runs/ --out page.html --pictures figures/
                                                        also every picture as .png and .svg
  hpo-envs report runs/ --summary scores.json           also the scores and curves behind it, without evaluations
  hpo-envs report scores.json --out page.html           the page of such a file"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("runs", type=Path, help="folder of runs (hpo-envs compare --out), or a summary (.json)")
    parser.add_argument("--out", type=Path, help="the page (default: report.html in the folder)")
    parser.add_argument("--title", help="title of the page")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="also draw the pictures into this folder")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="also write scores and curves as JSON")


def run(args: argparse.Namespace) -> int:
    """Writes the page and what else was asked for."""
    from hpo_envs.benchmarks import report
    from hpo_envs.benchmarks.comparison import summary
    from hpo_envs.tables.files import atomic

    found = summary.load(args.runs)
    if args.title:
        found["title"] = args.title
    try:
        text = report.render(found, citations=summary.citations(found))
        verdicts = [f"{track['name']}: {' '.join(report.verdict(track))}" for track in found["tracks"]]
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError, ArithmeticError) as error:
        raise ValueError(f"{args.runs} must be a summary that hpo_envs wrote, got {error!r}") from error
    page = args.out or (args.runs if args.runs.is_dir() else args.runs.parent) / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(page, text)
    print("\n".join([*verdicts, *filter(None, [found.get("checked")])]))
    if args.summary:
        atomic.write(args.summary, json.dumps(found, separators=(",", ":")) + "\n")
        print(f"summary: {args.summary}")
    if args.pictures:
        from hpo_envs.benchmarks.report import plots

        print(f"pictures: {len(plots.draw_all(found, args.pictures, progress=True))} files in {args.pictures}")
    print(f"page: {page}")
    return 0
