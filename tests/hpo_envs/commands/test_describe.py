"""`hpo-envs list` and `hpo-envs describe`: every id and every agent."""

import inspect
import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from hpo_envs import agents
from hpo_envs.agents import registry
from hpo_envs.benchmarks import problem_of
from hpo_envs.benchmarks.runs import transfer
from hpo_envs.commands import agents as commands
from hpo_envs.commands import main
from hpo_envs.families.registry import SPECS, kind_of
from hpo_envs.tables import store
from hpo_envs.tables.datasets.charhpo import model
from tests.helpers import IDS

OF_EACH_FAMILY = sorted({(SPECS[i].family, SPECS[i].entry_point): i for i in IDS}.values())


@pytest.mark.parametrize("env_id", OF_EACH_FAMILY)
def test_describe_id_of_every_family(env_id: str, capsys: pytest.CaptureFixture[str], cli: Any) -> None:
    name, spec = env_id, SPECS[env_id]
    assert main.main(["describe", f"hpo_envs:{name}", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out, parse_constant=lambda x: pytest.fail(f"{x} is no JSON"))
    assert (facts["id"], [t["name"] for t in facts["tables"]]) == (name, list(SPECS[name].tables))
    for described in facts["tables"]:
        table = model.table(described["name"]) if spec.surrogate else store.load(described["name"])
        assert (described["kind"], described["sha256"]) == (kind_of(spec), table.provenance.sha256)
        assert described["rows"] == len(table)
        assert [m["name"] for m in described["metrics"]] == list(table.metric_names)
    assert facts["citation"]
    text = cli(["describe", name])
    assert (f"(measured by {store.owner(facts['tables'][0]['name'])})" in text) == (kind_of(spec) == "measured")
    for part in (*facts["spaces"].values(), facts["tables"][0]["sha256"], "## Action Space", "## Version History"):
        assert part in text


def test_describe_shortens_long_grids(cli: Any) -> None:
    assert "16, 32, ..., 2048" in cli(["describe", "CharHPO-g2p-hun-lstm-v0"])


def test_list_shows_every_id_and_what_answers_it(empty: Path, cli: Any) -> None:
    ship, *fetched = cli(["list"]).split("\nAfter `")
    rows = [[line.split()[:2] for line in part.splitlines() if line.startswith("  ")] for part in (ship, *fetched)]
    assert {
        part.partition("`")[0]: [name for name, _ in some] for part, some in zip(fetched, rows[1:], strict=True)
    } == {
        "hpo-envs fetch cushlepor-news": [i for i in SPECS if i.startswith("CushLEPOR-news")],
        "hpo-envs fetch nasbenchnlp-ptb-logs": ["NASBenchNLP-ptb-v0"],
        "hpo-envs fetch steplaw": [i for i in SPECS if i.startswith("StepLaw")],
    }
    assert sorted(name for some in rows for name, _ in some) == sorted(SPECS)
    assert {n for n, kind in rows[0] if kind == "surrogate"} == {"CharHPO-v0", "FIESTA-gaussian-v0", "TableHPO-v0"}
    listed = json.loads(cli(["list", "--json"]))
    assert [r["id"] for r in listed] == list(SPECS)
    assert all(r["summary"].endswith((".", "?")) for r in listed)
    assert "NMTHPO-zhen-v0" not in cli(["list", "swen"])


OF_EACH_CLASS = sorted({agents.entry(name).target: name for name in agents.names()}.values())


def test_list_shows_every_agent(cli: Any) -> None:
    rows = {r["name"]: r for r in json.loads(cli(["list", "--agents", "--json"]))}
    assert sorted(rows) == agents.names()
    for name, row in rows.items():
        e = agents.entry(name)
        assert (row["summary"], row["extra"]) == (e.summary, e.extra)
        assert (agents.entry(row["algorithm"]).target, tuple(row["works_on"])) == (e.target, e.supports)
    lines = {line.split()[0]: line for line in cli(["list", "--agents"]).splitlines() if line}
    assert set(rows) < set(lines)
    assert "BO_EI_M" not in lines
    assert lines["bo-spread"].startswith("  bo-spread ")
    assert " optuna " in lines["tpe"]


def test_list_filters_agents(cli: Any) -> None:
    found = [r["name"] for r in json.loads(cli(["list", "LEVELS", "--agents", "--json"]))]
    assert found
    assert all("levels" in agents.entry(name).supports for name in found)


@pytest.mark.parametrize("name", OF_EACH_CLASS)
def test_describe_agent_of_every_class(name: str, cli: Any) -> None:
    text = cli(["describe", name])
    cls = registry.load(agents.entry(name).target)
    for heading in ("Hyperparameters", "\nFormula:", "\nPaper:", "\nComplexity:", "fits  "):
        assert heading in text
    assert inspect.getdoc(cls).partition("\n")[0] in text  # type: ignore[union-attr]
    for parameter in inspect.signature(cls).parameters.values():
        if parameter.name in ("problem", "seed") or parameter.kind is parameter.VAR_KEYWORD:
            continue
        value = agents.entry(name).kwargs.get(parameter.name, parameter.default)
        assert f"  {parameter.name} = {value!r}" in text


def test_describe_follows_options_into_bases(cli: Any) -> None:
    facts = json.loads(cli(["describe", "BO_EI_R", "--json"]))
    assert facts["alias_of"] == "bo-ei-rbf"
    assert facts["hyperparameters"]["kernel"]["default"] == "'rbf'"  # what the name fixes, not the class's default
    assert facts["hyperparameters"]["acquisition"]["what"].startswith("`ei`")
    assert all(h["what"] for h in facts["hyperparameters"].values())


def test_ids_shown_are_those_that_fit() -> None:
    """The command makes only one of several similar ids; here all are made."""
    problems = {}
    for name in IDS:
        problems[name] = problem_of(gym.make(name))
    distinct = {e.supports: name for name in agents.names() if not (e := agents.entry(name)).sources}
    for agent in distinct.values():
        assert {*commands.fitting(agent)} & {*IDS} == {n for n, p in problems.items() if agents.fits(agent, p)}, agent


def test_agents_that_need_sources_fit_where_family_has_split() -> None:
    divided = {d.ids.format(label) for d in transfer.distributions().values() for label in d.held_out}
    assert set(commands.fitting("rgpe")) == divided
    both = {name for name in IDS if name.startswith("NMTHPO-") and "-mo-" in name}
    assert set(commands.fitting("tst-tpe")) == divided | both
