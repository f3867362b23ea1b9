"""The picture that a report opens with."""

from __future__ import annotations

import re

from hpo_envs.benchmarks.plots.style import looks
from hpo_envs.benchmarks.report import answer, sentences
from tests.benchmarks.report.test_sentences import made, spread


def test_a_card_has_the_verdict_the_best_agents_and_random_search_where_they_stand() -> None:
    names = [*"abcdefghij", "random"]
    track = made({n: spread([0.1 * i + 0.1] * 6, seed=i) for i, n in enumerate(names)})
    card = answer.of_track(track, sentences.verdict(track), "there", looks(names))
    assert "a is best on these 6 environments" in card
    assert re.findall(r'class="who">(\d+\. \w+)<', card) == [
        *(f"{i}. {n}" for i, n in enumerate("abcdefg", 1)),
        "11. random",
    ]
    assert '<a href="#there">3 more in the ranking</a>' in card
    # The scale begins at 0, and random search's dot stands on the dashed line, at the same place in all rows.
    dots = [float(x) for x in re.findall(r'<b style="left:([\d.]+)%', card)]
    assert dots == sorted(dots)
    lines = set(re.findall(r'class="base" style="left:([\d.]+)%', card))
    assert lines == {f"{dots[-1]:.1f}"}
    assert card.count('class="here"') == 8


def test_what_has_no_interval_has_a_dot() -> None:
    card = answer.of_track(made({"<a>": spread([0.1], 3), "b": spread([0.2], 3)}), ["<a>"], "x", looks(["<a>", "b"]))
    assert "&lt;a&gt;" in card
    assert card.count("<b style") == 2
    assert 'class="here"' not in card


def test_raw_scores_below_zero_are_inside() -> None:
    track = made({"a": spread([-5.0]), "b": spread([-3.0], seed=1)}) | {"raw": True}
    at = [float(x) for x in re.findall(r"(?:left|width):(-?[\d.]+)%", answer.of_track(track, [""], "x", looks("ab")))]
    assert at
    assert all(0 <= x <= 100 for x in at)


def test_no_picture_is_drawn_where_no_agent_can_be_better() -> None:
    track = made({"a": spread([0.0]), "b": spread([0.0])}) | {"flat": True}
    assert "<li" not in answer.of_track(track, ["No agent can be better."], "x", looks("ab"))
