"""Numbers as text, on pages and in `compare`: digits, percentages, intervals, p-values."""

from collections.abc import Sequence


def share(value: float | None) -> str:
    """A fraction as a percentage; None as a dash."""
    return "-" if value is None else f"{value:.0%}"


def number(value: float | None) -> str:
    """A number as text with three significant digits; None as "never"."""
    # Adding 0 turns -0 into 0.
    return "never" if value is None else f"{value + 0.0:.3g}"


def interval(values: Sequence[float | None]) -> str:
    """An estimate as text, with its interval if it has one."""
    mean, low, high = values
    return number(mean) if low is None or high is None else f"{number(mean)} [{number(low)}, {number(high)}]"


def p_value(p: float | None) -> str:
    """A p-value in the notation of papers; None as an empty text."""
    return "" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def count(n: int, noun: str) -> str:
    """A number with its noun, in the plural unless the number is 1."""
    return f"{n:,} {noun}{'s' * (n != 1)}"
