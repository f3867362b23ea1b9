"""Small pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; bars inside cells are escaped."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(c).replace("|", "\\|") for c in row) + " |" for row in rows]
    return "\n".join(lines)


def code(text: str, language: str = "python") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def nav(entries: Sequence[str], *, hidden: bool = True, caption: str = "", depth: int = 1, glob: bool = False) -> str:
    """A table of contents of pages, given without their suffix."""
    options = [":hidden:"] * hidden + [":glob:"] * glob + [f":caption: {caption}"] * bool(caption)
    return "\n".join(["```{toctree}", *options, f":maxdepth: {depth}", "", *entries, "```"])


def relink(text: str, page: str, pages: set[str]) -> str:
    """Turn links that hold in the repository into links that hold on the site.

    `page` is the path of the text's file in the repository, such as `docs/studies.md`, `pages` are the paths of the
    files that are pages of the site.
    """
    import posixpath

    folder = posixpath.dirname(page)
    up = "../" * (posixpath.relpath(page, "docs").count("/")) if page.startswith("docs/") else ""

    def new(match: re.Match[str]) -> str:
        mark, label, target = match[1], link.sub(new, match[2]), match[3]  # the label may be a picture
        if re.match(r"[a-z]+:|#", target):
            return f"{mark}[{label}]({target})"
        path, _, anchor = target.partition("#")
        full = posixpath.normpath(posixpath.join(folder, path))
        inside = full.removeprefix("docs/")
        if full in pages and not full.startswith("docs/"):  # README.md and its likes, which lie above docs/
            inside = {"README.md": "index.md"}.get(full, full.lower())
            return f"[{label}]({up}{inside}{'#' + anchor if anchor else ''})"
        if not full.startswith("docs/"):  # a file of the repository that the site has not
            return f"{label} (`{full}`)"
        near = posixpath.relpath(inside, folder.removeprefix("docs").lstrip("/") or ".")
        return f"{mark}[{label}]({near}{'#' + anchor if anchor else ''})"

    link = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
    return outside_code(text, lambda part: link.sub(new, part))


def outside_code(text: str, change: Any) -> str:
    """Apply a function to what lies outside fenced blocks of code."""
    parts = re.split(r"(^```.*?^```[ ]*$)", text, flags=re.M | re.S)
    return "".join(p if i % 2 else change(p) for i, p in enumerate(parts))
