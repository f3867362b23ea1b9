"""Order of the steps that decide what the columns and lines of a frame mean."""

from typing import Any

from hpo_envs.tables.user.deciding import definitions, formats, outcomes, repeats, roles
from hpo_envs.tables.user.frame import Decision, Frame
from hpo_envs.tables.user.statement import Decisions, statement_of

STEPS = (
    formats.legible, outcomes.without_parents, outcomes.scored, outcomes.without_logs, outcomes.ended, outcomes.paid,
    roles.assign, definitions.spanned, definitions.measured, repeats.grouped,
)  # fmt: skip
"""Steps in order; each extends the decisions of the previous ones."""


def decide(frame: Frame, **options: Any) -> Decisions:
    """Decide the meaning of a frame's columns and lines; `options` are fields of a `Statement`, others are decided.

    Raises:
        ValueError: Cells or arguments are invalid, or there are open questions or, with `ask`, uncertain decisions; all
            are listed with lines, columns and options.
    """
    try:
        given = statement_of(options, frame)
        tool = [Decision("file", (), f"read as an export of {frame.recipe.tool}")] if frame.recipe.tool else []
        found = Decisions(frame, given, given, said=(*tool, *frame.decisions))
        for step in STEPS:
            try:
                found = step(found)
            except ValueError:  # may follow from what is open
                if not found.questions:
                    raise
                break
        uncertain = [f"{d} (--ask)" for d in found.uncertain if given.ask]
        if uncertain or found.questions:
            raise ValueError("; ".join([*(d.text for d in found.questions), *uncertain]))
        return found
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(frame.source) else f"{frame.source}: {text}") from None
