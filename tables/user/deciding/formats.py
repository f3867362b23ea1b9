"""Number formats of columns: decimal commas, thousands, units and suffixes (k, %, GB, min), "0.8 ± 0.1"."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user.cells import Cells, different, each, is_text, meaning, missing, number, text
from hpo_envs.tables.user.frame import Decision, count
from hpo_envs.tables.user.statement import Decisions

_SPREAD = r" *\(?(?:±|\+/-|\+-) *[\d.,]+(?:[eE][+-]?\d+)? ?%?\)?"
_DIGITS = r"[+-]?(?:\d[\d.,'’_ \u00a0\u202f]*+|[.,]\d+)(?:[eE][+-]?\d+)?"
_CELL = re.compile(rf"('[+-])?({_DIGITS})({_SPREAD})? ?(%|[A-Za-zµ°]+(?:/[A-Za-z]+)?)?({_SPREAD})?")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}([,'’_ \u00a0\u202f.])\d{3}(?:\1\d{3})*(?:[.,]\d+)?")
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_POINTED = re.compile(r"[+-]?(\d*|\d{1,3}(\.\d{3})+)(,\d+)?(?:[eE][+-]?\d+)?")

SUFFIXES = {"k": 3, "K": 3, "M": 6, "G": 9, "B": 9, "T": 12}
"""Suffix of a number -> power of ten."""

FAMILIES: tuple[dict[str, Decimal], ...] = (
    {f"{p}{i}B": Decimal(1024 if i else 1000) ** e for e, p in enumerate(["", *"KMGTP"]) for i in ("", "i")}
    | {"kB": Decimal(1000), "bytes": Decimal(1)},
    {u: Decimal(f) for f, us in (("1e-6", "us"), ("1e-3", "ms"), ("1", "s sec secs seconds"),
                                 ("60", "m min mins minutes"), ("3600", "h hr hrs hours"), ("86400", "d days"))
     for u in us.split()},
)  # fmt: skip
"""Units of data and of time, as multiples of a byte and of a second."""

TIME_UNITS = FAMILIES[1].keys()


class Spelling(NamedTuple):
    """Cells of a column in Python's number format.

    Attributes:
        cells: Numbers as Python writes them; other texts unchanged.
        note: Description of what was converted; empty for plain numbers.
        unit: Common unit of the numbers, if any.
    """

    cells: Cells
    note: str = ""
    unit: str = ""


def legible(found: Decisions) -> Decisions:
    """Leave out repeated headers, convert numbers to Python's format or ask if they are ambiguous, and fill cells."""
    frame, stated, said = found.frame, found.stated, []
    if all(is_text(cells) for _, cells in frame.cells.items()):
        again = np.logical_and.reduce([(cells == name).to_numpy() for name, cells in frame.cells.items()])
        if again.any():
            lines, first = count(int(again.sum()), "line"), frame.where(int(np.argmax(again)))
            said.append(frame.of("ignored", f"{lines} with the header again, the first {first}: left out"))
            frame = frame.only(~again)
    free = {n: c for n, c in frame.cells.items() if n not in stated.categorical}
    try:
        read = spellings(free, frame.delimiter, stated.decimal)
    except ValueError as error:
        said.append(Decision("question", (), str(error)))
        read = spellings(free, frame.delimiter, ".")
    made = {n: s for n, s in read.items() if s.note}
    said += [frame.of("file", spelling.note, name) for name, spelling in made.items()]
    changed = {name: spelling.cells for name, spelling in made.items()}
    for name, value in stated.fill.items():
        old = of_cells.as_text(changed.get(name, frame[name]))
        holes = each(old, lambda t: missing(t) or t.lower() == "none", True)
        changed[name] = text(np.where(holes, str(value), old.astype(object)), old.index)
        said.append(frame.of("file", f"{count(int(holes.sum()), 'cell')} without a value filled with {value}", name))
    cells = frame.cells.assign(**changed) if changed else frame.cells
    units = {name: spelling.unit for name, spelling in made.items()}
    return found.add(*said, frame=replace(frame, cells=cells, units=units))


def spellings(columns: Mapping[str, Cells], delimiter: str, decimal: str | None = None) -> dict[str, Spelling]:
    """Convert the numbers in text columns to Python's format; columns with other words are left out.

    A comma is decimal if it is not followed by exactly three digits. It is a thousands separator if a point follows
    it; or if all commas of a column are followed by three digits and points are decimal elsewhere in the file, or
    commas separate its fields (`delimiter`). A stated decimal separator decides.

    Raises:
        ValueError: A column can be read in two ways.
    """
    parts = {name: found for name, cells in columns.items() if is_text(cells) and (found := _parts(cells))}
    marks = {name: _marks([digits for digits, *_ in found.values()], decimal) for name, found in parts.items()}
    fractions = any(bool((c[:1000] % 1 > 0).any()) for c in columns.values() if not is_text(c))
    points = decimal == "." or (not decimal and (delimiter == "," or fractions or "point" in marks.values()))
    commas = decimal == "," or (not decimal and "comma" in marks.values())
    for name, mark in marks.items():
        if (mark == "comma?" and points == commas) or (mark == "point?" and delimiter == ";" and not points | commas):
            sign = "," if mark == "comma?" else "."
            shown = next(digits for digits, *_ in parts[name].values() if sign in digits)
            raise ValueError(
                f"column {name}: {shown} may be {shown.replace(sign, '')} or {shown.replace(sign, '.')}, and no "
                "other value in the file decides; name the decimal separator with --decimal . or --decimal ,"
            )
    settled = {"comma?": "comma" if commas else "comma3", "point?": "point3" if commas and not points else ""}
    return {n: _spelling(columns[n], found, settled.get(marks[n], marks[n])) for n, found in parts.items()}


def _parts(cells: Cells) -> dict[str, tuple[str, str, str]] | None:
    """Text -> its digits, its unit and a note; None if a text is neither a number nor a word for an outcome."""
    found = {}
    for cell in different(cells):
        if match := _CELL.fullmatch(cell):
            sign, digits, before, unit, after = match.groups(default="")
            note = "numbers after ± left out" if before or after else ""
            found[cell] = sign[1:] + digits.strip(), unit, note or (sign and "apostrophes before signs left out")
        elif meaning(cell) is None:
            return None
    return found


def _marks(texts: Collection[str], decimal: str | None) -> str:
    """Separators in the numbers of a column: `comma` or `point` before decimals, `comma3` or `point3` for thousands.

    `comma?` and `point?` are ambiguous; `none` is not a number format; empty if there are no separators.
    """
    odd, dotted = [t for t in texts if number(t) is None], [t for t in texts if "." in t]
    large = any(len(t.lstrip("+-")) > 3 for t in texts if t.lstrip("+-").isdigit())
    if not odd:
        if not (dotted and not large and all(map(_GROUPED.fullmatch, dotted))):
            return "point" if dotted else ""
        return "point3" if decimal == "," else "point?"
    if decimal != "." and all(t.rfind(",") > t.rfind(".") for t in odd) and all(map(_POINTED.fullmatch, odd + dotted)):
        if decimal == "," or any("." in t or not _GROUPED.fullmatch(t) for t in odd):
            return "comma"
    if not all(map(_GROUPED.fullmatch, odd)):
        return "none"
    if all(map(_COMMA.fullmatch, odd)) and not decimal and not dotted:
        return "none" if large else "comma?"
    return "point3" if dotted and {*dotted} <= {*odd} and "," not in "".join(odd) else "comma3"


def _plain(shown: str, mark: str) -> str:
    """A number in Python's notation, given the separators in its column, see `_marks`."""
    if mark in ("comma", "point3"):
        return shown.replace(".", "").replace(",", ".")
    grouped = mark == "comma3" and _GROUPED.fullmatch(shown) and number(shown) is None
    return re.sub(r"[^\d.+-]", "", shown) if grouped else shown


_THOUSANDS = "separators of thousands left out"
_SAID = {"comma": "decimal commas read as points", "comma3": _THOUSANDS, "point3": _THOUSANDS}


def _spelling(cells: Cells, parts: Mapping[str, tuple[str, str, str]], mark: str) -> Spelling:
    plain = {cell: _plain(digits, mark) for cell, (digits, *_) in parts.items()}
    factors, unit, note = _units({unit for _, unit, _ in parts.values()})
    if mark == "none" or not factors or any(number(t) is None for t in plain.values()):
        return Spelling(cells)
    signs = sorted({sign for *_, sign in parts.values()}, reverse=True)
    notes = [*filter(None, [*signs, _SAID.get(mark), note])]
    values = {
        cell: t if (f := factors[parts[cell][1]]) == 1 else format((Decimal(t) * f).normalize(), "f")
        for cell, t in plain.items()
    }
    made = text(each(cells, lambda t: values.get(t, t), None), cells.index) if notes else cells
    return Spelling(made, ", ".join(notes), unit)


def _units(units: set[str]) -> tuple[dict[str, Decimal], str, str]:
    """Unit -> factor (empty unless all are units of one quantity), the common unit, and a note."""
    if units <= {"", *SUFFIXES}:
        shown = ", ".join(sorted(units - {""}))
        return {u: Decimal(10) ** SUFFIXES.get(u, 0) for u in units}, "", shown and f"{shown} read as powers of ten"
    one = {u: Decimal(1) for u in units}
    family = one if len(units) == 1 else next((f for f in FAMILIES if units <= f.keys()), None)
    if family is None:
        return {}, "", ""
    least = min(units, key=lambda u: (family[u], u))
    note = "percent signs left out" if least == "%" else f"numbers in {least}"
    return {u: family[u] / family[least] for u in units}, least, note
