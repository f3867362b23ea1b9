"""Number formats: separators, units and spreads of the columns of a file, decided from all columns together."""

import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from typing import NamedTuple

from hpo_envs.tables.user.cells import Cells, different, each, is_text, number, text

_SPREAD = r" *\(?(?:±|\+/-|\+-) *[\d.,]+(?:[eE][+-]?\d+)? ?%?\)?"
_DIGITS = r"[+-]?(?:\d[\d.,'’_ \u00a0\u202f]*|[.,]\d+)(?:[eE][+-]?\d+)?"
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
"""Units of one quantity, in terms of the first."""

TIME_UNITS = FAMILIES[1].keys()


class Spelling(NamedTuple):
    """How numbers are written in a column.

    Attributes:
        cells: Its numbers as Python writes them; other texts as they are.
        note: What was read how; empty for plain numbers.
        unit: Unit of all of them, if they have one.
    """

    cells: Cells
    note: str = ""
    unit: str = ""


class _NumberParts(NamedTuple):
    """The parts of texts that are numbers in some format."""

    digits: dict[str, str]
    units: dict[str, str]
    notes: list[str]


def spellings(
    columns: Mapping[str, Cells], delimiter: str, is_word: Callable[[str], bool], decimal: str | None = None
) -> dict[str, Spelling]:
    """Read the numbers of all columns of text.

    A comma is a decimal point where it is not followed by three digits; a thousands separator where a point follows,
    or where all commas of a column are followed by three digits and points are decimal elsewhere in the file, or commas
    separate its fields.

    Args:
        columns: Name -> cells.
        delimiter: What separates the fields of the file; empty if nothing does.
        is_word: Whether a text may stand among numbers, such as `OOM`.
        decimal: The decimal separator, `.` or `,`, if it is known.

    Raises:
        ValueError: A column with two readings, of which nothing decides.
    """
    parts = {name: found for name, c in columns.items() if is_text(c) and (found := _parts(c, is_word))}
    marks = {name: _marks(found.digits.values(), decimal) for name, found in parts.items()}
    fractions = any(_fractions(c) for c in columns.values() if not is_text(c))
    points = decimal == "." or delimiter == "," or fractions or "point" in marks.values()
    commas = decimal == "," or "comma" in marks.values()
    made = {}
    for name, found in parts.items():
        mark = marks[name]
        if mark == "comma?":
            if points == commas:
                shown = next(t for t in found.digits.values() if "," in t)
                raise ValueError(
                    f"column {name}: {shown} may be {shown.replace(',', '')} or {shown.replace(',', '.')}, and nothing "
                    "else in the file decides; say which separates decimals with --decimal . or --decimal ,"
                )
            mark = "comma" if commas else "comma3"
        elif mark == "point?":
            mark = "point3" if commas and not points else ""
        made[name] = _spelling(columns[name], found, mark)
    return made


def _fractions(cells: Cells) -> bool:
    some = cells[:1000]
    return bool((some % 1 > 0).any())


def _parts(cells: Cells, is_word: Callable[[str], bool]) -> _NumberParts | None:
    """The digits and units of a column, None if it has texts that are neither numbers nor words for lost runs."""
    digits, units, signs = {}, {}, set()
    numbers = 0
    for cell in different(cells):
        match = _CELL.fullmatch(cell)
        if not match:
            if not is_word(cell):
                return None
            continue
        numbers += 1
        apostrophe, shown, before, unit, after = match.groups()
        digits[cell], units[cell] = shown.strip(), unit or ""
        signs |= {"±"} if before or after else set()
        signs |= {"'"} if apostrophe else set()
        digits[cell] = digits[cell] if not apostrophe else (apostrophe[1] + digits[cell])
    if not numbers:
        return None
    notes = ["numbers after ± left out"] if "±" in signs else []
    notes += ["apostrophes before signs left out"] if "'" in signs else []
    return _NumberParts(digits, units, notes)


def _marks(texts: Collection[str], decimal: str | None) -> str:
    """What separates in the numbers of a column: `comma` or `point` before decimals, `comma3` or `point3` thousands.

    `comma?` and `point?` may be either, and `none` is no format.
    """
    odd, dotted = [t for t in texts if number(t) is None], [t for t in texts if "." in t]
    large = any(len(t.lstrip("+-")) > 3 for t in texts if t.lstrip("+-").isdigit())
    if not odd:
        if not (dotted and not large and all(map(_GROUPED.fullmatch, dotted))):
            return "point" if dotted else ""
        return "point3" if decimal == "," else "point?"
    if all(t.rfind(",") > t.rfind(".") for t in odd) and decimal != ".":  # a comma comes last
        if all(_POINTED.fullmatch(t) for t in {*odd, *dotted}) and (
            decimal == "," or any("." in t or not _GROUPED.fullmatch(t) for t in odd)
        ):
            return "comma"
    if not all(map(_GROUPED.fullmatch, odd)):
        return "none"
    if all(map(_COMMA.fullmatch, odd)) and not decimal and not dotted:
        return "none" if large else "comma?"
    return (
        "point3" if all(t in odd and t.count(".") for t in dotted) and dotted and "," not in "".join(odd) else "comma3"
    )


def _plain(shown: str, mark: str) -> str:
    """A number as Python writes it."""
    if mark in ("comma", "point3"):
        return shown.replace(".", "").replace(",", ".")
    if mark == "comma3" and _GROUPED.fullmatch(shown) and number(shown) is None:
        return re.sub(r"[^\d.+-]", "", shown)
    return shown


_THOUSANDS = "separators of thousands left out"
_SAID = {"comma": "decimal commas read as points", "comma3": _THOUSANDS, "point3": _THOUSANDS}


def _spelling(cells: Cells, parts: _NumberParts, mark: str) -> Spelling:
    plain = {cell: _plain(t, mark) for cell, t in parts.digits.items()}
    if mark == "none" or any(number(t) is None for t in plain.values()):
        return Spelling(cells)
    factors, unit, note = _units({*parts.units.values()})
    if factors is None:
        return Spelling(cells)
    notes = [*parts.notes, *filter(None, [_SAID.get(mark), note])]
    if not notes and not unit:
        return Spelling(cells)
    values = {
        cell: t if (f := factors[parts.units[cell]]) == 1 else format((Decimal(t) * f).normalize(), "f")
        for cell, t in plain.items()
    }
    return Spelling(text(each(cells, lambda t: values.get(t, t), None), cells.index), ", ".join(notes), unit)


def _units(units: set[str]) -> tuple[dict[str, Decimal] | None, str, str]:
    """Unit -> factor, None if they are of no one quantity; what all numbers are in then; and a note."""
    one = Decimal(1)
    if units == {""}:
        return {"": one}, "", ""
    if units == {"%"}:
        return {"%": one}, "%", "percent signs left out"
    if units <= {"", *SUFFIXES}:
        shown = ", ".join(sorted(units - {""}))
        return {u: Decimal(10) ** SUFFIXES.get(u, 0) for u in units}, "", f"{shown} read as powers of ten"
    if len(units) == 1:
        (unit,) = units
        return {unit: one}, unit, f"numbers in {unit}"
    for family in FAMILIES:
        if units <= family.keys():
            least = min(units, key=lambda u: (family[u], u))
            return {u: family[u] / family[least] for u in units}, least, f"numbers in {least}"
    return None, "", ""
