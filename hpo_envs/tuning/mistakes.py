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
"""Pattern of this package's files that call the user's function; `cause` ignores their frames."""

LINE, TEXT = 1_000, 50_000
"""Largest numbers of characters of an error: in a line of output, and in a stored evaluation."""


def shortened(text: str, most: int) -> str:
    """Return a text with its middle left out if it has more than `most` characters."""
    left = len(text) - most
    return text if left <= 0 else f"{text[: most // 2]} [... {left} characters ...] {text[-most // 2 :]}"


def cause(error: str) -> str:
    """Return the last line of an error, shortened; for a traceback, also the innermost line in the user's file."""
    frames = [m for m in FRAME.finditer(error) if not OURS.search(m["file"])]
    last = shortened(error.rstrip().rpartition("\n")[2], LINE)
    if not frames:
        return last
    at = [m for m in frames if m["file"] == frames[0]["file"]][-1]
    code = f": {at['code']}" if at["code"] else ""
    return f"{last} ({at['file']}, line {at['line']}{code})"


def mistake(error: str) -> str:
    """Return the type of an error that indicates a mistake in the program, or `score` if no valid score was returned.

    The text is empty for other errors, of which the configuration may be the cause.
    """
    kind = error.rstrip().rpartition("\n")[2].partition(":")[0]
    return kind if kind in MISTAKES else "score" if error.startswith("function must return") else ""


def named(ended: Sequence[Evaluation]) -> list[str]:
    """Return a line for each cause of failures that is a mistake in the program, most frequent first."""
    found = Counter(cause(e.error) for e in ended if e.status == "failed" and mistake(e.error))
    return [f"{count} of {len(ended)} evaluations failed: {what}" for what, count in found.most_common()]


def in_a_row(ended: Sequence[Evaluation]) -> int:
    """Return how many evaluations at the end failed in a row for one cause; 0 if the last one did not fail."""
    causes = [cause(e.error) if e.status == "failed" else "" for e in ended]
    return next((i for i, c in enumerate(reversed(causes)) if not c or c != causes[-1]), len(causes))
