"""The report: its content, escaping of all texts, and behaviour in a real browser."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.report.page import render
from hpo_envs.benchmarks.runs import run
from hpo_envs.benchmarks.study import store
from hpo_envs.commands.main import main
from hpo_envs.tuning import tune

HOSTILE = "</script><script>document.title='broken'</script>\"><img src=x onerror=\"document.title='broken'\">"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: two environments with one objective, one with two."""
    path = tmp_path_factory.mktemp("report") / "runs"
    plan = {
        "NMTHPO-zhen-v0": ("random", "graph-ei-rbf", "bo-ei-rbf"),
        "NMTHPO-jaen-v0": ("random", "graph-ei-rbf", "bo-ei-rbf"),
        "NMTHPO-zhen-mo-v0": ("random", "bo-ehvi-rbf"),
    }
    for env, agents in plan.items():
        for agent in agents:
            store.write(run(agent, env, range(8)), path)
    return path


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Any]:
    return Comparison.load(folder).summary()


def test_command_writes_page_and_summary(folder: Path, tmp_path: Path, cli: Any) -> None:
    page, scores = tmp_path / "p" / "page.html", tmp_path / "scores.json"
    out = cli(["report", str(folder), "--out", str(page), "--summary", str(scores), "--title", "Mine"])
    assert "NMTHPO: " in out
    assert str(page) in out
    text = page.read_text(encoding="utf-8")
    assert "<title>Mine</title>" in text
    assert main(["report", str(scores), "--out", str(tmp_path / "again.html")]) == 0
    assert ((tmp_path / "again.html").read_text(encoding="utf-8"), main(["report", str(folder)])) == (text, 0)
    assert (folder / "report.html").exists()


def hostile(found: dict[str, Any]) -> dict[str, Any]:
    """The summary with a name that tries to break out of its context wherever a user's text is shown."""
    text = json.dumps(found).replace("graph-ei-rbf", json.dumps(HOSTILE)[1:-1])
    return {**json.loads(text), "title": HOSTILE, "command": HOSTILE}


def test_control_characters_are_shown_as_escapes(tmp_path: Path) -> None:
    hidden, shown = "a\x1b[31m\u202eb\\u202e", "a\\x1b[31m\\u202eb"
    tuned = tune(lambda c: float(len(c["opt"])), {"opt": [hidden, "c"]}, budget=3, progress=False)
    page = tuned.report(tmp_path / "page.html").read_text(encoding="utf-8")
    (packed,) = re.findall(r'id="data">(.*?)</script>', page)
    data = gzip.decompress(base64.b64decode(packed)).decode()
    assert shown in page
    assert "\\\\u001b[31m\\\\u202eb" in data
    for text in (page, *map(str, _strings(json.loads(data)))):
        assert not {"\x1b", "\u202e"} & {*text}


def _strings(data: Any) -> list[Any]:
    inside = [*data, *data.values()] if isinstance(data, dict) else data if isinstance(data, list) else []
    return [s for part in inside for s in _strings(part)] or [data]


@pytest.fixture
def page(browser: Any, found: dict[str, Any], tmp_path: Path) -> Any:
    file = tmp_path / "page.html"
    file.write_text(render(hostile(found), citations=["A paper"]), encoding="utf-8")
    browser.get_log("browser"), browser.get_log("performance")
    browser.set_window_size(1200, 900)
    browser.get(file.as_uri())
    return browser


def column(page: Any, table: str, index: int) -> list[str]:
    rows = page.find_elements("css selector", f"#{table} tbody tr:not([hidden])")
    return [r.find_elements("css selector", "td,th")[index].text for r in rows]


def chart_of(page: Any, figure: str) -> Any:
    return page.find_element("css selector", f"figure[data-chart={figure}] > svg")


@pytest.mark.browser
def test_in_browser_it_shows_sorts_filters_and_asks_for_nothing(page: Any) -> None:
    assert (page.title, page.find_element("tag name", "h1").text) == (HOSTILE, HOSTILE)
    assert [h.text for h in page.find_elements("css selector", "h2")] == ["Summary", "Results", "Method"]
    # Sort: a click sorts upwards, the next one downwards; numbers as numbers.
    head = page.find_elements("css selector", "#all th button")[3]
    for direction in ("ascending", "descending"):
        head.click()
        values = [float(text.split()[0]) for text in column(page, "all", 3)]
        assert values == sorted(values, reverse=direction == "descending")
        assert page.find_elements("css selector", "#all thead th")[3].get_attribute("aria-sort") == direction
    assert len(values) == 8
    page.find_element("id", "filter").send_keys("jaen random")
    assert (column(page, "all", 0), page.find_element("id", "count").text) == (["NMTHPO-jaen-v0"], "1 of 8 rows")
    # Every chart is drawn, whether somebody scrolls to it or not, with a line for every agent.
    figures = [f.get_attribute("data-chart") for f in page.find_elements("css selector", "figure")]
    assert len(figures) == 4 * 2 + 2
    for figure in figures:
        chart = chart_of(page, figure)
        assert len(chart.find_elements("css selector", "path[fill=none]")) in (2, 3)
        assert all("NaN" not in p.get_attribute("d") for p in chart.find_elements("css selector", "path"))
    asked = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    urls = [m["params"]["request"]["url"] for m in asked if m["method"] == "Network.requestWillBeSent"]
    assert (urls, page.get_log("browser")) == ([page.current_url], [])


@pytest.mark.browser
def test_in_browser_page_of_search_draws_points_and_lines(browser: Any, tmp_path: Path) -> None:
    def train(config: Any) -> float:
        if config["lr"] > 1e-2:
            raise MemoryError
        return float(config["x"] + (config["kind"] == "a"))

    space = {"x": (0.0, 1.0), "lr": {"low": 1e-5, "high": 0.1, "log": True}, "kind": ["a", "b"]}
    tuned = tune(train, space, budget=9, agent="random", progress=False, out=tmp_path, tolerate=True)
    good, failed = len(tuned.successes), 9 - len(tuned.successes)
    assert 0 < failed < 9
    browser.get_log("browser")
    browser.get(tuned.report().as_uri())
    drawn = {
        figure.get_attribute("data-chart"): [
            len(figure.find_elements("css selector", f":scope > svg {n}")) for n in ("circle", ".cross", "path", "rect")
        ]
        for figure in browser.find_elements("css selector", "figure")
    }
    # Points and crosses; the incumbent, and the band of the predicted mean around its line; bars of workers.
    assert drawn == {
        "curve-0": [good, failed, failed + 3, 0],
        "parallel": [0, 0, 9, 0],
        "slices": [good + 1, failed, failed, 0],
        "timeline": [0, 0, 2, 9],
    }
    texts = [t.text for t in browser.find_elements("css selector", "figure[data-chart=parallel] > svg .value")]
    assert {"a", "b", "1e-5", "0.001", "0.1"} <= {*texts}  # values and categories, not shares
    assert browser.get_log("browser") == []


@pytest.mark.browser
def test_in_browser_charts_answer_keyboard_and_pointer(page: Any) -> None:
    from selenium.webdriver import ActionChains

    chart = chart_of(page, "track-0-regret")
    figure = chart.find_element("xpath", "..")
    readout = figure.find_element("css selector", ".readout")
    chart.send_keys("\ue014")  # right arrow
    first = readout.text
    assert first.startswith("share of the budget 0.02\n")
    assert "random: 1" in first
    chart.send_keys("\ue014")
    assert readout.text.startswith("share of the budget 0.04\n")

    def labels() -> list[str]:
        return [t.text for t in chart.find_elements("css selector", "text")]

    whole = labels()
    chart.send_keys("+")
    assert labels() != whole
    chart.send_keys("0")
    assert labels() == whole
    ActionChains(page).move_to_element(chart).perform()
    assert readout.text.startswith("share of the budget 0.")
    ActionChains(page).click_and_hold(chart).move_by_offset(120, 0).release().perform()
    assert labels() != whole
    # An agent can be put into the background, by keyboard too.
    button = figure.find_element("css selector", ".legend button")
    button.send_keys("\n")
    assert button.get_attribute("aria-pressed") == "false"
    widths = [p.get_attribute("stroke-width") for p in chart.find_elements("css selector", "path[fill=none]")]
    assert widths == ["1", "2", "2"]
    # Another environment, in the chart that has a choice.
    explorer = chart_of(page, "environments").find_element("xpath", "..")
    option = explorer.find_elements("css selector", "option")[1]
    assert option.text == "NMTHPO-zhen-mo-v0, by evaluations"
    option.click()
    assert "NMTHPO-zhen-mo-v0" in explorer.find_element("css selector", ":scope > svg").get_attribute("aria-label")
    assert page.get_log("browser") == []


@pytest.mark.browser
def test_in_browser_it_fits_phone_and_saves_its_data(page: Any) -> None:
    devtools = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", devtools)
    try:
        assert page.execute_script("return document.scrollingElement.scrollWidth") <= 360
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    cells = ["=1+2", "-5", "-5e-3", "+a", "@x", 'a"b', "a\rb", "-", None, -5]
    quoted = ["'=1+2", "-5", "-5e-3", "'+a", "'@x", '"a""b"', "a\\rb", "-", "", "-5"]
    assert page.execute_script("return arguments[0].map(quoted)", cells) == quoted
    # What a click would download, caught before it is saved.
    page.execute_script("window.saved = []; save = (name, type, text) => window.saved.push([name, text])")
    for b in page.find_elements("css selector", "figure[data-chart=track-0-regret] .tools button"):
        if b.text.startswith("Data"):
            b.click()
    for b in page.find_elements("css selector", "#everything, button[data-table=all]"):
        page.execute_script("arguments[0].click()", b)
    (name, chart), (_, table), (_, everything) = page.execute_script("return window.saved")
    assert name == "Regret over the budget, NMTHPO.csv"
    assert chart.splitlines()[0] == "series,share of the budget,normalised regret,low,high"
    assert len(chart.splitlines()) == 1 + 3 * 50
    assert table.splitlines()[0].startswith("environment,agent,runs,mean regret")
    assert (len(table.splitlines()), json.loads(everything)["title"], page.get_log("browser")) == (9, HOSTILE, [])
