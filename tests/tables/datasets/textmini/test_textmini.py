"""TextMini: spaces, readers, a new task, packed trainings, and the tables."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.families.textmini import measure
from hpo_envs.tables import store
from hpo_envs.tables.datasets.textmini import build, readers, tasks
from hpo_envs.tables.datasets.textmini.space import MODELS, configuration, drawn, module, space

NEW = '''"""Fruit or not: a task of two words."""

from hpo_envs.tables.datasets.textmini.tasks import Examples, TextTask, split


def read(content: bytes) -> dict[str, Examples]:
    """Words and their classes."""
    return split([tuple(line.split(",")) for line in content.decode().splitlines()], 2, 2)


TASK = TextTask("classification", "eng", "texts", ("textmini/fruit.csv",), read, (6, 2, 2))
'''


@pytest.mark.parametrize("model", MODELS)
def test_draws_are_distinct_within_their_ranges_and_cover_them(model):
    configs = drawn(model)
    assert len(np.unique(configs, axis=0)) == len(configs) == module(model).ROWS
    for h, column in zip(space(model), configs.T, strict=True):
        assert (((column >= h.low) & (column <= h.high)) | (column == 0)).all()
        if h.values:
            assert set(h.values) == {h.natural(v) for v in column if h.kind == "categorical" or v or 0 in h.values}
        else:
            values = column if h.condition is None else column[column != 0]
            assert np.quantile(h.scale(values), [0.1, 0.9]) == pytest.approx([0.1, 0.9], abs=0.2)


def test_configuration_has_what_is_active():
    config = configuration("joint", 0)
    assert config["classifier"] == "neighbours"
    assert {name.partition("_")[0] for name in config if name.startswith(("svm", "neigh", "forest"))} == {"neighbours"}
    with pytest.raises(ValueError, match="model must be one of joint, crf, .*got 'jiont', did you mean"):
        space("jiont")


def test_readers_read_upstreams_forms():
    conllu = b"# x\n1-2\tdu\t_\t_\n1\tde\t_\tADP\n2\tle\t_\tDET:a\n\n1\tva\t_\tVERB\n2.1\t_\t_\t_\n"
    assert list(readers.conllu(conllu, 3)) == [(("de", "le"), ("ADP", "DET")), (("va",), ("VERB",))]
    assert list(readers.columns(b"Rio\tB-location\n\t\nhe\tO\n")) == [(("Rio",), ("B-location",)), (("he",), ("O",))]
    assert list(readers.inflections(b"ab\tV;X(2,PL)\tnab\n")) == [
        (("V", "X", "2", "PL", "=", "a", "b"), ("-0", "n", "-0"))
    ]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("names/male.txt", "Ålf\n")
    assert readers.members(stream.getvalue(), "names") == {"male.txt": "Ålf\n"}


@pytest.mark.parametrize(
    "lemma, form, edits",
    [("gehen", "ging", "-0 -4 i n g"), ("on", "non", "-0 n -0"), ("a", "b", "-0 -1 b"), ("abc", "xbz", "-1 x -1 z")],
)
def test_script_makes_form_of_lemma(lemma, form, edits):
    made = readers.script(lemma, form)
    assert " ".join(made) == edits
    last = next(i for i in range(len(made) - 1, 0, -1) if made[i].startswith("-"))
    kept = lemma[-int(made[0]) : len(lemma) + int(made[last])]
    assert "".join([*made[1:last], kept, *made[last + 1 :]]) == form


def test_new_task_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("sklearn")
    assert len(NEW.splitlines()) <= 40
    (tmp_path / "fruit.py").write_text(NEW, encoding="utf-8")
    content = "\n".join(f"{word}{i},{word}" for i in range(5) for word in ("apple", "stone")).encode()
    monkeypatch.setattr(store, "read", lambda file: {"textmini/fruit.csv": content}[file])
    monkeypatch.setattr(tasks, "__path__", [*tasks.__path__, str(tmp_path)])
    assert "fruit" in tasks.listed()
    assert build.models("fruit") == ("joint", "neural")
    suite = measure.suite("fruit", "joint")
    record = suite.train("fruit-joint-1-0")
    assert (record["status"], len(record["epochs"])) == ("ok", 3)
    arrays = suite.packing.pack([record])
    assert suite.compare(arrays, suite.train("fruit-joint-1-0")).verdict == "same"


def test_score_is_accuracy_or_f1():
    counts = np.array([[30.0, 100.0, 100.0, 1.0, 2.0, 4.0], [0.0, 0.0, 0.0, 0.0, 0.0, 9.0]])
    assert build.scores(counts).tolist() == [[30.0, pytest.approx(100.0 / 3.0)], [0.0, 0.0]]


@pytest.mark.parametrize("name", build.NAMES)
def test_tables_are_complete_and_neither_degenerate_nor_noise(name):
    task, _, model = name.partition("/")[2].partition("-")
    arrays = build.packing(task, model).load()
    assert set(build.packing(task, model).complete(arrays).values()) == {module(model).ROWS}
    table = build.shipped(name)
    ends = np.nan_to_num(table.ends("score"))
    mean = ends.mean(axis=1)
    assert np.sqrt(ends.var(axis=1, ddof=1).mean()) < 0.5 * mean.std()
    assert np.median(mean) < mean.max() - 2.0
    done = table.status == 0
    assert ((table.cost[..., -1] > 0) == done).all()
