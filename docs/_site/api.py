"""The reference: every public name of the public modules, from signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

from _site import markdown
from hpo_envs.commands import docstrings
from hpo_envs.families.registry import SPECS

GROUPS: dict[str, tuple[str, ...]] = {
    "Environments": (
        "hpo_envs", "hpo_envs.families.registry", "hpo_envs.core.env", "hpo_envs.core.engines.lookup.scalar",
        "hpo_envs.core.engines.curves.scalar", "hpo_envs.core.engines.bandit.params", "hpo_envs.tables.draws",
    ),
    "Environment classes": (),
    "Around environments": (
        "hpo_envs.wrappers", "hpo_envs.wrappers.vector", "hpo_envs.integrations.sb3", "hpo_envs.core.rendering",
        "hpo_envs.benchmarks.analysis.sensitivity", "hpo_envs.tables.cells",
    ),
    "Tables": (
        "hpo_envs.tables.table", "hpo_envs.tables.store", "hpo_envs.tables.user", "hpo_envs.tables.catalogue",
        "hpo_envs.tables.files.download", "hpo_envs.tables.files.folder", "hpo_envs.tables.datasets.cushlepor.build",
    ),
    "Agents": (
        "hpo_envs.agents", "hpo_envs.agents.base", "hpo_envs.agents.candidates", "hpo_envs.agents.bandits.best_arm",
    ),
    "Contracts": ("hpo_envs.testing",),
    "Agent classes": (),
    "Studies": (
        "hpo_envs.benchmarks", "hpo_envs.benchmarks.tasks", "hpo_envs.benchmarks.comparison.comparison",
        "hpo_envs.benchmarks.runs.loop", "hpo_envs.benchmarks.runs.record", "hpo_envs.benchmarks.runs.frame",
        "hpo_envs.benchmarks.study.study", "hpo_envs.benchmarks.study.scheduler", "hpo_envs.benchmarks.study.store",
        "hpo_envs.benchmarks.comparison.targets", "hpo_envs.benchmarks.analysis.regret",
        "hpo_envs.benchmarks.analysis.statistics", "hpo_envs.benchmarks.comparison.summary",
        "hpo_envs.benchmarks.analysis.significance", "hpo_envs.benchmarks.report.sentences",
    ),
}  # fmt: skip
"""Caption -> modules. The classes of environments and agents are added from the registries."""

ELSEWHERE = ("Agent", "Comparison", "Family", "Problem", "Table", "run")
"""Names of `hpo_envs` that are described where they are defined: two entries would make references ambiguous."""

OPTIONAL = "stable_baselines3"
"""Brings torch, which takes seconds to import; its one class that we derive from is stood in for."""


def modules() -> dict[str, list[str]]:
    """Caption -> names of modules, each once."""
    from _site.agents import classes

    entries = [p for s in SPECS.values() for p in (s.entry_point, s.vector_entry_point)]
    added = {
        "Environment classes": [p.partition(":")[0] for p in entries],
        "Agent classes": [target.partition(":")[0] for target in classes()],
    }
    named = {m for names in GROUPS.values() for m in names}
    return {caption: [*names, *sorted(set(added.get(caption, ())) - named)] for caption, names in GROUPS.items()}


def load(name: str) -> ModuleType:
    """Import a module, a large optional package that it needs replaced by a stand-in."""
    from sphinx.ext.autodoc.mock import mock

    with mock([OPTIONAL]):
        return importlib.import_module(name)


def public(module: ModuleType) -> dict[str, Any]:
    """Public names of a module: its `__all__`, else the classes and functions that it defines."""
    if hasattr(module, "__all__"):
        skipped = {"__version__", *(ELSEWHERE if module.__name__ == "hpo_envs" else ())}
        return {n: getattr(module, n) for n in module.__all__ if n not in skipped}
    return {
        n: v
        for n, v in vars(module).items()
        if not n.startswith("_") and (inspect.isclass(v) or inspect.isfunction(v)) and v.__module__ == module.__name__
    }


def arguments(obj: Any) -> str:
    """A signature with its annotations as written, without the quotes of postponed ones."""
    try:
        found = inspect.signature(obj)
    except (TypeError, ValueError):
        return "()"
    parts, keyword = [], False
    for name, p in found.parameters.items():
        if name == "self":
            continue
        if p.kind == p.KEYWORD_ONLY and not keyword:
            keyword = True
            parts.append("*")
        keyword |= p.kind == p.VAR_POSITIONAL
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = "" if p.annotation is p.empty else f": {_name(p.annotation)}"
        default = "" if p.default is p.empty else (" = " if kind else "=") + _default(p.default)
        parts.append(f"{star}{name}{kind}{default}")
    returns = "" if found.return_annotation in (found.empty, "None", None) else f" -> {_name(found.return_annotation)}"
    return f"({', '.join(parts)}){'' if inspect.isclass(obj) else returns}"


def _name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _default(value: Any) -> str:
    text = repr(value)
    return "..." if " at 0x" in text or text.startswith("<") else text


ITEMS = ("Args", "Attributes", "Raises")
"""Sections that are lists of `name: text`."""


def markdown_of(parsed: docstrings.Parsed) -> str:
    """A docstring as Markdown, its sections as lists."""
    parts = [parsed.text]
    for heading, text in parsed.sections.items():
        if heading in ITEMS:
            lines = [f"- **{name}**: {said}" for name, said in parsed.items(heading).items()]
            parts.append(f"**{heading}**\n\n" + "\n".join(lines))
        elif heading in ("Formula", "Example"):
            parts.append(f"**{heading}**\n\n```{'text' if heading == 'Formula' else 'python'}\n{text}\n```")
        else:
            parts.append(f"**{heading}**: {text}")
    return "\n\n".join(p for p in parts if p)


def entry(module: str, name: str, obj: Any, pages: dict[str, str]) -> str:
    """One class, function or constant."""
    if inspect.isclass(obj) and issubclass(obj, BaseException):
        return _directive("exception", name, "", markdown_of(docstrings.doc_of(obj)))
    if inspect.isclass(obj):
        page = pages.get(f"{module}.{name}")
        doc = docstrings.doc_of(obj)
        text = f"{doc.text.partition(chr(10))[0]} [Its page]({page})." if page else markdown_of(doc)
        return _directive("class", name, arguments(obj), "\n\n".join([text, *_members(obj)]))
    if callable(obj) and hasattr(obj, "__wrapped__"):  # functools.cache
        return _directive("function", name, arguments(obj.__wrapped__), markdown_of(docstrings.doc_of(obj)))
    if inspect.isfunction(obj):
        return _directive("function", name, arguments(obj), markdown_of(docstrings.doc_of(obj)))
    return _directive("data", name, "", f"`{type(obj).__name__}`")


def _members(cls: type) -> list[str]:
    """Public methods and properties that a class defines itself."""
    parts = []
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        kind = type(member).__name__ if isinstance(member, (classmethod, staticmethod)) else ""
        function = getattr(member, "__func__", member)
        if isinstance(member, property) or hasattr(member, "func"):
            doc = member.fget if isinstance(member, property) else member.func
            parts.append(_directive("property", name, "", markdown_of(docstrings.doc_of(doc)), fence=5))
        elif inspect.isfunction(function):
            body = markdown_of(docstrings.doc_of(function))
            parts.append(_directive("method", name, arguments(function), body, fence=5, option=kind))
    return parts


def _directive(kind: str, name: str, arguments: str, body: str, fence: int = 7, option: str = "") -> str:
    colons = ":" * fence
    return f"{colons}{{py:{kind}}} {name}{arguments}\n" + f":{option}:\n" * bool(option) + f"\n{body}\n\n{colons}"


def page(name: str, pages: dict[str, str]) -> str:
    """The page of one module."""
    module = load(name)
    parts = [f"# {name}", f":::{{py:module}} {name}\n:::", markdown_of(docstrings.parse(module.__doc__))]
    for each, obj in public(module).items():
        home = getattr(obj, "__module__", name)
        if home != name and home in pages and not inspect.ismodule(obj):
            parts.append(f"- `{each}`: {{py:obj}}`{home}.{getattr(obj, '__name__', each)}`")
        elif not inspect.ismodule(obj):
            parts.append(entry(name, each, obj, pages))
    return "\n\n".join([*parts, ""])


def write(folder: Path, sources: Path) -> None:
    """Write all pages below `folder`, and the modules' own text below `sources`, which costs no page of the theme."""
    from _site.agents import classes

    folder.mkdir(parents=True, exist_ok=True)
    sources.mkdir(parents=True, exist_ok=True)
    pages = {m: f"{m}.md" for group in modules().values() for m in group}
    for spec in reversed(SPECS.values()):
        pages[spec.entry_point.replace(":", ".")] = f"../environments/{spec.id}.md"
    for target in classes():
        pages[target.replace(":", ".")] = f"../agents/{target.partition(':')[2]}.md"
    parts = ["# Reference", "Generated from signatures and docstrings."]
    navigation = []
    for caption, names in modules().items():
        rows = []
        for name in names:
            (folder / f"{name}.md").write_text(page(name, pages), encoding="utf-8")
            (sources / f"{name}.txt").write_text(inspect.getsource(load(name)), encoding="utf-8")
            first = (load(name).__doc__ or "").strip().partition("\n")[0]
            rows.append((f"[{name}]({name}.md)", first))
        parts += [f"## {caption}", markdown.table(("module", ""), rows)]
        navigation += names
    (folder / "index.md").write_text("\n\n".join([*parts, markdown.nav(navigation), ""]), encoding="utf-8")
