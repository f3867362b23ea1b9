"""One page for each id, in Gymnasium's form, and one for each family."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

from _site import known, markdown, pictures, results
from hpo_envs.benchmarks.comparison.paper import bibtex
from hpo_envs.commands.describe import describe
from hpo_envs.core.family import Spec
from hpo_envs.families.registry import FAMILIES, SPECS, find, group_of, installed
from hpo_envs.tables import catalogue, store

FILES = 12
"""Largest number of upstream files that a page lists; further ones are counted."""


def families() -> dict[str, list[Spec]]:
    """Family -> its ids, those of families that are made with their example last."""
    listed = {k: list(g) for k, g in itertools.groupby(SPECS.values(), key=lambda s: s.family)}
    return listed | {f.name: list(f.ids) for f in FAMILIES.values() if f.example}


def write(folder: Path, found: results.Found) -> None:
    """Write all pages below `folder`, each with a picture of its own id."""
    folder.mkdir(parents=True, exist_ok=True)
    for family, specs in families().items():
        for spec in specs:
            if not installed(spec):
                (folder / f"{spec.id}.md").write_text(page_to_fetch(spec), encoding="utf-8")
                continue
            caption = pictures.save(spec.id, folder / "pictures" / f"{spec.id}.png")
            picture = f"![A run, as render() shows it](pictures/{spec.id}.png)\n\n*{caption} of `{spec.id}`.*"
            (folder / f"{spec.id}.md").write_text(page(spec, found, picture), encoding="utf-8")
        (folder / f"{slug(family)}.md").write_text(family_page(family, specs, found), encoding="utf-8")
    (folder / "index.md").write_text(index(found), encoding="utf-8")


def slug(family: str) -> str:
    """Name of a family's page."""
    return f"family-{family.lower()}"


@functools.cache
def facts_of(env_id: str) -> dict[str, Any]:
    """Facts of an id as of `hpo-envs describe`."""
    spec = find(env_id)
    assert spec is not None
    return describe(spec)


def summary_of(spec: Spec) -> str:
    """First line of an id's page."""
    return spec.page.partition("\n")[0]


def page_to_fetch(spec: Spec) -> str:
    """The page of an id whose table does not ship."""
    first, _, rest = spec.page.partition("\n")
    fixed = ", ".join(f"`{k}={v!r}`" for k, v in spec.kwargs.items())
    notice = f'Its table does not ship: run `{store.command(spec.tables)}` before `gymnasium.make("{spec.id}")`.'
    parts = [f"# {spec.id}", first, f"{notice} Fixed arguments: {fixed or 'none'}.", rest.strip()]
    return "\n\n".join([*parts, "## Citation\n\n" + citation(spec), ""])


def page(spec: Spec, found: results.Found, picture: str) -> str:
    """The page of one id."""
    facts = facts_of(spec.id)
    first, _, rest = facts["page"].partition("\n")
    limits, best = known.rewards(spec)
    return "\n\n".join(
        [
            f"# {spec.id}",
            first,
            picture,
            spaces(spec, facts, limits),
            rest.strip(),
            "## Search space and metrics\n\n" + columns(facts),
            "## Best known\n\n" + best,
            "## Reference agents\n\n" + agents(spec, found),
            "## Provenance\n\n" + provenance(spec, facts, found),
            "## Citation\n\n" + citation(spec),
            "",
        ]
    )


def spaces(spec: Spec, facts: dict[str, Any], limits: str) -> str:
    """Head of the page, as in Gymnasium; `limits` is the range of the rewards, if known."""
    budget = "the whole table" if facts["budget"] is None else f"{facts['budget']:g} {facts['budget_unit']}"
    create = f'gymnasium.make("{spec.id}")'
    if FAMILIES[spec.family].example:
        create = f'gymnasium.make("{spec.id}", function=train, space=space)'
    if FAMILIES[spec.family].user_levels:
        create = f'gymnasium.make("{spec.id}", table=table)'
    module, _, name = spec.entry_point.partition(":")
    rows = [(f"{kind.capitalize()} space", f"`{text}`") for kind, text in facts["spaces"].items()]
    rows += [("Reward range", limits)] if limits else []
    rows += [
        ("Budget", budget),
        ("Create", f"`{create}` after `import hpo_envs`"),
        ("Batched", f'`gymnasium.make_vec("{spec.id}", num_envs=1024)`: the same trajectories'),
        ("Fixed arguments", ", ".join(f"`{k}={v!r}`" for k, v in spec.kwargs.items()) or "none"),
        ("Class", f"{{py:class}}`{module}.{name}`"),
    ]
    return markdown.table(("", ""), rows)


def columns(facts: dict[str, Any]) -> str:
    """Hyperparameters and metrics of the table(s), those of the first where all are alike."""
    parts = []
    t = facts["tables"][0]
    if len(facts["tables"]) > 1:
        parts.append(f"{len(facts['tables'])} tables may answer; this is `{t['name']}`.")
    if t["space"]:
        parts.append(markdown.table(("column", "values"), [(f"`{k}`", v) for k, v in t["space"].items()]))
    metrics = [
        (f"`{m['name']}`", m["goal"], f"{m['low']:g} to {m['high']:g} {m['unit']}".strip(), m["what"])
        for m in t["metrics"]
    ]
    return "\n\n".join([*parts, markdown.table(("metric", "goal", "range", ""), metrics)])


def agents(spec: Spec, found: results.Found) -> str:
    """Results of the reference agents on this id."""
    entry = results.entry_of(spec.id, found)
    if entry is None:
        why = "it calls your own function" if FAMILIES[spec.family].example else "no agent has been run on it yet"
        why = "it answers from your own table" if FAMILIES[spec.family].user_levels else why
        return f"Not on the [leaderboard](../results.md): {why}."
    kinds = sorted({t["kind"] for t in entry["tables"]})
    track = results.track_of(spec.id, found)
    ranked = "at the end" if track and track["score"] == "final" else "over the budget"
    rows = ", each seed on a random 80 % of the configurations" if "subsample=0.8" in entry["label"] else ""
    return (
        f"On the {' and '.join(kinds)} table{rows}, budget {entry['budget']:g} {entry['cost_unit']}, ranked by regret "
        f"{ranked} (0: best known score; 1: median configuration), with 95 % intervals over runs. See the "
        f"[leaderboard](../results.md) for tests over the whole group of tasks.\n\n"
        + results.environment_table(spec.id, found)
    )


def provenance(spec: Spec, facts: dict[str, Any], found: results.Found) -> str:
    """Section of the provenance."""
    parts = []
    for t in facts["tables"][:1] if spec.surrogate else facts["tables"]:
        rows = [("table", f"`{t['name']}`: {t['rows']} rows, {t['repeats']} repeat(s), {t['levels']} level(s)")]
        rows.append(("measured by", t["owner"] or "nobody: a synthetic table"))
        if "/" in t["upstream"]:
            rows.append(("upstream", f"[{t['upstream']}](https://github.com/{t['upstream']})"))
        if t["commit"]:
            rows.append(("commit", f"`{t['commit']}`"))
        rows += [("kind", t["kind"]), ("licence", t["licence"]), ("sha256", f"`{t['sha256']}`")]
        parts.append(markdown.table(("", ""), rows))
        parts += [f"- {note}" for note in t["notes"]]
    if spec.surrogate:
        parts.append(f"The same holds of {len(facts['tables'])} tables, one for each id of the family.")
    return "\n\n".join(parts)


def citation(spec: Spec) -> str:
    """The references to cite, as BibTeX."""
    keys = FAMILIES[spec.family].references
    if FAMILIES[spec.family].user_levels:
        return "Cite where your table comes from."
    if not keys:
        return catalogue.dataset(FAMILIES[spec.family].dataset).citation
    return markdown.code("\n\n".join(bibtex()[k] for k in keys), "bibtex")


def family_page(family: str, specs: list[Spec], found: results.Found) -> str:
    """All ids of a family."""
    rows = []
    for spec in specs:
        if not installed(spec):
            missing = f"after `{store.command(spec.tables)}`"
            rows.append((f"[{spec.id}]({spec.id}.md)", "", missing, group_of(spec.id), ""))
            continue
        facts = facts_of(spec.id)
        cells = results.cells_of(spec.id, found)
        leader = f"{results.agent_link(cells[0]['agent'])}" if cells else ""
        shown = facts["tables"][0]["rows"] if len(facts["tables"]) == 1 else f"{len(facts['tables'])} tables"
        rows.append((f"[{spec.id}]({spec.id}.md)", f"`{facts['spaces']['action']}`", shown, group_of(spec.id), leader))
    track = next((results.track_of(s.id, found) for s in specs if results.track_of(s.id, found)), None)
    verdict = f"On the [leaderboard](../results.md): {' '.join(results.sentences.verdict(track))}" if track else ""
    kinds = dict.fromkeys(summary_of(s) for s in specs)
    shown = [f"![The run so far, as render() shows it](pictures/{s.id}.png)" for s in specs if installed(s)]
    return "\n\n".join(
        [
            f"# {family}",
            "\n\n".join(kinds),
            markdown.table(("id", "action space", "rows", "task group", "lowest mean regret"), rows),
            verdict,
            *shown[:1],
            markdown.nav([s.id for s in specs]),
            "",
        ]
    )


def index(found: results.Found) -> str:
    """All families."""
    rows = []
    for family, specs in families().items():
        about = " ".join(dict.fromkeys(summary_of(s) for s in specs))
        rows.append((f"[{family}]({slug(family)}.md)", len(specs), about))
    fetched = sum(any(map(store.files, s.tables)) for s in SPECS.values())
    return "\n\n".join(
        [
            "# Environments",
            "One step is one function evaluation, one episode is one optimisation run. Every id has a scalar form "
            "(`gymnasium.make`) and a batched one (`gymnasium.make_vec`) with the same trajectories. All but "
            f"{fetched} answer right after installing; the pages of these say what to run first. The pages below are "
            "those that `hpo-envs describe ID` prints, with pictures and results.",
            markdown.table(("family", "ids", ""), rows),
            markdown.nav([slug(f) for f in families()]),
            "",
        ]
    )
