"""A sweep as a CSV file, a table of CSV text, and a search space as a plain dict."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.tables import user
from hpo_envs.tables.table import Table

SWEEP = """id,lr,layers,optimiser,momentum,amp,accuracy,seconds
a,0.00001,1,sgd,0.9,true,0.71,10
b,0.001,2,adam,,false,0.82,20
c,0.01,4,sgd,0.5,true,0.77,31
d,0.1,4,adam,,false,,5
e,0.003,2,adam,,true,0.84,22
f,0.0002,1,sgd,0.7,false,0.79,12
g,0.02,4,adam,,true,0.69,33
h,0.0005,2,sgd,0.8,false,nan,21
"""

PLAIN = {
    "lr": (1e-5, 1e-1, "log"), "layers": (1, 6), "width": [32, 64, 128], "optimizer": ["sgd", "adam"],
    "momentum": {"low": 0.0, "high": 0.99, "if": {"optimizer": ["sgd"]}},
    "nesterov": {"choices": [True, False], "if": {"optimizer": "sgd"}}, "data": "small",
}  # fmt: skip


def write(tmp_path: Path, text: str, name: str = "sweep.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def frame(rows: int) -> Any:
    """A pandas DataFrame of random runs."""
    import pandas as pd

    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{j}": rng.uniform(0, 1, rows) for j in range(13)}
    columns |= {f"n{j}": rng.integers(1, 2000, rows) for j in range(3)}
    columns["optimizer"] = np.array(["adam", "sgd", "lion"])[rng.integers(0, 3, rows)]
    columns["schedule"] = np.array(["cosine", "linear"])[rng.integers(0, 2, rows)]
    columns["accuracy"], columns["seconds"] = rng.uniform(0, 1, rows), rng.uniform(1, 9, rows)
    return pd.DataFrame(columns)


def from_text(content: bytes, *args: Any, **options: Any) -> Table:
    """The table of a CSV file with this content, called `text.csv`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.csv")
        path.write_bytes(content)
        return user.from_csv(path, *args, **options)
