"""`hpo-envs graph`: cells and similarity graphs."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from hpo_envs.commands import main
from hpo_envs.tables import store


def test_a_cell_is_drawn_and_written(tmp_path: Path) -> None:
    out = tmp_path / "cell"
    assert main.main(["graph", "nasbenchnlp/wikitext2", "--row", "1", "--out", str(out)]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {"cell.png", "cell.svg", "cell.graphml"}
    back = nx.read_graphml(tmp_path / "cell.graphml")
    cell = store.load("nasbenchnlp/wikitext2").graph(1)
    assert set(back) == set(cell)
    assert set(back.edges) == set(cell.edges)
    assert {d["op"] for _, d in back.nodes(data=True)} == {d["op"] for _, d in cell.nodes(data=True)}


def test_the_similarity_graph_of_a_table(tmp_path: Path) -> None:
    out = tmp_path / "g"
    words = ["graph", "NMTHPO-zhen-v0", "--neighbours", "5", "--out", str(out)]
    assert main.main(words) == 0
    back = nx.read_graphml(tmp_path / "g.graphml")
    table = store.load("nmthpo/zhen")
    assert len(back) == len(table)
    assert min(dict(back.degree).values()) >= 5
    assert back.nodes["3"]["bleu"] == pytest.approx(table.final("bleu")[3])
    assert back.nodes["3"]["key"] == table.keys[3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nmthpo/zhen", "--row", "0"], "must be cells with a recipe"),
        (["nasbenchnlp/wikitext2", "--row", "291"], "--row must be in 0 to 290"),
        (["nmthpo/zhen", "--features", "nothing"], "features must start the name of a feature"),
        (["nmthpo/zhen", "--neighbours", "0"], "--neighbours must be"),
    ],
)
def test_commands_say_what_is_wrong(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["graph", *words, "--out", str(tmp_path / "x")]) == 2
    assert message in capsys.readouterr().err
