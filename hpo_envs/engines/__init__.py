"""How an action is answered: one engine for each kind of table, in a scalar and a batched form."""
