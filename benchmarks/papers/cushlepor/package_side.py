"""Scores tokenised segments with the public hLepor package; runs in an environment of its own.

The package (0.0.4) declares no dependencies and needs old ones:

    python3.11 -m venv old && old/bin/pip install hLepor==0.0.4 nltk==3.8.1 numpy==1.26.4 nptyping==1.4.4
    old/bin/python benchmarks/papers/cushlepor/package_side.py tokens.json scores.npz

`tokens.json` has `hypotheses` and `references` (lists of token lists), `hypothesis_texts` and `reference_texts` (the
same before tokenising) and `vectors` (parameter vectors). The output has `scores` (vectors, segments), one number for
each call of the package's `single_hlepor_score`, and the processor seconds of one `hlepor_score` of the whole corpus:
`corpus_seconds` (vectors,) from tokens, `text_seconds` (3,) from text. Imports nothing of ours.
"""

import json
import sys
import time

import numpy as np


def main(source: str, target: str) -> None:
    """Scores `source` and writes `target`."""
    import nltk

    # The package downloads a tokeniser model when it is imported; it gets tokens here and needs none.
    nltk.download = lambda *args, **kwargs: False
    from hlepor import hlepor, hlepor_score, single_hlepor_score
    from nltk.tokenize import NLTKWordTokenizer, PunktSentenceTokenizer

    # What the package's own word_tokenize does, with an untrained splitter in place of the model.
    splitter, words = PunktSentenceTokenizer(), NLTKWordTokenizer()
    hlepor.word_tokenize = lambda text, language: [t for s in splitter.tokenize(text) for t in words.tokenize(s)]

    with open(source, encoding="utf-8") as stream:
        data = json.load(stream)
    # With separate_punctuation=False the package splits at single spaces: the tokens survive unchanged.
    hypotheses, references = ([" ".join(tokens) for tokens in data[k]] for k in ("hypotheses", "references"))
    options = {"preprocess": str, "separate_punctuation": False}
    scores, seconds = [], []
    for vector in data["vectors"]:
        setting = [*vector[:2], int(vector[2]), *vector[3:]]
        pairs = zip(references, hypotheses, strict=True)
        scores.append([single_hlepor_score(r, h, *setting, **options) for r, h in pairs])
        start = time.process_time()
        mean = hlepor_score(references, hypotheses, *setting, **options)
        seconds.append(time.process_time() - start)
        assert abs(mean - np.mean(scores[-1])) < 1e-12
    from_text = []
    for _ in range(3):
        start = time.process_time()
        hlepor_score(data["reference_texts"], data["hypothesis_texts"])
        from_text.append(time.process_time() - start)
    np.savez(target, scores=np.array(scores), corpus_seconds=np.array(seconds), text_seconds=np.array(from_text))


if __name__ == "__main__":
    main(*sys.argv[1:])
