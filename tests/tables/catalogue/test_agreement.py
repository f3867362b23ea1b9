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
        "Rankings of agents on embedded and measured tables of the 2 ids of a, on average, agree with Kendall's tau "
        "0.40; those on two halves of the measured runs agree with 0.50; the best agent is the same on 1 of them."
    )
    assert agreement.worth("ab/x", RECORDS) == (
        "Rankings of agents on embedded and measured tables of B-v0 agree with Kendall's tau 0.10; those on two halves "
        "of the measured runs agree with 0.90; the best agent is not the same. Compare agents on measured tables here."
    )
    assert agreement.worth("a/y", RECORDS).startswith("Rankings of agents on embedded and measured tables of A-mo-v0 ")
    assert agreement.worth("c", RECORDS) == ("Whether it ranks agents as the measured table of c does was not tested.")


def test_ids_with_both_tables_were_compared_and_their_pages_say_so() -> None:
    compared = {r["id"]: r for r in agreement.records()}
    for env_id in ("NMTHPO-enja-v0", "NMTHPO-enja-mo-v0", "CharHPO-g2p-geo-lstm-v0", "NMTLC-swen-v0", "FIESTA-ner-v0"):
        assert compared[env_id]["tables"] == " ".join(SPECS[env_id].tables)
    notes = store.load("charhpo/g2p-geo-lstm", "surrogate").provenance.notes
    assert notes[-1] == agreement.worth("charhpo/g2p-geo-lstm")
    notes = store.load("cushlepor/newstest2020-ende-psqm", "surrogate").provenance.notes
    assert notes[-1].endswith("table of cushlepor/newstest2020-ende-psqm does was not tested.")
    assert "rank" not in " ".join(store.load("fiesta/gaussian", "surrogate").provenance.notes), "nothing was measured"
