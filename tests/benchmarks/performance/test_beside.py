"""Programs beside each other: what is counted, and that the model is replaced where it must be."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks.performance import beside


def test_lines_are_those_of_code(tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text('"""Doc."""\n\nimport sys  # here\n# comment\nprint(1)\n', encoding="utf-8")
    assert beside.lines(program) == 2
    assert beside.lines(beside.EXAMPLE) <= 15


def test_a_model_that_does_nothing_takes_the_place_of_the_other(tmp_path: Path) -> None:
    plain = (beside.copied(tmp_path / "a", False) / beside.EXAMPLE.name).read_text(encoding="utf-8")
    empty = (beside.copied(tmp_path / "b", True) / beside.EXAMPLE.name).read_text(encoding="utf-8")
    assert ("sklearn import" in plain, "sklearn import" in empty) == (True, False)
    namespace: dict[str, object] = {"__name__": "copied"}
    exec(empty, namespace)
    assert namespace["train"]({"gamma": 0.25}) == 0.25  # type: ignore[operator]


def test_processor_time_is_measured_and_failure_is_seen(tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text("print('first')\nprint(sum(range(10**6)))", encoding="utf-8")
    seconds, said = beside.measure(program, tmp_path)
    assert (seconds > 0, said) == (True, "499999500000")
    program.write_text("raise ValueError('wrong')", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"(?s)p\.py must end well, got .*wrong"):
        beside.measure(program, tmp_path)
