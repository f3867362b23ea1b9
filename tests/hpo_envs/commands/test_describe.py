"""`hpo-envs describe`: everything about an id."""

from __future__ import annotations

import json

import pytest

from hpo_envs.commands import main
from hpo_envs.registry import SPECS, kind_of
from hpo_envs.tables import store
from hpo_envs.tables.datasets.charhpo import model
from tests.helpers import IDS

OF_EACH_FAMILY = sorted({(SPECS[i].family, SPECS[i].entry_point): i for i in IDS}.values())


@pytest.mark.parametrize("env_id", OF_EACH_FAMILY)
def test_describe_an_id_of_every_family(env_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, spec = env_id, SPECS[env_id]
    assert main.main(["describe", f"hpo_envs:{name}", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out, parse_constant=lambda x: pytest.fail(f"{x} is no JSON"))
    assert facts["id"] == name
    assert [t["name"] for t in facts["tables"]] == list(SPECS[name].tables)
    for described in facts["tables"]:
        table = model.table(described["name"]) if spec.surrogate else store.load(described["name"])
        assert (described["kind"], described["sha256"]) == (kind_of(spec), table.provenance.sha256)
        assert described["rows"] == len(table)
        assert [m["name"] for m in described["metrics"]] == list(table.metric_names)
    assert facts["citation"]
    assert main.main(["describe", name]) == 0
    text = capsys.readouterr().out
    assert (f"(measured by {store.owner(facts['tables'][0]['name'])})" in text) == (kind_of(spec) == "measured")
    for part in (*facts["spaces"].values(), facts["tables"][0]["sha256"], "## Action Space", "## Version History"):
        assert part in text


def test_describe_shortens_long_grids(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["describe", "CharHPO-g2p-hun-lstm-v0"]) == 0
    assert "16, 32, ..., 2048" in capsys.readouterr().out
