"""No network except for fetching; pinned hashes; pages with escaped texts."""

import ast
import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.benchmarks import Comparison, runs
from hpo_envs.benchmarks.report.page import render
from hpo_envs.tables import user
from tests.helpers import sources
from tests.robustness import audit

pytestmark = pytest.mark.hostile

NETWORK = "socket ssl pooch requests urllib.request urllib3 http http.client http.server aiohttp httpx".split()


def test_one_module_connects_and_one_listens() -> None:
    """ruff's rules S cover pickle, eval, shells and the like."""
    files = sources()
    assert len(files) > 150
    found = set()
    for file, path in files.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
            found |= {(file, name) for name in names if name in NETWORK}
    connects, listens = ("tables/files/download.py", "requests"), "tuning/pages/live.py"
    assert found == {connects, (listens, "http"), (listens, "http.server"), (listens, "socket")}


def test_numpy_files_hold_no_objects() -> None:
    """Files that ship can be read without pickle."""
    import numpy as np

    files = sources(".npz")
    assert files
    for path in files.values():
        with np.load(path, allow_pickle=False) as data:
            assert all(data[name].dtype.kind != "O" for name in data.files), path


def test_verdicts_of_audit() -> None:
    def found(*fixes: list[str]) -> dict[str, Any]:
        vulns = [{"id": f"V-{i}", "fix_versions": f} for i, f in enumerate(fixes)]
        return {"dependencies": [{"name": "p", "version": "1", "vulns": vulns}]}

    assert audit.verdict(found(), "") == (0, "1 packages asked about")
    assert audit.verdict(found([]), "") == (0, "1 packages asked about\np 1: V-0, not mended yet")
    assert audit.verdict(found([], ["2", "3"]), "")[0] == 1
    assert "V-1, mended in 2, 3" in audit.verdict(found([], ["2", "3"]), "")[1]
    assert audit.verdict(None, "no network") == (
        0, "skipped: no service that knows vulnerabilities answers here (no network)"
    )  # fmt: skip
    status, text = audit.verdict({"dependencies": [{"name": "p", "skip_reason": "not found"}]}, "")
    assert status == 0
    assert "skipped: the service knows none of the packages (not found)" in text


HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>&lt;{x}${x}<!--"


class Tags(HTMLParser):
    """Collects elements with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(k for k, _ in attrs)))

    def handle_comment(self, data: str) -> None:
        self.tags.append(("comment", ()))


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    made = [
        r
        for env in ("NMTHPO-zhen-v0", "NMTHPO-enja-v0")
        for agent in ("random", "bo-spread")
        for r in runs.run(agent, env, range(3), budget=4)
    ]
    found = Comparison.of(made).summary(title="the title", command="the command")
    found["versions"]["published"] = "the day"
    return found | {"checked": "the check"}


def unpacked(page: str) -> dict[str, Any]:
    """The data of a page."""
    packed = re.search(r'id="data">([\w+/=]+)</script>', page)
    assert packed is not None
    return dict(json.loads(gzip.decompress(base64.b64decode(packed[1]))))


def poisoned(value: Any, names: dict[str, str]) -> Any:
    """The same data with every string that a user or a table can choose replaced, keys included."""
    if isinstance(value, dict):
        return {names.get(k, k): poisoned(v, names) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [poisoned(v, names) for v in value]
    return names.get(value, value) if isinstance(value, str) else value


def test_nothing_in_page_is_markup_but_page(found: dict[str, Any]) -> None:
    env = found["environments"]
    chosen = {found["title"], found["command"], found["checked"], *found["versions"], *found["versions"].values()}
    chosen |= {e[k] for e in env for k in ("label", "id", "family", "cost_unit")}
    chosen |= {t[k] for e in env for t in e["tables"] for k in ("name", "sha256")} | {
        o for e in env for o in e["objectives"]
    }
    chosen |= {a[k] for a in found["agents"] for k in ("label", "name", "summary")} | {
        t["name"] for t in found["tracks"]
    }
    names = {text: f"{HOSTILE}{i}" for i, text in enumerate(sorted(chosen - {"", "hpo_envs", "random", "published"}))}
    bad = poisoned(found, names)
    plain = render(found, citations=["cite"])
    text = render(bad, citations=[HOSTILE])
    assert (sum(text.count(f"{i}") > 0 for i in range(len(names))), Tags(text).tags) == (len(names), Tags(plain).tags)
    data, clean = unpacked(text), unpacked(plain)
    assert HOSTILE in data["title"]
    # Rows that the page's script puts in.
    for key, rows in data["rows"].items():
        assert Tags(rows).tags == Tags(clean["rows"][key]).tags
        assert len(Tags(rows).tags) > 10
    assert "default-src 'none'" in text


def test_teeth_markup_that_gets_through_is_seen(found: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from hpo_envs.benchmarks.report import page

    monkeypatch.setattr(page, "escape", lambda text: text)
    text = page.render({**found, "title": HOSTILE})
    assert Tags(text).tags != Tags(page.render({**found, "title": "title"})).tags


def test_table_named_like_markup(tmp_path: Path) -> None:
    """Columns, metrics and units of a user's file can be any text; names of tables cannot."""
    file = tmp_path / "own.csv"
    head = ["<script>rate", "<b>score", "<i>seconds"]
    file.write_text(",".join(head) + "\n0.1,1,5\n0.2,2,6\n0.3,4,7\n")
    with pytest.raises(ValueError, match="name must be at most 80 letters, digits"):
        user.from_csv(file, head[1], "max", cost=head[2], name="<script>")
    table = user.from_csv(file, head[1], "max", cost=head[2], name="markup")
    made = runs.run("random", "TableHPO-v0", range(2), budget=10, env_kwargs={"table": table, "cost": head[2]})
    found = Comparison.of(made).summary(title="own")
    text = render(found)
    for word in head:
        assert word not in text
    assert "&lt;b&gt;score" in text
