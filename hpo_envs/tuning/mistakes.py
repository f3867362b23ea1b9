"""Failed evaluations: mistakes in the program, the same failure several times in a row, shortened tracebacks."""

import re
from collections import Counter
from collections.abc import Sequence

from hpo_envs.tuning.record import Evaluation

MISTAKES = (
    "AttributeError", "ImportError", "IndentationError", "KeyError", "ModuleNotFoundError", "NameError", "SyntaxError",
    "TypeError", "UnboundLocalError",
)  # fmt: skip
"""Errors that point to a mistake in the program rather than to a bad configuration."""

FRAME = re.compile(r'^ *File "(?P<file>[^"]+)", line (?P<line>\d+), in .*\n(?: +(?P<code>\S.*))?', re.MULTILINE)
"""Pattern of a frame in a traceback."""

OURS = re.compile(r"[/\\](core[/\\]engines[/\\]function|tuning[/\\]execution)[/\\]\w+\.py$")
"""Pattern of files whose frames are left out of tracebacks, because they call the user's function."""


LINE, TEXT = 1_000, 50_000
"""Largest numbers of characters of an error: in a line of output, and in a stored evaluation."""


def shortened(text: str, most: int) -> str:
    """Return a text with its middle left out if it has more than `most` characters."""
    left = len(text) - most
    return text if left <= 0 else f"{text[: most // 2]} [... {left} characters ...] {text[-most // 2 :]}"


def cause(error: str) -> str:
    """Return the last line of an error and, from a traceback, the line of the function that raised it."""
    frames = [m for m in FRAME.finditer(error) if not OURS.search(m["file"])]
    last = shortened(error.rstrip().rpartition("\n")[2], LINE)
    if not frames:
        return last
    at = [m for m in frames if m["file"] == frames[0]["file"]][-1]
    code = f": {at['code']}" if at["code"] else ""
    return f"{last} ({at['file']}, line {at['line']}{code})"


def mistake(error: str) -> str:
    """Return the type of an error that points to a mistake in the program, `score` if it returned no valid score.

    The result is empty if the configuration may be the cause.
    """
    kind = error.rstrip().rpartition("\n")[2].partition(":")[0]
    return kind if kind in MISTAKES else "score" if error.startswith("function must return") else ""


def named(ended: Sequence[Evaluation]) -> list[str]:
    """Return a line for each mistake among evaluations, such as one that only a single choice triggers."""
    found = Counter(cause(e.error) for e in ended if e.status == "failed" and mistake(e.error))
    return [f"{count} of {len(ended)} evaluations failed: {what}" for what, count in found.most_common()]


def in_a_row(ended: Sequence[Evaluation]) -> int:
    """Return how many of the last evaluations in a row failed for the same cause."""
    causes = [cause(e.error) if e.status == "failed" else "" for e in ended]
    return next((i for i, c in enumerate(reversed(causes)) if not c or c != causes[-1]), len(causes))
