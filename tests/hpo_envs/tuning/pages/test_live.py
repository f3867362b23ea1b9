"""The live page: it shows running evaluations, follows the record, and refuses strangers."""

import hashlib
import http.client
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hpo_envs.tuning import Search
from hpo_envs.tuning.pages.live import LivePage
from hpo_envs.tuning.record import NAME
from tests.hpo_envs.tuning import helpers

# A page may be refreshed between two commands of the driver: each is one, and is repeated where nothing is drawn yet.
CHOOSE = """
const f = document.querySelector("figure[data-chart=slices]"), select = f?.querySelector("select");
if (!select) return false;
select.value = 1;
select.onchange();
f.querySelector(".legend button").click();
document.querySelector("#evaluations th button").click();
return true;
"""
CHOSEN = """
const f = document.querySelector("figure[data-chart=slices]"), select = f?.querySelector("select");
return select && [f.querySelector(":scope > svg").getAttribute("aria-label"), select.value,
  f.querySelector(".legend button").getAttribute("aria-pressed"),
  document.querySelectorAll("#evaluations th[aria-sort=ascending]").length,
  document.querySelectorAll("figure[data-chart=timeline] > svg rect").length];
"""


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
        assert (get(live)[2], (folder / "evaluations.journal").read_bytes()) == (text, before)


@pytest.mark.hostile
@pytest.mark.parametrize("host", ["127.0.0.1", "["])
def test_clients_that_disconnect_or_send_nonsense_print_nothing(
    host: str, live: LivePage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "content", lambda: bytes(10**8))
    with socket.create_connection(live.server_address[:2]) as client:
        client.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert client.recv(1) == b"H"
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset it
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            thread.join(30)
    assert capsys.readouterr().err == ""


@pytest.mark.hostile
@pytest.mark.parametrize("record", ["[" * 10**5, "[1, 2]", '{"what": "search", "space": 3}'])
def test_forged_search_is_named_on_live_page(
    record: str, live: LivePage, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checksum = hashlib.sha256(record.encode()).hexdigest()[:16]
    (folder / NAME).write_text(f"{checksum} {record}\n", encoding="ascii")
    status, headers, text = get(live)
    assert (status, f"{NAME}, line 1: must be" in text, capsys.readouterr().err) == (500, True, "")
    (folder / NAME).unlink()  # as a search whose first evaluations are a mistake does
    assert (headers["Refresh"], get(live)[0]) == ("3", 200)


@pytest.mark.hostile
def test_strangers_get_nothing(live: LivePage, folder: Path) -> None:
    assert (live.server_address[0], get(live, Host="localhost:1")[0]) == ("127.0.0.1", 200)
    assert (get(live, Host="rebound.example")[0], get(live, "/../evaluations.journal")[0]) == (403, 404)
    assert get(live, method="POST")[0] == 501
    if socket.has_dualstack_ipv6():
        for server in serving(LivePage(folder, host="::1")):
            assert server.url == f"http://[::1]:{server.server_address[1]}/"
            assert [get(server)[0], get(server, Host="rebound.example")[0]] == [200, 403]
    for server in serving(LivePage(folder, host="0.0.0.0")):
        assert [get(server, p)[0] for p in ("/", "/?token=x", f"/?{urlsplit(server.url).query}")] == [403, 403, 200]
    with pytest.raises(ValueError, match="folder must be that of a search, got"):
        LivePage(folder / "none")
    with pytest.raises(ValueError, match="host must be an IP address, got 'nonsense'"):
        LivePage(folder, host="nonsense")
    with pytest.raises(ValueError, match="port must be from 0 to 65535, got 65536"):
        LivePage(folder, 65536)


@pytest.mark.browser
def test_in_browser_live_page_refreshes_and_keeps_choices(browser: Any, live: LivePage, folder: Path) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    with Search(helpers.SPACE, out=folder, budget=9) as search:
        for x in (0.25, 0.5):
            search.tell(search.ask(), x)
        browser.get_log("browser")
        browser.get(live.url)
        WebDriverWait(browser, 60).until(lambda b: b.execute_script(CHOOSE))
        trial = search.ask()
        trial.report(0.125, 3)
        WebDriverWait(browser, 60).until(lambda b: "Running: 1" in b.page_source)
        label, chosen, lit, order, bars = WebDriverWait(browser, 60).until(lambda b: b.execute_script(CHOSEN))
        assert label.startswith("kind: score by kind")
        assert (chosen, lit, order, bars) == ("1", "false", 1, 3)
        search.tell(trial, 0.75)
        WebDriverWait(browser, 60).until(lambda b: "Best: score 0.75" in b.page_source)
        assert browser.get_log("browser") == []
