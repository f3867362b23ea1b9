"""The live page: it shows running evaluations, follows the record, and refuses strangers."""

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hpo_envs.tuning import Search
from hpo_envs.tuning.pages.live import LivePage
from tests.hpo_envs.tuning import helpers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "search").mkdir()
    return tmp_path / "search"


def serving(server: LivePage) -> Iterator[LivePage]:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def live(folder: Path) -> Iterator[LivePage]:
    yield from serving(LivePage(folder))


def get(server: LivePage, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, Any, str]:
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read().decode()


def test_page_follows_running_search(live: LivePage, folder: Path) -> None:
    assert "has not begun" in get(live)[2]
    with Search(helpers.SPACE, out=folder, budget=9) as search:
        first, second = search.ask(), search.ask()
        second.report(0.25, 3)
        status, headers, text = get(live)
        assert (status, headers["Refresh"]) == (200, "3")
        assert "Running: 2" in text
        assert ">0.25<" in text
        search.tell(first, 0.875)
        text = get(live)[2]
        assert "Running: 1" in text
        assert "Best: score 0.875" in text
        before = (folder / "evaluations.journal").read_bytes()
        assert get(live)[2] == text
        assert (folder / "evaluations.journal").read_bytes() == before


@pytest.mark.hostile
def test_strangers_get_nothing(live: LivePage, folder: Path) -> None:
    assert live.server_address[0] == "127.0.0.1"
    assert get(live, Host="localhost:1")[0] == 200
    assert get(live, Host="rebound.example")[0] == 403
    assert get(live, "/../evaluations.journal")[0] == 404
    assert get(live, method="POST")[0] == 501
    for server in serving(LivePage(folder, host="0.0.0.0")):
        assert [get(server, path)[0] for path in ("/", "/?token=x", f"/?{urlsplit(server.url).query}")] == [
            403,
            403,
            200,
        ]
    with pytest.raises(ValueError, match="folder must be that of a search, got"):
        LivePage(folder / "none")
