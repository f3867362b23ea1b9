"""One module per subcommand of `hpo-envs`: what there is, here; tables, studies and analysis, in rooms."""


def words(text: str | None) -> list[str]:
    """The words between the commas of an option; none if it was not given."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]
