"""The tokeniser: NLTK's rules without the model that NLTK would download.

The public hLepor package calls NLTK's `word_tokenize` on lower-cased text, which is a sentence splitter (a Punkt model
that has to be downloaded) followed by the rules of `NLTKWordTokenizer`. Here the splitter is an untrained
`PunktSentenceTokenizer`: it knows no abbreviations, so it ends a sentence after "dr." too. The rules then separate the
full stop from the word, on both sides alike. Without any splitter, full stops inside a segment stay on their word.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hpo_envs.tables.checks import extra_module


@functools.cache
def _tools() -> tuple[Any, Any]:
    rules = extra_module("nltk.tokenize", "mt", "texts")
    return rules.PunktSentenceTokenizer(), rules.NLTKWordTokenizer()


def tokenize(text: str, preprocess: Callable[[str], str] = str.lower) -> list[str]:
    """Split a segment into words and punctuation marks.

    Args:
        text: One segment, any number of sentences; may be empty.
        preprocess: Applied to the stripped text first; lower-casing by default, as in the public package.

    Raises:
        TypeError: Not a string.
        ModuleNotFoundError: NLTK is missing; the message says how to install it.
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, got {text!r}")
    splitter, words = _tools()
    return [token for sentence in splitter.tokenize(preprocess(text.strip())) for token in words.tokenize(sentence)]
