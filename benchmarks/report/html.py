"""Tables in HTML: cells that sort by their value. Everything is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from hpo_envs.benchmarks.report.sentences import number


def table(
    key: str,
    caption: str,
    columns: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[str]],
    css: str = "sort",
    packed: dict[str, str] | None = None,
) -> str:
    """A scrollable table; columns are (class, name), cells are HTML.

    Args:
        key: Id of the element.
        caption: Above the table.
        columns: Class and name of each.
        rows: Finished cells.
        css: Classes of the table.
        packed: Takes the rows of a long table, which the page's script puts in; without it they are written here.
    """
    heads = "".join(
        f'<th scope="col" class="{css}"><button type="button">{escape(name)}</button></th>' for css, name in columns
    )
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    if packed is not None:
        packed[key], body = body, ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table id="{key}" class="{css}">'
        f"<caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def download(key: str, name: str) -> str:
    """A button that saves the shown rows of a table."""
    return f'<p><button type="button" class="download" data-table="{key}">{escape(name)} (CSV)</button></p>'


def text(value: str) -> str:
    """A cell of text."""
    return f"<td>{escape(value)}</td>"


def head(value: str) -> str:
    """A cell that names its row."""
    return f'<th scope="row">{escape(value)}</th>'


def num(value: float | None, shown: str | None = None) -> str:
    """A cell that sorts by its value, whatever it shows."""
    raw = "" if value is None else f"{value:.10g}"
    return f'<td class="n" data-value="{raw}">{escape(number(value) if shown is None else shown)}</td>'
