"""Small character models trained by this project: the CharMini tables."""

from pathlib import Path

ARCHITECTURES = ("lstm", "transformer")

ENGLISH = "eng"

SHARED_TASK = (
    "ady", "arm", "bul", "dut", "fre", "geo", "gre", "hin", "hun", "ice", "jpn", "kor", "lit", "rum", "vie",
)  # fmt: skip
"""Languages of SIGMORPHON 2020, task 1, by its codes (ISO 639-2/B)."""

MEASURED = Path(__file__).with_name("measured")
"""Folder of the measurements, a file per language."""

LANGUAGES = tuple(code for code in (ENGLISH, *SHARED_TASK) if (MEASURED / f"{code}.npz").exists())
"""Languages that have been measured, by the codes in names of tables."""

TABLES = tuple(f"charmini/{language}-{architecture}" for language in LANGUAGES for architecture in ARCHITECTURES)
"""Names of the tables."""

ROWS = 64
"""Number of configurations of each table, the first that were drawn."""

EPOCHS = 20
"""Passes over the training words in each run."""

DRAWN = 128
"""Number of configurations drawn for each architecture."""

TRAINED_ON = 1500
"""Number of training words of each language."""


def seeds_of(language: str) -> int:
    """Number of trainings of each configuration of a language."""
    return 3 if language == ENGLISH else 2


def parts_of(table: str) -> tuple[str, str]:
    """Language and architecture of a table, such as `charmini/eng-lstm`."""
    language, _, architecture = table.partition("/")[2].partition("-")
    return language, architecture
