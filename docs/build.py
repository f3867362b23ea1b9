"""Builds the documentation site: pages written by hand, pages made of the code, links checked. Offline.

Run as `python docs/build.py --out site` after `pip install -e ".[docs]"`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

from _site import agents, api, environments, links, markdown, notebooks, results  # noqa: E402

from hpo_envs.benchmarks.comparison import summary  # noqa: E402
from hpo_envs.benchmarks.report import page  # noqa: E402

ABOVE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
"""Pages that lie above docs/."""

GUIDES = (
    "first-comparison", "tune-your-own-model", "writing-an-agent", "agent-examples", "adding-a-table",
    "training-a-policy", "choosing-an-optimiser", "submitting-an-agent",
)  # fmt: skip
"""The order of the guides; others follow."""


def written() -> list[Path]:
    """The pages that are written by hand, without those of the code's own folders."""
    found = sorted(p for p in HERE.rglob("*.md") if "_site" not in p.parts)
    return [ROOT / name for name in ABOVE if (ROOT / name).is_file()] + found


def assemble(source: Path) -> None:
    """Write all of Sphinx's input into an empty folder."""
    pages = {p.relative_to(ROOT).as_posix() for p in written()}
    for path in written():
        name = path.relative_to(ROOT).as_posix()
        text = markdown.relink(results.fill(path.read_text(encoding="utf-8")), name, pages)
        if name == "README.md":
            text += "\n\n" + navigation()
        inside = {"README.md": "index.md"}.get(name, name.lower() if "/" not in name else name.removeprefix("docs/"))
        target = source / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for path in sorted(p for p in HERE.rglob("*") if p.is_file()):  # pictures, and programs that pages link to
        inside = path.relative_to(HERE)
        if path.suffix != ".md" and "__pycache__" not in inside.parts and inside.parts[0] not in ("_site", "build.py"):
            (source / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, source / inside)
    found = results.load()
    environments.write(source / "environments", found)
    agents.write(source / "agents", found)
    api.write(source / "api", source / "extra" / "source")
    notebooks.write(source / "notebooks")
    (source / "results.md").write_text(results.page(found), encoding="utf-8")
    report = page.render(found, citations=summary.citations(found))
    (source / "leaderboard.html").write_text(report, encoding="utf-8")


def navigation() -> str:
    """The side bar. Whatever lies in docs/ is in it, in the order of its name where nothing else is said."""
    guides = {p.stem for p in (HERE / "guides").glob("*.md")}
    ordered = [g for g in GUIDES if g in guides] + sorted(guides - set(GUIDES))
    folders = [p for p in HERE.iterdir() if p.is_dir() and p.name not in ("guides", "_site", "static")]
    studies = sorted({p.stem for p in HERE.glob("*.md")} - {"architecture"})
    more = sorted(p.relative_to(HERE).with_suffix("").as_posix() for f in folders for p in f.rglob("*.md"))
    project = [name.removesuffix(".md").lower() for name in ABOVE[1:] if (ROOT / name).is_file()]
    return "\n\n".join(
        [
            markdown.nav([f"guides/{g}" for g in ordered], caption="Guides"),
            markdown.nav([f"notebooks/{p.stem}" for p in notebooks.ordered()], caption="Notebooks"),
            markdown.nav(["environments/index", "agents/index", "results"], caption="Environments and agents", depth=3),
            markdown.nav([*studies, *more], caption="Studies and papers"),
            markdown.nav(["api/index", "architecture", *project], caption="Reference", depth=2),
        ]
    )


def build(out: Path, jobs: int = 1) -> int:
    """Build the site into `out`; return Sphinx's exit status. Warnings are errors."""
    from sphinx.cmd.build import main as sphinx

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        source.mkdir()
        assemble(source)
        options = ["-b", "html", "-W", "--keep-going", "-q", "-j", str(jobs), "-d", f"{folder}/trees"]
        return int(sphinx([*options, str(source), str(out)]))


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns 1 if a page or a link is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("site"), help="folder (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--sources", type=Path, help="only write Sphinx's input, into this new folder")
    args = parser.parse_args(arguments)
    if args.sources:
        args.sources.mkdir(parents=True)
        assemble(args.sources)
        return 0
    status = build(args.out, args.jobs)
    problems = links.check(args.out)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{args.out}: {len(list(args.out.rglob('*.html')))} pages, {len(problems)} wrong links")
    return 1 if status or problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
