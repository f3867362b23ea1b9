"""The tables of a track name every agent and every environment."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.report import rankings
from hpo_envs.benchmarks.runs import run
from hpo_envs.benchmarks.study import store

AGENTS, IDS = ("random", "graph-ei-rbf", "bo-ei-rbf"), ("NMTHPO-zhen-v0", "NMTHPO-jaen-v0")


def test_agents_and_environments_are_in_the_tables(tmp_path: Path) -> None:
    for env in IDS:
        for agent in AGENTS:
            store.write(run(agent, env, range(4), budget=8), tmp_path)
    (track,) = Comparison.load(tmp_path).scores["tracks"]
    packed: dict[str, str] = {}
    before, after = rankings.of_track(track, 7, packed)
    assert 'id="ranking-7"' in before
    assert before.count('<th scope="row">') == len(AGENTS)
    assert 'id="heat-7"' in after
    assert all(f'<th scope="row">{agent}</th>' in part for part in (before, after) for agent in AGENTS)
    assert all(env in after for env in IDS)
    assert packed["pairs-7"].count("<tr>") == len(AGENTS) * (len(AGENTS) - 1) // 2
    assert "ms a suggestion" not in before
    track["ranking"][0]["seconds"] = 0.0123
    timed, _ = rankings.of_track(track, 7, packed)
    assert "ms a suggestion" in timed
    assert ">12<" in timed
