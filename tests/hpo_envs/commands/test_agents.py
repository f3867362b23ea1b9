"""`hpo-envs list --agents` and `hpo-envs describe AGENT`."""

from __future__ import annotations

import inspect
import json

import gymnasium as gym
import pytest

from hpo_envs import agents
from hpo_envs.benchmarks import problem_of
from hpo_envs.benchmarks.runs import transfer
from hpo_envs.commands import agents as commands
from hpo_envs.commands import main
from tests.helpers import IDS

OF_EACH_CLASS = sorted({agents.entry(name).target: name for name in agents.names()}.values())


def test_list_shows_every_agent(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["list", "--agents", "--json"]) == 0
    rows = {r["name"]: r for r in json.loads(capsys.readouterr().out)}
    assert sorted(rows) == agents.names()
    for name, row in rows.items():
        e = agents.entry(name)
        assert (row["summary"], row["extra"]) == (e.summary, e.extra)
        assert agents.entry(row["algorithm"]).target == e.target
        assert tuple(row["works_on"]) == e.supports
    assert main.main(["list", "--agents"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert set(rows) < set(lines)
    assert "BO_EI_M" not in lines
    assert lines["bo-spread"].startswith("  bo-spread ")
    assert " optuna " in lines["tpe"]


def test_list_filters_agents(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["list", "LEVELS", "--agents", "--json"]) == 0
    found = [r["name"] for r in json.loads(capsys.readouterr().out)]
    assert found
    assert all("levels" in agents.entry(name).supports for name in found)


@pytest.mark.parametrize("name", OF_EACH_CLASS)
def test_describe_an_agent_of_every_class(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["describe", name]) == 0
    text = capsys.readouterr().out
    cls = commands.load(agents.entry(name).target)
    for heading in ("Hyperparameters", "\nFormula:", "\nPaper:", "\nComplexity:", "fits  "):
        assert heading in text
    assert inspect.getdoc(cls).partition("\n")[0] in text  # type: ignore[union-attr]
    for parameter in inspect.signature(cls).parameters.values():
        if parameter.name in ("problem", "seed") or parameter.kind is parameter.VAR_KEYWORD:
            continue
        value = agents.entry(name).kwargs.get(parameter.name, parameter.default)
        assert f"  {parameter.name} = {value!r}" in text


def test_describe_follows_options_into_the_bases(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["describe", "BO_EI_R", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["alias_of"] == "bo-ei-rbf"
    assert facts["hyperparameters"]["kernel"]["default"] == "'rbf'"  # what the name fixes, not the class's default
    assert facts["hyperparameters"]["acquisition"]["what"].startswith("`ei`")
    assert all(h["what"] for h in facts["hyperparameters"].values())


def test_the_ids_shown_are_those_that_fit() -> None:
    """Only one id of those that are alike is made; here all are."""
    problems = {}
    for name in IDS:
        problems[name] = problem_of(gym.make(name))
    distinct = {e.supports: name for name in agents.names() if not (e := agents.entry(name)).sources}
    for agent in distinct.values():
        assert set(commands.fitting(agent)) == {name for name, p in problems.items() if agents.fits(agent, p)}, agent


def test_agents_that_need_sources_fit_where_a_family_has_a_split() -> None:
    divided = {d.ids.format(label) for d in transfer.distributions().values() for label in d.languages}
    assert set(commands.fitting("rgpe")) == divided
    both = {name for name in IDS if name.startswith("NMTHPO-") and "-mo-" in name}
    assert set(commands.fitting("tst-tpe")) == divided | both
