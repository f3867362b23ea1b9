"""The text of CellMini's language models: the first 100,000 characters of "tiny Shakespeare".

The plays are in the public domain. `text.npz` is the beginning of `data/tinyshakespeare/input.txt` of karpathy/char-rnn
at commit 6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e, whose sha256 is
86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed.
"""

import functools
from pathlib import Path

import numpy as np

from hpo_envs.tables import Ints
from hpo_envs.tables.datasets.cellmini import SPLITS
from hpo_envs.tables.files import atomic

_SAMPLE = Path(__file__).with_name("text.npz")


@functools.cache
def text() -> str:
    """The 100,000 characters of all parts."""
    return atomic.read_npz(_SAMPLE)["text"].tobytes().decode("ascii")


@functools.cache
def symbols() -> str:
    """The 61 distinct characters, in the order of their codes."""
    return "".join(sorted(set(text())))


@functools.cache
def split(name: str) -> Ints:
    """(characters,) positions in `symbols` of the characters of a part: `train`, `development` or `test`."""
    code = {symbol: i for i, symbol in enumerate(symbols())}
    ends = np.cumsum([0, *SPLITS.values()])
    at = [*SPLITS].index(name)
    return np.array([code[symbol] for symbol in text()[ends[at] : ends[at + 1]]])
