import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hpo_envs.families.cellmini.training import cell as training  # noqa: E402
from hpo_envs.families.cellmini.training.cell import Graph, Unrolled  # noqa: E402
from hpo_envs.tables import cells  # noqa: E402

EVERY = cells.Cell.from_text("2:l0,1;t3;l2,3,0;g5;b6,0,4;p4,6,7;r5;s8,9,0;l2;t11:10,12")
"""Every operation, inputs of all kinds, and parts that do not depend on hidden states."""

SIZE, STREAMS, STEPS = 3, 2, 4


def drawn(cell, seed=0):
    """Inputs, initial hidden states, and weights as drawn by `cells.draw_weights`."""
    rng = np.random.default_rng(seed)
    weights = cells.draw_weights(cell, SIZE, SIZE, rng)
    for part in (*sum(weights.matrices, ()), *(b for b in weights.biases if b is not None)):
        part[:] = np.rint(part * 2.0**16) / 2.0**16  # no more bits than `cells.forward` keeps
    x = rng.standard_normal((STEPS, STREAMS, SIZE))
    states = rng.standard_normal((cell.hidden, STREAMS, SIZE))
    for i, k in enumerate(cell.outputs):
        states[i] = states[cell.outputs.index(k)]
    flat = [t for m, b in zip(weights.matrices, weights.biases, strict=True) if m for t in (np.vstack(m), b)]
    return x, states, weights, [torch.from_numpy(part) for part in flat]


@pytest.mark.parametrize("cell", [EVERY, *cells.EXAMPLES.values()], ids=["every", *cells.EXAMPLES])
def test_outputs_are_those_of_cell_in_numpy(cell):
    x, states, weights, flat = drawn(cell)
    out, last = Unrolled.apply(Graph(cell), torch.from_numpy(x).flatten(0, 1), torch.from_numpy(states), *flat)
    for t in range(STEPS):
        states = cells.forward(cell, weights, x[t], states)
        assert out.numpy().reshape(x.shape)[t] == pytest.approx(states[0], rel=1e-9, abs=1e-12)
    assert last.numpy() == pytest.approx(np.stack(states), rel=1e-9, abs=1e-12)


def test_derivatives_are_right():
    x, states, _, flat = drawn(EVERY, 1)
    given = [torch.from_numpy(x).flatten(0, 1), *flat]
    for tensor in given:
        tensor.requires_grad_()
    graph, start = Graph(EVERY), torch.from_numpy(states)
    assert torch.autograd.gradcheck(lambda x, *w: Unrolled.apply(graph, x, start, *w)[0], given, fast_mode=True)


def test_what_needs_no_hidden_state_is_computed_at_once():
    graph = Graph(EVERY)
    assert (graph.linears, graph.at_once) == ([0, 2, 8], {0})
    one = Graph(cells.Cell.from_text("1:l0;t2;l1;p3,4:5"))
    assert (one.at_once, one.stepwise) == ({0, 2, 3}, [2, 3])


def test_slope_of_leaky_unit_has_all_its_bits():
    a = torch.tensor([-1.0, 2.0], dtype=torch.float64)
    (slope,) = training._slopes(training._LEAKY, [a], a)
    assert slope.tolist() == [training.SLOPE, 1.0]
