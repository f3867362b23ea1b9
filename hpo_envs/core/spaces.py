"""`MaskedMultiDiscrete`, an action space whose samples can be restricted by a flat mask."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import MultiDiscrete


class MaskedMultiDiscrete(MultiDiscrete):
    """A `MultiDiscrete` whose `sample` also takes the flat mask of `info["action_mask"]` and `action_masks()`."""

    def sample(self, mask: Any = None, probability: Any = None) -> npt.NDArray[Any]:
        """Draw an action, with an optional mask.

        Args:
            mask: (sum of sizes,) int8 or bool, the masks of the parts concatenated; or, as in Gymnasium, a tuple of
                (size,) int8, one per part.
            probability: As in Gymnasium.

        Raises:
            ValueError: A flat mask has another length.
        """
        if isinstance(mask, np.ndarray):
            if mask.shape != (self.nvec.sum(),):
                raise ValueError(f"mask must have shape ({self.nvec.sum()},), one entry per value, got {mask.shape}")
            mask = tuple(np.split(mask.astype(np.int8), np.cumsum(self.nvec)[:-1]))
        return super().sample(mask, probability)
