"""Pack the TED talks from upstream's files: `python -m hpo_envs.tables.datasets.packing cushlepor [--check]`.

No word of the texts is packed, but human scores, lengths, matches, position differences, scores of other metrics. The
table made from these is compared with that made from the text. Needs the extra `mt`.
"""

from collections.abc import Sequence

import numpy as np

from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets import packing
from hpo_envs.tables.datasets.cushlepor import HELD_OUT, TED, build, text, text_metrics
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import Table

Arrays = dict[str, packs.Array]


def make() -> packing.Packs:
    """The arrays of both packs."""
    made: dict[str, Arrays] = {}
    for name, reference in TED.items():
        spans, scores = build.upstream(name)
        segments = text.parse(store.read(spans), store.read(scores), spans, scores, reference=reference)
        table = build.from_segments(segments, name, HELD_OUT[name], build.provenance(f"reference {reference}"))
        arrays = made.setdefault(build.pack(name), {})
        arrays |= rows(table) | against(table, reference)
        if name in text_metrics.PACKED:
            arrays |= text_scores(segments)
        if not np.array_equal(table.values, build.unpacked(arrays, name).values):
            raise ValueError(f"the pack of {name} must hold the numbers of its text")
    return made


def rows(table: Table) -> Arrays:
    """Arrays that do not depend on the reference.

    Returns:
        `system`, `document` names; (rows,) `system_code`, `document_code` places among them, `segment` numbers,
        `points` of MQM, `hypothesis_length`.
    """
    values, configs = table.values[:, 0, 0], table.configs.astype(np.int64)
    labels = {h.name: np.array([*map(str, h.values)], "S") for h in table.space[:2]}
    codes = {f"{axis}_code": packs.smallest(configs[:, j]) for j, axis in enumerate(labels)}
    points = np.round((1.0 - values[:, 0]) * text.WORST_MQM, build.POINT_DECIMALS)
    counts = {"points": packs.scaled(points, build.POINT_DECIMALS), "hypothesis_length": packs.scaled(values[:, 1])}
    return labels | codes | counts | {"segment": packs.smallest(configs[:, 2])}


def against(table: Table, reference: str) -> Arrays:
    """Arrays that depend on the reference: (rows,) `reference_length`, `matches`, and position differences.

    Returns:
        Members of a group `reference`. By variant, (n, rows) integers, position differences times
        `build.denominator`; and `..._ulps`, int8, by how many units in the last place the quotients are too small.
    """
    _, h, r, a = (values := table.values[:, 0, 0])[:, :4].T
    arrays: Arrays = {"reference_length": packs.scaled(r), "matches": packs.scaled(a)}
    for variant in hlepor.VARIANTS:
        columns = [i for i, name in enumerate(table.metric_names) if name.startswith(f"npd_{variant}_")]
        npd, below = np.ascontiguousarray(values[:, columns].T), build.denominator(variant, h, r)
        whole = np.rint(npd * below)
        ulps = npd.view(np.int64) - (whole / below).view(np.int64)
        arrays |= {variant: packs.scaled(whole), f"{variant}_ulps": packs.smallest(ulps).astype(np.int8)}
    return {f"{reference}/{name}": array for name, array in arrays.items()}


def text_scores(segments: Sequence[text.Segment]) -> Arrays:
    """Sentence BLEU and chrF of each segment, as scaled integers by name."""
    found = text_metrics.sentence_scores([s.hypothesis for s in segments], [s.reference for s in segments])
    digits = text_metrics.DECIMALS
    return {name: packs.scaled(np.round(scores, digits), digits) for name, scores in found.items()}
