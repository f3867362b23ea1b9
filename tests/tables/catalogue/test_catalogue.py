"""The catalogue: well-formed rows, and equal codes of languages in all families."""

import re
from pathlib import Path

import pytest

from hpo_envs.benchmarks import tasks
from hpo_envs.families import registry
from hpo_envs.tables import catalogue
from hpo_envs.tables.catalogue import ALIASES, canonical, overlap
from hpo_envs.tables.datasets import charmini


def test_every_upstream_file_is_pinned_and_of_known_data() -> None:
    assert catalogue.files()
    for name, record in catalogue.files().items():
        assert name == record.file
        assert not record.file.startswith("/")
        assert ".." not in Path(record.file).parts
        assert re.fullmatch(r"[0-9a-f]{40}", record.commit)
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", record.repository)
        assert re.fullmatch(r"[0-9a-f]{64}|gitblob:[0-9a-f]{40}", record.sha256)
        assert record.bytes >= (0 if record.sha256.startswith("gitblob:") else 1)
        assert record.licence
    # Users' own tables, and CellMini, whose text ships, come from no file that is fetched.
    assert set(catalogue.known()) - {"cellmini", "user"} <= set(catalogue.datasets())


PAIRS = (
    ("NMTHPO", "", {"zh": "chi", "ru": "rus", "ja": "jpn", "sw": "swa", "so": "som"}),
    ("NMTLC", "", {"zh": "chi", "ru": "rus", "ja": "jpn", "sw": "swa", "so": "som", "fr": "fre"}),
    (
        "CharHPO",
        "",
        {
            **{code: code for code in ("alb", "ara", "cat", "dut", "gle", "hai", "hun", "geo")},
            **{"rom": "rum", "arm_e": "arm"},
        },
    ),
    ("CharMini", "LC", {code: code for code in (charmini.ENGLISH, *charmini.SHARED_TASK)}),
)
"""Family, suffix of its second name, its language codes and the canonical ones."""


@pytest.mark.parametrize("family, suffix, codes", PAIRS)
def test_codes_of_family_are_listed_with_one_code(family: str, suffix: str, codes: dict[str, str]) -> None:
    for name, d in tasks.DISTRIBUTIONS.items():
        if name.removesuffix("-v0").removesuffix(suffix) == family:
            assert {code: canonical(code) for code in d.held_out.values()}.items() <= codes.items()
    assert {code: canonical(code) for code in codes} == codes


def test_every_family_with_languages_is_listed() -> None:
    by_language = (
        name
        for name, family in registry.FAMILIES.items()
        if family.distributions and all(v.isidentifier() for d in family.distributions for v in d.held_out.values())
    )
    found = set(by_language)
    assert found <= {f"{family}{end}" for family, suffix, _ in PAIRS for end in ("", suffix)}


def test_tables_of_one_language_exclude_each_other_whatever_their_families_call_it() -> None:
    known = {
        ("charhpo/inflection-rom-lstm", "rum"),
        ("charhpo/g2p-arm_e-lstm", "arm"),
        ("nmtlc/ft-fren", "fre"),
        ("nmthpo/jaen", "jpn"),
    }
    for table, code in known:
        assert registry.held_out_of([table]) == (code,)
        assert code in charmini.SHARED_TASK


@pytest.mark.parametrize("pair", [("rum", "rom"), ("arm", "arm_e"), ("jpn", "ja"), ("fre", "fr"), ("nld", "dut")])
def test_languages_overlap_whichever_of_their_codes_is_given(pair: tuple[str, str]) -> None:
    assert (overlap(pair[:1], pair[1:]), overlap(["xx", pair[0]], ["zz"])) == ([canonical(pair[0])], [])


def test_no_alias_leads_to_another() -> None:
    assert not set(ALIASES.values()) & set(ALIASES)
    assert all(len(code) == 3 and code.isalpha() for code in ALIASES.values())
