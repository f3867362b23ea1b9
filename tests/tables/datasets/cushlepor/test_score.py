"""HLEPOR scores of a user's file."""

import json
from pathlib import Path

import pytest

from hpo_envs.tables import hlepor
from hpo_envs.tables.datasets.cushlepor.score import main

TSV = "hypothesis\treference\nthe cat sat\tthe cat sat down\na red boat\ta red ship\n"


def test_scores_of_file_and_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my.tsv").write_text(TSV)
    (tmp_path / "s.json").write_text(json.dumps(dict.fromkeys(hlepor.NAMES, 2)))
    main([str(tmp_path / "my.tsv"), "--setting", str(tmp_path / "s.json"), "--variant", "released"])
    *scores, mean = capsys.readouterr().out.splitlines()
    expected = hlepor.score(
        ["the cat sat", "a red boat"],
        ["the cat sat down", "a red ship"],
        hlepor.Parameters(2, 2, 2, 2, 2, 2),
        variant="released",
    )
    assert [float(s) for s in scores] == pytest.approx(expected.tolist(), abs=1e-6)
    assert float(mean.split()[1]) == pytest.approx(expected.mean(), abs=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.tsv"], "nowhere.tsv"),
        (["{}", "--setting", "defalt"], "did you mean 'default'"),
        (["{}", "--variant", "x"], "variant must be one of"),
        (["{}", "--setting", "{}.json"], "setting must be JSON with alpha, beta, n"),
    ],
)
def test_errors_name_argument(
    tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.tsv").write_text(TSV)
    (tmp_path / "my.tsv.json").write_text("{}")
    with pytest.raises(SystemExit, match="2"):
        main([w.format(tmp_path / "my.tsv") for w in words])
    assert message in capsys.readouterr().err
