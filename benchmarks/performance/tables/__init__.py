"""What tables cost: reading them, and one step against the released environment; in no wheel."""
