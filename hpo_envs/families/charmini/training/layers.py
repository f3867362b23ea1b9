"""Layers in double precision, with parameters and dropout masks from the suite's random draws."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hpo_envs.tables import draws

Shapes = Mapping[str, tuple[tuple[int, ...], float]]
"""Name of each parameter -> its shape and the bound of its initial values; 0: zeros (biases); -1: ones (gains)."""


def bound(inputs: int, outputs: int) -> float:
    """Return Glorot and Bengio's (2010, equation 16) bound of uniform initial weights."""
    return float(np.sqrt(6.0 / (inputs + outputs)))


class ParameterArray:
    """The parameters of a model, views of one array.

    Args:
        shapes: See `Shapes`.
        key: Key of the initial values.

    Attributes:
        flat: (parameters,) float64.
        views: Tensors by name, which share their memory with the array.
    """

    def __init__(self, shapes: Shapes, key: int) -> None:
        self.flat = np.concatenate([_initial(*spec, draws.mix(key, i)) for i, spec in enumerate(shapes.values())])
        ends = np.cumsum([0, *(np.prod(shape) for shape, _ in shapes.values())])
        self.views: dict[str, Tensor] = {
            name: torch.from_numpy(self.flat[a:b].reshape(shape)).requires_grad_()
            for (name, (shape, _)), a, b in zip(shapes.items(), ends, ends[1:], strict=False)
        }

    def gradient(self, loss: Tensor) -> npt.NDArray[np.float64]:
        """Return (parameters,) derivatives of a loss."""
        parts = torch.autograd.grad(loss, list(self.views.values()))
        return np.concatenate([part.numpy().ravel() for part in parts])


def _initial(shape: tuple[int, ...], limit: float, key: int) -> npt.NDArray[np.float64]:
    count = int(np.prod(shape))
    if limit <= 0.0:
        return np.full(count, abs(limit))
    return limit * (2.0 * draws.uniform_many(draws.sequence(np.array([key], np.uint64), count)) - 1.0)


class Dropout:
    """Dropout with masks from the suite's random draws.

    Args:
        share: Probability that a number is dropped, in steps of 2^-16.
        key: Key of the masks of one update; None: nothing is dropped.
    """

    def __init__(self, share: float, key: int | None) -> None:
        self._limit, self._key, self._calls = round(share * 2**16), key, 0

    def __call__(self, x: Tensor) -> Tensor:
        """Drop numbers of a tensor and scale the others; return it unchanged without a key or if `share` is 0."""
        if self._key is None or not self._limit:
            return x
        key = np.array([draws.mix(self._key, self._calls)], np.uint64)
        bits = draws.sequence(key, -(-x.numel() // 4)).astype("<u8")
        self._calls += 1
        kept = bits.view("<u2")[: x.numel()] >= self._limit
        mask = kept * (2**16 / (2**16 - self._limit))
        return x * torch.from_numpy(mask.reshape(x.shape))


class PackedLSTM(torch.autograd.Function):
    """Autograd function of one direction of an LSTM layer on packed sequences, which end one after the other."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, start: Tensor | None, wx: Tensor, wh: Tensor, bias: Tensor, sizes: list[int]
    ) -> Tensor:
        """Return the hidden states of all steps.

        Args:
            ctx: Context of autograd.
            x: (symbols, inputs) packed inputs.
            start: (sequences, hidden) initial hidden states, None for zeros; cells begin at zero.
            wx: (inputs, 4 hidden) weights of the input, forget and output gates and of the new content.
            wh: (hidden, 4 hidden) weights of the hidden state.
            bias: (4 hidden,) bias.
            sizes: Number of sequences at each step, decreasing.

        Returns:
            (symbols, hidden) packed hidden states.
        """
        width = wh.shape[0]
        gates = torch.addmm(bias, x, wx)
        cells, squashed, out = (x.new_empty(len(x), width) for _ in range(3))
        hidden, cell, first = start, None, 0
        for size in sizes:
            rows = slice(first, first + size)
            gate, new = gates[rows], cells[rows]
            if hidden is not None:
                gate.addmm_(hidden[:size], wh)
            gate[:, : 3 * width].sigmoid_()
            gate[:, 3 * width :].tanh_()
            enter, keep, leave, content = gate.split(width, 1)
            torch.mul(enter, content, out=new)
            if cell is not None:
                new.addcmul_(keep, cell[:size])
            torch.tanh(new, out=squashed[rows])
            hidden, cell, first = torch.mul(leave, squashed[rows], out=out[rows]), new, first + size
        ctx.save_for_backward(x, start, wx, wh, gates, cells, squashed, out)
        ctx.sizes = sizes
        return out

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> Any:
        """Return the gradients with respect to all arguments; None for `sizes`, and for `start` if that is None."""
        x, start, wx, wh, gates, cells, squashed, out = ctx.saved_tensors
        width = wh.shape[0]
        enter, keep, leave, content = gates.split(width, 1)
        slope = leave - leave * squashed * squashed
        inner = gates - gates * gates
        torch.addcmul(torch.ones_like(content), content, content, value=-1.0, out=inner[:, 3 * width :])
        hidden = outputs[0].clone()
        grad, cell = torch.empty_like(gates), hidden * slope
        down = wh.t().contiguous()
        ends = np.cumsum(ctx.sizes).tolist()
        for step in range(len(ends) - 1, -1, -1):
            rows = slice(ends[step] - ctx.sizes[step], ends[step])
            part, dc, dh = grad[rows], cell[rows], hidden[rows]
            torch.mul(dc, content[rows], out=part[:, :width])
            if step:
                before = slice(rows.start - ctx.sizes[step - 1], rows.start - ctx.sizes[step - 1] + ctx.sizes[step])
                torch.mul(dc, cells[before], out=part[:, width : 2 * width])
            else:
                part[:, width : 2 * width] = 0.0
            torch.mul(dh, squashed[rows], out=part[:, 2 * width : 3 * width])
            torch.mul(dc, enter[rows], out=part[:, 3 * width :])
            part.mul_(inner[rows])
            if step:
                passed = part @ down
                hidden[before] += passed
                cell[before].addcmul_(passed, slope[before]).addcmul_(dc, keep[rows])
        first = ctx.sizes[0]
        previous = [out[end - a : end - a + b] for end, a, b in zip(ends, ctx.sizes, ctx.sizes[1:], strict=False)]
        dwh = torch.cat(previous).t() @ grad[first:] if previous else torch.zeros_like(wh)
        dstart = None
        if start is not None:
            dwh += start.t() @ grad[:first]
            dstart = grad[:first] @ down
        return grad @ wx.t(), dstart, x.t() @ grad, dwh, grad.sum(0), None


def positions(count: int, width: int) -> Tensor:
    """Return (count, width) sines and cosines of positions (Vaswani et al. 2017, section 3.5)."""
    angles = np.arange(count)[:, None] * 10000.0 ** (-np.arange(0, width, 2) / width)
    return torch.from_numpy(np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(count, width))


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Normalise a tensor over its last axis, then scale and shift it."""
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gain, bias)
