"""Tables in HTML: everything is escaped, numbers sort by value."""

from __future__ import annotations

import pytest

from hpo_envs.benchmarks.report import html


@pytest.mark.parametrize(
    "cell", [html.text, html.head, lambda s: html.num(1.0, s), lambda s: html.bar((1, 0, 2), 2, s)]
)
def test_text_is_escaped(cell: object) -> None:
    assert "&lt;b&gt;&amp;" in cell("<b>&")  # type: ignore[operator]


def test_tables_and_downloads_are_escaped() -> None:
    shown = html.table("key", "<caption>&", [("n", "a<b")], [[html.num(2.0)], [html.num(None)]])
    assert "&lt;caption&gt;&amp;" in shown
    assert "a&lt;b" in shown
    assert shown.count("<tr>") == 3
    assert "&lt;i&gt; (CSV)" in html.download("key", "<i>")


def test_numbers_sort_by_their_value() -> None:
    assert html.num(0.25, "25%") == '<td class="n" data-value="0.25">25%</td>'
    assert 'data-value=""' in html.num(None)
    assert "left:25.0%;width:50.0%" in html.bar((1.0, 0.5, 1.5), 2.0, "1")


def test_rows_of_long_tables_are_packed() -> None:
    packed: dict[str, str] = {}
    shown = html.table("key", "caption", [("n", "a")], [[html.text("<b>")]], packed=packed)
    assert packed == {"key": "<tr><td>&lt;b&gt;</td></tr>"}
    assert "<tbody></tbody>" in shown
