"""Parser of Google-style docstrings."""

import inspect
import re
from dataclasses import dataclass, field
from typing import Any

SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Formula", "Paper", "Complexity", "Given", "Example")
"""Headings that a docstring may have; every other line is text."""


@dataclass
class Parsed:
    """A parsed docstring."""

    text: str = ""  # outside the sections, as Markdown
    sections: dict[str, str] = field(default_factory=dict)  # heading -> text, dedented

    def items(self, heading: str) -> dict[str, str]:
        """Return name -> description of the items of a section, in one line each; `**options` keeps its stars."""
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


_SECTION = re.compile(rf"^({'|'.join(SECTIONS)}):(?: (.+(?:\n.+)*)|((?:\n(?: .*)?)+))$", re.M)
"""A heading with text after it, up to an empty line; or with an indented block below it."""


def parse(doc: str | None) -> Parsed:
    """Split a docstring into its sections and the text outside them; None counts as an empty docstring."""
    parsed = Parsed()

    def take(match: re.Match[str]) -> str:
        heading, line, block = match.groups()
        text = inspect.cleandoc(line or block)
        parsed.sections[heading] = "\n\n".join(filter(None, [parsed.sections.get(heading), text]))
        return ""

    rest = _SECTION.sub(take, inspect.cleandoc(doc or ""))
    parsed.text = re.sub(r"\n{3,}", "\n\n", rest).strip()
    return parsed


def doc_of(obj: Any) -> Parsed:
    """Parse the docstring of an object; a class does not inherit one."""
    return parse(obj.__dict__.get("__doc__") if isinstance(obj, type) else getattr(obj, "__doc__", None))
