"""hLEPOR scores of a corpus, from text or statistics, for one or many parameter vectors; the tokenizer."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Floats, exact
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.hlepor.align import Statistics, collect
from hpo_envs.tables.hlepor.parameters import NAMES, Parameters, preset


@functools.cache
def _tools() -> tuple[Any, Any]:
    rules = extra_module("nltk.tokenize", "mt", "texts")
    return rules.PunktSentenceTokenizer(), rules.NLTKWordTokenizer()


def tokenize(text: str, preprocess: Callable[[str], str] = str.lower) -> list[str]:
    """Split a segment into words and punctuation marks by NLTK's rules, without a downloaded model.

    The public hLepor package calls NLTK's `word_tokenize` on lower-cased text: a sentence splitter (a Punkt model that
    has to be downloaded), then the rules of `NLTKWordTokenizer`. Here the splitter is an untrained
    `PunktSentenceTokenizer`: it knows no abbreviations, so it also ends a sentence after "dr.", and the full stop is
    separated from the word, in both texts alike. Without a splitter, full stops inside a segment are not separated.

    Args:
        text: One segment, any number of sentences; may be empty.
        preprocess: Function applied to the stripped text first; lower-casing by default, as in the public package.

    Raises:
        TypeError: The text is not a string.
        ModuleNotFoundError: NLTK is missing; the message says how to install it.
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, got {text!r}")
    splitter, words = _tools()
    return [token for sentence in splitter.tokenize(preprocess(text.strip())) for token in words.tokenize(sentence)]


class Basis:
    """The statistics of a corpus, prepared for scoring under many settings.

    The score is the weighted harmonic mean of section 2. With l = w / sum(w) and rho = alpha / (alpha + beta), its
    reciprocal is linear in four numbers of a segment:

        1 / score = l_elp / ELP + l_pos exp(NPD_n) + l_pr (rho L_r / A + (1 - rho) L_h / A)

    L_h and L_r are the lengths of hypothesis and reference, A is the number of matches, ELP = exp(1 - max(L_h, L_r) /
    min(L_h, L_r)), and NPD_n is the position difference. Two empty segments score 1; otherwise, the score is 0 if A is
    0, if the three weights are all 0, or if alpha and beta are.

    Attributes:
        max_n: Largest n that can be scored.
        matched: (segments,) bool, segments with at least one match.
    """

    def __init__(self, statistics: Statistics) -> None:
        s = statistics
        self.max_n = s.npd.shape[1] - 1
        self.matched = s.matches > 0
        self._unmatched = np.flatnonzero(~self.matched)
        self._both_empty = np.flatnonzero((s.hypothesis_length == 0) & (s.reference_length == 0))
        # Where nothing matches the terms are harmless numbers and the score is masked to 0.
        h, r, a = (np.where(self.matched, v, 1.0) for v in (s.hypothesis_length, s.reference_length, s.matches))
        elp = exact.exp(1.0 - np.maximum(h, r) / np.minimum(h, r))
        shared = np.stack([1.0 / elp, r / a, h / a])
        self._terms = [
            np.concatenate([shared, exact.exp(np.where(self.matched, s.npd[:, n], 0.0))[None]])
            for n in range(self.max_n + 1)
        ]

    def __len__(self) -> int:
        return len(self.matched)

    def scores(self, vectors: npt.ArrayLike) -> Floats:
        """Scores of every segment.

        Args:
            vectors: (6,) or (settings, 6), columns as in `hlepor.NAMES`.

        Returns:
            (segments,) or (settings, segments) float64 in [0, 1], up to rounding.

        Raises:
            ValueError: The shape is wrong, a number is negative or not finite, or n is not an int in [0, `max_n`].
        """
        given = np.asarray(vectors, dtype=np.float64)
        rows = np.atleast_2d(given)
        self._check(given, rows)
        result, scratch = np.empty((len(rows), len(self))), np.empty(len(self))
        for row, values in zip(result, rows.tolist(), strict=True):
            self.write(row, scratch, *values)
        return result[0] if given.ndim == 1 else result

    def write(
        self, out: Floats, scratch: Floats, alpha: float, beta: float, n: float, elp: float, pos: float, pr: float
    ) -> None:
        """Write the scores of one valid setting to `out` (segments,); `scratch` (segments,) is overwritten.

        Settings are scored one at a time and element by element, not by a matrix product, so that scores are
        bit-identical in any batch and on any machine.
        """
        total, recall = elp + pos + pr, alpha + beta
        if total == 0.0 or recall == 0.0:
            out[:] = 0.0
        else:
            rho, pr = alpha / recall, pr / total
            terms = self._terms[int(n)]
            weights = (elp / total, pr * rho, pr * (1.0 - rho), pos / total)
            np.multiply(terms[0], weights[0], out=out)
            for term, weight in zip(terms[1:], weights[1:], strict=True):
                np.multiply(term, weight, out=scratch)
                np.add(out, scratch, out=out)
            np.reciprocal(out, out=out)
            out[self._unmatched] = 0.0
        out[self._both_empty] = 1.0

    def _check(self, given: Floats, rows: Floats) -> None:
        if given.ndim not in (1, 2) or rows.shape[1] != len(NAMES):
            raise ValueError(f"vectors must be (6,) or (settings, 6), {', '.join(NAMES)}, got shape {given.shape}")
        good = (rows >= 0) & (rows < np.inf)  # a NaN fails the first comparison
        if not good.all():
            raise ValueError(f"vectors must be finite and >= 0, got {rows[~good][0]}")
        n = rows[:, 2]
        if ((n != np.floor(n)) | (n > self.max_n)).any():
            raise ValueError(f"n must be an int in [0, {self.max_n}] (max_n of the statistics), got {n.tolist()}")


def segment_scores(statistics: Statistics, setting: Parameters | str = "default") -> Floats:
    """(segments,) float64 scores in [0, 1] of a corpus under one setting.

    Raises:
        ValueError: Unknown preset, or the setting's `n` exceeds that of the statistics.
    """
    return Basis(statistics).scores(_parameters(setting).vector())


def score(
    hypothesis: str | Sequence[str], reference: str | Sequence[str], setting: Parameters | str = "default", *,
    variant: str = "paper", tokenizer: Callable[[str], Sequence[str]] = tokenize,
) -> Any:  # fmt: skip
    """Score text with hLEPOR.

    Args:
        hypothesis: One translation, or a sequence of them.
        reference: Reference translation, or a sequence of the same length.
        setting: `Parameters`, or the name of a preset.
        variant: `paper`, `relative` or `released`, see `hlepor.VARIANTS`.
        tokenizer: Function from text to tokens.

    Returns:
        A float for one pair of strings, else (segments,) float64; higher is better, in [0, 1].

    Raises:
        ValueError: Unequal numbers of segments, or an unknown preset or variant.
        TypeError: One argument is a string and the other a sequence.
        ModuleNotFoundError: See `tokenize`.
    """
    if isinstance(hypothesis, str) != isinstance(reference, str):
        raise TypeError("hypothesis and reference must both be strings or both be sequences of strings")
    parameters = _parameters(setting)
    pairs = [[t] if isinstance(t, str) else list(t) for t in (hypothesis, reference)]
    tokens = [[tokenizer(text) for text in side] for side in pairs]
    statistics = collect(tokens[0], tokens[1], variant=variant, max_n=parameters.n)
    result = segment_scores(statistics, parameters)
    return float(result[0]) if isinstance(hypothesis, str) else result


def _parameters(setting: Parameters | str) -> Parameters:
    return setting if isinstance(setting, Parameters) else preset(setting)
