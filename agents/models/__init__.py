"""Components of optimizers: kernels, posteriors, trees, graphs, acquisition functions; and the types of arrays."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
