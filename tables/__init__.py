"""Tables of recorded evaluations: schema, builders, packs and downloads; version of the package."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]

VERSION = "0.4.0"
"""Version of this package."""
