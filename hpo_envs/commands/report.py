"""Write a comparison, or a search by `tune`, as one self-contained HTML page.

A comparison has ranking, verdict and curves; a search has the best configuration, scores, importance, evaluations and
failures.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpo_envs.benchmarks import Comparison

EPILOG = """\
examples:
  hpo-envs report runs/                                 the page of all runs below runs/: runs/report.html
  hpo-envs report runs/ --paper paper/                  also LaTeX tables, PDF pictures, appendix and CSV
  hpo-envs report runs/ --summary scores.json           also the scores and curves behind it, without evaluations
  hpo-envs report scores.json --out page.html           the page of a summary
  hpo-envs report mine/                                 the page of a search by hpo-envs tune --out mine/
  hpo-envs report mine/ --live                          the same while it runs, at an address of this machine"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("runs", type=Path, help="folder of runs or of a search, or a summary (.json)")
    parser.add_argument("--out", type=Path, help="the page (default: report.html in the folder)")
    parser.add_argument("--title", help="title of the page")
    paper = "also write LaTeX tables, PDF pictures, appendix, CSV"
    parser.add_argument("--paper", type=Path, metavar="DIR", help=paper)
    parser.add_argument("--summary", type=Path, metavar="FILE", help="also write scores and curves as JSON")
    parser.add_argument("--live", action="store_true", help="serve the page of a search on this machine, refreshed")
    parser.add_argument("--port", type=int, default=0, help="of --live (default: any that is free)")
    parser.add_argument("--host", default="127.0.0.1", help="of --live; others than this machine need its token")


def run(args: argparse.Namespace) -> int:
    """Write the page and the requested files; with `--live`, serve the page."""
    if args.live:
        from hpo_envs.tuning.pages.live import LivePage

        with LivePage(args.runs, args.port, args.host) as server:
            print(f"page: {server.url} (Ctrl-C ends it)", flush=True)
            server.serve_forever()
        return 0
    if _is_search(args.runs):
        return _search(args)
    from hpo_envs.benchmarks.comparison import summary
    from hpo_envs.benchmarks.report import page, sentences
    from hpo_envs.tables.files import atomic
    from hpo_envs.tuning import record

    try:
        found, comparison = _load(args.runs)
    except ValueError as error:
        if not (args.runs / record.NAME).is_file():
            raise
        return _search(args, f"\nnot compared with the searches in it: {error}")
    if args.title:
        found["title"] = args.title
    try:
        text = page.render(found, citations=summary.citations(found))
        verdicts = [f"{track['name']}: {' '.join(sentences.verdict(track))}" for track in found["tracks"]]
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError, ArithmeticError) as error:
        raise ValueError(f"{args.runs} must be a summary written by hpo_envs, got {error!r}") from error
    folder = args.runs if args.runs.is_dir() else args.runs.parent
    out = atomic.inside(folder, args.out or folder / "report.html")
    atomic.check_ours(out, text)
    if args.summary and atomic.inside(folder, args.summary).is_file():
        summary.read(args.summary)
    out.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(out, text)
    print("\n".join(filter(None, [found.get("missing"), *verdicts, found.get("checked")])))
    if args.summary:
        atomic.write(atomic.inside(folder, args.summary), json.dumps(found, separators=(",", ":")) + "\n")
        print(f"summary: {args.summary}")
    if args.paper:
        if comparison is None:
            raise ValueError(f"--paper must be used with a folder of runs, got the summary {args.runs}")
        print(f"paper: {len(comparison.paper(args.paper, args.typed))} files in {args.paper}")
    print(f"page: {out}")
    return 0


def _load(path: Path) -> tuple[dict[str, Any], Comparison | None]:
    """Return the summary and comparison of a folder of runs and searches; for a JSON file, its summary and None."""
    from hpo_envs.benchmarks import Comparison
    from hpo_envs.benchmarks.comparison import summary
    from hpo_envs.tuning import record

    if not path.is_dir():
        return summary.read(path), None
    comparison = Comparison.load(path, more=record.runs_of(path))
    made = "\n".join(comparison.commands) or f"hpo-envs compare STUDY.toml --out {path}"
    return comparison.summary(command=made), comparison


def _is_search(folder: Path) -> bool:
    """Return whether a folder has a search by `tune` and nothing to compare it with."""
    from hpo_envs.tuning import record

    return folder.is_dir() and [*record.folders(folder)] == [folder] and not any(folder.glob("*/*.parquet"))


def _search(args: argparse.Namespace, note: str = "") -> int:
    """Write the page of a search, and print it with a note."""
    from hpo_envs.tuning import load

    if args.title or args.summary or args.paper:
        raise ValueError("--title, --paper and --summary must be left out for a search by tune, got one of them")
    tuned = load(args.runs)
    page = tuned.report(args.out)
    print(f"{repr(tuned)[1:-1]}\npage: {page}{note}")
    return 0
