"""Power: against the t test where it is exact, and what helps."""

import pytest
from scipy import stats

from hpo_envs.benchmarks.analysis.power import Study, winners
from tests.helpers import raises


def test_power_of_two_agents_without_interaction_is_that_of_t_test() -> None:
    here, there = winners(Study(1, 20, tau=0.0), 0.8, 4000)
    shift = 0.8 / (2 / 20) ** 0.5
    exact = 1 - stats.nct.cdf(stats.t.ppf(0.975, 19), 19, shift)
    assert here == pytest.approx(exact, abs=0.06)  # the wider of two intervals
    assert here < exact
    assert there == 0.0


def test_only_environments_help_elsewhere() -> None:
    few, many, more_seeds = (winners(Study(*size), 0.5, 600)[1] for size in ((6, 20), (24, 20), (6, 100)))
    assert few == pytest.approx(0.25, abs=0.07)
    assert more_seeds == pytest.approx(few, abs=0.1)
    assert many > 0.75
    assert winners(Study(5, 20), 5.0, 20) == (1.0, 0.0)


def test_replicates_remove_luck_of_rows_and_are_no_environments() -> None:
    one, several = (winners(Study(6, 20, r, luck=0.85), 1.0, 600)[1] for r in (1, 20))
    assert several > one + 0.15
    assert winners(Study(6, 20, 20, luck=0.85), 0.0, 600)[1] < 0.05


def test_rivals_cost_power() -> None:
    assert winners(Study(6, 20, agents=8), 1.0, 300)[1] < winners(Study(6, 20), 1.0, 300)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"clusters": 0, "seeds": 5}, "clusters must be an int >= 1, got 0"),
        ({"clusters": 6, "seeds": 0}, "seeds must be an int >= 1, got 0"),
        ({"clusters": 6, "seeds": 5, "agents": 1}, "agents must be an int >= 2, got 1"),
        ({"clusters": 6, "seeds": 5, "replications": 2}, "replications must divide the 5 seeds, got 2"),
        ({"clusters": 6, "seeds": 5, "tau": -1.0}, "tau must be a number >= 0, got -1.0"),
    ],
)
def test_non_plan(arguments: dict[str, float], message: str) -> None:
    with raises(message):
        Study(**arguments)  # type: ignore[arg-type]
