"""Subcommands of `hpo-envs`, one in each module."""


def words(text: str | None) -> list[str]:
    """The words between the commas of an option; none if it is not given."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]
