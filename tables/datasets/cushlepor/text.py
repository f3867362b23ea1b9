"""Readers of translations with human scores: WMT test sets with MQM or pSQM labels, or a user's TSV."""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hpo_envs.tables import exact
from hpo_envs.tables.checks import utf8
from hpo_envs.tables.table import numbers

_REFERENCE = re.compile(r"(?:ref|human)[-_. ]?([A-Z]?)(?:\.\d+)?", re.IGNORECASE)
_SPAN = re.compile(r"</?v>")
_QUOTED = re.compile(r'(?m)(^|\t)"(?:[^"\n]|"")*"(?=\t|\r?$)')

WORST_MQM = 25.0
"""MQM points of a segment with five major errors or a non-translation: the cap of the scheme (Freitag et al. 2021)."""

BEST_PSQM = 6.0
"""Highest score of the scalar quality metric, 0 to 6 (Freitag et al. 2021, section 3.2)."""


@dataclass(frozen=True)
class Segment:
    """A segment translated by a system (the hypothesis): its number in the test set, and its human score in [0, 1]."""

    system: str
    document: str
    segment: int
    hypothesis: str
    reference: str
    human: float


def reference_letter(system: str) -> str | None:
    """The letter of a reference translation (`ref` is A, `refB` B, `Human-P.0` P), None for any other system."""
    match = _REFERENCE.fullmatch(system)
    return (match[1] or "A").upper() if match else None


def parse(
    spans: bytes, scores: bytes | None, spans_file: str, scores_file: str, *, reference: str | None = None
) -> list[Segment]:
    """Join text and scores of a test set.

    Args:
        spans: The file with one line per error span: system, doc, doc_id, seg_id, rater, source, target, ...
        scores: The file with one line per segment: system, mqm_avg_score (None if not rated), seg_id. Without it the
            scores are computed from the spans.
        spans_file: Name of the file of spans, for messages.
        scores_file: Name of the file of scores, for messages.
        reference: Letter of the reference to score against; None for the first in the alphabet.

    Returns:
        Segments by system (alphabetical), then segment number; unrated ones and the references are left out.

    Raises:
        ValueError: A file has another form, a score is out of range, no segment is rated, the reference does not exist,
            or the text of a rated segment is missing.
    """
    text, documents = _texts(spans, spans_file)
    rated = span_scores(spans, spans_file) if scores is None else _scores(scores, scores_file)
    human = {key: None if points is None else 1.0 + points / WORST_MQM for key, points in rated.items()}
    for (system, number), value in human.items():
        if value is not None and not 0.0 <= value <= 1.0:
            points = rated[system, number]
            raise ValueError(f"{scores_file}: scores must lie in [-25, 0], got {points} for {system}, segment {number}")
    return _join(text, documents, human, spans_file, scores_file, reference)


def parse_psqm(labels: bytes, spans: bytes, labels_file: str, spans_file: str) -> list[Segment]:
    """Read the pSQM labels of a test set: one line per rating, with the translation and a score of 0 to 6.

    The columns are system, doc, doc_id, seg_id, rater, source, target, score; `spans` has the error spans of the same
    test set, for the text of references without labels. Names of files are for messages.

    Returns:
        Segments as by `parse`, against the first reference; the human score is the mean of the raters, divided by 6.

    Raises:
        ValueError: See `parse`.
    """
    text, documents = _texts(spans, spans_file)
    labelled, of_labels = _texts(labels, labels_file)
    text, documents = {**text, **labelled}, {**documents, **of_labels}
    given: dict[tuple[str, int], list[float]] = {}
    for number, row in _rows(labels, labels_file, ("system", "seg_id", "score")):
        value = _number(row["score"])
        if not 0.0 <= value <= BEST_PSQM:
            raise ValueError(f"{labels_file}, line {number}: score must be in [0, {BEST_PSQM:g}], got {row['score']!r}")
        given.setdefault((row["system"], int(row["seg_id"])), []).append(value)
    human: dict[tuple[str, int], float | None] = {k: exact.total(v) / len(v) / BEST_PSQM for k, v in given.items()}
    return _join(text, documents, human, labels_file, labels_file, None)


def _join(
    text: dict[tuple[str, int], str], documents: dict[int, str], human: dict[tuple[str, int], float | None],
    text_file: str, scores_file: str, reference: str | None,
) -> list[Segment]:  # fmt: skip
    """Rated segments with their text and that of the reference; ValueError if one of these is missing."""
    letters = {letter: s for s, _ in text if (letter := reference_letter(s))}
    if not letters or (reference is not None and reference.upper() not in letters):
        raise ValueError(
            f"reference must be one of {', '.join(sorted(letters)) or 'ref, ref.A, refB, ...'} in {text_file}, "
            f"got {reference or 'none'}"
        )
    chosen = letters[reference.upper() if reference else min(letters)]
    # Names in the spans file may lack the submission number that the scores file has (DeepMind.381).
    known = {s for s, _ in text}
    found = []
    for (system, number), value in sorted(human.items()):
        label = system if system in known else re.sub(r"\.\d+$", "", system)
        if value is None or reference_letter(label):
            continue
        for who in (label, chosen):
            if (who, number) not in text:
                raise ValueError(f"{text_file} must have the text of system {who}, segment {number}; got none")
        found.append(Segment(label, documents[number], number, text[label, number], text[chosen, number], value))
    if not found:
        raise ValueError(f"{scores_file} must rate at least one segment, got none")
    return found


def _rows(
    content: bytes, file: str, needed: tuple[str, ...], of_segments: bool = True
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line numbers and fields by column name (lower case) of a TSV; blank lines at its end are left out.

    In an upstream file (`of_segments`), `seg_id` must be a number, fields at the end of a line may be missing if they
    are not needed, it may be `quoted`, and blank lines are left out anywhere.
    """
    text = utf8(file, content)
    lines = [line.rstrip("\r") for line in text.rstrip("\r\n").split("\n")]
    unquote = of_segments and quoted(text)
    table = csv.reader(lines, delimiter="\t", strict=True) if unquote else (line.split("\t") for line in lines)
    next(iter(table))
    header = [c.strip().lower() for c in lines[0].split("\t")]
    if any(header.count(name) != 1 for name in needed):
        raise ValueError(f"{file}, line 1: must name the columns {', '.join(needed)} once, got {lines[0]!r}")
    for number, (line, fields) in enumerate(zip(lines[1:], table, strict=True), start=2):
        if of_segments and not line.strip():
            continue
        row = dict(zip(header, fields, strict=False))
        if of_segments and not (set(needed) <= row.keys() and row["seg_id"].isdigit()):
            raise ValueError(
                f"{file}, line {number}: must have {len(header)} fields and a numeric seg_id, got {line!r}"
            )
        if not of_segments and len(fields) != len(header):
            raise ValueError(f"{file}, line {number}: must have {len(header)} fields, got {len(fields)}")
        yield number, row


def quoted(text: str) -> bool:
    """Return whether a TSV is quoted like a CSV: inner quotes are doubled, and there is no quote outside a field.

    Some of upstream's files are, others have unescaped quotes from the texts. No segment has a line break.
    """
    rest, count = _QUOTED.subn(r"\1", text)
    return count > 0 and '"' not in rest


def _texts(content: bytes, file: str) -> tuple[dict[tuple[str, int], str], dict[int, str]]:
    """Text by (system, segment), the most frequent one among its lines, and the document of each segment."""
    versions: dict[tuple[str, int], Counter[str]] = {}
    documents: dict[int, str] = {}
    for number, row in _rows(content, file, ("system", "doc", "seg_id", "target")):
        segment, document = int(row["seg_id"]), row["doc"]
        versions.setdefault((row["system"], segment), Counter())[_SPAN.sub("", row["target"])] += 1
        if (known := documents.setdefault(segment, document)) != document:
            raise ValueError(f"{file}, line {number}: segment {segment} must be of {known}, got {document}")
    # Counter keeps the order of first appearance among equal counts.
    return {key: found.most_common(1)[0][0] for key, found in versions.items()}, documents


def span_scores(content: bytes, file: str) -> dict[tuple[str, int], float | None]:
    """Minus the MQM points of each (system, segment), averaged over raters, at least -25.

    Weights of Freitag et al. 2021: major 5, minor 1, minor punctuation 0.1, non-translation 25, anything else 0.
    """
    points: dict[tuple[str, int], dict[str, float]] = {}
    for _, row in _rows(content, file, ("system", "seg_id", "rater", "category", "severity")):
        weight = {"major": 5.0, "minor": 1.0}.get(row["severity"].lower(), 0.0)
        if row["severity"].lower() == "minor" and row["category"] == "Fluency/Punctuation":
            weight = 0.1
        if row["category"].lower().startswith("non-translation"):
            weight = WORST_MQM
        raters = points.setdefault((row["system"], int(row["seg_id"])), {})
        raters[row["rater"]] = raters.get(row["rater"], 0.0) + weight
    # The scheme caps a segment at five major errors; a few files have more spans than that.
    return {k: -min(exact.total(v.values()) / len(v), WORST_MQM) for k, v in points.items()}


def _scores(content: bytes, file: str) -> dict[tuple[str, int], float | None]:
    """Averaged score by (system, segment), None if not rated; separators are tabs and spaces, mixed."""
    lines = utf8(file, content).splitlines()
    columns = ["system", "mqm_avg_score", "seg_id"]
    if not lines or sorted(lines[0].split()) != sorted(columns):
        raise ValueError(f"{file}, line 1: must name the columns {', '.join(columns)}, got {lines[:1]}")
    where = [lines[0].split().index(c) for c in columns]
    found: dict[tuple[str, int], float | None] = {}
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split()
        if not fields:
            continue
        try:
            system, points, segment = (fields[i] for i in where)
            key, value = (system, int(segment)), None if points == "None" else float(points)
        except (ValueError, IndexError):
            raise ValueError(f"{file}, line {number}: must be a system, a score and a segment, got {line!r}") from None
        if key in found:
            raise ValueError(f"{file}, line {number}: must not rate {system}, segment {segment} twice")
        found[key] = value
    return found


def parse_tsv(content: bytes, file: str, score_range: tuple[float, float] | None = None) -> tuple[list[Segment], str]:
    """Read a user's TSV, see `build.from_tsv`; return the segments and a sentence on how scores were scaled."""
    rows = _pairs(content, file, "score")
    values = [_number(row["score"]) for _, row in rows]
    for (number, row), value in zip(rows, values, strict=True):
        if not math.isfinite(value):
            raise ValueError(f"{file}, line {number}: score must be a finite number, got {row['score']!r}")
    if score_range is None:
        score_range = (0.0, 1.0) if all(0.0 <= v <= 1.0 for v in values) else (min(values), max(values))
    low, high = ends.tolist() if (ends := numbers(score_range)).shape == (2,) else (math.nan, math.nan)
    if not low < high or min(values) < low or max(values) > high:
        raise ValueError(
            f"score_range must be (worst, best) around all scores of {file}, {min(values)} to {max(values)}, got "
            f"{score_range}"
        )
    segments = [
        Segment(
            row.get("system", "system"), row.get("document", "document"), i, row["hypothesis"], row["reference"],
            (value - low) / (high - low),
        )
        for i, ((_, row), value) in enumerate(zip(rows, values, strict=True), start=1)
    ]  # fmt: skip
    return segments, f"Human scores scaled from [{low:g}, {high:g}] to [0, 1]."


def parse_pairs(content: bytes, file: str) -> tuple[list[str], list[str]]:
    """Return the hypotheses and references of a user's TSV; ValueError if it is invalid or has no rows."""
    rows = _pairs(content, file)
    return [row["hypothesis"] for _, row in rows], [row["reference"] for _, row in rows]


def _pairs(content: bytes, file: str, *more: str) -> list[tuple[int, dict[str, str]]]:
    rows = [*_rows(content, file, ("hypothesis", "reference", *more), of_segments=False)]
    if not rows:
        raise ValueError(f"{file} must have at least one row below its header, got none")
    return rows


def _number(text: str) -> float:
    """The number in a text, or NaN."""
    try:
        return float(text)
    except ValueError:
        return math.nan
