"""Pictures without a window."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def without_a_window() -> Iterator[None]:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")
