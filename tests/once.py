"""A plugin of pytest, `-p tests.once`: the tests that pass are written to the file ONCE; those in it are left out."""

import os
from pathlib import Path

import pytest

FILE = Path(os.environ["ONCE"])
BEFORE = set(FILE.read_text("utf-8").splitlines()) if FILE.exists() else set()
PASSED: list[str] = []
os.environ.pop("PYTEST_ADDOPTS", None)  # not for what tests start themselves


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what passed before."""
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in BEFORE])
    items[:] = [item for item in items if item.nodeid not in BEFORE]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Notes what passes."""
    if report.when == "call" and report.passed:
        PASSED.append(report.nodeid)


def pytest_sessionfinish() -> None:
    """Writes what passed; workers have not seen everything."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        FILE.write_text("".join(f"{name}\n" for name in sorted(BEFORE.union(PASSED))), "utf-8")
