"""A table of cells as it was read, before its columns have a meaning."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hpo_envs.tables.user.reading.cells import Cells, Index, Mask, Text, codes, of_series, of_values, text

UNNAMED = "Unnamed: "
"""Start of the names of columns without one, as pandas calls them: most are the index of a frame."""


@dataclass(frozen=True)
class Sheet:
    """What was read: one entry of each column a line.

    Attributes:
        source: What to call it in errors and in the provenance.
        columns: Name -> cells.
        unit: What a line is called ("line", "row", "run").
        numbers: (lines,) number or name of each.
        digest: SHA-256 of the content.
    """

    source: str
    columns: dict[str, Cells]
    unit: str
    numbers: npt.NDArray[Any]
    digest: str

    def __len__(self) -> int:
        return len(self.numbers)

    def where(self, line: int) -> str:
        """What to call a line in an error."""
        return f"{self.unit} {self.numbers[line]}"

    def text(self, name: str) -> Text:
        """The cells of a column as text."""
        cells = self.columns[name]
        return cells if isinstance(cells, Text) else text(cells.tolist())

    def only(self, kept: Mask) -> Sheet:
        """The lines of a mask (lines,)."""
        return dataclasses.replace(
            self, columns={n: c[kept] for n, c in self.columns.items()}, numbers=self.numbers[kept]
        )

    def twice(self, lines: Index) -> Mask:
        """(n,) which of these lines are equal to an earlier one in every cell."""
        return pd.DataFrame({j: codes(c[lines]) for j, c in enumerate(self.columns.values())}).duplicated().to_numpy()

    def complaint(self, line: int, name: str, rule: str) -> str:
        """What is wrong with a cell."""
        cells = self.columns[name][[line]]
        shown = "".join(cells.different) if isinstance(cells, Text) else str(cells[0])
        comma = " (decimals take a point)" if re.fullmatch(r"[+-]?\d+,\d+", shown) else ""
        return f"{self.where(line)}, column {name}: must be {rule}{comma}, got {shown[:40]!r}"


def count(n: int, what: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def of_frame(frame: Any, source: str, digest: str = "", unit: str = "line", first: int = 2) -> Sheet:
    """The columns of a pandas DataFrame or of an Arrow table; lines are counted from 2, as in a file.

    Raises:
        ValueError: No columns, no lines, or a name twice.
    """
    frame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas(split_blocks=True)
    columns: dict[str, Cells] = {}
    content = hashlib.sha256()
    for j, label in enumerate(frame.columns):
        name = ".".join(str(part) for part in label if str(part)) if isinstance(label, tuple) else str(label)
        if name in columns:
            raise ValueError(f"{source}: columns must have names, each once, got {name!r} twice")
        cells = columns[name] = of_series(frame.iloc[:, j])
        if not digest:
            content.update(name.encode(errors="replace"))
            content.update(repr(cells.different).encode(errors="replace") if isinstance(cells, Text) else b"")
            content.update(np.ascontiguousarray(cells.codes if isinstance(cells, Text) else cells).data.cast("B"))
    if not columns or len(frame) == 0:
        raise ValueError(f"{source} must have columns and at least one line, got {len(columns)} and {len(frame)}")
    return Sheet(source, columns, unit, np.arange(first, len(frame) + first), digest or content.hexdigest())


def of_rows(source: str, rows: Sequence[Mapping[str, Any]], unit: str, numbers: Sequence[Any], digest: str) -> Sheet:
    """The columns of mappings, None where a mapping lacks one."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: of_values([row.get(name) for row in rows]) for name in names}
    return Sheet(source, columns, unit, np.array(numbers), digest)
