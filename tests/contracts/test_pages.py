"""Every environment's class docstring is its page: headings complete, and what it says is what a step does."""

from __future__ import annotations

import importlib
import re

import gymnasium as gym
import pytest

from hpo_envs.registry import SPECS

HEADINGS = (
    "Description",
    "Action Space",
    "Observation Space",
    "Rewards",
    "Starting State",
    "Episode End",
    "Information",
    "Arguments",
    "Table",
    "References",
    "Version History",
)
PAGES = sorted({s.entry_point for s in SPECS.values()})


def page_of(entry_point: str) -> str:
    module, _, name = entry_point.partition(":")
    return getattr(importlib.import_module(module), name).__doc__ or ""


def section(page: str, heading: str) -> str:
    match = re.search(rf"## {heading}\n(.*?)(?=\n\s*## |\Z)", page, re.DOTALL)
    return match.group(1) if match else ""


@pytest.mark.parametrize("entry_point", PAGES)
def test_headings_are_complete_and_in_order(entry_point: str) -> None:
    page = page_of(entry_point)
    found = re.findall(r"^\s*## (.+)$", page, re.MULTILINE)
    assert tuple(found) == HEADINGS
    for heading in HEADINGS:
        assert section(page, heading).strip(), f"{heading} is empty"
    assert "- v0: " in section(page, "Version History")


@pytest.mark.parametrize("spec_id", list(SPECS))
def test_information_names_every_key_of_a_live_step(spec_id: str) -> None:
    text = section(page_of(SPECS[spec_id].entry_point), "Information")
    env = gym.make(spec_id, table="surrogate")
    env.action_space.seed(0)
    _, at_reset = env.reset(seed=0)
    keys = set(at_reset)
    for _ in range(30):
        _, _, terminated, _, info = env.step(env.action_space.sample())
        keys |= set(info)
        if terminated:
            break
    named = set(re.findall(r"`([a-z0-9_]+)`", text))
    assert keys <= named, f"not on the page: {sorted(keys - named)}"


@pytest.mark.parametrize("spec_id", list(SPECS))
def test_arguments_are_those_of_the_constructor(spec_id: str) -> None:
    text = section(page_of(SPECS[spec_id].entry_point), "Arguments")
    for name in SPECS[spec_id].kwargs:
        assert f"`{name}" in text, f"argument {name} is not on the page"


@pytest.mark.parametrize("spec_id", list(SPECS))
def test_the_page_names_the_id(spec_id: str) -> None:
    """Literally, or as a pattern such as `NMTHPO-{pair}-mo-v0`."""
    page = page_of(SPECS[spec_id].entry_point)
    patterns = re.findall(r"`([A-Za-z]+-[^`\s]*v\d+)`", page)
    assert any(re.fullmatch(re.sub(r"\\\{[^}]*\\\}", "[A-Za-z0-9_-]+", re.escape(p)), spec_id) for p in patterns)


@pytest.mark.parametrize("spec_id", list(SPECS))
def test_the_observation_table_covers_every_index(spec_id: str) -> None:
    text = section(page_of(SPECS[spec_id].entry_point), "Observation Space")
    assert "`Box`" in text
    assert "float32" in text
    assert "| index |" in text.replace("  ", " ")
    assert gym.make(spec_id, table="surrogate").observation_space.dtype == "float32"
