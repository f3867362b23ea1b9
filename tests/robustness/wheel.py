"""Check wheels: `python -m tests.robustness.wheel WHEEL [ANOTHER]`; CI builds the other one without links.

A wheel must have every module of the checkout, and nothing but the package and its metadata. Both wheels must have the
same files. Returns 1 and prints the differences otherwise.
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
    """Errors in the list of files of a wheel of a package with these modules."""
    names, wanted = set(names), set(modules)
    package = {n.removeprefix("hpo_envs/") for n in names if n.startswith("hpo_envs/")}
    others = {n for n in names if not n.startswith(("hpo_envs/", "hpo_envs-"))}
    return [*(f"missing: {m}" for m in sorted(wanted - package)), *(f"too much: {m}" for m in sorted(others))]


def main(arguments: Sequence[str]) -> int:
    """Print the errors of one wheel, or the differences of two."""
    first, *others = map(entries, arguments)
    wrong = mistakes(first, sources()) + [f"in one wheel only: {n}" for other in others for n in sorted(first ^ other)]
    print("\n".join(wrong) or f"{len(first)} files" + ", the same without links" * len(others))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
