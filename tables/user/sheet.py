"""Sheets: the columns of a file or frame, and what those of a tool's export are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from hpo_envs.tables.user.cells import Mask, absent, as_text, of_series

SHOWN = 5
"""Lines that an error names before it counts the rest."""


@dataclass(frozen=True)
class Recipe:
    """The columns of a tool's export, each as a regular expression that its whole name matches.

    Attributes:
        tool: Whose export it is.
        signs: Each is the name of some column: then it is this tool's.
        settings: Hyperparameters; its group is their name without a prefix. Empty: all that nothing else explains.
        scores: What was measured; likewise.
        cost: What a run cost, in seconds.
        level: The checkpoint, where a run has several lines.
        run: The name of a run.
        state: How it ended.
        noted: Bookkeeping, where settings have no prefix.
        goal: Whether all its scores are to be high or low, if the tool has a rule.
        prepare: Makes plain columns of what is not.
    """

    tool: str = ""
    signs: tuple[str, ...] = ()
    settings: str = ""
    scores: str = ""
    cost: str = ""
    level: str = ""
    run: str = ""
    state: str = ""
    noted: str = ""
    goal: Literal["max", "min"] | None = None
    prepare: Callable[[Sheet], Sheet] = lambda sheet: sheet


@dataclass(frozen=True)
class Sheet:
    """Columns, before they have roles.

    Attributes:
        source: What to call it in errors and in the provenance.
        frame: A column of cells each, a line per row; its index has their numbers or names.
        unit: What a line is called ("line", "row", "run").
        digest: SHA-256 of the content.
        recipe: Of the tool; `Recipe()` where none is recognised.
        settings: The hyperparameters, None if the export does not mark them.
        scores: What was measured.
        names: Short name of a column -> name in the file, where they differ.
    """

    source: str
    frame: pd.DataFrame
    unit: str
    digest: str
    recipe: Recipe = Recipe()
    settings: tuple[str, ...] | None = None
    scores: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def where(self, line: int) -> str:
        """Name of a line in errors."""
        return f"{self.unit} {self.frame.index[line]}"

    def require(self, good: Mask, name: str, rule: str) -> None:
        """Raise a ValueError that names the lines of a column, and their cells, which are not `good`, (lines,)."""
        wrong = np.flatnonzero(~good).tolist()
        if not wrong:
            return
        cells = as_text(self.frame[name].iloc[wrong[:SHOWN]]).astype(object)
        shown = ["" if pd.isna(cell) else str(cell) for cell in cells]
        errors = [
            f"{self.where(i)}, column {name}: must be {rule}"
            f"{' (decimals take a point)' if re.fullmatch(r'[+-]?[0-9]+,[0-9]+', cell) else ''}, got {cell[:40]!r}"
            for i, cell in zip(wrong, shown, strict=False)
        ]
        more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise ValueError(f"{self.source}: {'; '.join(errors)}{more}")

    def one(self, pattern: str) -> str | None:
        """The first column of a pattern that has a value, None if there is none."""
        some = (n for n, c in self.frame.items() if re.fullmatch(pattern, str(n)) and not absent(c).all())
        return next(some, None) if pattern else None


def of_frame(
    frame: Any, source: str, digest: str = "", unit: str = "line", lines: Sequence[Any] | None = None
) -> Sheet:
    """The columns of a pandas DataFrame or of an Arrow table.

    Args:
        frame: The frame; its index does not count.
        source: See `Sheet`, as `unit`.
        digest: See `Sheet`; default: computed of the cells.
        unit: What a line is called.
        lines: Numbers or names of the lines; default: from 2, as in a file.

    Raises:
        ValueError: No columns, no lines, or a name twice.
    """
    frame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
    names = [".".join(str(p) for p in n if str(p)) if isinstance(n, tuple) else str(n) for n in frame.columns]
    for name in (n for j, n in enumerate(names) if n in names[:j]):
        raise ValueError(f"{source}: columns must have names, each once, got {name!r} twice")
    if not names or len(frame) == 0:
        raise ValueError(f"{source} must have columns and at least one line, got {len(names)} and {len(frame)}")
    frame = frame.set_axis(range(2, len(frame) + 2) if lines is None else list(lines))
    cells = pd.DataFrame({name: of_series(frame.iloc[:, j]) for j, name in enumerate(names)}, copy=False)
    if not digest:
        digests = hashlib.sha256(repr(names).encode(errors="replace"))
        for _, column in cells.items():
            digests.update(pd.util.hash_pandas_object(column, index=False).to_numpy())
        digest = digests.hexdigest()
    return Sheet(source, cells, unit, digest)
