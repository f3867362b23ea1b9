"""Settings of the optimizers of other packages, and the page that shows them."""

import math
import re

import pytest

from hpo_envs import agents
from hpo_envs.commands import adapters
from tests.helpers import ROOT

HEADER = "| agent | package |"


def cells(text: str) -> list[list[str]]:
    """Rows of the table in a text, without its header."""
    lines = text[text.index(HEADER) :].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_every_optimizer_of_another_package_says_what_it_was_given() -> None:
    rows = adapters.rows()
    assert sorted(n for names in rows for n in names) == [n for n in agents.names() if agents.entry(n).extra]
    assert all(all(columns) for columns in rows.values())


def test_page_shows_what_code_says(capsys: pytest.CaptureFixture[str]) -> None:
    """All columns except packages, which are those of the comparison, and milliseconds, which are measured."""
    assert adapters.main(["--quick"]) == 0
    printed = cells(capsys.readouterr().out)
    shown = cells((ROOT / "docs" / "fairness.md").read_text(encoding="utf-8"))
    assert [(row[0], *row[2:-1]) for row in shown] == [(row[0], *row[2:-1]) for row in printed]
    for row in shown:
        assert len(row[-1].split(", ")) == len(row[0].split(", "))
        assert all(float(ms) > 0 for ms in row[-1].split(", "))


def test_page_names_compared_versions() -> None:
    pins = ROOT / ".ci" / "bench.txt"
    if not pins.exists():
        pytest.skip("no checkout")
    pinned = dict(re.findall(r"([\w-]+)==([\d.]+\d)", pins.read_text(encoding="utf-8")))
    for row in cells((ROOT / "docs" / "fairness.md").read_text(encoding="utf-8")):
        package, version = row[1].split()
        assert pinned[package.replace("_", "-")] == version


def test_overhead_is_measured_on_first_task_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    monkeypatch.setattr(adapters, "SUGGESTIONS", 2)
    assert adapters.overhead("tpe") > 0
    monkeypatch.setattr(adapters, "TASKS", ("FIESTA-tdsa8-v0",))
    assert math.isnan(adapters.overhead("tpe"))
