"""Groups that are published one after the other give what they give together, and nothing old is kept unseen."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from hpo_envs.benchmarks import Comparison, leaderboard, run
from hpo_envs.benchmarks.comparison import publication
from hpo_envs.benchmarks.report import publications
from hpo_envs.benchmarks.report.page import render
from hpo_envs.benchmarks.runs import Run, transfer

Summary = dict[str, Any]

ARMS = {"agents": ("random", "sh"), "ids": ("FIESTA-gaussian-v0",)}
ROWS = {"agents": ("random", "regularized-evolution"), "ids": ("NMTHPO-swen-v0", "NMTHPO-zhen-v0")}
HELPED = {"agents": ("bo-spread", "zero-shot"), "ids": ("NMTHPO-swen-v0",), "transfer": transfer.FAMILY}


def made(agents: tuple[str, ...], ids: tuple[str, ...], budget: int, **more: Any) -> list[Run]:
    return [r for i in ids for a in agents for r in run(a, i, range(2), budget=budget, **more)]


@pytest.fixture(scope="module")
def parts() -> dict[str, list[Run]]:
    """Runs of four groups, in the order of a whole publication."""
    return {
        "arms": made(**ARMS, budget=204),
        "rows": made(**ROWS, budget=5),
        "arms, 102": made(**ARMS, budget=102),
        "helped": made(**HELPED, budget=5),
    }


def published(runs: list[Run], at: str = "2026-01-02") -> Summary:
    """What the leaderboard makes of runs, but for times."""
    checked = f"All of {len(runs)} runs are right."
    found = Comparison.of(runs).summary("board", f"command of {at}", with_fronts=False) | {"checked": checked}
    found["versions"]["published"] = at
    return publication.ordered(leaderboard.without_doubles(leaderboard.thinned(found)))


@pytest.fixture(scope="module")
def whole(parts: dict[str, list[Run]]) -> Summary:
    return published([r for runs in parts.values() for r in runs])


def scores(found: Summary) -> str:
    """A summary, with the order of everything in it, without what it says of its publications."""
    plain = {k: v for k, v in found.items() if k not in (*publication.FACTS, "earlier")}
    plain["tracks"] = [{k: v for k, v in t.items() if k != "earlier"} for t in found["tracks"]]
    return json.dumps(plain)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_groups_one_after_other_are_what_they_are_together(
    order: tuple[int, ...], parts: dict[str, list[Run]], whole: Summary
) -> None:
    first, *rest = (list(parts.values())[i] for i in order)
    board = published(first)
    for runs in rest:
        board = publication.onto(board, published(runs))
    assert scores(board) == scores(whole)
    assert [t["name"] for t in board["tracks"]] == [
        "FIESTA",
        "NMTHPO",
        "FIESTA, budget 102",
        "NMTHPO, with tables of NMTHPO",
    ]
    assert [a["label"] for a in board["agents"]] == ["random", "sh", "regularized-evolution", "bo-spread", "zero-shot"]


def test_same_runs_again_change_nothing_but_date(parts: dict[str, list[Run]], whole: Summary) -> None:
    again = published([r for runs in parts.values() for r in runs], "2026-03-04")
    board = publication.onto(whole, again)
    assert board == again
    assert scores(board) == scores(whole)
    part = publication.onto(whole, published(parts["rows"], "2026-03-04"))
    assert publication.onto(part, published(parts["rows"], "2026-03-04")) == part


def test_runs_replace_what_is_stored_of_group(parts: dict[str, list[Run]], whole: Summary) -> None:
    """More seeds and another agent: no old score stays in the group, and no other is touched."""
    agents = (*ROWS["agents"], "bo-spread")
    more = [r for i in ROWS["ids"] for a in agents for r in run(a, i, range(3), env_kwargs={"budget": 6})]
    stored = copy.deepcopy(whole)
    next(a for a in stored["agents"] if a["label"] == "random")["summary"] = "as it was described before"
    board = publication.onto(stored, published(more))
    together = published([*parts["arms"], *more, *parts["arms, 102"], *parts["helped"]])
    assert scores(board) == scores(together)
    assert {c["n"] for c in board["cells"] if c["environment"] in ROWS["ids"]} == {3}
    assert {e["budget"] for e in board["environments"] if e["label"] in ROWS["ids"]} == {6}


def test_track_says_when_it_was_published_and_how_many_of_its_runs_are_left(
    parts: dict[str, list[Run]], whole: Summary
) -> None:
    second = publication.onto(whole, published(parts["arms"], "2026-03-04"))
    third = publication.onto(second, published(parts["rows"], "2026-05-06"))

    def dates(board: Summary) -> list[str]:
        return [publications.of_track(board, t)["versions"]["published"] for t in board["tracks"]]

    assert dates(whole) == ["2026-01-02"] * 4
    assert dates(second) == ["2026-03-04", *["2026-01-02"] * 3]
    assert dates(third) == ["2026-03-04", "2026-05-06", "2026-01-02", "2026-01-02"]
    said = [(p["command"], p["checked"]) for p in publications.publications(third)]
    assert said == [
        ("command of 2026-05-06", "All of 8 runs are right."),
        ("command of 2026-03-04", "All of 4 runs are right."),
        ("command of 2026-01-02", "All of 20 runs are right."),
    ]
    assert publications.runs(third) == [8, 4, 8]
    page = render(third)
    for date in ("2026-01-02", "2026-03-04", "2026-05-06"):
        assert f"Published on {date} with hpo_envs" in page
        assert f"command of {date}" in page
    assert "All of 20 runs are right. This was found when they were published; 8 of them are still here." in page
    assert "Published on" not in render(whole), "its date is that of the page"
    third["tracks"][2]["left_out"] = {"FIESTA-gaussian-v0 (budget=102)": 5}
    assert publications.runs(third) == [8, 4, 13], "flat runs were checked, too"
    fourth = publication.onto(third, published(parts["arms"], "2026-07-08"))
    assert [p["versions"]["published"] for p in fourth["earlier"]] == ["2026-05-06", "2026-01-02"], (
        "none is left of another"
    )


def without(runs: list[Run], **facts: str) -> list[Run]:
    return [r for r in runs if any(r.header[k] != v for k, v in facts.items())]


def test_group_that_lacks_what_is_stored_of_it_is_rejected(
    parts: dict[str, list[Run]], whole: Summary, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = parts["rows"]
    fewer = published(without(rows, env="NMTHPO-zhen-v0"))
    message = r"got NMTHPO without its environments NMTHPO-zhen-v0: `run --only NMTHPO` makes them"
    with pytest.raises(ValueError, match=message):
        publication.onto(whole, fewer)
    with pytest.raises(ValueError, match=r"got NMTHPO without its agents regularized-evolution: `run --only NMTHPO`"):
        publication.onto(whole, published(without(rows, agent="regularized-evolution")))
    stored = publication.onto(whole, published([*rows, *external(rows)]))
    message = r"without its agents smac, my:Agent: `run --only NMTHPO --agents my:Agent smac` makes them"
    with pytest.raises(ValueError, match=message):
        publication.onto(stored, published(rows))
    names = [a["label"] for a in stored["agents"]]
    assert names == ["random", "sh", "regularized-evolution", "my:Agent", "bo-spread", "zero-shot", "smac"], (
        "external optimizers last"
    )
    # What is not registered any more cannot be run.
    without_external = copy.deepcopy(stored)
    without_external["agents"] = [a | {"name": a["name"].replace(":", "-")} for a in stored["agents"]]
    monkeypatch.delitem(publication.AGENTS, "smac")
    assert scores(publication.onto(without_external, published(rows))) == scores(whole)


def external(rows: list[Run]) -> list[Run]:
    """Runs in the names of two agents of other people."""
    mine = [r for r in rows if r.header["agent"] == "random"]
    return [
        Run(**{**vars(r), "header": {**r.header, "agent": name, "algorithm": name}})
        for name in ("smac", "my:Agent")
        for r in mine
    ]


def changed(found: Summary, change: Callable[[Summary], None], label: str = "NMTHPO-swen-v0") -> Summary:
    """A summary where something of an environment is different."""
    found = copy.deepcopy(found)
    change(next(e for e in found["environments"] if e["label"] == label))
    return found


def test_what_is_kept_is_of_tables_and_ids_that_are_here(
    parts: dict[str, list[Run]], whole: Summary, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arms = published(parts["arms"])
    assert publication.stale(whole["environments"]) == []
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path))
    cases: list[tuple[Callable[[Summary], None], str]] = [
        (lambda e: e["tables"][0].update(sha256="0"), "whose table nmthpo/swen has changed: run these anew"),
        (lambda e: e["tables"][0].update(name="nasbenchnlp/ptb"), "whose table nasbenchnlp/ptb is not installed here"),
        (lambda e: e["tables"][0].update(name="nmthpo/xxen"), "whose table nmthpo/xxen does not exist"),
        (lambda e: e.update(id="NMTHPO-swen-v9"), "whose id is not registered"),
    ]
    for change, message in cases:
        other = changed(whole, change)
        with pytest.raises(ValueError, match=rf"got NMTHPO-swen-v0, {message}"):
            publication.onto(other, arms)
    # The group that was wrong is run anew.
    again = publication.onto(changed(whole, cases[0][0]), published(parts["rows"]))
    assert scores(again) == scores(whole)
    assert scores(publication.onto(changed(whole, cases[3][0]), published(parts["rows"]))) == scores(whole)


def test_groups_that_cannot_be_run_again_leave_board(parts: dict[str, list[Run]], whole: Summary) -> None:
    stored = changed(whole, lambda e: e.update(id="FIESTA-old-v0"), "FIESTA-gaussian-v0 (budget=102)")
    assert publication.gone(whole) == {}
    assert publication.gone(stored) == {("FIESTA", "102", ""): ["FIESTA-gaussian-v0 (budget=102)"]}
    board = publication.onto(stored, published(parts["rows"]))
    assert scores(board) == scores(published([*parts["arms"], *parts["rows"], *parts["helped"]]))
