"""`Comparison`: runs of a study, stored and new ones, scores, verdict, frames, and the files that it saves."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hpo_envs.benchmarks import plots as style
from hpo_envs.benchmarks.comparison import summary
from hpo_envs.benchmarks.comparison.scored import Scores
from hpo_envs.benchmarks.report import sentences, terminal
from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.runs.record import agent_of, environment_of
from hpo_envs.benchmarks.study import flat, manifest, parquet
from hpo_envs.benchmarks.study import study as studies
from hpo_envs.benchmarks.study.block import Block, blocks_of, digest_of
from hpo_envs.benchmarks.study.scheduler import StudyState, conduct
from hpo_envs.benchmarks.study.store import Store
from hpo_envs.tables.checks import one_of, shown
from hpo_envs.tables.files import atomic

if TYPE_CHECKING:
    from hpo_envs.benchmarks.runs.executors import AnyExecutor

FIGURES = "figures"
"""Folder of pictures, next to the folders of runs, which have only Parquet files."""


class Comparison:
    """Agents compared on environments: runs, scores, verdict, frame, picture and report.

    >>> comparison = Comparison({"environments": "NMTHPO-zhen-v0", "agents": "random", "seeds": 3, "budget": 4}).run()
    >>> print(comparison.verdict())
    NMTHPO: Only random ran. Mean normalised regret over the budget (lower is better): ...

    Args:
        study: A `Study`, the content of a study file as a mapping, or the path of such a file.
        folder: Folder of the stored runs, which are not repeated. None: runs are not stored.

    Attributes:
        study: The study; None for a comparison of given runs.
        folder: Folder of the stored runs, the first one after `load`; None if runs are not stored.
        outcome: State of the study after `run`; None before, and after `of` and `load`.
        missing: Sentences on missing runs and why agents stopped, or on a missing `study.json`; else empty.
        checked: Sentences on the replay of stored runs, and on runs that were not replayed; else empty.

    Raises:
        ValueError: The study is not valid; see `hpo_envs.benchmarks.study.study`.
        FileNotFoundError: There is no such study file.
    """

    def __init__(
        self, study: studies.Study | Mapping[str, Any] | Path | str | None, folder: Path | str | None = None
    ) -> None:
        given = str(study) if isinstance(study, Path) else study
        self._call = f"Comparison({given!r}, {None if folder is None else str(folder)!r}).run()"
        if isinstance(study, (str, Path)):
            study = studies.from_file(Path(study))
        self.study = studies.from_data(study) if isinstance(study, Mapping) else study
        if not isinstance(self.study, (studies.Study, type(None))):
            raise ValueError(f"study must be a Study, its content or the path of its file, got {shown(study)}")
        self.folder = None if folder is None else Path(folder)
        self.outcome: StudyState | None = None
        self.missing = self.checked = ""
        self._scores = Scores()
        self._blocks: list[Block] = []
        self._read: tuple[Path | str, ...] = ()
        self._commands: list[str] = []

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Comparison:
        """Return the comparison of given runs, such as those of several calls of `hpo_envs.benchmarks.run`.

        Raises:
            ValueError: The runs cannot be compared, or one has no evaluation.
        """
        comparison = cls(None)
        comparison._call = "Comparison.of(runs)"
        for k, block in enumerate(blocks_of(runs)):
            comparison._take(block, (k,))
        return comparison

    @classmethod
    def load(cls, *folders: Path | str, more: Iterable[Run] = ()) -> Comparison:
        """Return the comparison of all runs in some folders, each replayed on its environment if possible.

        Args:
            *folders: Folders of `run` or `hpo-envs compare`. They are read once for the scores, and again for `frame`,
                `by_environment` and others that need all evaluations.
            more: Further runs, which are not replayed, such as searches of `tune`.

        Raises:
            FileNotFoundError: A folder does not exist.
            ValueError: A replay gives other results, files are damaged, or runs cannot be compared.
        """
        from hpo_envs.benchmarks.comparison.replay import Replay

        folder: Path | str = "more"
        comparison, replay, missing = cls(None, next(iter(folders), None)), Replay(), []
        comparison._read = folders
        comparison._call = f"Comparison.load({', '.join(repr(str(f)) for f in folders)})"
        try:
            for k, folder in enumerate(folders):
                found: dict[tuple[str, str], set[int]] = {}
                for block in Store(folder).once(check=replay):
                    env, agent = block.header["env"], block.header["agent"]
                    found.setdefault((env, agent), set()).update(block.seeds.tolist())
                    comparison._scores.add(block, (k, env, agent))
                missing.append(manifest.missing(Path(folder), found))
            for block in blocks_of([*more]):
                replay.called(block.header["env"])
                comparison._take(block, (len(folders), block.header["env"], block.header["agent"]))
        except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:  # of headers that lie
            raise ValueError(
                f"{folder} must hold runs written by hpo_envs, got {type(error).__name__}: {error}"
            ) from error
        comparison.missing = " ".join(dict.fromkeys(filter(None, missing)))
        comparison.checked = str(replay)
        return comparison

    def run(self, executor: AnyExecutor | None = None, **how: Any) -> Comparison:
        """Run the missing runs of the study, replay the stored ones, and return this comparison.

        Arguments are those of `hpo_envs.benchmarks.study.scheduler.conduct`, except the first two and `take`.

        Raises:
            ValueError: See `conduct`; a replay gives other results; there is no study; or this is a second call.
            OSError: Writing to the disk fails.
        """
        if self.study is None or self.outcome is not None:
            got = "no study" if self.study is None else "a second call"
            raise ValueError(f"run must be called once, on a comparison of a study, got {got}")
        made: list[Block] = []
        self._commands = [how.setdefault("command", self._call)]
        self.outcome = conduct(self.study, self.folder, executor, take=made.append, **how)
        order = [*self.outcome.pairs]

        def place(block: Block) -> int:
            return order.index((block.header["env"], block.header["agent"]))

        blocks = sorted([*made, *self._stored(made)], key=lambda b: (place(b), b.seeds.min()))
        found: dict[tuple[str, str], set[int]] = {}
        for block in blocks:
            self._take(block, (place(block),))
            found.setdefault((block.header["env"], block.header["agent"]), set()).update(block.seeds.tolist())
        self.missing = "\n".join(
            filter(None, [manifest.lacking_of(self.outcome.pairs, found), *self.outcome.stopped()])
        )
        return self

    def _stored(self, made: Sequence[Block]) -> Iterator[Block]:
        """Replay and yield the runs of the study that were already stored; set `checked`."""
        assert self.outcome is not None
        if not self.outcome.found:
            return
        from hpo_envs.benchmarks.comparison.replay import Replay

        replay, wanted = Replay(), {pair: {*seeds} for pair, seeds in self.outcome.pairs.items()}
        for block in made:
            wanted[block.header["env"], block.header["agent"]] -= {*block.seeds.tolist()}
        for env, pairs in itertools.groupby(wanted, key=lambda pair: pair[0]):
            # All agents at once: the replay has the same episodes for each.
            for block in self.outcome.store.once(env, [agent for _, agent in pairs], replay):
                some = np.flatnonzero(np.isin(block.seeds, [*wanted[env, block.header["agent"]]]))
                if len(some):
                    yield block if len(some) == len(block) else block.take(some)
        self.checked = str(replay)

    def add(self, block: Block) -> None:
        """Add further runs, without a replay, before scores are first read; a `ValueError` if not comparable."""
        self._take(block, (len(self._blocks) + 10**6,))

    def _take(self, block: Block, place: tuple[Any, ...]) -> None:
        self._blocks.append(block)
        self._scores.add(block, place)

    def check(self, header: dict[str, Any]) -> None:
        """Raise a `ValueError` if runs with a header cannot be compared with those so far."""
        self._scores.check(header)

    def blocks(self) -> Iterator[Block]:
        """Yield the runs as blocks of columns, each of one agent on one environment; read those of folders again."""
        for folder in self._read:
            yield from Store(folder).once()
        yield from self._blocks

    @property
    def commands(self) -> list[str]:
        """The known commands and calls that requested the runs; empty if none is known."""
        folders = map(Path, self._read or filter(None, [self.folder]))
        return [*dict.fromkeys([c for folder in folders for c in manifest.commands(folder)] or self._commands)]

    def by_environment(self) -> dict[str, dict[str, list[Block]]]:
        """Return the blocks of runs by id and by the label of the agent."""
        found: dict[str, dict[str, list[Block]]] = {}
        for block in self.blocks():
            found.setdefault(block.header["env"], {}).setdefault(agent_of(block.header_of(0)), []).append(block)
        return found

    def header(self, environment: str, agent: str) -> dict[str, Any]:
        """Return the header of the first run of an agent on an environment, by their labels; a `KeyError` if none."""
        return self._scores.cells[environment, agent].header

    @functools.cached_property
    def _parts(self) -> Any:
        return summary.parts(self._scores)

    @functools.cached_property
    def scores(self) -> dict[str, Any]:
        """Rankings and tests by track (`tracks`), means by environment and agent (`cells`), and `selections` of arms.

        Floats are rounded to four significant digits; NaN and infinities are None.

        Raises:
            ValueError: There are no runs, one occurs twice, or they cannot be compared.
        """
        return dict(summary.rounded(self._parts[2]))

    @property
    def _cells(self) -> list[dict[str, Any]]:
        """Rows of `summary.csv` and `scores.csv`."""
        flat = {e for track in self.scores["tracks"] if track["flat"] for e in track["environments"]}
        return [_flat(cell, cell["environment"] in flat) for cell in self.scores["cells"]]

    def verdict(self) -> str:
        """Return the verdict, one line for each track, and `missing`; errors are those of `scores`."""
        tracks = [f"{track['name']}: {' '.join(sentences.verdict(track))}" for track in self.scores["tracks"]]
        return "\n".join(filter(None, [*tracks, self.missing]))

    def summary(
        self, title: str = "Comparison of agents", command: str = "", *, with_fronts: bool = True
    ) -> dict[str, Any]:
        """Return the data of a report, without evaluations: see `summary.whole`; errors are those of `scores`."""
        facts = {"title": title, "command": command, "checked": self.checked}
        facts |= {"missing": self.missing} if self.missing else {}
        scored, first, found = self._parts
        return summary.whole(self._scores, scored, first, found, facts, with_fronts=with_fronts)

    def frame(self, table: str = "evaluations") -> Any:
        """Return the table `evaluations` or `runs` as a pandas DataFrame, see `hpo_envs.benchmarks.study.flat`.

        Raises:
            ValueError: The table is unknown, or there are no runs.
        """
        made = {"runs": flat.runs, "evaluations": flat.all_evaluations}
        return made[one_of("table", table, made)](self.blocks()).to_pandas()

    def plot(self, track: str | None = None, axes: Any = None) -> Any:
        """Draw the ranking of a track (default: the first) with its intervals; return matplotlib's axes (default: new).

        Raises:
            ValueError: The track is unknown, or see `scores`.
            ModuleNotFoundError: matplotlib is not installed.
        """
        tracks = {t["name"]: t for t in self.scores["tracks"]}
        return style.ranking(tracks[one_of("track", next(iter(tracks)) if track is None else track, tracks)], axes)

    def report(self, path: Path | str | None = None, *, title: str = "Comparison of agents", command: str = "") -> Path:
        """Write the comparison as one self-contained page; return its path.

        The page shows the title and, if given, the command that repeats the runs; the default path is `report.html` in
        the folder of the runs.

        Raises:
            ValueError: There is neither a path nor a folder, or the path has a symbolic link in it or is that of a file
                which is no page; or see `scores`.
        """
        from hpo_envs.benchmarks.report.page import render

        if path is None and self.folder is None:
            raise ValueError("path must be given if the runs are in no folder, got None")
        page = Path(self.folder / "report.html" if path is None else path)  # type: ignore[operator]
        page = page if self.folder is None else atomic.inside(self.folder, page)
        found = self.summary(title, command)
        text = render(found, citations=summary.citations(found))
        atomic.check_ours(page, text)
        page.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(page, text)
        return page

    def paper(self, out: Path | str, command: str = "") -> list[Path]:
        """Write tables in LaTeX, pictures, tidy CSV and an appendix to the folder `out`; return the paths of the files.

        `paper.tex` compiles to a document of tables, pictures and appendix, which has `command`, the one of these files
        (default: this call). The pictures are also available as `ranks` and `anytime` of `hpo_envs.benchmarks.plots`.

        Raises:
            ValueError: See `scores`; or a file to write is a symbolic link or replaces one of the user.
            ModuleNotFoundError: matplotlib is not installed.
        """
        from hpo_envs.benchmarks.comparison import paper

        blocks, facts = [*self.blocks()], f"{self.missing} {self.checked}".strip()
        runs, evaluations = flat.runs(blocks), flat.all_evaluations(blocks)
        headers = [{**b.header, **b.rest[k]} for b in blocks for k in b.which.tolist()]
        labels = {"environment": [*map(environment_of, headers)], "agent": [*map(agent_of, headers)]}
        tables = runs.to_pandas(), evaluations.to_pandas(), labels
        made: dict[str, bytes | str] = {"runs.parquet": parquet.bytes_of(runs)}
        asked = [*self.commands, command or f"{self._call}.paper({str(out)!r})"]
        made |= paper.files(self.scores["tracks"], self._cells, *tables, facts, asked)
        folder = self.folder or out
        paths = {atomic.inside(out, atomic.inside(folder, Path(out) / n)): content for n, content in made.items()}
        for path, content in paths.items():
            if isinstance(content, str):
                atomic.check_ours(path, content)
        Path(out).mkdir(parents=True, exist_ok=True)
        for path, content in paths.items():
            atomic.write(path, content)
        return [*paths]

    @functools.cached_property
    def of_folder(self) -> Comparison:
        """This comparison or, if other studies have runs in its folder, that of all runs there, not replayed."""
        mine = self.outcome.pairs if self.outcome else {}
        known = (manifest.read(self.folder) or {}) if self.folder and self.outcome else {}
        if self.folder is None or all(seeds <= {*mine.get(pair, ())} for pair, seeds in known.items()):
            return self
        found = Comparison(None, self.folder)
        found._read = (self.folder,)
        for block in Store(self.folder).once():
            found._scores.add(block, (0, block.header["env"], block.header["agent"]))
        for block in self._blocks:
            if (block.header["env"], block.header["agent"]) not in known:  # such as those of an archive
                found.add(block)
        return found

    def save(self) -> Iterator[str]:
        """Write `runs.parquet` and, with scores, `summary.csv` and a picture per id to the folder; yield a text per id.

        They have all runs of the folder, those of other studies, too.

        Raises:
            ValueError: Runs are in no folder, or a file to write is a symbolic link.
        """
        if self.folder is None:
            raise ValueError("folder must be given to save a comparison, got None")
        if (whole := self.of_folder) is not self:
            yield from whole.save()
            return
        if blocks := [*self.blocks()]:  # none where every agent has stopped
            table = parquet.bytes_of(flat.runs(blocks))
            atomic.write(atomic.inside(self.folder, self.folder / "runs.parquet"), table)
        try:
            scored, first, _ = self._parts
            cells = self._cells
        except ValueError:  # there is nothing to score
            scored, first, cells = {}, {}, []
        scores = {h["env"]: scored[label] for label, h in first.items()}
        for env, by_agent in self.by_environment().items():
            h, seeds = next(iter(by_agent.values()))[0].header_of(0), max(sum(map(len, b)) for b in by_agent.values())
            spent = f"{h['budget']:g} {h['cost_unit']}"
            text = f"{env}: {h['kind']} table {h['table']}, sha256 {h['sha256'][:12]}\n{seeds} seeds, budget {spent}"
            if by := scores.get(env):
                path = self.folder / FIGURES / env
                picture, *_ = (atomic.inside(self.folder, f) for f in style.files(path))
                panel = summary.rounded(summary.curves(by, h)["evaluations"])
                measure = "negative best reward" if any(runs.raw for runs in by.values()) else "normalised regret"
                try:
                    figure, ((axes,),) = style.panels(1, 1, (7.2, 4.0))
                    style.lines(panel["x"], panel["agents"], axes, measure)
                    axes.set(xlabel=f"{env}: evaluations (mean of {seeds} seeds, 95 % intervals)")
                    style.save(figure, path)
                except ModuleNotFoundError as error:
                    text += f"\n{error}"
                else:
                    text += f"\nplot: {picture}"
            yield text
        if cells:
            atomic.write_csv(atomic.inside(self.folder, self.folder / "summary.csv"), cells)

    def digest(self) -> str:
        """Return the sha256 of the runs in any order, without seconds and `suite`; equal digests mean equal results."""
        return digest_of(self.blocks())

    def __str__(self) -> str:
        try:
            tracks, chosen = self.scores["tracks"], self.scores["selections"]
        except ValueError as error:
            return "\n\n".join(filter(None, [f"no scores: {error}", self.missing]))
        shown = [terminal.of_track(track) for track in tracks]
        for family, records in chosen.items():
            rows = terminal.aligned(terminal.of_selections(records))
            shown.append(f"{family}\n{rows}\n\n{terminal.SELECTIONS}")
        return "\n\n".join(filter(None, [*shown, self.missing]))

    def __repr__(self) -> str:
        agents, environments = ({key[i] for key in self._scores.cells} for i in (1, 0))
        return f"<Comparison of {len(agents)} agents on {len(environments)} environments>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _flat(cell: Mapping[str, Any], degenerate: bool) -> dict[str, Any]:
    """Return a row of `summary.csv` or `scores.csv`, without scores if the task is degenerate."""
    ends = ("", "_low", "_high")
    means = {f"{k}{end}": v for k in ("anytime", "final") for end, v in zip(ends, cell[k], strict=True)}
    scores = {k: None if degenerate else v for k, v in [*means.items(), ("solved", cell["solved"])]}
    return {k: cell[k] for k in ("environment", "agent", "n")} | scores | {"spent": cell["spent"]}
