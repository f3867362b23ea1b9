"""Numbers as text, on pages and in `compare`: digits, percentages, intervals, p-values."""

from collections.abc import Sequence


def share(value: float | None) -> str:
    """Return a fraction as a whole percentage; None as a dash."""
    return "-" if value is None else f"{value:.0%}"


def number(value: float | None) -> str:
    """Return a number as text with three significant digits; None as "never"."""
    # Adding 0 turns -0 into 0.
    return "never" if value is None else f"{value + 0.0:.3g}"


def interval(values: Sequence[float | None]) -> str:
    """Return (mean, lower, upper) as text, without the interval if an end is None; a mean of None is "never"."""
    mean, low, high = values
    return number(mean) if low is None or high is None else f"{number(mean)} [{number(low)}, {number(high)}]"


def p_value(p: float | None) -> str:
    """Return a p-value as text, with three decimals or as "p < 0.001"; None as empty text."""
    return "" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def count(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    return f"{n:,} {noun}{'s' * (n != 1)}"
