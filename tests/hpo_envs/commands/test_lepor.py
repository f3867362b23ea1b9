"""`hpo-envs lepor`: scoring, tuning a user's file, its errors."""

import json
import random

import pytest

from hpo_envs.commands.main import main
from hpo_envs.tables import hlepor
from tests.tables.datasets.cushlepor.test_build import write_test_set


@pytest.fixture
def tsv(tmp_path):
    """Sixty segments in three documents whose human score is the share of words kept."""
    rng = random.Random(0)
    words = [f"w{i}" for i in range(30)]
    lines = ["hypothesis\treference\tscore\tdocument"]
    for i in range(60):
        reference = rng.choices(words, k=12)
        keep = rng.randrange(2, 12)
        hypothesis = reference[:keep] + rng.choices(["x", "y"], k=12 - keep)
        rng.shuffle(hypothesis)
        lines.append(f"{' '.join(hypothesis)}\t{' '.join(reference)}\t{100 * keep / 12:.1f}\td{i // 20}")
    path = tmp_path / "my.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_tune_then_score(tsv, tmp_path, capsys):
    out = tmp_path / "tuned.json"
    arguments = ["lepor", "tune", str(tsv), "--budget", "40", "--out", str(out), "--score-range", "0", "100"]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "cushlepor/my: 60 segments, held out: d2" in text
    found = json.loads(out.read_text(encoding="utf-8"))
    # Words count and their order does not: a tuner must give the order little weight.
    p = found["parameters"]
    assert p["weight_pr"] > 5 * p["weight_pos"]
    assert found["agreement"]["pearson"] > 0.9
    assert found["held_out"]["pearson"] > 0.9
    lines = {line.split("  ")[0].strip(): line for line in text.splitlines()}
    assert float(lines["tuned"].split()[1]) >= max(float(lines[name].split()[1]) for name in hlepor.PRESETS)
    assert main(["lepor", "score", str(tsv), "--setting", str(out)]) == 0
    *scores, mean = capsys.readouterr().out.splitlines()
    assert len(scores) == 60
    setting = hlepor.Parameters(**p)
    first, reference = tsv.read_text(encoding="utf-8").splitlines()[1].split("\t")[:2]
    assert float(scores[0]) == pytest.approx(hlepor.score(first, reference, setting, variant="released"), abs=1e-6)
    assert mean.startswith("mean 0.")


def test_tune_folder_of_release(tmp_path, capsys):
    folder = write_test_set(tmp_path / "ted" / "zhen")
    assert main(["lepor", "tune", str(folder), "--budget", "12", "--reference", "B", "--objective", "rmse"]) == 0
    assert "cushlepor/ted-zhen: 6 segments, held out: talk.2" in capsys.readouterr().out


def test_presets_are_listed(capsys):
    assert main(["lepor", "presets"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in hlepor.PRESETS)
    assert "weight_pos=11.79" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tune", "nowhere.tsv"], "data must be a TSV file or a folder, got nowhere.tsv"),
        (["tune", "{tsv}", "--agent", "sh"], "--agent must be one of "),
        (["tune", "{tsv}", "--agent", "tqe"], "did you mean 'tpe'"),
        (["tune", "{tsv}", "--objective", "pearsn"], "objective must be one of"),
        (["tune", "{tsv}", "--held-out", "d9"], "held_out must name documents, d0, d1, d2, got 'd9'"),
        (["tune", "{tsv}", "--budget", "0"], "budget must be"),
        (["tune", "{tsv}", "--score-range", "0", "50"], "score_range must be"),
        (["score", "{tsv}", "--setting", "defalt"], "did you mean 'default'"),
        (["score", "nowhere.tsv"], "nowhere.tsv"),
        (["score", "{tsv}", "--variant", "x"], "variant must be one of"),
    ],
)
def test_errors_are_one_line(tsv, words, message, capsys):
    assert main(["lepor", *(w.format(tsv=tsv) for w in words)]) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert error[-1].startswith("hpo-envs: error: ")
    assert message in error[-1]
