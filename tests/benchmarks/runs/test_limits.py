"""What a run may take of time; memory is tested in `tests/robustness/test_trust.py`."""

import threading
import time

import pytest

from hpo_envs.benchmarks.runs import limits

pytestmark = pytest.mark.hostile


@pytest.mark.parametrize("thread", [False, True])
def test_what_takes_too_long_is_ended_again_and_again(thread: bool) -> None:
    caught: list[str] = []

    def within() -> None:
        with limits.deadline(0.2):
            while len(caught) < 2:
                try:
                    while True:
                        time.sleep(0.01)
                except limits.RunTimeout as error:
                    caught.append(str(error))

    if thread:
        worker = threading.Thread(target=within)
        worker.start()
        worker.join()
    else:
        within()
    assert len(caught) == 2
    time.sleep(0.01)  # nothing rings any more
