"""The registry: what is collected from the records, and what collecting them imports."""

import subprocess
import sys

import pytest

from hpo_envs.families import registry
from hpo_envs.families.registry import FAMILIES, SPECS

HEAVY = ("hpo_envs.core.engines", "hpo_envs.agents", "hpo_envs.benchmarks", "hpo_envs.tables.store", "scipy", "pandas")


def test_importing_package_collects_records_and_imports_no_engine() -> None:
    code = "import sys, hpo_envs; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "hpo_envs.families.nmthpo" in loaded
    assert not [m for m in loaded if m.startswith(HEAVY) or m.endswith((".page", ".build"))]


def test_every_listed_id_is_of_its_family() -> None:
    listed = [s.id for family in FAMILIES.values() if family.listed for s in family.ids]
    assert listed == list(SPECS)
    assert all(registry.family_of(i) is FAMILIES[s.family] for i, s in SPECS.items())
    assert registry.family_of("CartPole-v1") is None


def test_related_pairs_share_cluster() -> None:
    clusters = {s.cluster for s in SPECS.values() if s.id.startswith("NMTHPO-") and s.cluster}
    assert len(clusters) == 4
    assert SPECS["NMTHPO-enja-v0"].cluster == SPECS["NMTHPO-jaen-mo-v0"].cluster
    for name in ("CharHPO", "CharMini", "CharMiniLC"):  # one for each language, whatever task and model
        both = {(registry.languages_of(s.tables), s.cluster) for s in FAMILIES[name].ids if len(s.tables) == 1}
        assert len(both) == len(dict(both)) == len({cluster for _, cluster in both}) > 1


def test_languages_are_those_of_tables_that_answer() -> None:
    of = registry.languages_of
    assert of(["nmthpo/jaen"]) == of(["nmthpo/enja"]) == of(["nmtlc/jaen"]) == ("jpn",)
    assert of(SPECS["NMTHPO-v0"].tables) == ("chi", "jpn", "rus")
    assert of(["nmthpo/zhen-grid"], "NMTHPO-v0") == ("chi",)
    assert of(["charhpo/g2p-hun-lstm"]) == ("hun",)
    assert of(["nasbenchnlp/ptb", "user/mine"]) == ()
    # A table of somebody's under the id of another.
    assert of(["mine"], "NMTHPO-swen-v0") == ("swa",)
    split = [s for family in FAMILIES.values() if family.distributions for s in family.ids]
    assert len(split) > 40
    assert all(of(s.tables) for s in split)


@pytest.mark.parametrize(("levels", "ids"), [(1, ["TableHPO-mine-v0"]), (3, ["TableHPO-mine-v0", "TableLC-mine-v0"])])
def test_ids_of_users_table(levels: int, ids: list[str]) -> None:
    assert [s.id for s in registry.of_user("mine", levels)] == ids


@pytest.mark.parametrize(
    ("pattern", "names"), [("Table*", True), ("TableLC-?*", True), ("*", False), ("NMT*", False), ("[T]*", False)]
)
def test_patterns_that_name_users_tables(pattern: str, names: bool) -> None:
    assert registry.names_user_tables(pattern) == names
