"""Parts shared by all environments: engines, scalar and vectorized base classes, `Params`, infos, rendering."""
