"""Settings of the reproduction."""

TABLE = "cushlepor/ted-ende"
"""English to German: the talks of WMT 2021."""

PSQM = "cushlepor/newstest2020-ende-psqm"
"""The labels that the paper's three RMSEs are to."""
