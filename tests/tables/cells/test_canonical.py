"""One computation has one key."""

import numpy as np
from hypothesis import given, settings

from hpo_envs.tables import cells
from hpo_envs.tables.cells.forward import draw_weights
from hpo_envs.tables.cells.recipe import Cell
from tests.tables.cells.helpers import SEEDS, drawn


@given(SEEDS)
@settings(max_examples=120, deadline=None)
def test_one_computation_has_one_key(seed: int) -> None:
    """Renaming, reordering, swapped arguments of commutative operations and renumbered states change no key."""
    cell, rng = drawn(seed), np.random.default_rng(seed + 1)
    states = [0, *(1 + rng.permutation(cell.hidden - 1)).tolist()]
    recipe = cell.recipe()
    names = {n: f"v{i}" for n, i in zip(recipe, rng.permutation(len(recipe)).tolist(), strict=True)}
    for i, s in enumerate(states):
        names[f"h_prev_{i}"], names[f"h_new_{i}"] = f"h_prev_{s}", f"h_new_{s}"
    names["x"] = "x"
    entries = []
    for n, spec in recipe.items():
        inputs = [names[k] for k in spec["input"]]
        if spec["op"] != "blend":
            inputs = [inputs[i] for i in rng.permutation(len(inputs))]
        entries.append((names[n], {"op": spec["op"], "input": inputs}))
    shuffled = dict(entries[i] for i in rng.permutation(len(entries)))
    assert cells.key(cells.parse(shuffled)) == cells.key(cell)
    assert np.array_equal(cells.embed([cells.parse(shuffled)]), cells.embed([cell]))


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_canonical_form_computes_same(seed: int) -> None:
    cell, rng = drawn(seed), np.random.default_rng(seed)
    twin = cells.canonical(cell)
    assert cells.canonical(twin) == twin
    assert len(twin.nodes) <= len(cell.nodes)
    assert cells.parameters(twin, 10) == cells.parameters(cell, 10)
    # Numbers: with all matrices equal, order and names of the linears cannot matter.
    states = [rng.standard_normal(4)] + [np.full(4, 0.5)] * (cell.hidden - 1)
    x, w = rng.standard_normal(4), rng.standard_normal((4, 4))
    outs = []
    for c in (cell, twin):
        weights = draw_weights(c, 4, 4, rng)
        same = cells.Weights(
            tuple(tuple(w for _ in ms) for ms in weights.matrices),
            tuple(None if b is None else np.ones(4) for b in weights.biases),
        )
        outs.append(cells.forward(c, same, x, states, cap=1e9)[0])
    assert np.allclose(outs[0], outs[1])


def test_different_computations_have_different_keys() -> None:
    swapped = "1:l0,1;l0,1;g2;t3;b4,5,1:6", "1:l0,1;l0,1;g2;t3;b4,1,5:6"
    linears = "1:l0,1;l0,1;s2,3:4", "1:l0,1;s2,2:3"
    crossed = "2:l0,1;t3;l0,2;g5:4,6", "2:l0,1;t3;l0,2;g5:6,4"
    for a, b in (swapped, linears, crossed):
        assert cells.key(Cell.from_text(a)) != cells.key(Cell.from_text(b))


def test_repeated_activations_are_merged() -> None:
    assert cells.key(Cell.from_text("1:l0,1;t2;t2;s3,4:5")) == cells.key(Cell.from_text("1:l0,1;t2;s3,3:4"))


def test_symmetric_cells_are_quick() -> None:
    """Eight interchangeable branches have 40,320 orders; automorphisms keep the search short."""
    heads = ";".join(["l0,1"] * 8)
    tails = ";".join(f"t{i}" for i in range(2, 10))
    cell = Cell.from_text(f"1:{heads};{tails};s10,11,12,13,14,15,16,17:18")
    assert cells.canonical(cell) == cells.canonical(cells.parse(cell.to_json()))
