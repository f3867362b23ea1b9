"""Tasks of TextMini and their splits."""

import pytest

from hpo_envs.tables.datasets.textmini import tasks
from tests.helpers import needs_upstream


def test_split_holds_out_by_hash_whatever_the_order():
    examples = [(str(i), i % 2) for i in range(50)]
    parts = tasks.split(examples, 5, 10)
    assert parts == tasks.split(examples[::-1] + examples[:3], 5, 10)
    assert [len(parts[part]) for part in tasks.PARTS] == [35, 5, 10]
    assert sorted(e for part in parts.values() for e in part) == sorted(examples)


def test_parts_are_capped_by_tokens_of_whole_sentences(monkeypatch):
    sentences = [((f"a{i}", "b", "c"), ("X", "Y", "Z")) for i in range(9)]
    parts = dict.fromkeys(tasks.PARTS, sentences)
    task = tasks.TextTask("tagging", "und", "tokens", (), lambda: parts, (27, 7, 2))
    assert [len(part) for part in task.parts().values()] == [9, 2, 0]


@needs_upstream
@pytest.mark.parametrize("name", tasks.listed())
def test_tasks_are_read_from_upstreams_files(name):
    task = tasks.of(name)
    parts = task.parts()
    assert all(len(part) > 50 for part in parts.values())
    inputs = {part: {example[0] for example in parts[part]} for part in parts}
    shared = len(inputs["train"] & inputs["test"]) / len(inputs["test"])
    assert shared < 0.1
    labels = {tag for _, y in parts["train"] for tag in ([y] if task.kind == "classification" else y)}
    assert 2 <= len(labels) <= 77
