"""Tables of measured evaluations: the schema, the builders, packs and fetching."""

VERSION = "0.3.0"
"""Version of this package."""
