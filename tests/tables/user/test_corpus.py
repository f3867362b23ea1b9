"""Published result files, if present (see `corpus`): no wrong number, no lost run, few wrong columns."""

import pytest

from tests.tables.user import corpus


@pytest.mark.skipif(not corpus.FOLDER.name, reason="needs the files of corpus.tsv in HPO_ENVS_CORPUS")
def test_published_files_are_right_or_asked() -> None:
    outcomes = {f"{file.repository}/{file.path}": corpus.outcome(file) for file in corpus.FILES.itertuples()}
    assert len(outcomes) >= 30
    assert [name for name, found in outcomes.items() if not (found.numbers and found.runs)] == []
    assert {column for found in outcomes.values() for column in found.wrong} == set()
    right, asked = (sum(len(found[i]) for found in outcomes.values()) for i in (0, 1))
    assert right >= 0.9 * (right + asked)


def test_corpus_names_each_file_once_with_its_hash() -> None:
    files = corpus.FILES
    assert len(files) >= 30
    assert not files.duplicated(["repository", "path"]).any()
    assert files["sha256"].str.fullmatch("[0-9a-f]{64}").all()
    assert files["commit"].str.fullmatch("[0-9a-f]{40}").all()
