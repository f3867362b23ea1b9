"""What is said of rankings on embedded tables."""

from __future__ import annotations

from hpo_envs.registry import SPECS
from hpo_envs.tables import store
from hpo_envs.tables.catalogue import agreement

RECORDS = [
    {"id": "A-v0", "tables": "a/x", "tau": "0.50", "ceiling": "0.70", "measured": "bo", "embedded": "bo"},
    {"id": "A-mo-v0", "tables": "a/x a/y", "tau": "0.30", "ceiling": "0.30", "measured": "bo", "embedded": "random"},
    {"id": "B-v0", "tables": "ab/x", "tau": "0.10", "ceiling": "0.90", "measured": "bo", "embedded": "random"},
]


def test_what_rankings_are_worth() -> None:
    assert agreement.worth("a", RECORDS) == (
        "Agents on the 2 ids of a are ranked on embedded and on measured tables with Kendall's tau 0.40, twice on "
        "measured ones with 0.50; the same agent is best on 1 of them."
    )
    assert agreement.worth("ab/x", RECORDS) == (
        "Agents on B-v0 are ranked on embedded and on measured tables with Kendall's tau 0.10, twice on measured ones "
        "with 0.90; the best agent is another one. Which agent is better has to be found out on measured tables."
    )
    assert agreement.worth("a/y", RECORDS).startswith("Agents on A-mo-v0 ")
    assert agreement.worth("c", RECORDS) == (
        "Agents on c were not ranked on embedded and on measured tables: what an order is worth is open."
    )


def test_ids_with_both_tables_were_compared_and_their_pages_say_so() -> None:
    compared = {r["id"]: r for r in agreement.records()}
    for env_id in ("NMTHPO-enja-v0", "NMTHPO-enja-mo-v0", "CharHPO-g2p-geo-lstm-v0", "NMTLC-swen-v0", "FIESTA-ner-v0"):
        assert compared[env_id]["tables"] == " ".join(SPECS[env_id].tables)
    notes = store.load("charhpo/g2p-geo-lstm", "surrogate").provenance.notes
    assert notes[-1] == agreement.worth("charhpo/g2p-geo-lstm")
    notes = store.load("cushlepor/newstest2020-ende-psqm", "surrogate").provenance.notes
    assert notes[-1].startswith("Agents on cushlepor/newstest2020-ende-psqm were not ranked ")
    assert "ranked" not in " ".join(store.load("fiesta/gaussian", "surrogate").provenance.notes), "nothing was measured"
