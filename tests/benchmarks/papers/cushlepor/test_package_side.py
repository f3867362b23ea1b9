"""The other side of the comparison with the package, with a stand-in for the package."""

from __future__ import annotations

import importlib
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def test_segments_and_corpus_are_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def one(reference: str, hypothesis: str, *setting: Any, **options: Any) -> float:
        assert options == {"preprocess": str, "separate_punctuation": False}
        assert isinstance(setting[2], int)
        return setting[0] * len(hypothesis.split()) / len(reference.split())

    def corpus(references: list[str], hypotheses: list[str], *setting: Any, **options: Any) -> float:
        pairs = zip(references, hypotheses, strict=True)
        return float(np.mean([one(r, h, *setting, **options) for r, h in pairs])) if setting else 0.0

    inner = types.SimpleNamespace()
    tokenize = types.SimpleNamespace(NLTKWordTokenizer=object, PunktSentenceTokenizer=object)
    monkeypatch.setitem(sys.modules, "nltk", types.SimpleNamespace(download=None, tokenize=tokenize))
    monkeypatch.setitem(sys.modules, "nltk.tokenize", tokenize)
    package = types.SimpleNamespace(hlepor=inner, hlepor_score=corpus, single_hlepor_score=one)
    monkeypatch.setitem(sys.modules, "hlepor", package)
    source, target = tmp_path / "tokens.json", tmp_path / "scores.npz"
    tokens = {"hypotheses": [["a", "b"], ["c"]], "references": [["a", "b"], ["c", "d"]]}
    texts = {"hypothesis_texts": ["a b", "c"], "reference_texts": ["a b", "c d"]}
    source.write_text(json.dumps({**tokens, **texts, "vectors": [[1, 1, 2, 1, 1, 1], [4, 1, 2.0, 1, 1, 1]]}))
    side = importlib.import_module("hpo_envs.benchmarks.papers.cushlepor.package_side")
    side.main(str(source), str(target))
    with np.load(target) as written:
        assert written["scores"].tolist() == [[1.0, 0.5], [4.0, 2.0]]
        assert written["corpus_seconds"].shape == (2,)
        assert written["text_seconds"].shape == (3,)
