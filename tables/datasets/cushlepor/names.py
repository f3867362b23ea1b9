"""Constants of the translations with human scores: table names, systems, documents, splits. Imports nothing."""

from __future__ import annotations

TABLES = ("cushlepor/ted-ende",)
"""Names of the tables."""

HELD_OUT = {"cushlepor/ted-ende": ("talk.5", "talk.6")}
"""Documents that no reward sees: 229 of 529 segments of each system."""

SPLITS = ("train", "held-out")

SYSTEMS = 13
"""Systems of TED en-de."""

DOCUMENTS = {"talk.1": 140, "talk.3": 31, "talk.4": 129, "talk.5": 70, "talk.6": 159}
"""Documents of TED en-de -> their segments."""
