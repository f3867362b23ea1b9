"""The archive of a track: a new agent is ranked against its runs without repeating them."""

import io
import tempfile
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.comparison import archive
from hpo_envs.benchmarks.comparison.replay import Replay
from hpo_envs.benchmarks.study import parquet, study
from hpo_envs.benchmarks.study.block import Block
from tests.helpers import rejects

TRACK = 'seeds = 6\nbudget = 4\nenvironments = ["NMTHPO-zhen-v0", "NMTHPO-jaen-v0"]\nagents = ["random", "bo-ei-rbf"]\n'


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("track")
    (folder / "track.toml").write_text(TRACK)
    Comparison(folder / "track.toml", folder / "runs").run()
    content, _ = archive.build(folder / "runs", folder / "track.toml")
    assert content == archive.build(folder / "runs", folder / "track.toml")[0]
    (folder / "old.zip").write_bytes(content)
    return folder / "old.zip"


def test_new_agent_has_rank_among_archived_ones(built: Path, tmp_path: Path, cli: Any) -> None:
    given = ["compare", "--archive", str(built), "--out", str(tmp_path / "runs")]
    assert "12 runs made" in cli([*given, "--agents", "graph-ei-rbf"])
    whole = Comparison({**study_of(built), "agents": ["random", "bo-ei-rbf", "graph-ei-rbf"]}).run()
    ranked = archive.rank(Comparison({**study_of(built), "agents": ["graph-ei-rbf"]}).run(), built)
    assert (ranked.digest(), ranked.verdict()) == (whole.digest(), whole.verdict())
    assert "--agents must be new to the archive, got random" in cli([*given, "--agents", "random"], 2)
    assert "--archive must be used with --agents alone, got seeds" in cli([*given, "--agents", "bo", "--seeds", "3"], 2)


def study_of(built: Path) -> dict[str, Any]:
    with archive.opened(built) as (found, _):
        return {"environments": [{"id": e.id, **e.kwargs} for e in found.environments], "seeds": list(found.seeds)}


def test_archives_that_are_rejected(built: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        archive.challenge(tmp_path / "none.zip", ["bo"])
    (tmp_path / "a.zip").write_bytes(b"PK")
    rejects("must be an archive of runs .* got File is not a zip file", archive.challenge, tmp_path / "a.zip", ["bo"])
    other = Comparison({**study_of(built), "agents": ["graph-ei-rbf"]}).run()
    key = next(k for k in other._scores._facts if k[0] == "sha256")
    other._scores._facts[key] = "0" * 64
    with zipfile.ZipFile(built) as file:
        files = {n: file.read(n) for n in file.namelist()}
    long = zipped(tmp_path / "long.zip", files | {archive.STUDY: files[archive.STUDY].replace(b"= 6", b'= "0-999998"')})
    rejects("long.zip must .*: 1999986 of 1999998 seeds of its study have no run", archive.challenge, long, ["bo"])
    rejects("old.zip must have runs that can be compared with these: .* table nmthpo/", archive.rank, other, built)
    more = zipped(tmp_path / "more.zip", files | {archive.STUDY: files[archive.STUDY].replace(b"= 4", b"= 5")})
    new = Comparison(archive.challenge(more, ["graph-ei-rbf"]), tmp_path / "runs")
    rejects("more.zip must .*: runs must share their budget of NMTHPO-zhen-v0 .*4.0.* and .*5", archive.rank, new, more)
    assert not (tmp_path / "runs").exists()  # nothing was run
    with zipfile.ZipFile(built) as file:
        names = [n for n in file.namelist() if n != archive.STUDY]
    (tmp_path / "lost").mkdir()
    with zipfile.ZipFile(io.BytesIO(built.read_bytes())) as file:
        for name in names[1:]:
            file.extract(name, tmp_path / "lost")
    rejects("an archive must have all runs of its track, got INCOMPLETE: 6 of 24", archive.build, tmp_path / "lost")
    rejects("runs must be on the environments of .*2026.toml", archive.build, built.parent / "runs")


def test_full_disk_of_temporary_files_is_named(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "write_bytes", full)
    rejects(f"No space left on device: '{tmp_path}/hpo-envs-archive-", study_of, built, error=OSError)
    assert not [*tmp_path.iterdir()]


def test_nothing_is_written_outside_of_the_folder(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, target = built.read_bytes(), tmp_path / "temporary"
    target.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(target))
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        part = next(n for n in file.namelist() if n != archive.STUDY)
        data = file.read(part)
    (tmp_path / "slip.zip").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "slip.zip", "a") as file:
        file.writestr(f"../{part.partition('/')[2]}", data)
    with archive.opened(tmp_path / "slip.zip") as (_, folder):
        assert ([p.name for p in target.iterdir()], (folder / part).read_bytes()) == ([folder.name], data)
    assert not [*target.iterdir()]


def zipped(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return path


@pytest.fixture
def content(built: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(built) as file:
        return {name: file.read(name) for name in file.namelist()}


def decoded(content: dict[str, bytes], folder: Path) -> Block:
    """The runs of `random` on one id."""
    name = next(n for n in content if "/random-" in n)
    (folder / name).parent.mkdir()
    (folder / name).write_bytes(content[name])
    return parquet.decode(folder / name)


def encoded(block: Block) -> tuple[str, bytes]:
    data = parquet.encode(block)
    return f"{block.header['env']}/{parquet.name_of('random', block.seeds, data)}", data


@pytest.mark.hostile
def test_archive_imports_nothing_that_it_names(
    content: dict[str, bytes], tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    named = TRACK.replace('"random"', '"evil:A", {name = "x", algorithm = "evil:B"}, "policy:none.npz"').encode()
    path = zipped(tmp_path / "a.zip", content | {archive.STUDY: named})
    assert "12 runs made" in cli(["compare", "--archive", str(path), "--out", "runs", "--agents", "graph-ei-rbf"])
    block = decoded(content, tmp_path)
    block.header.update(env="FunctionHPO-v0", env_kwargs={"function": "evil:A", "space": {"lr": [1, 2]}})
    name, data = encoded(block)
    (tmp_path / "FunctionHPO-v0").mkdir()
    (tmp_path / name).write_bytes(data)
    replay = Replay()
    replay(tmp_path / name, block)
    assert str(replay) == "Runs on FunctionHPO-v0 were not replayed: a function is not called again."
    assert not (tmp_path / "imported").exists()


@pytest.mark.hostile
def test_false_and_lost_runs_of_archives_are_found(built: Path, content: dict[str, bytes], tmp_path: Path) -> None:
    def ranked(files: dict[str, bytes]) -> Comparison:
        study_ = {**study_of(built), "agents": ["graph-ei-rbf"]}
        return archive.rank(Comparison(study_).run(), zipped(tmp_path / "a.zip", files))

    assert "Replayed 24 stored runs: all rewards" in ranked(content).checked
    assert ranked(content).missing == ""
    name = next(n for n in content if "/random-" in n)
    lost = {n: data for n, data in content.items() if n != name}
    assert ranked(lost).missing.startswith("INCOMPLETE: 6 of 24 runs of the study are missing: random on NMTHPO-")
    assert "there is no study.json" in ranked({n: d for n, d in lost.items() if n != "study.json"}).missing
    block = decoded(content, tmp_path)
    block.arrays["reward"] = np.full_like(block.arrays["reward"], 99.9)
    forged, false = encoded(block)
    with pytest.raises(ValueError, match=r"a.zip/NMTHPO-.*reward of evaluation 0 of random .* must be .*, got 99.9"):
        ranked(lost | {forged: false})


@pytest.mark.hostile
def test_damaged_and_large_archives_are_refused_in_one_line(
    built: Path, content: dict[str, bytes], tmp_path: Path
) -> None:
    path, good = tmp_path / "a.zip", built.read_bytes()
    deflated = zipped(path, content, zipfile.ZIP_DEFLATED).read_bytes()
    start = deflated.index(b"study.toml") + len("study.toml")
    central = good.index(b"PK\x01\x02")
    cases = {
        "encrypted": good[: central + 8] + b"\x01" + good[central + 9 :],
        "compression 9": good[: central + 10] + b"\x09" + good[central + 11 :],
        "zip file version": good[: central + 6] + b"\x63" + good[central + 7 :],
        "Error -3": deflated[:start] + b"\xff" * 20 + deflated[start + 20 :],
        "negative seek": good[:-6] + b"\xff\xff\xff\x7f" + good[-2:],
        "recursion": zipped(path, content | {archive.STUDY: b"a=" + b"[" * 20_000}).read_bytes(),
        "no study or no runs": zipped(path, {archive.STUDY: content[archive.STUDY]}).read_bytes(),
        "compression 12": zipped(path, content, zipfile.ZIP_BZIP2).read_bytes(),
        "bytes unpacked": zipped(path, {archive.STUDY: bytes(archive.UNPACKED + 1)}, zipfile.ZIP_DEFLATED).read_bytes(),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(archive.STUDY, b" " * 200_000_000)
        file.infolist()[0].file_size = 100
    cases["Bad CRC-32"] = path.read_bytes()
    tracemalloc.start()
    for said, data in cases.items():
        path.write_bytes(data)
        with pytest.raises(ValueError, match=f"(?i)a.zip must be an archive of runs .*{said}[^\n]*$"):
            archive.challenge(path, ["bo"])
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_committed_runs_of_track_are_made_again() -> None:
    pandas = pytest.importorskip("pandas")
    runs, track = pandas.read_parquet(archive.RUNS), study.from_file(archive.TRACK)
    assert archive.RUNS.stat().st_size < 5e6
    others = {"dehb", "nevergrad", "optuna", "optuna-gp", "smac-mf", "syne-asha", "syne-bohb", "tpe"}
    assert {*runs.agent} == {a.name for a in track.agents} | others
    assert {*runs.environment} == {e.id for e in track.environments}
    some = [e for e in track.environments if e.id in ("NMTHPO-zhen-v0", "NMTLC-zhen-v0", "FIESTA-tdsa8-v0")]
    small = {"seeds": 2, "environments": [{"id": e.id, **e.kwargs} for e in some]}
    for agents in (["random", "regularized-evolution"], ["asha"], ["sr"]):
        fits = [
            e
            for e in small["environments"]
            if "random" in agents or agents[0] in {*runs[runs.environment == e["id"]].agent}
        ]
        made = Comparison({**small, "environments": fits, "agents": agents}).run().frame("runs")
        both = made.merge(runs, on=["environment", "agent", "seed"], how="left", suffixes=("", "_known"))
        for column in ("sha256", "mean_regret", "final_regret", "recommendation"):
            assert both[column].equals(both[f"{column}_known"]), (agents, column)
