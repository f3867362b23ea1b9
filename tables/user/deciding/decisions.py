"""Order of the steps that decide what the columns and lines of a frame mean."""

from typing import Any

from hpo_envs.tables.user.deciding import definitions, formats, outcomes, repeats, roles
from hpo_envs.tables.user.frame import Decision, Frame
from hpo_envs.tables.user.statement import Decisions, statement_of

STEPS = (
    formats.legible,
    outcomes.scored,
    outcomes.without_logs,
    outcomes.ended,
    outcomes.paid,
    roles.assign,
    definitions.spanned,
    definitions.measured,
    repeats.grouped,
)
"""Each completes the decisions of those before it."""


def decide(frame: Frame, **options: Any) -> Decisions:
    """Decide what the columns and lines of a frame mean.

    Args:
        frame: What was read.
        **options: Fields of a `Statement`: what is known.

    Raises:
        ValueError: Cells or arguments that are wrong, or with `ask` a decision that is uncertain; lines and columns are
            named.
    """
    try:
        given = statement_of(options, frame)
        tool = [Decision("file", (), f"read as an export of {frame.recipe.tool}")] if frame.recipe.tool else []
        found = Decisions(frame, given, given, said=(*tool, *frame.decisions))
        for step in STEPS:
            found = step(found)
        if given.ask and found.uncertain:
            raise ValueError("; ".join(f"{d} (--ask)" for d in found.uncertain))
        return found
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(frame.source) else f"{frame.source}: {text}") from None
