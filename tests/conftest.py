"""Settings of all tests."""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.helpers import WIDE

# No test asserts a time: machines that run tests can be busy. The same examples every time, unless new ones are wanted.
settings.register_profile("steady", deadline=None, derandomize=not WIDE)
settings.load_profile("steady")

# Nobody's own tables are seen by tests, nor written; folders that other packages make and leave go there, too.
_FOLDER = tempfile.TemporaryDirectory(prefix="hpo-envs-tables-")
for _name in ("HPO_ENVS_TABLES", "SB3_LOGDIR", "TORCHINDUCTOR_CACHE_DIR"):
    os.environ[_name] = os.path.join(_FOLDER.name, _name)


def pytest_unconfigure() -> None:
    """Clean the temporary directory."""
    _FOLDER.cleanup()


def pytest_configure() -> None:
    """Restore Ctrl-C if the tests ignore it (in the background, say), because child processes inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command line; return what it prints, or its message where another exit status than 0 is expected."""

    def run(words: list[str], status: int = 0) -> str:
        from hpo_envs.commands import main

        assert main.main(words) == status
        said = capsys.readouterr()
        return said.err if status else said.out

    return run


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium that logs its console and every request."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (extra test)")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed (Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield started
    started.quit()
