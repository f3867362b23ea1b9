"""One module per subcommand of `hpo-envs`."""
