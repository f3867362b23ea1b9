"""The six parameters of hLEPOR and the published settings by name."""

import math
from dataclasses import astuple, dataclass

from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import is_number

NAMES = ("alpha", "beta", "n", "weight_elp", "weight_pos", "weight_pr")
"""Names of the parameters, in the order of a parameter vector."""

MOST_WORDS = 1000
"""Largest `n`."""


@dataclass(frozen=True)
class Parameters:
    """One setting of the metric.

    Attributes:
        alpha: Weight of recall.
        beta: Weight of precision.
        n: Number of words compared before and after a match if a word occurs several times, an int from 0 to 1000.
        weight_elp: Weight of the enhanced length penalty.
        weight_pos: Weight of the n-gram position difference penalty.
        weight_pr: Weight of the harmonic mean of precision and recall.

    Raises:
        ValueError: A weight is negative or not finite, or `n` is not an int from 0 to 1000.
    """

    alpha: float = 9.0
    beta: float = 1.0
    n: int = 2
    weight_elp: float = 2.0
    weight_pos: float = 1.0
    weight_pr: float = 7.0

    def __post_init__(self) -> None:
        for name in NAMES:
            value = getattr(self, name)
            if not (is_number(value) and math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite number >= 0, got {value!r}")
        if self.n != int(self.n) or self.n > MOST_WORDS:
            raise ValueError(f"n must be an int from 0 to {MOST_WORDS}, got {self.n!r}")
        object.__setattr__(self, "n", int(self.n))

    def vector(self) -> tuple[float, ...]:
        """Return the six values as floats, in the order of `NAMES`."""
        return tuple(float(v) for v in astuple(self))


PRESETS: dict[str, Parameters] = {
    "default": Parameters(9.0, 1.0, 2, 2.0, 1.0, 7.0),
    "hlepor-en-cs": Parameters(9.0, 1.0, 2, 2.0, 1.0, 7.0),
    "hlepor-en-ru": Parameters(9.0, 1.0, 2, 2.0, 1.0, 7.0),
    "hlepor-en-de": Parameters(9.0, 1.0, 2, 3.0, 7.0, 1.0),
    **dict.fromkeys(("hlepor-cs-en", "hlepor-es-en", "hlepor-ru-en"), Parameters(1.0, 9.0, 2, 2.0, 1.0, 7.0)),
    **dict.fromkeys(
        ("hlepor-de-en", "hlepor-fr-en", "hlepor-en-es", "hlepor-en-fr"), Parameters(9.0, 1.0, 2, 2.0, 1.0, 3.0)
    ),
    "cushlepor-lm-zh-en": Parameters(2.85, 4.73, 1, 1.01, 11.13, 4.62),
    "cushlepor-psqm-zh-en": Parameters(9.09, 3.55, 3, 1.01, 14.98, 1.57),
    "cushlepor-lm-en-de": Parameters(2.95, 2.68, 2, 1.0, 11.79, 1.87),
    "cushlepor-psqm-en-de": Parameters(1.13, 1.71, 2, 1.06, 11.90, 1.01),
    "cushlepor-lm-en-de-first": Parameters(2.97, 1.97, 4, 1.0, 14.97, 2.2),
}
"""Published settings (Han et al. 2021).

`default`: section 3.1, the values of the public code; `hlepor-*`: appendix A, tuned by hand for WMT 2013; that of en-de
is the one which section 4 suggests; `cushlepor-*`: section 5.1, submitted to WMT21, tuned towards LaBSE (`lm`) or
professional raters (`psqm`); `cushlepor-lm-en-de-first`: the first fit to LaBSE, section 4. The appendix is in the
LaTeX source of github.com/poethan/cushLEPOR.
"""


def preset(name: str) -> Parameters:
    """Return a published setting by name; ValueError, which may suggest a similar name, if it is unknown."""
    return PRESETS[one_of("preset", name, PRESETS)]
