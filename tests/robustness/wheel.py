"""Looks into wheels: `python -m tests.robustness.wheel WHEEL [ANOTHER]`. CI builds the other one without links.

A wheel holds every module of the checkout, and nothing beside the package and its metadata. Both wheels hold the same
files. Returns 1 and says what is wrong otherwise.
"""

import sys
import zipfile
from collections.abc import Iterable, Sequence

from tests.helpers import sources


def entries(wheel: str) -> set[str]:
    """Names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def mistakes(names: Iterable[str], modules: Iterable[str]) -> list[str]:
    """What is wrong with the files of a wheel of a package that has these modules."""
    names, wanted = set(names), set(modules)
    package = {n.removeprefix("hpo_envs/") for n in names if n.startswith("hpo_envs/")}
    others = {n for n in names if not n.startswith(("hpo_envs/", "hpo_envs-"))}
    return [*(f"missing: {m}" for m in sorted(wanted - package)), *(f"too much: {m}" for m in sorted(others))]


def main(arguments: Sequence[str]) -> int:
    """Prints what is wrong with one wheel, or how two differ."""
    first, *others = map(entries, arguments)
    wrong = mistakes(first, sources()) + [
        f"in one wheel only: {name}" for other in others for name in sorted(first ^ other)
    ]
    print("\n".join(wrong) or f"{len(first)} files" + ", the same without links" * len(others))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
