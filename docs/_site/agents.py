"""One page for each class of agents: its method, paper, cost and settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from _site import markdown, results
from hpo_envs.agents import AGENTS
from hpo_envs.agents import names as agent_names
from hpo_envs.agents.registry import install, load
from hpo_envs.commands import docstrings
from hpo_envs.commands.agents import WORKS_ON, forwarded, hyperparameters


def classes() -> dict[str, list[str]]:
    """Registered names of each `module:Class`."""
    found: dict[str, list[str]] = {}
    for name in agent_names():
        found.setdefault(AGENTS[name].target, []).append(name)
    return found


def page(target: str, names: list[str], found: results.Found) -> str:
    """The page of a class."""
    cls = load(target)
    doc = docstrings.doc_of(cls)
    listed = [
        (f"`{n}`", AGENTS[n].summary, ", ".join(f"`{k}={v!r}`" for k, v in AGENTS[n].kwargs.items())) for n in names
    ]
    supports = dict.fromkeys(s for n in names for s in AGENTS[n].supports)
    extra = next((AGENTS[n].extra for n in names if AGENTS[n].extra), None)
    first, _, rest = doc.text.partition("\n\n")
    parts = [
        f"# {cls.__name__}",
        first,
        "Works on " + ", ".join(WORKS_ON[s] for s in supports) + ".",
        f"Needs `{install(extra)}`." if extra else "",
        markdown.table(("name", "", "fixed settings"), listed),
        "## How it works\n\n" + rest if rest.strip() else "",
        "## Formula\n\n" + markdown.code(doc.sections["Formula"], "text"),
        "## Paper\n\n" + doc.sections["Paper"],
        "## Complexity\n\n" + doc.sections["Complexity"],
        "## Hyperparameters\n\n" + settings(cls),
        errors(doc),
        standing(names, found),
        "## Example\n\n" + markdown.code(doc.sections["Example"]),
        f"Source: {{py:class}}`{cls.__module__}.{cls.__name__}`.",
        "",
    ]
    return "\n\n".join(p for p in parts if p.strip() or p == "")


def errors(doc: docstrings.Parsed) -> str:
    """Section of errors."""
    lines = [f"- `{k}`: {v}" for k, v in doc.items("Raises").items()]
    return "## Errors\n\n" + "\n".join(lines) if lines else ""


def settings(cls: Any) -> str:
    """The table of hyperparameters."""
    rows = [(f"`{n}`", f"`{t}`" if t else "", f"`{d}`" if d else "", m) for n, t, d, m in hyperparameters(cls)]
    parts = [markdown.table(("name", "type", "default", "meaning"), rows)] if rows else []
    return "\n\n".join([*parts, forwarded(cls)]).strip() or "None."


def standing(names: list[str], found: results.Found) -> str:
    """Its places on the leaderboard."""
    shown = results.agent_table(names, found)
    if not shown:
        return ""
    return "## On the leaderboard\n\nRegret as on the [leaderboard](../results.md), lower is better.\n\n" + shown


def write(folder: Path, found: results.Found) -> None:
    """Write all pages below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for target, names in classes().items():
        cls = load(target)
        (folder / f"{cls.__name__}.md").write_text(page(target, names, found), encoding="utf-8")
        line = docstrings.doc_of(cls).text.partition("\n\n")[0].replace("\n", " ")
        rows.append((f"[{cls.__name__}]({cls.__name__}.md)", ", ".join(f"`{n}`" for n in names), line))
    text = [
        "# Agents",
        "An agent has `ask()`, `tell(action, reward, info)` and `recommend()`. It sees the space, the features of the "
        "candidates and what it was told, never the table. `hpo_envs.agents.names()` lists all names; "
        "[writing one of your own](../guides/writing-an-agent.md) takes a few lines.",
        markdown.table(("class", "names", ""), rows),
        markdown.nav(sorted(t.partition(":")[2] for t in classes())),
        "",
    ]
    (folder / "index.md").write_text("\n\n".join(text), encoding="utf-8")
