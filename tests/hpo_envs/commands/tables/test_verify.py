"""`hpo-envs verify`: damage is named, fetching repairs it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hpo_envs.commands import main
from hpo_envs.tables import store


@pytest.mark.measured
def test_fetch_use_damage_verify_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, root = store.data_folder(), tmp_path / "data"
    monkeypatch.setenv("HPO_ENVS_DATA", str(root))
    fetch = ["fetch", "nmthpo", "--from", str(source)]
    assert main.main(["verify"]) == 0
    assert "0 files ok, 0 corrupt" in capsys.readouterr().out
    assert main.main(fetch) == 0
    assert "nmthpo: 24 files installed (213,182 bytes), 0 were already right" in capsys.readouterr().out
    assert store.load("nmthpo/swen", "auto").provenance.kind == "measured"
    assert main.main(["verify", "nmthpo"]) == 0
    assert "24 files ok, 0 corrupt, 0 not installed" in capsys.readouterr().out
    victim = root / "nmthpo/datasets/sw-en.evals"
    right = victim.read_bytes()
    for bad in (right[:-10], right.replace(b"1", b"2", 1)):  # truncated, and one digit changed
        victim.write_bytes(bad)
        store._measured.cache_clear()
        message = (
            rf"sw-en.evals must have 34211 bytes with sha256 a2be.*, got {len(bad)} bytes.*`hpo-envs fetch nmthpo`"
        )
        with pytest.raises(store.CorruptFile, match=message):
            store.load("nmthpo/swen", "auto")
        assert main.main(["verify", "nmthpo"]) == 1
        out = capsys.readouterr().out
        assert "corrupt  nmthpo/datasets/sw-en.evals: must have 34211 bytes" in out
        assert "23 files ok, 1 corrupt" in out
        assert "Run `hpo-envs fetch nmthpo`" in out
        assert main.main(fetch) == 0
        assert "1 files installed (34,211 bytes), 23 were already right" in capsys.readouterr().out
        assert victim.read_bytes() == right
    assert not list(root.rglob("*.part"))
    shutil.rmtree(root / "nmthpo/datasets")
    with pytest.raises(store.TableNotInstalled, match=r"is missing. Run `hpo-envs fetch nmthpo`"):
        store.load("nmthpo/swen", "measured")
