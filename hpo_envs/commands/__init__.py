"""One module per subcommand of `hpo-envs`: what there is, here; tables, studies and analysis, in rooms."""
