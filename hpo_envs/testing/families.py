"""Contract of families: the class docstring is the page, and names the ids, arguments and entries of `info`."""

import re
from collections.abc import Callable, Iterable

import gymnasium as gym

from hpo_envs.families import registry
from hpo_envs.families.registry import HEADINGS, Family, Spec
from hpo_envs.testing.envs import check_env
from hpo_envs.testing.rules import check_rules, require


def check_family(family: Family, *, rules: Iterable[str] | None = None, environments: bool = True) -> None:
    """Check a family's record and pages, and every id whose tables are installed.

    Args:
        family: The record; its ids are registered with Gymnasium if they are not yet. Ids that need an argument are
            made with the family's `example`; without one, only their pages are checked.
        rules: Names of `FAMILY_RULES` to check; all by default.
        environments: Whether every installed id is checked by `check_env`, too.

    Raises:
        ValueError: Unknown rule, or `family` is not a Family.
        AssertionError: The family, or an id of it, breaks a rule; the message names it.

    Example:
        >>> from hpo_envs.families.registry import FAMILIES
        >>> check_family(FAMILIES["FIESTA"])
    """
    if not isinstance(family, Family):
        raise ValueError(f"family must be a Family, got {family!r}")
    if family.name not in registry.FAMILIES:
        registry.add(family)
    check_rules(f"family {family.name}", family, FAMILY_RULES, rules)
    for spec in _playable(family) if environments else ():
        check_env(spec.id, **family.example)


def _playable(family: Family) -> tuple[Spec, ...]:
    """Return the specifications of ids whose tables are installed; none if ids need arguments without an example."""
    return tuple(filter(registry.installed, family.ids)) if family.listed or family.example else ()


def section(page: str, heading: str) -> str:
    """Return the text below a heading of a page; empty if there is no such heading."""
    match = re.search(rf"## {heading}\n(.*?)(?=\n\s*## |\Z)", page, re.DOTALL)
    return match.group(1) if match else ""


def _record(family: Family) -> None:
    require(family.ids, "ids must not be empty")
    require(family.short, "short must limit an episode to a few steps, got no argument")
    for spec in family.ids:
        require(spec.tables, f"tables of {spec.id} must name at least one table, got none")


def _headings(family: Family) -> None:
    for spec in {s.entry_point: s for s in family.ids}.values():
        page = spec.page
        got = tuple(re.findall(r"^\s*## (.+)$", page, re.MULTILINE))
        require(got == HEADINGS, f"headings of {spec.entry_point} must be {', '.join(HEADINGS)}, got {', '.join(got)}")
        for heading in HEADINGS:
            require(section(page, heading).strip(), f"section {heading} of {spec.entry_point} must not be empty")
        require(
            "- v0: " in section(page, "Version History"), f"Version History of {spec.entry_point} must have '- v0: '"
        )


def _information(family: Family) -> None:
    for spec in _playable(family):
        env = gym.make(spec.id, **family.example)
        env.action_space.seed(0)
        keys = set(env.reset(seed=0)[1])
        for _ in range(30):
            _, _, terminated, _, info = env.step(env.action_space.sample())
            keys |= set(info)
            if terminated:
                break
        named = set(re.findall(r"`([a-z0-9_]+)`", section(spec.page, "Information")))
        require(
            keys <= named, f"section Information of {spec.id} must name every key, got none of {sorted(keys - named)}"
        )


def _arguments(family: Family) -> None:
    for spec in family.ids:
        text = section(spec.page, "Arguments")
        for name in spec.kwargs:
            require(f"`{name}" in text, f"section Arguments of {spec.id} must name {name}")


def _ids(family: Family) -> None:
    """Require that pages name each id, literally or as a pattern such as `NMTHPO-{pair}-mo-v0`."""
    for spec in family.ids:
        patterns = re.findall(r"`([A-Za-z]+-[^`\s]*v\d+)`", spec.page)
        hits = (re.fullmatch(re.sub(r"\\\{[^}]*\\\}", "[A-Za-z0-9_-]+", re.escape(p)), spec.id) for p in patterns)
        require(any(hits), f"the page of {spec.id} must name it, got {', '.join(patterns)}")


def _observation(family: Family) -> None:
    for spec in family.ids:
        text = section(spec.page, "Observation Space")
        for words in ("`Box`", "float32", "| index |"):
            require(words in text.replace("  ", " "), f"section Observation Space of {spec.id} must have {words!r}")


FAMILY_RULES: dict[str, Callable[[Family], None]] = {
    "record": _record, "headings": _headings, "information": _information, "arguments": _arguments, "ids": _ids,
    "observation": _observation,
}  # fmt: skip
"""Rules of families by name."""
