"""The attentive LSTM: bidirectional encoder, and a decoder that attends to its states (Luong et al. 2015)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hpo_envs.families.charmini.training.batches import Packed, PaddedWords, Sizes
from hpo_envs.families.charmini.training.layers import Dropout, PackedLSTM, Shapes, bound
from hpo_envs.tables import Ints


class AttentiveLSTM:
    """An LSTM encoder of `hidden_size`, half in each direction, and a decoder of one layer.

    The decoder starts from the encoder's last states. Its output at each step and the encoder's states weighted by
    general attention are combined by a tanh layer to predict the next phoneme (Luong et al. 2015, equations 5 to 8).
    """

    def __init__(self, config: Mapping[str, Any], sizes: Sizes) -> None:
        self._sizes = sizes
        self._layers, self._width = config["encoder_layers"], config["hidden_size"]
        self._embedding = config["embedding_size"]

    def shapes(self) -> Shapes:
        """Return the shape and initial bound of each parameter, see `Shapes`."""
        width, size, symbols = self._width, self._embedding, self._sizes.symbols
        shapes: dict[str, tuple[tuple[int, ...], float]] = {
            "letters": ((self._sizes.letters, size), 3.0**0.5),
            "phonemes": ((symbols, size), 3.0**0.5),
        }
        parts = [(f"{way}{i}", width if i else size, width // 2) for i in range(self._layers) for way in ("on", "back")]
        for name, inputs, hidden in [*parts, ("decoder", size, width)]:
            shapes[f"{name}.wx"] = (inputs, 4 * hidden), bound(inputs, hidden)
            shapes[f"{name}.wh"] = (hidden, 4 * hidden), bound(hidden, hidden)
            shapes[f"{name}.bias"] = (4 * hidden,), 0.0
        shapes["attention"] = (width, width), bound(width, width)
        shapes["seen"] = shapes["heard"] = (width, width), bound(2 * width, width)
        shapes["joined"] = (width,), 0.0
        shapes["out"] = (width, symbols), bound(width, symbols)
        shapes["out.bias"] = (symbols,), 0.0
        return shapes

    def encode(self, p: Mapping[str, Tensor], words: PaddedWords, drop: Dropout) -> tuple[Packed, Tensor, Tensor]:
        """Return the packed letters, (symbols, width) states, and (words, width) last states, longest word first."""
        packed = Packed(words.spelled)
        mirror = torch.from_numpy(packed.mirror)
        ends = mirror[: len(words)]
        x = drop(_embed(p["letters"], packed.pack(words.letters)))
        for i in range(self._layers):
            x = x if i == 0 else drop(x)
            on = _lstm(p, f"on{i}", x, None, packed)
            back = _lstm(p, f"back{i}", x[mirror], None, packed)
            x, last = torch.cat([on, back[mirror]], 1), torch.cat([on[ends], back[ends]], 1)
        return packed, x, last

    def logits(
        self, p: Mapping[str, Tensor], words: PaddedWords, spoken: Packed, inputs: Ints, drop: Dropout
    ) -> Tensor:
        """Return (symbols, phonemes and boundary) logits of the symbol that follows each packed one."""
        letters, states, last = self.encode(p, words, drop)
        rows = np.argsort(letters.order)[spoken.order]
        x = drop(_embed(p["phonemes"], inputs))
        h = _lstm(p, "decoder", x, last[torch.from_numpy(rows)], spoken)
        memory = states[torch.from_numpy(letters.place[rows])]
        queries = (h @ p["attention"])[torch.from_numpy(spoken.place)]
        context = _attend(queries, memory, torch.from_numpy(~letters.inside[rows]))
        flat = torch.from_numpy(spoken.words * spoken.place.shape[1] + spoken.steps)
        return _next(p, context.flatten(0, 1)[flat], h, drop)

    def greedy(self, p: Mapping[str, Tensor], words: PaddedWords, longest: int) -> Ints:
        """Return (words, longest) phonemes by greedy decoding, padded with the boundary."""
        nothing, boundary = Dropout(0.0, None), self._sizes.phonemes
        letters, states, hidden = self.encode(p, words, nothing)
        memory, outside = states[torch.from_numpy(letters.place)], torch.from_numpy(~letters.inside)
        cell = torch.zeros_like(hidden)
        rows, told = np.arange(len(words)), np.full((len(words), longest), boundary)
        symbols = torch.full((len(words),), boundary)
        for step in range(longest):
            gates = torch.addmm(p["decoder.bias"], p["phonemes"][symbols], p["decoder.wx"])
            gates.addmm_(hidden, p["decoder.wh"])
            *opened, content = gates.split(self._width, 1)
            enter, keep, leave = (gate.sigmoid() for gate in opened)
            cell = keep * cell + enter * content.tanh()
            hidden = leave * cell.tanh()
            context = _attend((hidden @ p["attention"])[:, None], memory, outside)[:, 0]
            symbols = _next(p, context, hidden, nothing).argmax(1)
            told[rows, step] = symbols
            going = symbols != boundary
            left = int(going.sum())
            if not left:
                break
            if 4 * left < 3 * len(rows):
                rows, symbols, hidden, cell = rows[going.numpy()], symbols[going], hidden[going], cell[going]
                memory, outside = memory[going], outside[going]
        ended = np.maximum.accumulate(told == boundary, axis=1)
        out = np.empty_like(told)
        out[letters.order] = np.where(ended, boundary, told)
        return out


def _lstm(p: Mapping[str, Tensor], name: str, x: Tensor, start: Tensor | None, packed: Packed) -> Tensor:
    weights = (p[f"{name}.{part}"] for part in ("wx", "wh", "bias"))
    return PackedLSTM.apply(x, start, *weights, packed.sizes)


def _attend(queries: Tensor, memory: Tensor, outside: Tensor) -> Tensor:
    """Return (n, t, width) means of (n, s, width) states, weighted by their similarity to (n, t, width) queries."""
    scores = torch.bmm(queries, memory.transpose(1, 2)).masked_fill(outside[:, None], -torch.inf)
    return torch.bmm(torch.softmax(scores, 2), memory)


def _next(p: Mapping[str, Tensor], context: Tensor, h: Tensor, drop: Dropout) -> Tensor:
    joined = torch.addmm(torch.addmm(p["joined"], context, p["seen"]), h, p["heard"]).tanh()
    return torch.addmm(p["out.bias"], drop(joined), p["out"])


def _embed(vectors: Tensor, symbols: Ints) -> Tensor:
    return torch.nn.functional.embedding(torch.from_numpy(symbols), vectors)
