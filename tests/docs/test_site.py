"""The documentation: every block of code runs, and the pages made of code have the promised content."""

import fnmatch
import importlib.util
import re
import shlex
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from hpo_envs import wrappers
from hpo_envs.agents import AGENTS
from hpo_envs.agents.registry import load
from hpo_envs.benchmarks.study import study
from hpo_envs.commands import main
from hpo_envs.families.registry import FAMILIES, SPECS
from tests.helpers import ROOT
from tests.tables.datasets.cushlepor.test_build import write_test_set

DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

from _site import agents, environments, links, markdown, results  # noqa: E402

from hpo_envs.commands import docstrings  # noqa: E402
from hpo_envs.commands.agents import SHOWN  # noqa: E402

ABOVE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md") if (ROOT / name).is_file()]
PAGES = [*ABOVE, *sorted(DOCS.rglob("*.md"))]
TABLES = (
    "sweep.csv",
    "lr,layers,optimiser,accuracy,seconds\n"
    + "\n".join(
        f"{lr},{layers},{o},{0.5 + 0.1 * i / 6:.3f},{10 + i}"
        for i, (lr, layers, o) in enumerate((a, b, c) for a in (1e-3, 1e-2) for b in (1, 2) for c in ("adam", "sgd"))
    ),
)

NOT_RUN = {
    r"(\S*/)?python3? -m venv |(\S*/)?pip |\. \.venv": "installs packages",
    r"(\S*/)?python -m pytest|ruff |mypy$|python docs/build.py": "is a step of CI",
    r"(HPO_ENVS_DATA=\S+ )?python -m hpo_envs\.benchmarks\.": "takes minutes to hours; tests run less of it",
    r"hpo-envs (fetch|leaderboard|reproduce)\b": "needs a network or minutes, and has tests of its own",
    r"hpo-envs compare docs/examples/": "is run by test_study_files_run",
    r"hpo-envs compare .*policy:": "needs a training of minutes",
    r"hpo-envs compare .*--archive": "needs an asset of a release; tests of the archive build one",
    r"hpo-envs compare .*--isolate \S*/": "needs another environment of Python",
    r"hpo-envs compare .*\$SLURM": "is a line of a Slurm script",
    r"hpo-envs .*--(scheduler|storage)": "needs a server",
}
"""Commands that are only parsed -> the reason."""

RUN = ("hpo_envs.tables.datasets.cushlepor.score", "hpo_envs.agents.bandits.select")
"""Modules whose command lines are executed."""

ALONE = ("README.md", "first-comparison.md", "agent-examples.md")
"""Pages whose programs are executed separately, as users copy them."""

SHELL = re.compile(r"(?:\S*/)?hpo-envs$")


def blocks(page: Path) -> list[tuple[str, str, int, str | None]]:
    """(language, text, line, needed module) of every block of a page."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"(?:<!-- needs: (\S+) -->\n)?^```(\w*)\n(.*?)^```", text, re.M | re.S)
    return [(m[2], m[3], text[: m.start(3)].count("\n"), m[1]) for m in found]


def prepare(folder: Path) -> dict[str, Any]:
    """Create what the pages leave to the reader: files, a frame, a training function."""
    import pandas

    (folder / TABLES[0]).write_text(TABLES[1] + "\n", encoding="utf-8")
    train = "def train(config):\n    return config['C'] * config['gamma']\n"
    (folder / "train.py").write_text(train, encoding="utf-8")
    (folder / "scores.csv").write_text("bert,lstm,svm\n.812,.790,.744\n.805,.797,.751\n.809,.801,.740\n", "utf-8")
    rows = [
        ("the cat sat", "the cat sat down", 0.8),
        ("a red boat", "a red ship", 0.5),
        ("it rained", "it snowed", 0.2),
    ]
    lines = ["hypothesis\treference\tscore", *("\t".join(map(str, r)) for r in rows * 3)]
    (folder / "my.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    write_test_set(folder / "wmt-mqm-human-evaluation/ted/zhen")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"batch_size": rng.integers(16, 128, 160), "accuracy": rng.random(160) * 100})
    kinds = ["none", "reduceonplateau", "warmupinvsqrt"]
    frame["scheduler"] = pandas.Categorical(rng.choice(kinds, 160), kinds, ordered=True)
    quality = rng.random(3)
    return {
        "__name__": "page",
        "frame": frame,
        "train_and_score": lambda model: float(quality[model] + 0.01 * rng.standard_normal()),
    }


def run_shell(text: str) -> None:
    """Execute each command of a block that is not in `NOT_RUN`; check modules and extras of the others."""
    for line in text.replace("\\\n", " ").splitlines():
        for command in re.split(r"\s(?:&&|\|)\s", line):
            words = shlex.split(command, comments=True)
            if not words:
                continue
            whole = re.sub(r"^\S*/?hpo-envs ", "hpo-envs ", " ".join(words))
            why = next((why for pattern, why in NOT_RUN.items() if re.match(pattern, whole)), "")
            if SHELL.match(words[0]):
                run_command(words[1:], why)
            elif words[1:2] == ["-c"] and words[0] in ("python", "duckdb"):
                exec(words[2], {}) if words[0] == "python" else duckdb.connect().sql(words[2]).fetchall()
            elif words[:2] == ["python", "-m"] and words[2] in RUN:
                assert importlib.import_module(words[2]).main(words[3:]) in (0, None), command
            else:
                assert why, f"{command} must run, or have a reason in NOT_RUN"
            if "-m" in words[1:2] and "python" in words[0] and words[2].startswith("hpo_envs"):
                assert importlib.util.find_spec(words[2]), words
            for word in words:
                for extra in re.findall(r"\[([\w,]+)\]", word if "pip" in command else ""):
                    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
                    assert set(extra.split(",")) <= set(project["optional-dependencies"]), command


def run_command(words: list[str], why: str) -> None:
    parser, _ = main.parser_of(words[0])
    args = parser.parse_args(words)
    if why:
        return
    if words[0] == "compare":
        shorter = {"--seeds": "2", "--jobs": "1", "--budget": "6"}
        for option, value in shorter.items():
            if option in words:
                words[words.index(option) + 1] = value
        if "--env" in words:
            at = words.index("--env") + 1
            words[at] = ",".join(next(iter(fnmatch.filter(SPECS, each)), each) for each in words[at].split(","))
        words += ["--seeds", "2"] * (not args.study and "--seeds" not in words)
    assert main.main(words) == 0, words


def shorter(text: str) -> str:
    """A program with fewer seeds and less training."""
    return (
        re.sub(r"(?<!classes=)range\([1-9]\d+\)", "range(3)", text)
        .replace("make_vec(64", "make_vec(16")
        .replace("192_000", "6_400")
        .replace("searches=256", "searches=32")
        .replace("steps=150", "steps=5")
    )


def check_toml(text: str) -> None:
    """Plan the study, and write a short one for the following commands."""
    data = tomllib.loads(text)
    if "environments" not in data:  # a search space
        Path("space.toml").write_text(text, encoding="utf-8")
        return
    Path("my_agents.py").write_text("from hpo_envs.agents.random import RandomSearch as Greedy\n", encoding="utf-8")
    Path("study.toml").write_text(text, encoding="utf-8")
    planned = study.from_file(Path("study.toml"))
    assert len(planned.agents) == len(data["agents"])
    first = re.compile(r"\*|\?+")
    short = re.sub(r"(seeds|budget) = \d+", r"\1 = 2", text)
    short = re.sub(r'(environments = )\["([^"]*)"\]', lambda m: m[1] + f'["{first.sub("zhen", m[2])}"]', short)
    Path("study.toml").write_text(short, encoding="utf-8")


@pytest.mark.parametrize("file", sorted((DOCS / "examples").glob("*.toml")), ids=lambda p: p.name)
def test_study_files_run(file: Path, tmp_path: Path) -> None:
    """One seed on the first id."""
    data = tomllib.loads(file.read_text("utf-8"))
    planned = study.from_file(file)
    assert {agent.name for agent in planned.agents} == {a if isinstance(a, str) else a["name"] for a in data["agents"]}
    one = re.sub(r"seeds = \S+", "seeds = 1", file.read_text("utf-8"))
    one = re.sub(r"environments = \[.*?\]", f"environments = [{planned.environments[0].id!r}]", one, flags=re.S)
    (tmp_path / file.name).write_text(one, encoding="utf-8")
    assert main.main(["compare", str(tmp_path / file.name), "--out", str(tmp_path / "runs")]) == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_code_blocks_of_pages_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = blocks(page)
    if not found:
        pytest.skip("no block of code")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path / "data"))  # as for a newcomer
    monkeypatch.setenv("HPO_ENVS_TABLES", str(tmp_path / "tables"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace = prepare(tmp_path)
    if page.name not in ALONE and "from hpo_envs.agents import Problem" not in page.read_text("utf-8"):
        namespace["gym"] = importlib.import_module("gymnasium")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for language, text, line, needed in found:
            if needed and importlib.util.find_spec(needed) is None:
                continue
            if language == "python":
                # Blank lines first, so that a traceback points at the line of the page.
                program = compile("\n" * line + shorter(text), str(page), "exec")
                exec(program, {"__name__": "page"} if page.name in ALONE else namespace)
            elif language == "sh":
                run_shell(text)
            elif language == "toml":
                check_toml(text)
    monkeypatch.undo()
    sys.modules.pop("my_agents", None)
    assert {b[0] for b in found} <= {"python", "sh", "toml", "text", "bibtex", ""}


def test_examples_of_agents_are_short() -> None:
    programs = [text for language, text, *_ in blocks(DOCS / "guides" / "agent-examples.md") if language == "python"]
    assert len(programs) == 5
    assert max(text.count("\n") for text in programs) <= 30


def test_errors_are_quoted_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "guides" / "writing-an-agent.md"
    start = page.read_text("utf-8").partition("\n## Testing ")[0].count("\n")
    found = [b for b in blocks(page) if b[2] > start]
    namespace: dict[str, object] = {}
    for language, text, _, _ in found:
        if language == "python":
            exec(text, namespace)
    assert capsys.readouterr().out == "".join(text for language, text, *_ in found if language == "text")


@pytest.mark.parametrize("target", agents.classes())
def test_every_agent_has_a_formula_a_paper_a_complexity_and_an_example(target: str) -> None:
    doc = docstrings.doc_of(load(target))
    for heading in SHOWN:
        assert doc.sections.get(heading, "").strip(), f"{target} has no {heading}"
    assert re.search(r"\b(19|20)\d\d\b", doc.sections["Paper"]), "a paper has a year"
    assert "O(" in doc.sections["Complexity"]
    for name, _, _, meaning in agents.hyperparameters(load(target)):
        assert meaning, f"{target}: {name} is not explained"


def test_agents_pages_show_every_name_and_setting() -> None:
    found = results.load()
    for target, names in agents.classes().items():
        page = agents.page(target, names, found)
        assert all(f"`{n}`" in page for n in names)
        assert page.startswith("# ")
    page = agents.page(*next((t, n) for t, n in agents.classes().items() if t.endswith(":BayesianOptimisation")), found)
    assert "| `refit` | `float` | `0.1` | Relative growth" in page
    assert "| `margin` | `float` | `1.0` | Distance of the reference point" in page, "settings of the bases are listed"
    assert "| `initial` |" in page


@pytest.mark.parametrize("spec_id", ["NMTHPO-swen-mo-v0", "FIESTA-ner-v0", "CharHPO-v0", "TableHPO-v0"])
def test_pages_of_environments(spec_id: str) -> None:
    spec, found = SPECS[spec_id], results.load()
    page = environments.page(spec, found, "")
    for heading in ("Description", "Action Space", "Version History", "Reference agents", "Provenance", "Citation"):
        assert f"\n## {heading}\n" in page
    assert f'gymnasium.make("{spec_id}"' in page
    cells = results.cells_of(spec_id, found)
    assert bool(cells) == (spec_id != "TableHPO-v0"), "the leaderboard's labels have arguments behind the id"
    for cell in cells:
        assert results.agent_link(cell["agent"]) in page
    # The order is that of the score, and the numbers are the leaderboard's.
    if cells:
        key = results.track_of(spec_id, found)["score"]  # type: ignore[index]
        assert [c[key][0] for c in cells] == sorted(c[key][0] for c in cells)
        assert results.numbers.interval(cells[0]["final"]) in page
    assert "sha256" in page


def test_references_are_those_of_catalogue_page_and_describe() -> None:
    from hpo_envs.commands import describe
    from hpo_envs.tables import catalogue

    def words(text: str) -> str:
        return " ".join(re.findall(r"\w+", text.replace("{", "").replace("}", "")))

    entries = environments.bibtex()
    for family in FAMILIES.values():
        cited = catalogue.dataset(family.dataset).citation
        spec = family.ids[0]
        _, _, page = spec.page.partition("## References")
        if family.references and not re.search(r"(See|As in|As for) `", page):
            for text in (cited, page):
                missing = [k for k in family.references if words(_title(entries[k])) not in words(text)]
                assert not missing, (family.name, missing)
        if family.listed and not family.user_levels and environments.installed(spec):
            assert describe.describe(spec)["citation"] == [cited]
    assert set(entries) == {key for family in FAMILIES.values() for key in family.references}


def _title(entry: str) -> str:
    title = re.search(r"title\s*= \{(.*?)\},\n", entry, re.S)
    assert title is not None
    return title[1]


def test_upstream_asks_for_these_papers() -> None:
    """The citations requested by the READMEs of the pinned repositories, read at the pinned commits."""
    from hpo_envs.tables import catalogue

    asked = (
        ("nmthpo", ("Reproducible and Efficient Benchmarks",)),
        ("nmtlc", ("Best Practices of Successive Halving", "Reproducible and Efficient Benchmarks")),
        ("charhpo", ("Quantifying the Hyperparameter Sensitivity",)),
        ("fiesta", ("FIESTA: Fast IdEntification",)),
        ("cushlepor", ("Experts, Errors, and Context",)),
        ("nasbenchnlp", ("NAS-Bench-NLP", "Training-free Neural Architecture Search")),
        ("taskset", ("Using a thousand optimization tasks", "Scaling Laws for Hyperparameter Optimization")),
        ("steplaw", ("Predictable Scale: Part I",)),
    )
    for name, titles in asked:
        assert all(title in catalogue.dataset(name).citation for title in titles), name


def test_licences_are_those_of_catalogue() -> None:
    from hpo_envs.tables import catalogue

    rows = [line for line in (DOCS / "datasheet.md").read_text("utf-8").splitlines() if line.startswith("| `")]
    for data, repository, licence in {(f.dataset, f.repository, f.licence) for f in catalogue.files().values()}:
        assert any(f"`{data}`" in row and repository in row and f"| {licence} |" in row for row in rows), repository


def test_placeholders_are_filled() -> None:
    names = [m for p in PAGES for m in re.findall(r"<!-- results: ([\w-]+) -->", p.read_text("utf-8"))]
    assert set(names) == set(results.PLACEHOLDERS)
    gains, found = results.fill("<!-- results: gains -->"), results.load()
    for t in found["tracks"]:
        assert (t["name"] in gains) != t["flat"]
    with pytest.raises(KeyError, match="nothing"):
        results.fill("<!-- results: nothing -->")


def test_links_of_repository_become_links_of_site() -> None:
    pages = {"README.md", "CONTRIBUTING.md", "docs/studies.md", "docs/guides/first.md"}
    text = "[a](docs/studies.md#x) ![p](docs/b.png) [w](https://a.org/) [c](CONTRIBUTING.md)"
    onsite = "[a](studies.md#x) ![p](b.png) [w](https://a.org/) [c](contributing.md)"
    assert markdown.relink(text, "README.md", pages) == onsite
    assert markdown.relink("[a](../studies.md) [r](../../README.md)", "docs/guides/first.md", pages) == (
        "[a](../studies.md) [r](../index.md)"
    )
    assert markdown.relink("[![p](docs/b.png)](docs/studies.md)", "README.md", pages) == "[![p](b.png)](studies.md)"
    outside = markdown.relink("[t](../tables/catalogue/catalogue.csv)", "docs/studies.md", pages)
    assert outside == "t (`tables/catalogue/catalogue.csv`)"
    block = "```python\nx[0](docs/studies.md)\n```"
    assert markdown.relink(block, "README.md", pages) == block


def test_link_check_finds_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>', "utf-8")
    good = '<a href="b.html#there">x</a><a href="https://example.org/a">x</a><a href="#top">x</a><p id="top">'
    (tmp_path / "a.html").write_text(good, "utf-8")
    assert links.check(tmp_path) == []
    bad = {
        '<a href="c.html">x</a>': "does not exist",
        '<a href="b.html#gone">x</a>': "has no such anchor",
        '<a href="https://nowhere">x</a>': "is no address",
        '<script src="https://cdn.example.org/x.js"></script>': "is loaded from outside",
        '<link rel="stylesheet" href="//fonts.example.org/f.css">': "is loaded from outside",
        '<img src="p.png">': "does not exist",
    }
    for html, why in bad.items():
        (tmp_path / "a.html").write_text(html, "utf-8")
        assert [why in p for p in links.check(tmp_path)] == [True], html
    (tmp_path / "a.html").unlink()
    (tmp_path / "s.css").write_text("@font-face { src: url(https://fonts.example.org/f.woff) }", "utf-8")
    assert "loaded from outside" in links.check(tmp_path)[0]


def test_every_agent_name_has_page() -> None:
    assert {n for names in agents.classes().values() for n in names} == {
        n for n, e in AGENTS.items() if e.alias_of is None
    }


def test_versions_agree_and_package_is_typed() -> None:
    import hpo_envs

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == hpo_envs.__version__
    assert (Path(hpo_envs.__file__).parent / "py.typed").is_file()
    citation = ROOT / "CITATION.cff"
    if not citation.is_file():
        pytest.skip("not in a checkout")
    assert f"version: {hpo_envs.__version__}" in citation.read_text("utf-8")
    assert f"## [{hpo_envs.__version__}] - " in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_guide_lists_every_wrapper() -> None:
    text = (DOCS / "guides" / "training-a-policy.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (`\w+`.*?) \| (.+?) \|$", text, re.M))
    assert {*wrappers.__all__} <= {*re.findall(r"`(\w+)`", " ".join(rows))}
    assert "DQN" in rows["`FlattenAction`"]
