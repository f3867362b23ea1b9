"""Tables of measured evaluations: the schema, the builders, fetching, and the embedded tables."""
