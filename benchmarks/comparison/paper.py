"""A comparison as the files of a paper: LaTeX tables, BibTeX, pictures, tidy CSV, appendix, study file."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.analysis import significance
from hpo_envs.benchmarks.plots import paper as pictures
from hpo_envs.benchmarks.report import numbers, sentences
from hpo_envs.benchmarks.runs.episodes import kind_of_action
from hpo_envs.benchmarks.runs.record import table_apart
from hpo_envs.benchmarks.study.study import SEEDS, SETTINGS, SLOW_SEEDS
from hpo_envs.families import registry
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.files import atomic

CURVE = ("track", "by", "agent", "x", "mean", "low", "high")
"""Columns of `curves.csv`."""

REFERENCES = Path(registry.__file__).with_name("references.bib")

SUITE = """\
@software{hpo_envs,
  author = {{The hpo_envs developers}},
  title = {hpo\\_envs: Gymnasium environments for hyperparameter optimisation, architecture search and model selection in NLP},
  year = {2026}
}"""  # noqa: E501

MARK = "Written by hpo_envs; each call replaces it."
"""First line, as a comment, of files in LaTeX and TOML."""

MAIN = r"""\documentclass[10pt,twocolumn]{article}
\usepackage[T1]{fontenc}
\usepackage[margin=2cm]{geometry}
\usepackage{booktabs,graphicx,longtable,url}
\begin{document}
\input{tables}
\input{figures}
\onecolumn
\appendix
\input{appendix}
\end{document}
"""

SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}",
}  # fmt: skip


def tex(value: Any) -> str:
    """Return text with the special characters of LaTeX escaped."""
    return "".join(SPECIAL.get(c, c) for c in str(value))


def slug_of(name: str) -> str:
    """Return a name for files: runs of characters other than ASCII letters, digits, `._-` become one inner hyphen."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")


def bibtex() -> dict[str, str]:
    """Return the BibTeX entries of the references of all families, by key."""
    text = REFERENCES.read_text(encoding="utf-8")
    return {m[1]: m[0].strip() for m in re.finditer(r"@\w+\{(\w+),\n.*?\n\}", text, re.S)}


def files(
    tracks: Sequence[Mapping[str, Any]],
    cells: Sequence[Mapping[str, Any]],
    runs: Any,
    evaluations: Any,
    labels: Mapping[str, Sequence[str]],
    facts: str,
    commands: Sequence[str],
) -> Iterator[tuple[str, bytes | str]]:
    """Yield names and contents of files; without matplotlib a `ModuleNotFoundError` says how to install it.

    `tracks` are those of a summary, `cells` the rows of `scores.csv`, `runs` and `evaluations` the data frames of
    `Comparison.frame`, `labels` those of each run's `environment` and `agent`, `facts` further sentences of the
    appendix, and `commands` those that made the runs and files.
    """
    drawn = [t for t in tracks if not (t["raw"] or t["flat"])]
    parts: list[dict[str, Any]] = []
    each = {name: np.repeat(of_runs, runs["evaluations"]) for name, of_runs in labels.items()}
    named = runs.assign(**labels), evaluations.assign(**each)
    for track in drawn:
        some, more = (f[f["environment"].isin(track["environments"])] for f in named)
        for by in ("evaluations", "cost"):
            x, bands = pictures.curves(more, by)
            rows = [(track["name"], by, a, *at) for a, b in bands.items() for at in zip(x, *b, strict=True)]
            parts += [dict(zip(CURVE, row, strict=True)) for row in rows]
        yield from _pictures(track, some, more)
    rankings, figures = (_ranking(t) for t in tracks if not t["flat"]), _figures(drawn)
    texts = {"tables": "\n".join(rankings), "figures": "\n".join(figures), "paper": MAIN}
    texts["appendix"] = appendix(runs, facts, commands)
    yield from ((f"{name}.tex", f"% {MARK}\n{text}") for name, text in texts.items())
    yield from ((name, f"# {MARK}\n{text}") for name, text in studies_of(runs).items())
    families = filter(None, map(registry.family_of, runs["environment"].unique()))
    keys = sorted({key for family in families for key in family.references})
    yield "references.bib", "\n\n".join([SUITE, *(bibtex()[key] for key in keys)]) + "\n"
    yield "scores.csv", atomic.csv_of(cells)
    yield "curves.csv", atomic.csv_of(parts, CURVE)


def _ranking(track: Mapping[str, Any]) -> str:
    """The ranking of a track as a LaTeX table; the best agent, or all that are tied for best, in bold."""
    rows = []
    for r in track["ranking"]:
        best = r["here"] in ("best", significance.TIED)
        cells = [tex(r["agent"]), str(sum(r["n"])), numbers.interval(r["mean"]), numbers.interval(r["final"])]
        cells = [rf"\textbf{{{c}}}" if best else c for c in cells]
        rows.append(" & ".join([*cells, tex(r["here"])]) + r" \\")
    caption = (
        f"{tex(track['name'])}: {sentences.measure(track)}, with 95\\,\\% intervals over seeds; lower is better. "
        f"Bold: best, or tied for best, on these tasks. {tex(' '.join(sentences.verdict(track)))}"
    )
    return "\n".join([
        r"\begin{table*}\centering", rf"\caption{{{caption}}}", r"\begin{tabular}{lrlll}", r"\toprule",
        r"agent & runs & mean & final & on these tasks \\", r"\midrule", *rows, r"\bottomrule", r"\end{tabular}",
        r"\end{table*}", "",
    ])  # fmt: skip


def _pictures(track: Mapping[str, Any], runs: Any, evaluations: Any) -> Iterator[tuple[str, bytes]]:
    """Yield each picture in two widths, as PDF and PNG; mean ranks only with several agents."""
    figure = extra_module("matplotlib.figure", "plots", "plots").Figure
    agents, slug = runs["agent"].nunique(), slug_of(track["name"])
    for width, inches in pictures.WIDTHS.items():
        for name in ("ranks", "evaluations", "cost")[agents < 2 :]:
            height = 0.7 + 0.18 * agents if name == "ranks" else 2.4
            drawn = figure(figsize=(inches, height), layout="constrained")
            if name == "ranks":
                pictures.ranks(runs, drawn.subplots(), "final_regret" if track["score"] == "final" else "mean_regret")
            else:
                pictures.anytime(evaluations, drawn.subplots(), name)
            for kind, metadata in (("pdf", {"CreationDate": None}), ("png", {})):
                sink = io.BytesIO()
                drawn.savefig(sink, format=kind, dpi=300, metadata=metadata)
                yield f"{slug}-{name}-{width}.{kind}", sink.getvalue()


def _figures(tracks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    over = "mean and 95\\,\\% interval over seeds"
    captions = [("ranks", "mean ranks; a bar joins agents without a significant difference")]
    captions += [(by, f"regret by {by}, {over}") for by in ("evaluations", "cost")]
    for track in tracks:
        for name, caption in captions[len(track["ranking"]) < 2 :]:
            file = f"{slug_of(track['name'])}-{name}-one-column.pdf"
            yield (
                rf"\begin{{figure}}\centering\includegraphics[width=\columnwidth]{{{file}}}"
                rf"\caption{{{tex(track['name'])}: {caption}.}}\end{{figure}}"
            )


def studies_of(runs: Any) -> dict[str, str]:
    """Return study files by name, `study.toml` and more if an id or agent of a data frame of runs has several settings.

    Each has the environments, agents and seeds of some of the runs. Runs with arguments that study files do not
    have, such as functions, are left out.
    """
    runs = runs[[json.loads(text).keys() <= {*SETTINGS} for text in runs["env_kwargs"]]]
    named = zip(runs["environment"], runs["table"], strict=True)
    runs = runs.assign(apart=[table_apart({"env": e, "table": t, "env_kwargs": {}}) or "" for e, t in named])
    settings = runs["env_kwargs"] + runs["subsample"].astype(str) + runs["transfer"] + runs["apart"].astype(str)
    pairs = (settings, runs["environment"]), (runs["hyperparameters"], runs["agent"])
    which = [values.groupby(of).transform(lambda some: some.factorize()[0]) for values, of in pairs]
    parts = enumerate((some for _, some in runs.groupby(which)), 1)
    return {f"study{f'-{k}' if k > 1 else ''}.toml": _study_of(some) for k, some in parts}


def _study_of(runs: Any) -> str:
    environments, agents = [], []
    for _, r in runs.drop_duplicates("environment").iterrows():
        given = json.loads(r["env_kwargs"]) | ({"transfer": r["transfer"]} if r["transfer"] else {})
        given |= {"table": r["apart"]} if r["apart"] else {}
        given |= {"budget": "all"} if given.get("budget", "all") is None else {}
        known = registry.find(r["environment"]) is not None
        if r["subsample"] < 1 or (known and kind_of_action(r["environment"], {}) in ("rows", "fidelity")):
            given["subsample"] = r["subsample"]
        environments.append(_toml({"id": r["environment"], **given}))
    for _, r in runs.drop_duplicates("agent").iterrows():
        own = {"name": r["agent"], "algorithm": r["algorithm"], "hyperparameters": json.loads(r["hyperparameters"])}
        agents.append(_toml(own))
    seeds = sorted(runs["seed"].unique().tolist())
    whole = f'"{seeds[0]}-{seeds[-1]}"' if seeds == [*range(seeds[0], seeds[-1] + 1)] else str(seeds)
    lists = {"environments": environments, "agents": agents}
    body = "".join(f"{name} = [\n{''.join(f'    {v},{chr(10)}' for v in some)}]\n" for name, some in lists.items())
    each = {*runs.groupby(["environment", "agent"])["seed"].nunique()}
    by_cost = seeds == [*range(SEEDS)] and each == {SEEDS, SLOW_SEEDS}  # as a study without the key has them
    return body if by_cost else f"seeds = {whole}\n{body}"


def _toml(value: Any) -> str:
    """Plain data as TOML on one line; keys whose value is None are left out."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{json.dumps(k)} = {_toml(v)}' for k, v in value.items() if v is not None)} }}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value)


def appendix(runs: Any, facts: str, commands: Sequence[str]) -> str:
    """Return the LaTeX appendix on reproduction: commands, study, versions, commit, hyperparameters, tables."""
    agents = runs.drop_duplicates(["agent", "hyperparameters"])[["agent", "algorithm", "hyperparameters"]]
    tables = runs.drop_duplicates(["table", "sha256"])[["table", "kind", "sha256"]].sort_values("table")
    versions = {k: v for text in runs["versions"].unique() for k, v in json.loads(text).items()}
    commits = ", ".join(sorted({*runs["commit"]} - {""})) or "of the installed package"
    lines = [
        r"\section{Repeating the runs}", *_verbatim("\n".join(commands)),
        *(line for name, text in studies_of(runs).items() for line in _remade(name, text)),
        f"{tex(facts)} {len(runs)} runs. Versions: {tex(', '.join(f'{k} {v}' for k, v in versions.items()))}. "
        f"Commit: \\texttt{{{tex(commits)}}}. Cite \\texttt{{references.bib}}.",
        *_longtable("lll", agents), *_longtable("lll", tables),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _remade(name: str, text: str) -> list[str]:
    command = rf"\texttt{{hpo-envs compare {name} --out {name.replace('study', 'runs').removesuffix('.toml')}/}}"
    return [rf"The same runs are made by {command} with", *_verbatim(text)]


def _verbatim(text: str) -> list[str]:
    return [r"\begin{verbatim}", text.rstrip().replace(r"\end{", r"\end {"), r"\end{verbatim}"]


def _longtable(columns: str, frame: Any) -> list[str]:
    rows = [" & ".join(rf"\scriptsize {tex(v)}" for v in row) + r" \\" for row in frame.itertuples(index=False)]
    head = [rf"\begin{{longtable}}{{{columns}}}", r"\toprule", " & ".join(map(tex, frame.columns)) + r" \\"]
    return [*head, r"\midrule", *rows, r"\bottomrule", r"\end{longtable}"]
