"""Writes the pages of the documentation site that come from the code: environments, agents, API, results."""
