"""The catalogue of upstream files."""

from __future__ import annotations

import re
from pathlib import Path

from hpo_envs.tables import catalogue


def test_catalogue_rows_are_well_formed() -> None:
    for name, record in catalogue.files().items():
        assert name == record.file
        assert not record.file.startswith("/")
        assert ".." not in Path(record.file).parts
        assert re.fullmatch(r"[0-9a-f]{40}", record.commit)
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", record.repository)
        assert re.fullmatch(r"[0-9a-f]{64}|gitblob:[0-9a-f]{40}", record.sha256)
        assert record.bytes >= (0 if record.sha256.startswith("gitblob:") else 1)
        assert record.licence
    # Users' own tables, and CellMini, whose text ships, come from no file that is fetched.
    assert set(catalogue.DATASETS) - {"cellmini", "user"} <= set(catalogue.datasets())
