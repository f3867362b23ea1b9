"""Choice of the candidate that is evaluated for a suggestion of a package that cannot score a list of candidates."""

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Space

LARGEST = 256
"""Largest number of free candidates that are matched with a suggestion; if there are more, a random subset is."""


def look_up(space: Space, point: Floats, points: Floats, free: npt.NDArray[np.bool_], rng: np.random.Generator) -> int:
    """Return the index of the free candidate that is evaluated for a (d,) point: one equal to it, else one near it.

    Always taking the nearest one would favour isolated candidates, which are nearest to large parts of the space, and
    then neighbours of those tried. Therefore the point, together with uniform points of the space, is matched to the
    free candidates with the least sum of Gower distances, so that a uniform suggestion is equally likely to get each
    candidate.

    Args:
        space: Axes of the coordinates.
        point: The suggestion.
        points: (n, d) points of all candidates.
        free: (n,) mask of the candidates to choose from, at least one.
        rng: Generator that draws the uniform points and breaks ties.
    """
    from scipy.optimize import linear_sum_assignment

    left = rng.permutation(np.flatnonzero(free))  # so that ties are broken at random
    own = space.distances(point[None], points[left])[0]
    if own.min() == 0.0:
        return int(left[own.argmin()])
    left, own = left[:LARGEST], own[:LARGEST]
    gaps = space.distances(rng.random((2 * len(left), len(space))), points[left])
    others = gaps[gaps.min(axis=1) > 0.0][: len(left) - 1]  # the point equals no candidate, either
    at = int(rng.integers(len(others) + 1))  # many matchings have the same sum, and the first row must not matter
    return int(left[linear_sum_assignment(np.insert(others, at, own, axis=0))[1][at]])
