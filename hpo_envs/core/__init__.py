"""Parts shared by all environments: base classes of both forms, `Params`, infos, recording and rendering."""
