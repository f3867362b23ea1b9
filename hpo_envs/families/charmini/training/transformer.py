"""The pre-norm transformer (Vaswani et al. 2017; Xiong et al. 2020), with packed tokens outside attention."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hpo_envs.families.charmini.training.batches import Packed, PaddedWords, Sizes
from hpo_envs.families.charmini.training.layers import Dropout, Shapes, bound, layer_norm, positions
from hpo_envs.tables import Ints

_POSITIONS = 64


class Transformer:
    """A transformer of width `embedding_size`, with feed-forward layers of `hidden_size`.

    Dropout is applied to embeddings, to the output of each sublayer, and within the feed-forward layers. Keys have no
    bias, which would not change attention weights.
    """

    def __init__(self, config: Mapping[str, Any], sizes: Sizes) -> None:
        self._sizes = sizes
        self._width, self._inner = config["embedding_size"], config["hidden_size"]
        self._layers = {"encoder": config["encoder_layers"], "decoder": config["decoder_layers"]}
        self._heads = config["attention_heads"]
        self._positions = positions(_POSITIONS, self._width)

    def shapes(self) -> Shapes:
        """Return the shape and initial bound of each parameter, see `Shapes`."""
        width, inner = self._width, self._inner
        shapes: dict[str, tuple[tuple[int, ...], float]] = {
            "letters": ((self._sizes.letters, width), (3.0 / width) ** 0.5),
            "phonemes": ((self._sizes.symbols, width), (3.0 / width) ** 0.5),
        }

        def norm(name: str) -> None:
            shapes[f"{name}.gain"], shapes[f"{name}.bias"] = ((width,), -1.0), ((width,), 0.0)

        def dense(name: str, inputs: int, outputs: int, bias: bool = True) -> None:
            shapes[name] = (inputs, outputs), bound(inputs, outputs)
            if bias:
                shapes[f"{name}.bias"] = (outputs,), 0.0

        for side, count in self._layers.items():
            for i in range(count):
                for part in ("self", "cross") if side == "decoder" else ("self",):
                    norm(f"{side}{i}.{part}.norm")
                    for name in "qkv":
                        dense(f"{side}{i}.{part}.{name}", width, width, bias=name != "k")
                    dense(f"{side}{i}.{part}.out", width, width)
                norm(f"{side}{i}.norm")
                dense(f"{side}{i}.in", width, inner)
                dense(f"{side}{i}.out", inner, width)
            norm(f"{side}.norm")
        dense("out", width, self._sizes.symbols)
        return shapes

    def logits(
        self, p: Mapping[str, Tensor], words: PaddedWords, spoken: Packed, inputs: Ints, drop: Dropout
    ) -> Tensor:
        """Return (symbols, phonemes and boundary) logits of the symbol that follows each packed one."""
        letters, memory = self._encode(p, words, drop)
        rows = np.argsort(letters.order)[spoken.order]
        place, outside = torch.from_numpy(letters.place[rows]), torch.from_numpy(~letters.inside[rows])[:, None, None]
        steps = spoken.place.shape[1]
        later = torch.ones(steps, steps, dtype=torch.bool).triu(1)
        x = self._embed(p, "phonemes", inputs, spoken.steps, drop)
        own = _Pads(spoken)
        for i in range(self._layers["decoder"]):
            h = _norm(p, f"decoder{i}.self.norm", x)
            q, k, v = (_dense(p, f"decoder{i}.self.{part}", h) for part in "qkv")
            x = x + drop(_dense(p, f"decoder{i}.self.out", own.attend(q, own.pad(k), own.pad(v), later, self._heads)))
            h = _norm(p, f"decoder{i}.cross.norm", x)
            q = _dense(p, f"decoder{i}.cross.q", h)
            k, v = (_take(_dense(p, f"decoder{i}.cross.{part}", memory), place) for part in "kv")
            x = x + drop(_dense(p, f"decoder{i}.cross.out", own.attend(q, k, v, outside, self._heads)))
            x = self._feed(p, f"decoder{i}", x, drop)
        return _dense(p, "out", _norm(p, "decoder.norm", x))

    def greedy(self, p: Mapping[str, Tensor], words: PaddedWords, longest: int) -> Ints:
        """Return (words, longest) phonemes by greedy decoding, padded with the boundary."""
        nothing, boundary = Dropout(0.0, None), self._sizes.phonemes
        letters, states = self._encode(p, words, nothing)
        place, outside = torch.from_numpy(letters.place), torch.from_numpy(~letters.inside)[:, None, None]
        count, layers = len(words), range(self._layers["decoder"])
        # Keys and values of each layer: (words, heads, letters or steps so far, width of a head).
        given = ([_take(_dense(p, f"decoder{i}.cross.{part}", states), place) for part in "kv"] for i in layers)
        memory = [[x.unflatten(2, (self._heads, -1)).transpose(1, 2).contiguous() for x in pair] for pair in given]
        shape = (count, self._heads, longest, self._width // self._heads)
        before = [[states.new_zeros(shape) for _ in "kv"] for _ in layers]
        rows, told = np.arange(count), np.full((count, longest), boundary)
        symbols = np.full(count, boundary)
        for step in range(longest):
            x = self._embed(p, "phonemes", symbols, np.full(len(rows), step), nothing)
            for i in layers:
                h = _norm(p, f"decoder{i}.self.norm", x)
                q, k, v = (_dense(p, f"decoder{i}.self.{part}", h) for part in "qkv")
                for kept, new in zip(before[i], (k, v), strict=True):
                    kept[:, :, step] = new.unflatten(1, (self._heads, -1))
                seen = [kept[:, :, : step + 1] for kept in before[i]]
                x = x + _dense(p, f"decoder{i}.self.out", self._look(q, seen, None))
                h = _norm(p, f"decoder{i}.cross.norm", x)
                q = _dense(p, f"decoder{i}.cross.q", h)
                x = x + _dense(p, f"decoder{i}.cross.out", self._look(q, memory[i], outside))
                x = self._feed(p, f"decoder{i}", x, nothing)
            symbols = _dense(p, "out", _norm(p, "decoder.norm", x)).argmax(1).numpy()
            told[rows, step] = symbols
            going = np.flatnonzero(symbols != boundary)
            if not len(going):
                break
            if 4 * len(going) < 3 * len(rows):
                at = torch.from_numpy(going)
                rows, symbols, outside = rows[going], symbols[going], outside[at]
                memory, before = ([[part[at] for part in pair] for pair in cache] for cache in (memory, before))
        ended = np.maximum.accumulate(told == boundary, axis=1)
        out = np.empty_like(told)
        out[letters.order] = np.where(ended, boundary, told)
        return out

    def _encode(self, p: Mapping[str, Tensor], words: PaddedWords, drop: Dropout) -> tuple[Packed, Tensor]:
        packed = Packed(words.spelled)
        own = _Pads(packed)
        outside = torch.from_numpy(~packed.inside)[:, None, None]
        x = self._embed(p, "letters", packed.pack(words.letters), packed.steps, drop)
        for i in range(self._layers["encoder"]):
            h = _norm(p, f"encoder{i}.self.norm", x)
            q, k, v = (_dense(p, f"encoder{i}.self.{part}", h) for part in "qkv")
            x = x + drop(_dense(p, f"encoder{i}.self.out", own.attend(q, own.pad(k), own.pad(v), outside, self._heads)))
            x = self._feed(p, f"encoder{i}", x, drop)
        return packed, _norm(p, "encoder.norm", x)

    def _embed(self, p: Mapping[str, Tensor], name: str, symbols: Ints, steps: Ints, drop: Dropout) -> Tensor:
        x = torch.nn.functional.embedding(torch.from_numpy(symbols), p[name]) * math.sqrt(self._width)
        return drop(x + self._positions[torch.from_numpy(steps)])

    def _feed(self, p: Mapping[str, Tensor], name: str, x: Tensor, drop: Dropout) -> Tensor:
        inner = drop(_dense(p, f"{name}.in", _norm(p, f"{name}.norm", x)).relu())
        return x + drop(_dense(p, f"{name}.out", inner))

    def _look(self, query: Tensor, seen: list[Tensor], outside: Tensor | None) -> Tensor:
        """Return (n, width) attention of one query per word to keys and values."""
        q = query.unflatten(1, (self._heads, 1, -1))
        return _weighted(q, seen[0], seen[1], outside).flatten(1)


class _Pads:
    """Conversion of the tokens of a batch from packed to padded, and attention of packed ones."""

    def __init__(self, packed: Packed) -> None:
        self._place = torch.from_numpy(packed.place)
        self._flat = torch.from_numpy(packed.words * packed.place.shape[1] + packed.steps)

    def pad(self, x: Tensor) -> Tensor:
        """Pad (symbols, width) to (n, longest, width)."""
        return _take(x, self._place)

    def attend(self, q: Tensor, keys: Tensor, values: Tensor, outside: Tensor, heads: int) -> Tensor:
        """Return (symbols, width) attention of packed queries to padded (n, s, width) keys and values."""
        split = [x.unflatten(2, (heads, -1)).transpose(1, 2) for x in (self.pad(q), keys, values)]
        context = _weighted(split[0], split[1], split[2], outside).transpose(1, 2).flatten(2)
        return context.flatten(0, 1).index_select(0, self._flat)


def _weighted(q: Tensor, keys: Tensor, values: Tensor, outside: Tensor | None) -> Tensor:
    """Return scaled dot-product attention, (n, heads, t, width of a head); `outside` masks keys."""
    scores = (q * q.shape[-1] ** -0.5) @ keys.transpose(-1, -2)
    if outside is not None:
        scores = scores.masked_fill(outside, -torch.inf)
    return torch.softmax(scores, -1) @ values


def _take(x: Tensor, place: Tensor) -> Tensor:
    return x.index_select(0, place.flatten()).unflatten(0, tuple(place.shape))


def _norm(p: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    return layer_norm(x, p[f"{name}.gain"], p[f"{name}.bias"])


def _dense(p: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    bias = p.get(f"{name}.bias")
    return x @ p[name] if bias is None else torch.addmm(bias, x, p[name])
