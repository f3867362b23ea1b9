"""hLEPOR: tokens, alignment, and the score in every variant."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.tables import hlepor
from hpo_envs.tables.hlepor import align
from tests.helpers import rejects

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=9)
WEIGHT = st.floats(0.0, 20.0, allow_subnormal=False)  # products of subnormal weights have few bits left
SETTINGS = st.builds(hlepor.Parameters, WEIGHT, WEIGHT, st.integers(0, 4), WEIGHT, WEIGHT, WEIGHT)


def literal(hypothesis: list[str], reference: list[str], p: hlepor.Parameters, variant: str) -> float:
    """Section 2 written out for one segment, with an alignment that compares every pair of positions."""
    if not hypothesis or not reference:
        return float(hypothesis == reference)
    h, r = len(hypothesis), len(reference)
    elp = 1.0 if h == r else math.exp(1 - r / h) if h < r else math.exp(1 - h / r)
    taken: set[int] = set()
    differences = 0.0
    matches = 0
    for i, word in enumerate(hypothesis):
        free = [j for j, other in enumerate(reference) if other == word and j not in taken]
        if not free:
            continue

        def confirmed(j: int, i: int = i) -> bool:
            near_h = {hypothesis[k] for k in range(i - p.n, i + p.n + 1) if k != i and 0 <= k < h}
            near_r = {reference[k] for k in range(j - p.n, j + p.n + 1) if k != j and 0 <= k < r}
            return bool(near_h & near_r)

        j = min([j for j in free if confirmed(j)] or free, key=lambda j: (abs(i - j), j))
        taken.add(j)
        matches += 1
        differences += abs((i + 1) - (j + 1)) if variant == "paper" else abs((i + 1) / h - (j + 1) / r)
    if not matches or p.alpha + p.beta == 0 or p.weight_elp + p.weight_pos + p.weight_pr == 0:
        return 0.0
    hpr = (p.alpha + p.beta) / (p.alpha / (matches / r) + p.beta / (matches / h))
    penalty = math.exp(-differences / h)
    total = p.weight_elp + p.weight_pos + p.weight_pr
    return total / (p.weight_elp / elp + p.weight_pos / penalty + p.weight_pr / hpr)


def test_segment_by_hand():
    # Lengths 3 and 4, matches cat (2, 2) and sat (3, 4): ELP = e^(-1/3); printed NPD = (0 + 1) / 3.
    hypothesis, reference = "a cat sat".split(), "the cat has sat".split()
    s = hlepor.collect([hypothesis], [reference])
    assert (s.hypothesis_length[0], s.reference_length[0], s.matches[0], s.npd[0]) == (3, 4, 2, pytest.approx(1 / 3))
    relative = hlepor.collect([hypothesis], [reference], variant="relative").npd[0]
    assert relative == pytest.approx((abs(2 / 3 - 2 / 4) + abs(3 / 3 - 4 / 4)) / 3)
    hpr = 10 / (9 / (2 / 4) + 1 / (2 / 3))
    want = 10 / (2 / math.exp(-1 / 3) + 1 / math.exp(-1 / 3) + 7 / hpr)
    assert hlepor.score("a cat sat", "the cat has sat") == pytest.approx(want, rel=1e-14)


@settings(max_examples=200, deadline=None)
@given(WORDS, WORDS, SETTINGS, st.sampled_from(["paper", "relative"]))
def test_equals_formula_written_out(hypothesis, reference, setting, variant):
    s = hlepor.collect([hypothesis], [reference], variant=variant)
    got = hlepor.segment_scores(s, setting)[0]
    assert got == pytest.approx(literal(hypothesis, reference, setting, variant), abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), st.lists(SETTINGS, min_size=1, max_size=5))
def test_scores_are_scores_and_batch_is_loop(pairs, many):
    for variant in hlepor.VARIANTS:
        basis = hlepor.Basis(hlepor.collect(*zip(*pairs, strict=True), variant=variant))
        batch = basis.scores([s.vector() for s in many])
        assert batch.shape == (len(many), len(pairs))
        assert ((batch >= 0) & (batch <= 1 + 1e-12)).all()
        for row, setting in zip(batch, many, strict=True):
            assert basis.scores(setting.vector()) == pytest.approx(row, rel=1e-12)
        for (hypothesis, reference), column in zip(pairs, batch.T, strict=True):
            if hypothesis == reference and all(sum(s.vector()[:2]) and sum(s.vector()[3:]) for s in many):
                assert column == pytest.approx(1.0)


@settings(max_examples=50, deadline=None)
@given(WORDS, WORDS, SETTINGS, st.floats(0.1, 10))
def test_only_ratios_of_weights_matter(hypothesis, reference, p, factor):
    scaled = hlepor.Parameters(
        p.alpha * factor, p.beta * factor, p.n, p.weight_elp * 3, p.weight_pos * 3, p.weight_pr * 3
    )
    s = hlepor.collect([hypothesis], [reference], variant="released")
    assert hlepor.segment_scores(s, scaled) == pytest.approx(hlepor.segment_scores(s, p), abs=1e-12)


def test_documented_scores_of_package():
    """The four examples in the package's documentation, with our tokeniser."""
    cities = (
        "Rising urban populations around the world introduced the concept of Smart Cities, where long-standing urban "
        "challenges are addressed with digital innovations.",
        "Rising urban populations around the world have ushered in the concept of Smart Cities, in which digital "
        "innovations are used to address long-standing urban challenges.",
    )
    boom = (
        "The related construction boom has put increasing demands on teams to build structures and systems "
        "beautifully and efficiently.",
        "The related construction boom has put increasing demands on builders to erect structures and systems "
        "beautifully and efficiently.",
    )
    guide = (
        "It is a guide to action which ensures that the military always obeys the commands of the party",
        "It is a guide to action that ensures that the military will forever heed Party commands",
    )
    army = (
        "It is to insure the troops forever hearing the activity guidebook that party direct",
        "It is the practical guide for the army always to heed the directions of the party",
    )
    assert round(hlepor.score(*guide, variant="released"), 4) == 0.7842
    assert round(hlepor.score([guide[0], army[0]], [guide[1], army[1]], variant="released").mean(), 4) == 0.6214
    # The package prints 0.7550 for this pair in its documentation and returns 0.75505 on the same tokens.
    assert hlepor.score(*cities, variant="released") == pytest.approx(0.7550, abs=1e-4)
    assert round(hlepor.score([cities[0], boom[0]], [cities[1], boom[1]], variant="released").mean(), 4) == 0.8395


@pytest.mark.parametrize("variant", hlepor.VARIANTS)
def test_edges(variant):
    def score(h, r, *p):
        return hlepor.score(h, r, hlepor.Parameters(*p) if p else "default", variant=variant)

    assert score("", "") == 1.0
    assert score("", "a word") == score("a word", "") == 0.0
    assert (score("no match", "whatever else"), score("same here", "same here")) == (0.0, 1.0)
    assert (score("a b", "a c", 0, 0), score("a b", "a c", 1, 1, 2, 0, 0, 0)) == (0.0, 0.0)
    assert score("a b c", "a d", 1, 1, 2, 1, 0, 0) == pytest.approx(math.exp(1 - 3 / 2))
    assert score("b a", "a c d", 1, 0, 2, 0, 0, 1) == pytest.approx(1 / 3)
    assert score("b a", "a c d", 0, 1, 2, 0, 0, 1) == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hlepor.Parameters(alpha=-1), "alpha must be a finite number >= 0, got -1"),
        (lambda: hlepor.Parameters(weight_pos=math.nan), "weight_pos must be a finite number >= 0"),
        (lambda: hlepor.Parameters(n=1.5), "n must be an int from 0 to 1000, got 1.5"),
        (lambda: hlepor.collect([[]], []), "as many as hypotheses, 1, got 0"),
        (lambda: hlepor.collect([], [], variant="relesed"), "did you mean 'released'"),
        (lambda: hlepor.collect_variants([], [], ["paper", "relesed"]), "did you mean 'released'"),
        (lambda: hlepor.collect([], [], max_n=-1), "max_n must be an int >= 0, got -1"),
        (lambda: hlepor.collect([], [], max_n=math.inf), "max_n must be an int >= 0, got inf"),
        (lambda: hlepor.Basis(hlepor.collect([["a"]], [["a"]])).scores([1, 1, 9, 1, 1, 1]), r"n must be .* \[0, 8\]"),
        (lambda: hlepor.Basis(hlepor.collect([["a"]], [["a"]])).scores([1, 1, 1]), r"got shape \(3,\)"),
        (lambda: hlepor.Basis(hlepor.collect([["a"]], [["a"]])).scores([1, -1, 2, 1, 1, 1]), "finite and >= 0"),
        (lambda: hlepor.Basis(hlepor.collect([["a"]], [["a"]])).scores([1, math.inf, 2, 1, 1, 1]), ">= 0, got inf"),
        (lambda: hlepor.score("a", "a", "defalt"), "did you mean 'default'"),
        (lambda: hlepor.score("a", "a", 3), "preset must be one of .*, got 3"),
        (lambda: hlepor.Parameters(beta="b"), "beta must be a finite number >= 0, got 'b'"),
        (lambda: hlepor.collect([], [], max_n=None), "max_n must be an int >= 0, got None"),
    ],
)
def test_errors(call, message):
    rejects(message, call)
    rejects("both", hlepor.score, "a", ["a"], error=TypeError)


HERE = Path(__file__).parent


def own() -> tuple[list[list[str]], list[list[str]]]:
    pairs = json.loads((HERE / "own_segments.json").read_text(encoding="utf-8"))
    return [p["hypothesis"].split() for p in pairs], [p["reference"].split() for p in pairs]


def test_released_variant_equals_package_and_others_do_not():
    """Golden scores of hLepor 0.0.4 on our own sentences, with 20 parameter vectors."""
    golden = json.loads((HERE / "package_golden.json").read_text(encoding="utf-8"))
    for variant in ("released", "paper", "relative"):
        scores = hlepor.Basis(hlepor.collect(*own(), variant=variant)).scores(golden["vectors"])
        assert scores.shape == np.array(golden["scores"]).shape
        assert (np.abs(scores - golden["scores"]).max() < 1e-11) == (variant == "released")
        assert (np.abs(scores - golden["scores"]).max() > 1e-3) == (variant != "released")


def test_words_around_place_are_those_of_slices() -> None:
    side = [1 << k for k in range(5)]
    for i in range(5):
        described, released = (around(side, i, 14) for around in (align._described_context, align._released_context))
        for n in range(14):
            right = side[i + 1 : i + n + 1]
            assert described[n] == sum({*side[max(i - n, 0) : i], *right})
            assert released[n] == sum({*side[i - n : i], *right})


def test_presets_are_published_ones():
    assert hlepor.preset("default") == hlepor.Parameters(9, 1, 2, 2, 1, 7)
    assert hlepor.preset("hlepor-en-de").vector() == (9, 1, 2, 3, 7, 1)
    assert all(hlepor.preset(f"hlepor-{p}-en").vector() == (1, 9, 2, 2, 1, 7) for p in ("cs", "es", "ru"))
    assert all(hlepor.preset(f"hlepor-{p}").vector() == (9, 1, 2, 2, 1, 3) for p in "de-en fr-en en-es en-fr".split())
    assert hlepor.preset("cushlepor-lm-zh-en").vector() == (2.85, 4.73, 1, 1.01, 11.13, 4.62)
    assert hlepor.preset("cushlepor-psqm-en-de").vector() == (1.13, 1.71, 2, 1.06, 11.9, 1.01)
    rejects("did you mean 'cushlepor-lm-en-de'", hlepor.preset, "cushlepor-lm-ende")


def test_tokens():
    assert hlepor.tokenize("  Das Haus, das alt ist. Es steht noch. ") == [
        *("das", "haus", ",", "das", "alt", "ist", "."),
        *("es", "steht", "noch", "."),
    ]
    assert (hlepor.tokenize(""), hlepor.tokenize("Ja", preprocess=str)) == ([], ["Ja"])
    rejects("text must be a str", hlepor.tokenize, None, error=TypeError)
