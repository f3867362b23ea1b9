"""The language pairs."""

from __future__ import annotations

PAIRS = {"zhen": "zh-en", "ruen": "ru-en", "jaen": "ja-en", "enja": "en-ja", "swen": "sw-en", "soen": "so-en"}
"""Name in ids -> name in the paper and of the upstream files."""

SHARED_GRID = ("zhen", "ruen", "jaen", "enja")
"""Pairs that were trained on the same grid (Table 1, first row)."""

LANGUAGES = {pair: paper.replace("en", "").strip("-") for pair, paper in PAIRS.items()}
"""Name in ids -> the language besides English."""
