"""The text that CellMini's cells learn to write: the first 100,000 characters of "tiny Shakespeare".

The plays are in the public domain. `text.npz` is the beginning of the file that the catalogue names under
`cellmini`, which `python -m hpo_envs.tables.datasets.cellmini.text` cuts it from.
"""

from __future__ import annotations

import functools
import io
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.datasets.cellmini.names import SPLITS
from hpo_envs.tables.files import atomic

FILE = "tinyshakespeare/input.txt"
"""The whole text, below the data folder."""

_SAMPLE = Path(__file__).with_name("text.npz")

Ints = npt.NDArray[np.int64]


@functools.cache
def text() -> str:
    """The 100,000 characters."""
    return atomic.read_npz(_SAMPLE)["text"].tobytes().decode("ascii")


@functools.cache
def symbols() -> str:
    """The 61 distinct characters, in the order of their codes."""
    return "".join(sorted(set(text())))


@functools.cache
def split(name: str) -> Ints:
    """(characters,) positions in `symbols` of a part: `train`, `development` or `test`."""
    code = {symbol: i for i, symbol in enumerate(symbols())}
    ends = np.cumsum([0, *SPLITS.values()])
    at = [*SPLITS].index(name)
    return np.array([code[symbol] for symbol in text()[ends[at] : ends[at + 1]]])


def main() -> None:
    """Cuts the text again from the installed file."""
    from hpo_envs.tables import store

    cut = store.read(FILE)[: sum(SPLITS.values())]
    stream = io.BytesIO()
    np.savez_compressed(stream, text=np.frombuffer(cut, np.uint8))
    atomic.write(_SAMPLE, stream.getvalue())


if __name__ == "__main__":
    main()
