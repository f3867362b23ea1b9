"""Pages of families: the docstring of a family's class, completed by that of its engine's class."""

from __future__ import annotations

import inspect
import re

HEADINGS = (
    "Description",
    "Action Space",
    "Observation Space",
    "Rewards",
    "Starting State",
    "Episode End",
    "Information",
    "Arguments",
    "Table",
    "References",
    "Version History",
)
"""Headings of a page, in order."""


def complete(page: str, engine: str) -> str:
    """A family's page with what its engine says of all families: each section after the family's text on it.

    An argument of the engine is left out where the family's page names it.
    """
    mine, shared = _sections(page), _sections(engine)
    named = set(re.findall(r"`(\w+)[^`]*`(?=[^:\n]*:)", mine.get("Arguments", "")))
    items = re.split(r"\n(?=- )", shared.get("Arguments", ""))
    shared["Arguments"] = "\n".join(i for i in items if not named & set(re.findall(r"^- `(\w+)", i)))
    parts = [mine.pop("")]
    shared = {heading: text for heading, text in shared.items() if heading and text}
    for heading in sorted(mine | shared, key=lambda h: HEADINGS.index(h) if h in HEADINGS else len(HEADINGS)):
        # Items go on with the list, paragraphs start anew.
        gap = "\n" if heading == "Arguments" else "\n\n"
        parts.append(f"## {heading}\n" + gap.join(filter(None, (mine.get(heading, ""), shared.get(heading, "")))))
    return "\n\n".join(parts)


def _sections(page: str) -> dict[str, str]:
    """Heading -> text; the summary has none."""
    summary, *rest = re.split(r"^## (.+)\n", inspect.cleandoc(page), flags=re.MULTILINE)
    return {"": summary.strip()} | {h: text.strip() for h, text in zip(rest[::2], rest[1::2], strict=True)}
