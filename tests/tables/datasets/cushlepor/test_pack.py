"""What is packed of translations, and that it gives the scores of their text."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hpo_envs.tables.datasets.cushlepor import TED, build, pack
from hpo_envs.tables.datasets.cushlepor.text import Segment
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import Table

WORDS = [f"w{i}" for i in range(9)]


@pytest.fixture(scope="module")
def texts() -> Table:
    """Random sentences of few words, so that words repeat on both sides."""
    pytest.importorskip("nltk", reason="extra mt is not installed")
    rng = np.random.default_rng(0)

    def sentence() -> str:
        return " ".join(rng.choice(WORDS, rng.integers(1, 30)))

    segments = [
        Segment(
            system, "talk.5" if i % 2 else "talk.1", i, sentence(), sentence(), 1.0 - rng.integers(0, 250) / 10.0 / 25.0
        )
        for system in ("a", "b-2")
        for i in range(40)
    ]
    return build.from_segments(segments, "cushlepor/ted-ende", None, build.provenance("reference A"))


def test_a_table_is_restored_from_its_arrays_bit_by_bit(texts: Table) -> None:
    restored = build.unpacked(packs.from_bytes(packs.to_bytes(pack.rows(texts) | pack.against(texts, "A"))), texts.name)
    assert restored.values.tobytes() == texts.values.tobytes()
    assert restored.keys == texts.keys
    assert restored.space == texts.space
    pack.compare(texts, restored)


def test_compare_finds_one_changed_number(texts: Table) -> None:
    values = texts.values.copy()
    values[7, 0, 0, 5] = np.nextafter(values[7, 0, 0, 5], 1e9)
    changed = dataclasses.replace(texts, values=values, provenance=dataclasses.replace(texts.provenance, sha256=""))
    with pytest.raises(ValueError, match="the pack of cushlepor/ted-ende must hold the numbers of its text"):
        pack.compare(texts, changed)


@pytest.mark.parametrize("name", TED)
def test_no_word_is_packed(name: str) -> None:
    arrays = packs.read(build.pack(name))
    assert sorted(n for n, array in arrays.items() if array.dtype.kind not in "iuf") == ["document", "system"]
    assert {n.partition("/")[0] for n in arrays if "/" in n} == ({"A", "B"} if "zhen" in name else {"A"})
    assert len(arrays["system"]) == 13
    assert len(arrays["document"]) == 5
