"""Tables of measured evaluations: the schema, the builders, packs and fetching."""
