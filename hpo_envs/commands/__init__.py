"""Subcommands of `hpo-envs`, one per module: options, output, exit status."""


def words(text: str | None) -> list[str]:
    """Return the comma-separated words of an option; an empty list if it is not given."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]
