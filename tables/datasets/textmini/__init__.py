"""The TextMini tables: small text models on different tasks, trained by this project."""

from pathlib import Path

MEASURED = Path(__file__).with_name("measured")
"""Folder of the measurements, a file per table."""

LABELS = tuple(sorted(file.stem for file in MEASURED.glob("*.npz")))
"""Labels `{task}-{model}` of the tables, sorted."""
