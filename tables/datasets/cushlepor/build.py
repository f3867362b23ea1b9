"""Han et al. 2021: translations with human MQM scores, as the statistics that hLEPOR depends on.

One row per translated segment, whose system, document, number and split are its "hyperparameters". The metrics are the
human score and the sufficient statistics of hLEPOR (`hpo_envs.tables.hlepor`), so that any parameter vector can be
scored without the text. The environments of `hpo_envs.families.cushlepor.page` do that.

Upstream (google/wmt-mqm-human-evaluation) has two files per test set: error spans with the text, and averaged segment
scores; for newstest2020 also pSQM labels, scores of 0 to 6 by professional translators, on which the paper tuned. Some
of the files are quoted (`text.quoted`); spans are marked with <v> and </v> in the text. Raters of newstest2020 could
edit the translation that they rated; `.no-postedits` files have it unedited, and are read unless `edited=True`.
Segment scores are minus the MQM points (0 best, -25 worst); the human score is 1 + score / 25, or the mean pSQM score /
6, in [0, 1]. Every system but the references is scored against the reference. References have names such as ref, ref.A,
ref-A, refB and Human-A.0, which differ between the two files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from hpo_envs.tables import catalogue, hlepor
from hpo_envs.tables.checks import one_of, regular
from hpo_envs.tables.datasets.cushlepor import HELD_OUT, SPLITS, TABLES, TED
from hpo_envs.tables.datasets.cushlepor import text as cushlepor_text
from hpo_envs.tables.datasets.cushlepor.text import WORST_MQM
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import Floats, Hyperparameter, Metric, Provenance, Table

NAMES = TABLES

UNHASHED = NAMES
"""Tables whose rows are not actions."""

POINT_DECIMALS = 1
"""Decimals of the MQM points of TED talks, which are averages over raters."""

UNEDITED = ".no-postedits"
"""Part of the names of files whose translations are free of raters' edits."""

Segment = cushlepor_text.Segment


def metrics(max_n: int = hlepor.MAX_N) -> tuple[Metric, ...]:
    """Metrics of a table, the last axis of `Table.values`; bounds of counts are caps, not measurements."""
    found = [
        Metric("human", "", "max", 0.0, 1.0, "Human score of the segment, 1 = no error."),
        Metric("hypothesis_length", "tokens", "max", 0.0, 1e6, "Length of the translation."),
        Metric("reference_length", "tokens", "max", 0.0, 1e6, "Length of the reference."),
        Metric("matches", "tokens", "max", 0.0, 1e6, "Tokens that both sides share, with multiplicity."),
    ]
    for variant in hlepor.VARIANTS:
        unit, high = ("tokens", 1e6) if variant == "paper" else ("", 1.0)
        for n in range(max_n + 1):
            text = f"Mean position difference of matched words, {variant} variant, context of {n} words."
            found.append(Metric(f"npd_{variant}_{n}", unit, "min", 0.0, high, text))
    return tuple(found)


def files(name: str) -> tuple[str, ...]:
    """Upstream files of a table of news; none for TED talks, whose tables ship."""
    return () if name in TED else upstream(name)


def upstream(name: str) -> tuple[str, str]:
    """Upstream files of a table: spans with text, and averaged scores or pSQM labels."""
    test_set, pair, *rest = name.partition("/")[2].split("-")
    labels = rest[-1] if rest else "mqm"
    folder = f"wmt-mqm/{test_set}/{pair}"
    unedited = UNEDITED if test_set == "newstest2020" and labels != "edited" else ""
    spans = f"{folder}/mqm_{test_set}_{pair}{unedited}.tsv"
    scores = f"psqm_{test_set}_{pair}.tsv" if labels == "psqm" else f"mqm_{test_set}_{pair}.avg_seg_scores.tsv"
    return (spans, f"{folder}/{scores}")


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """Build a table of news; `read` returns the content of fetched files; an error names file, line and value."""
    return from_segments(segments_of(name, read), name, None, provenance("the first reference"))


def shipped(name: str) -> Table:
    """Build a table of TED talks from its pack."""
    return unpacked(packs.read(pack(name)), name)


def pack(name: str) -> str:
    """Path of the pack of a table of TED talks; one pack has all references of a language pair."""
    return f"{name.removesuffix('-a')}.npz"


def unpacked(data: Mapping[str, packs.Array], name: str) -> Table:
    """Build a table of TED talks from the arrays that `pack.rows` and `pack.against` made."""
    reference = TED[name]
    lengths = ("hypothesis_length", f"{reference}/reference_length", f"{reference}/matches")
    h, r, a = (data[length].astype(np.float64) for length in lengths)
    columns = [1.0 + packs.unscaled(data["points"], POINT_DECIMALS) / -WORST_MQM, h, r, a]
    for variant in hlepor.VARIANTS:
        npd = data[f"{reference}/{variant}"] / denominator(variant, h, r)
        columns.extend((npd.view(np.int64) + data[f"{reference}/{variant}_ulps"]).view(np.float64))
    systems, documents = (data[axis].astype(str)[data[f"{axis}_code"]].tolist() for axis in ("system", "document"))
    ids, values = data["segment"].tolist(), np.column_stack(columns)
    return assemble(name, systems, documents, ids, values, HELD_OUT[name], provenance(f"reference {reference}"))


def denominator(variant: str, h: Floats, r: Floats) -> Floats:
    """(rows,) factors that make position differences integers: denominators of the mean and of relative positions."""
    return h if variant == "paper" else h * h * r


def segments_of(name: str, read: Callable[[str], bytes]) -> list[Segment]:
    """The segments of a table with their text."""
    spans, scores = upstream(name)
    if name.endswith("-psqm"):
        return cushlepor_text.parse_psqm(read(scores), read(spans), scores, spans)
    return cushlepor_text.parse(read(spans), read(scores), spans, scores)


def from_folder(
    folder: str | Path, name: str | None = None, *, reference: str | None = None, edited: bool = False
) -> Table:
    """Build a table from a downloaded folder of the upstream repository, such as `ted/zhen` or `newstest2020/ende`.

    The folder must hold one `mqm*.tsv` with spans and text, and may hold a second one, `.no-postedits`.
    Averaged scores are read from `mqm*.avg_seg_scores.tsv` or, without such a file, computed from the spans.

    Args:
        folder: Folder of the files.
        name: Name of the table, by default `cushlepor/<test set>-<pair>` from the folder's last two parts.
        reference: Letter of the reference to score against (`ref` and `ref.A` are A); by default the first.
        edited: Whether to read the translations with the raters' edits, if there is also a file without them.

    Raises:
        ValueError: There is not one file of spans, or more than one of scores; a file is invalid; or the reference does
            not exist.
    """
    where = Path(folder).resolve()
    scores = sorted(where.glob("mqm*.avg_seg_scores.tsv"))
    unedited = [] if edited else sorted(where.glob(f"mqm*{UNEDITED}.tsv"))
    spans = unedited or [p for p in sorted(where.glob("mqm*.tsv")) if p.name.count(".") == 1]
    if len(spans) != 1 or len(scores) > 1:
        raise ValueError(
            f"folder must hold one mqm*.tsv and at most one mqm*.avg_seg_scores.tsv, got {len(spans)} and "
            f"{len(scores)} in {where}"
        )
    segments = cushlepor_text.parse(
        spans[0].read_bytes(), scores[0].read_bytes() if scores else None, spans[0].name,
        scores[0].name if scores else spans[0].name, reference=reference,
    )  # fmt: skip
    table = name or f"cushlepor/{where.parent.name}-{where.name}"
    used = " and ".join(p.name for p in (*spans, *scores))
    return from_segments(segments, table, None, _users(f"Built from {used} of the user; their bytes are not verified."))


def from_tsv(path: str | Path, name: str | None = None, *, score_range: tuple[float, float] | None = None) -> Table:
    """Build a table from a user's TSV: columns hypothesis, reference, score; optionally system, document.

    Args:
        path: A UTF-8 file with a header line, tab-separated, no quoting. Higher scores are better.
        name: Name of the table, by default `cushlepor/<file name>`.
        score_range: (worst, best) of the score column, mapped to [0, 1]; by default (0, 1) if all scores lie in it,
            else the column's own smallest and largest value.

    Raises:
        ValueError: The file is not UTF-8, a column or field is missing, or a score is not finite or is outside
            `score_range`; the message names the file.
    """
    where = Path(path)
    segments, note = cushlepor_text.parse_tsv(regular(where).read_bytes(), str(where), score_range)
    return from_segments(segments, name or f"cushlepor/{where.stem}", None, _users(note))


def from_segments(
    segments: Sequence[Segment], name: str, held_out: tuple[str, ...] | None, provenance: Provenance
) -> Table:
    """Build a table from text; `held_out` names the held-out documents, None = the last ones, see `hold_out`."""
    # Each reference is compared with many translations: tokenise every text once.
    texts = dict.fromkeys(text for s in segments for text in (s.hypothesis, s.reference))
    tokens = {text: hlepor.tokenize(text) for text in texts}
    npd = hlepor.collect_variants([tokens[s.hypothesis] for s in segments], [tokens[s.reference] for s in segments])
    first = npd["paper"]
    human = np.array([segment.human for segment in segments])
    values = np.column_stack(
        [human, first.hypothesis_length, first.reference_length, first.matches, *(npd[v].npd for v in hlepor.VARIANTS)]
    )
    systems, documents, ids = zip(*((s.system, s.document, s.segment) for s in segments), strict=True)
    return assemble(name, systems, documents, ids, values, held_out, provenance)


def hold_out(documents: Sequence[str]) -> tuple[str, ...]:
    """The held-out documents of data without a fixed split: the last ones, about 40 % of the rows, never all.

    With a single document nothing is held out.
    """
    counts, chosen, rows = Counter(documents), list[str](), 0
    for name in reversed([*counts][1:]):
        if chosen and rows + counts[name] / 2 > 0.4 * len(documents):
            break
        chosen.append(name)
        rows += counts[name]
    return tuple(reversed(chosen))


def assemble(
    name: str, systems: Sequence[str], documents: Sequence[str], ids: Sequence[int], values: np.ndarray,
    held_out: tuple[str, ...] | None, provenance: Provenance,
) -> Table:  # fmt: skip
    """Make a Table of (rows,) labels and (rows, metrics) values; `held_out` as in `from_segments`."""
    held = set(hold_out(documents) if held_out is None else held_out)
    axes = [tuple(dict.fromkeys(column)) for column in (systems, documents)]
    space = (
        Hyperparameter("system", "categorical", 0, len(axes[0]) - 1, values=axes[0], description="Who translated."),
        Hyperparameter("document", "categorical", 0, len(axes[1]) - 1, values=axes[1], description="Of what."),
        Hyperparameter("segment", "int", 0, float(max(ids)), description="Number of the segment in the test set."),
        Hyperparameter("split", "categorical", 0, 1, values=SPLITS, description="Whether rewards may see it."),
    )
    codes = [{v: i for i, v in enumerate(axis)} for axis in axes]
    configs = np.array(
        [(codes[0][s], codes[1][d], i, float(d in held)) for s, d, i in zip(systems, documents, ids, strict=True)]
    )
    return Table(
        name=name, keys=tuple(f"{s}/{d}/{i}" for s, d, i in zip(systems, documents, ids, strict=True)), space=space,
        configs=configs, metrics=metrics((values.shape[1] - 4) // len(hlepor.VARIANTS) - 1),
        values=values[:, None, None, :], cost=np.ones((len(values), 1, 1)), level_unit="annotation",
        provenance=provenance,
    )  # fmt: skip


def provenance(reference: str) -> Provenance:
    """Provenance of a table whose segments are scored against a reference."""
    return catalogue.provenance("cushlepor", "measured", f"Segments scored against {reference}.")


def statistics(table: Table, variant: str = "released") -> hlepor.Statistics:
    """The hLEPOR statistics of a table's rows."""
    one_of("variant", variant, hlepor.VARIANTS)
    values = table.values[:, 0, 0, :]
    columns = [i for i, metric in enumerate(table.metric_names) if metric.startswith(f"npd_{variant}_")]
    return hlepor.Statistics(values[:, 1], values[:, 2], values[:, 3], values[:, columns], variant)


def _users(note: str) -> Provenance:
    citation = catalogue.dataset("cushlepor").citation
    return Provenance("measured", "user's file", "", "the user's", citation, notes=(note,))
