"""Sequence encoders in double precision, with parameters and dropout as in CharMini: average, CNN, GRU, transformer."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from hpo_envs.families.charmini.training.layers import Dropout, Shapes, bound, layer_norm, positions

_GRU = ("ih", "hh", "bih", "bhh")


class Encoder:
    """A sequence encoder: embeddings, summed over the symbols at each position, then states and scores.

    Args:
        config: Natural values of the hyperparameters.
        symbols: Number of symbols, including padding (0) and the unknown one (1).
        outputs: Number of classes or tags.
        pooled: Whether there is one vector of scores per sequence, instead of one per position.
    """

    def __init__(self, config: Mapping[str, Any], symbols: int, outputs: int, pooled: bool) -> None:
        self._kind, self._size = config["encoder"], config["embedding_size"]
        self._hidden, self._width = config.get("hidden_size", 0), config.get("width", 1)
        self._layers, self._heads = config.get("layers", 1), config.get("heads", 1)
        self._pooling = config.get("pooling", "mean") if pooled else ""
        self._symbols, self._outputs = symbols, outputs

    def shapes(self) -> Shapes:
        """Return the shape and initial bound of each parameter, see `Shapes`."""
        size, hidden, half = self._size, self._hidden, self._hidden // 2
        shapes: dict[str, tuple[tuple[int, ...], float]] = {"symbols": ((self._symbols, size), (3.0 / size) ** 0.5)}
        out = size
        if self._kind == "cnn":
            shapes |= {"cnn": ((self._width * size, hidden), bound(self._width * size, hidden)), "bias": ((hidden,), 0)}
            out = hidden
        elif self._kind == "gru":
            ends = {"ih": size, "hh": half}
            for way in ("on", "back"):
                shapes |= {f"{way}.{n}": ((3 * half, ends[n]), bound(ends[n], half)) for n in ends}
                shapes |= {f"{way}.{n}": ((3 * half,), 0.0) for n in ("bih", "bhh")}
            out = hidden
        elif self._kind == "transformer":
            for i in range(self._layers):
                for name in "qkvo":
                    shapes[f"{i}.{name}"] = (size, size), bound(size, size)
                shapes |= {f"{i}.in": ((size, hidden), bound(size, hidden)), f"{i}.in.bias": ((hidden,), 0.0)}
                shapes |= {f"{i}.out": ((hidden, size), bound(hidden, size)), f"{i}.out.bias": ((size,), 0.0)}
                shapes |= {f"{i}.{n}.gain": ((size,), -1.0) for n in ("own", "feed")}
                shapes |= {f"{i}.{n}.bias": ((size,), 0.0) for n in ("own", "feed")}
        last = (out, self._outputs)
        return shapes | {"scores": (last, bound(*last)), "scores.bias": (last[1:], 0.0)}

    def scores(self, p: Mapping[str, Tensor], ids: Tensor, drop: Dropout) -> Tensor:
        """Return (n, outputs) scores of (n, positions, symbols per position) `ids`, padded with 0.

        Without pooling, they are (n, positions, outputs).
        """
        inside = ids[..., 0] > 0
        x = torch.nn.functional.embedding(ids, p["symbols"], padding_idx=0).sum(2)
        x = drop(x) * inside[..., None]
        if self._kind != "average":
            x = getattr(self, f"_{self._kind}")(p, x, inside)
        if self._pooling == "max":
            x = x.masked_fill(~inside[..., None], -torch.inf).amax(1)
        elif self._pooling:
            x = (x * inside[..., None]).sum(1) / inside.sum(1, keepdim=True)
        return torch.nn.functional.linear(drop(x), p["scores"].t(), p["scores.bias"])

    def _cnn(self, p: Mapping[str, Tensor], x: Tensor, inside: Tensor) -> Tensor:
        before = (self._width - 1) // 2
        padded = torch.nn.functional.pad(x, (0, 0, before, self._width - 1 - before))
        seen = torch.cat([padded[:, i : i + x.shape[1]] for i in range(self._width)], 2)
        return (seen @ p["cnn"] + p["bias"]).relu()

    def _gru(self, p: Mapping[str, Tensor], x: Tensor, inside: Tensor) -> Tensor:
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, inside.sum(1), batch_first=True, enforce_sorted=False)
        start = x.new_zeros(2, len(x), self._hidden // 2)
        weights = [p[f"{way}.{name}"] for way in ("on", "back") for name in _GRU]
        states, _ = torch.gru(packed.data, packed.batch_sizes, start, weights, True, 1, 0.0, True, True)
        made = torch.nn.utils.rnn.PackedSequence(
            states, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices
        )
        return torch.nn.utils.rnn.pad_packed_sequence(made, batch_first=True, total_length=x.shape[1])[0]

    def _transformer(self, p: Mapping[str, Tensor], x: Tensor, inside: Tensor) -> Tensor:
        x = x + positions(x.shape[1], self._size)
        for i in range(self._layers):
            h = layer_norm(x, p[f"{i}.own.gain"], p[f"{i}.own.bias"])
            q, k, v = ((h @ p[f"{i}.{n}"]).unflatten(2, (self._heads, -1)).transpose(1, 2) for n in "qkv")
            weights = (q @ k.transpose(2, 3) * q.shape[-1] ** -0.5).masked_fill(~inside[:, None, None], -torch.inf)
            x = x + (torch.softmax(weights, -1) @ v).transpose(1, 2).flatten(2) @ p[f"{i}.o"]
            h = layer_norm(x, p[f"{i}.feed.gain"], p[f"{i}.feed.bias"])
            x = x + (h @ p[f"{i}.in"] + p[f"{i}.in.bias"]).relu() @ p[f"{i}.out"] + p[f"{i}.out.bias"]
        return x
