"""TableHPO and TableLC: environments on the user's own tables, made with `hpo_envs.tables.user`."""
