"""Logs and archives of the released form, to damage."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from hpo_envs.tables.cells.recipe import EXAMPLES


def zipped(**members: bytes | str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in members.items():
            z.writestr(name, content)
    return stream.getvalue()


def log(**changes: Any) -> dict[str, Any]:
    """A log of the released form, three epochs long."""
    data = {
        "recepie_id": 1000000,
        "experiment_id": 7,
        "init_time": "2020-04-28_17-16-54",
        "recepie": EXAMPLES["RNN"].to_json(),
        "num_params": 15066078,
        "wall_times": [3.0, 2.0, 2.0],
        "train_losses": [7.0, 6.0, 5.5],
        "val_losses": [7.1, 6.1, 5.6],
        "test_losses": [7.2, 6.2, 5.7],
        "status": "OK",
    }
    return data | changes
