"""Publications that the tracks of a summary are from: those of one group of environments may be older than others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Found = Mapping[str, Any]
"""A summary."""

FACTS = ("command", "checked", "versions")
"""Keys of a publication: of the newest in the summary, of kept tracks in `earlier`."""


def publications(found: Found) -> list[Found]:
    """The `FACTS` of all publications of a summary's tracks, the newest first."""
    return [found, *found.get("earlier", ())]


def of_track(found: Found, track: Found) -> Found:
    """The `FACTS` of the publication that a track of a summary is from."""
    return publications(found)[number(track)]


def runs(found: Found) -> list[int]:
    """Number of runs of each publication in a summary."""
    which = {e: number(t) for t in found["tracks"] for e in t["environments"]}
    counts = [0] * len(publications(found))
    for c in found["cells"]:
        counts[which[c["environment"]]] += c["n"]
    for t in found["tracks"]:
        counts[number(t)] += sum(t.get("left_out", {}).values())
    return counts


def number(track: Found) -> int:
    """Publication of a track."""
    return int(track.get("earlier", -1)) + 1
