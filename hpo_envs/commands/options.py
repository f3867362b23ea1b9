"""Values of options."""

from __future__ import annotations


def words(text: str | None) -> list[str]:
    """The words between the commas of an option; none if it was not given."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]
