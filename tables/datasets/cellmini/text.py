"""The text that CellMini's cells learn to write: the first 100,000 characters of "tiny Shakespeare".

The plays are in the public domain. `text.npz` is the beginning of `data/tinyshakespeare/input.txt` of karpathy/char-rnn
at commit 6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e; `python -m hpo_envs.tables.datasets.cellmini.text FILE` cuts it
again.
"""

from __future__ import annotations

import functools
import hashlib
import io
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.datasets.cellmini import SPLITS
from hpo_envs.tables.files import atomic

WHOLE = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
"""Sha256 of the whole file."""

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


def main(file: str) -> None:
    """Cut the text again from the whole file.

    Raises:
        ValueError: It is another file.
    """
    whole = Path(file).read_bytes()
    if (digest := hashlib.sha256(whole).hexdigest()) != WHOLE:
        raise ValueError(f"file must have sha256 {WHOLE}, got {digest}")
    cut = whole[: sum(SPLITS.values())]
    stream = io.BytesIO()
    np.savez_compressed(stream, text=np.frombuffer(cut, np.uint8))
    atomic.write(_SAMPLE, stream.getvalue())


if __name__ == "__main__":
    main(sys.argv[1])
