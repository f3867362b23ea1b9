"""Recurrent cells: the search space of NAS-Bench-NLP as a library, without an environment.

from hpo_envs.tables import cells
cell = cells.parse('{"f": {"op": "linear", "input": ["x", "h_prev_0"]}, ...}')
cells.key(cell), cells.parameters(cell, cells.VOCABULARY["ptb"]), cells.graph(cell)
"""

from hpo_envs.tables.cells.canonical import canonical, key
from hpo_envs.tables.cells.draw import draw
from hpo_envs.tables.cells.features import embed
from hpo_envs.tables.cells.forward import LinearWeights, draw_weights, forward
from hpo_envs.tables.cells.generate import generate
from hpo_envs.tables.cells.grammar import actions_of, cell_of, mutate
from hpo_envs.tables.cells.graph import Sketch, graph
from hpo_envs.tables.cells.recipe import EXAMPLES, OPERATIONS, Cell, InvalidRecipe, accepted, parse
from hpo_envs.tables.cells.size import VOCABULARY, parameters

__all__ = [
    "EXAMPLES", "OPERATIONS", "VOCABULARY", "Cell", "InvalidRecipe", "LinearWeights", "Sketch", "accepted",
    "actions_of", "canonical", "cell_of", "draw", "draw_weights", "embed", "forward", "generate", "graph", "key",
    "mutate", "parameters", "parse",
]  # fmt: skip
