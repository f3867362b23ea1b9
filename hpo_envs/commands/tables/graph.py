"""`hpo-envs graph`: a cell, or the similarity graph of all candidates, drawn and as GraphML."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

EPILOG = """examples:
  hpo-envs graph nasbenchnlp/wikitext2 --row 0 --out cell
  hpo-envs graph NMTHPO-soen-v0 --out soen
  hpo-envs graph nasbenchnlp/wikitext2 --features wl_ --kernel rbf --neighbours 10 --out cells

Without --row: the graph on which `graph-ei`, `graph-eif` and `graph-ehvi` search (Zhang and Duh 2020, section 5.2.1).
Its nodes are rows, with their key, metrics and component; its edges have the kernel's value as weight. Written are
OUT.png, OUT.svg and OUT.graphml.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("source", help="name of a table, or id of an environment whose actions are rows")
    parser.add_argument("--row", type=int, help="the cell of this row, of a table of cells")
    parser.add_argument("--features", default="", help="features whose names start so (default: all)")
    parser.add_argument("--kernel", default="matern52", help="matern52 or rbf (default: %(default)s)")
    parser.add_argument("--neighbours", type=int, help="nearest neighbours joined (default: a seventh of the rows)")
    parser.add_argument("--metric", help="what nodes are coloured by (default: the table's first)")
    parser.add_argument("--out", type=Path, required=True, help="the files, without ending")


def run(args: argparse.Namespace) -> int:
    """Writes the files and names them."""
    table = table_of(args.source)
    files = _cell(table, args.row, args.out) if args.row is not None else _similarity(table, args)
    print("written: " + ", ".join(map(str, files)))
    return 0


def table_of(source: str) -> Any:
    """A table by its name, or that of an environment."""
    from hpo_envs.tables import store

    if store.exists(source):
        return store.load(source)
    import gymnasium as gym

    from hpo_envs import registry

    registry.known("source", source)
    return gym.make(source, disable_env_checker=True).unwrapped.table  # type: ignore[attr-defined]


def _cell(table: Any, row: int, out: Path) -> list[Path]:
    from hpo_envs.benchmarks.plots.style import panels, save
    from hpo_envs.benchmarks.report import graphs
    from hpo_envs.tables import cells

    if not 0 <= row < len(table):
        raise ValueError(f"--row must be in 0 to {len(table) - 1}, got {row}")
    graph = table.graph(row)
    figure, ((axis,),) = panels(1, 1, (4.5, 6.5))
    cells.draw(cells.Cell.from_text(table.keys[row].partition("#")[0]), axis)
    return [*save(figure, out), graphs.write_graphml(graph, out.with_name(out.name + ".graphml"))]


def _similarity(table: Any, args: argparse.Namespace) -> list[Path]:
    import numpy as np

    from hpo_envs.agents.models.similarity_graph import SimilarityGraph
    from hpo_envs.agents.problem import matching
    from hpo_envs.agents.search.graph_search import SHARE
    from hpo_envs.benchmarks.report import graphs

    names = table.feature_names
    features = np.ascontiguousarray(table.features[:, matching(names, table.features.shape[1], args.features)])
    neighbours = max(1, round(SHARE * len(table))) if args.neighbours is None else args.neighbours
    if neighbours < 1:
        raise ValueError(f"--neighbours must be an int >= 1, got {neighbours}")
    graph = SimilarityGraph.of_features(features, args.kernel, 1.0, neighbours)
    metrics = {name: table.final(name) for name in table.metric_names}
    metric = args.metric or table.metric_names[0]
    colours = metrics[table.metric_names[table.metric(metric)]]
    found = graph.to_networkx(
        key=table.keys, component=graph.component.tolist(), **{n: v.tolist() for n, v in metrics.items()}
    )
    drawn = graphs.draw(graph.weights, features, colours, metric, args.out)
    return [*drawn, graphs.write_graphml(found, args.out.with_name(args.out.name + ".graphml"))]
