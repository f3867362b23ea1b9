"""The registry: the collected ids, and the modules that collecting them imports."""

import subprocess
import sys

import pytest

from hpo_envs.families import registry
from hpo_envs.families.registry import FAMILIES, SPECS
from hpo_envs.tables import catalogue, store
from hpo_envs.tables.catalogue import canonical

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
    assert all(registry.kind_of(s) in ("measured", "surrogate") for f in FAMILIES.values() for s in f.ids)


GROUPS = [
    ("NMTHPO", 5),  # with NMTHPO-v0, which draws among pairs
    ("NMTLC", 5), ("CharHPO", 13), ("CharMini", 1), ("TaskSet", 1), ("FIESTA", 3), ("CushLEPOR", 6), ("NASBenchNLP", 2),
]  # fmt: skip


@pytest.mark.parametrize(("family", "count"), GROUPS)
def test_groups_of_a_family(family: str, count: int) -> None:
    assert len({registry.group_of(s.id) for s in FAMILIES[family].ids}) == count


def test_group_is_data_and_annotation_whatever_model_objectives_and_form() -> None:
    of = registry.group_of
    assert of("NMTHPO-enja-v0") == of("NMTHPO-jaen-mo-v0") == of("NMTLC-enja-v0")
    assert of("NMTHPO-soen-v0") == of("NMTLC-swen-v0") == "MATERIAL, translation"
    assert of("CharHPO-g2p-hun-lstm-v0") == of("CharHPO-g2p-hun-transformer-v0")
    assert of("CharHPO-g2p-hun-lstm-v0") != of("CharHPO-inflection-hun-lstm-v0")
    assert of("CharMiniLC-eng-lstm-v0") == of("CharMini-hun-transformer-v0")
    assert [of(i) for i in ("NMTHPO-v0", "FIESTA-gaussian-v0", "CartPole-v1")] == [
        "NMTHPO-v0",
        "FIESTA-gaussian-v0",
        "CartPole-v1",
    ]


def test_every_table_that_was_measured_has_a_setting_and_no_other() -> None:
    known = catalogue.settings()
    measured = {n for n in store.names() if not store.synthetic(n) and not n.startswith("user/")}
    assert measured == known.keys()
    assert all(all(s[:-1]) and canonical(s.language) == s.language for s in known.values())


def test_splits_have_the_languages_of_the_catalogue() -> None:
    for family in FAMILIES.values():
        tables = {s.id: s.tables for s in family.ids}
        for d in family.distributions:
            of = [t for i in ([d.ids] if d.argument else map(d.ids.format, d.held_out)) for t in tables[i]]
            assert [catalogue.held_out()[t] for t in of] == [*map(canonical, d.held_out.values())]


def test_languages_are_those_of_tables_that_answer() -> None:
    of = registry.held_out_of
    assert of(["nmthpo/jaen"]) == of(["nmthpo/enja"]) == of(["nmtlc/jaen"]) == ("jpn",)
    assert of(SPECS["NMTHPO-v0"].tables) == ("chi", "jpn", "rus")
    assert (of(["nmthpo/zhen-grid"], "NMTHPO-v0"), of(["charhpo/g2p-hun-lstm"])) == (("chi",), ("hun",))
    assert of(["charmini/eng-lstm"]) == ("eng",)
    # All of a task group is in English.
    assert of(["nasbenchnlp/ptb", "user/mine"]) == ("Penn Treebank, next word",)
    assert of(["taskset/gru128"]) == of(["taskset/irnn64"]) == ("IMDB, sentiment",)
    assert of(["fiesta/gaussian", "user/mine"]) == ()
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
