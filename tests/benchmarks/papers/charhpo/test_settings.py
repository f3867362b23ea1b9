"""The published tables are typed in full."""

from __future__ import annotations

from hpo_envs.benchmarks.papers.charhpo import settings


def test_the_published_tables_are_typed_in_full() -> None:
    published = {key: p.text for key, p in settings.expected().items()}
    counts = [sum(key[0] == t for key in published) for t in (3, 4, 5, 6, 8, 9, 10, 11, 12)]
    # Table 4 lost the means of its last column in the text that we have: 4 x (5 means + 5 deviations) are left.
    assert counts == [32, 40, 48, 112, 240, 144, 96, 144, 144]
    assert published[3, "inflection", "", "transformer", "rel@150 sd"] == "15.26"
    assert published[5, "g2p", "", "lstm", "rho"] == "-0.04"
    assert published[6, "g2p", "arm_e", "transformer", "zero"] == "7.00"
    assert published[8, "inflection", "rom", "transformer", "warmup_steps"] == "47847"
    assert published[9, "g2p", "dut", "lstm", "dropout"] == "0.01"
    assert published[12, "g2p", "hun", "transformer", "bs_change"] == "31.30"
