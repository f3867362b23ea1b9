"""Checks the links of a built site: all that points inside must be there; nothing is loaded from outside."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements that a browser loads by itself."""

TEXT = re.compile(r"(<(script|style)\b[^>]*>).*?</\2>|<!--.*?-->", re.S)
"""Text without markup; an opening tag is kept."""

# Spans with a class alone, which highlighted code is made of, are most of all tags.
TAG = re.compile(r"""<(?!span class="[^"]*">)(\w+)(\s(?:"[^"]*"|'[^']*'|[^'">])*)>""")
ATTRIBUTE = re.compile(r"""\s(id|name|href|src|rel)=(?:"([^"]*)"|'([^']*)')""")


class _Page:
    """Anchors and links of one page; with expressions, a tenth of the time of Python's parser."""

    def __init__(self, text: str) -> None:
        self.anchors: set[str] = set()
        self.links: list[tuple[str, str]] = []
        for tag, rest in TAG.findall(TEXT.sub(r"\1", text)):
            given = {name: unescape(a or b) for name, a, b in ATTRIBUTE.findall(rest)}
            self.anchors |= {given[k] for k in ("id", "name") if k in given}
            for attribute in ("href", "src"):
                if attribute in given and not (tag == "link" and given.get("rel") == "canonical"):
                    self.links.append((tag, given[attribute]))


def check(site: Path) -> list[str]:
    """Errors, one per line."""
    pages: dict[Path, _Page] = {}
    for path in sorted(site.rglob("*.html")):
        pages[path.resolve()] = _Page(path.read_text(encoding="utf-8"))
    problems = []
    for path, page in pages.items():
        for tag, link in page.links:
            wrong = _wrong(path, tag, link, pages)
            if wrong:
                problems.append(f"{path.relative_to(site.resolve())}: {link!r} {wrong}")
    for path in sorted(site.rglob("*.css")):
        for link in re.findall(r"url\(\s*['\"]?([^'\")]+)", path.read_text(encoding="utf-8")):
            if re.match(r"(https?:)?//", link):
                problems.append(f"{path.relative_to(site)}: {link!r} is loaded from outside")
    return problems


def _wrong(path: Path, tag: str, link: str, pages: dict[Path, _Page]) -> str:
    parts = urlsplit(link)
    if parts.scheme in ("data", "mailto"):
        return ""
    if parts.scheme or parts.netloc:
        if tag in LOADED:
            return "is loaded from outside"
        return "" if re.fullmatch(r"https?://[\w.-]+\.[a-z]{2,}(/[^\s<>\"]*)?", link) else "is no address"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "does not exist"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return "has no such anchor"
    return ""
