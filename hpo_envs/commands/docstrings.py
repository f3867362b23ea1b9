"""Google-style docstrings, taken apart."""

import inspect
import re
from dataclasses import dataclass, field
from typing import Any

SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Formula", "Paper", "Complexity", "Example")
"""Headings that a docstring may have; every other line is text."""

ITEMS = ("Args", "Attributes", "Raises")
"""Sections that are lists of `name: text`."""


@dataclass
class Parsed:
    """A docstring.

    Attributes:
        text: What stands outside the sections, Markdown.
        sections: Heading -> its text, dedented.
    """

    text: str = ""
    sections: dict[str, str] = field(default_factory=dict)

    def items(self, heading: str) -> dict[str, str]:
        """Name -> description, of a section that is a list; stars of `**options` are kept."""
        found: dict[str, list[str]] = {}
        name = ""
        for line in self.sections.get(heading, "").splitlines():
            match = re.match(r"(\*{0,2}[\w.]+)(?: \([^)]*\))?:(?: (.*))?$", line)
            if match:
                name = match[1]
                found[name] = [match[2] or ""]
            elif name:
                found[name].append(line.strip())
        return {k: " ".join(v).strip() for k, v in found.items()}


def parse(doc: str | None) -> Parsed:
    """Take a docstring apart."""
    lines = inspect.cleandoc(doc or "").splitlines()
    parsed, text = Parsed(), []
    i, fenced = 0, False
    while i < len(lines):
        fenced ^= lines[i].startswith("```")
        match = None if fenced else re.match(rf"({'|'.join(SECTIONS)}):(?: (.+))?$", lines[i])
        if match is None:
            text.append(lines[i])
            i += 1
            continue
        body = [match[2]] if match[2] else []
        i += 1
        while i < len(lines) and (lines[i].startswith(" ") or (match[2] and lines[i]) or _inside(lines, i, match)):
            body.append(lines[i])
            i += 1
        block = inspect.cleandoc("\n".join(["", *body]) if not match[2] else "\n".join(body))
        parsed.sections[match[1]] = "\n\n".join(filter(None, [parsed.sections.get(match[1]), block]))
    parsed.text = re.sub(r"\n{3,}", "\n\n", "\n".join(text)).strip()
    return parsed


def _inside(lines: list[str], i: int, match: re.Match[str]) -> bool:
    """Return whether an empty line lies inside an indented section."""
    following = next((line for line in lines[i:] if line), "")
    return not match[2] and not lines[i] and following.startswith(" ")


def doc_of(obj: Any) -> Parsed:
    """The docstring of an object itself, never an inherited one."""
    return parse(obj.__dict__.get("__doc__") if isinstance(obj, type) else getattr(obj, "__doc__", None))


def body(parsed: Parsed) -> str:
    """A docstring as Markdown, its sections as lists."""
    parts = [parsed.text]
    for heading, text in parsed.sections.items():
        if heading in ITEMS:
            lines = [f"- **{name}**: {said}" for name, said in parsed.items(heading).items()]
            parts.append(f"**{heading}**\n\n" + "\n".join(lines))
        elif heading in ("Formula", "Example"):
            parts.append(f"**{heading}**\n\n```{'text' if heading == 'Formula' else 'python'}\n{text}\n```")
        else:
            parts.append(f"**{heading}**: {text}")
    return "\n\n".join(p for p in parts if p)
