"""What arguments must be, and how errors show what they were."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hpo_envs.tables.table import nearest


def shown(value: Any) -> str:
    """A value as errors show it: of ints with thousands of digits, and of classes whose `repr` fails, the type."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else text[:77] + "..."


def one_of(name: str, value: Any, known: Collection[str], more: str = "") -> str:
    """Checks an argument that is a name.

    Args:
        name: Of the argument.
        value: What was given, of whatever type.
        known: What it may be.
        more: For the message, after these.

    Returns:
        `value`.

    Raises:
        ValueError: It is none of those known; the message suggests the nearest.
    """
    if isinstance(value, str) and value in known:
        return value
    hint = nearest(value, [*known]) if isinstance(value, str) else ""
    raise ValueError(f"{name} must be one of {', '.join(known)}{more}, got {shown(value)}{hint}")
