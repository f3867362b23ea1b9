"""The network of policies that score candidates, in NumPy, so that trained policies run without PyTorch."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.candidate_set import CONTEXT

Floats32 = npt.NDArray[np.float32]
NetArrays = Mapping[str, Floats32]


def shapes(columns: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of weights by name: `NAME.weight` (out, in) and `NAME.bias` (out,).

    If `hidden`, the number of units of a layer, is 0, scores are linear in the columns of a candidate.
    """
    if not hidden:
        return {"skip.weight": (1, columns)}
    layers = {"inner": (columns + CONTEXT, hidden), "outer": (hidden, hidden), "pool": (hidden, 3)}
    layers |= {"state": (3 * hidden, hidden), "head": (hidden, hidden), "score": (hidden, 1), "skip": (columns, 1)}
    bare = ("score", "skip", "pool")
    found = {f"{name}.weight": (out, into) for name, (into, out) in layers.items()}
    return found | {f"{name}.bias": (out,) for name, (_, out) in layers.items() if name not in bare}


def scores(w: NetArrays, candidates: Floats32, mask: npt.NDArray[np.bool_], context: Floats32) -> Floats32:
    """Return the (n,) scores of an episode's candidates: log probabilities up to a constant.

    Each candidate is encoded together with the context. Attention pools the encodings, twice over all candidates and
    once over the evaluated ones, into the state of the episode, on which all scores depend. Candidates share the
    weights: their number is free, and a permutation of them permutes the scores.

    Args:
        w: Arrays of `shapes`.
        candidates: (n, columns) candidates; column 0 marks evaluated ones.
        mask: (n,) mask of the candidates that were not evaluated.
        context: (CONTEXT,) numbers that describe the episode.
    """

    def layer(name: str, x: Floats32) -> Floats32:
        return np.asarray(np.maximum(x @ w[f"{name}.weight"].T + w[f"{name}.bias"], 0.0), np.float32)

    linear = candidates @ w["skip.weight"][0]
    if "inner.weight" not in w:
        return np.asarray(linear, np.float32)
    first, columns = w["inner.weight"], candidates.shape[1]
    base = first[:, columns:] @ context + w["inner.bias"]
    code = layer("outer", np.maximum(candidates @ first[:, :columns].T + base, 0.0).astype(np.float32))
    seen: npt.NDArray[np.bool_] = candidates[:, 0] > 0.5
    present = np.stack([mask | seen, mask | seen, seen])
    some = present.any(axis=1, keepdims=True).astype(np.float32)
    pooled = softmax(np.where(present, (code @ w["pool.weight"].T).T, np.float32(-1e9))) @ code * some
    state = layer("state", pooled.ravel().astype(np.float32))
    each = np.maximum(code @ w["head.weight"].T + w["head.bias"] + state, 0.0)
    return np.asarray(each @ w["score.weight"][0] + linear, np.float32)


def softmax(x: npt.NDArray[np.floating]) -> Floats32:
    """Return the softmax of logits along the last axis, as float32 probabilities."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True), np.float32)
