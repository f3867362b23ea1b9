"""Laws of every table, and tables that break them."""

import pytest

from hpo_envs.tables import catalogue, store
from hpo_envs.testing import TABLE_RULES, check_table


@pytest.mark.parametrize("rule", TABLE_RULES)
@pytest.mark.parametrize("name", [name for name in store.names() if not store.missing(name)])
def test_every_table_keeps_the_contract(name: str, rule: str) -> None:
    table = store.load(name)
    assert (table.name, table.provenance.kind == "surrogate") == (name, store.synthetic(name))
    check_table(table, rules=[rule])


def test_catalogue_is_complete() -> None:
    for name in store.names():
        assert {*store.files(name)} <= {*catalogue.files()}
        assert not (store.files(name) and name in catalogue.pins())
    with pytest.raises(ValueError, match="dataset must be one of .*, got 'nmthp', did you mean 'nmthpo'"):
        catalogue.dataset("nmthp")


def test_unknown_tables_are_rejected() -> None:
    with pytest.raises(ValueError, match="dataset must be one of"):
        store.load("nothing/at-all")
    with pytest.raises(ValueError, match="table must be one of .*, got 'nmthpo/swem', did you mean 'nmthpo/swen'"):
        store.load("nmthpo/swem")
