"""Uses the new id in everything that is not a contract test."""

import sys
from pathlib import Path

import gymnasium as gym
from gymnasium.utils.env_checker import check_env

import hpo_envs
from hpo_envs.commands import main
from hpo_envs.families.registry import FAMILIES, SPECS

ID = "Tiny-taggers-v0"
HERE = Path(__file__).parent
assert Path(hpo_envs.__file__).parent.parent == HERE, "the copy is what is imported"
assert ID in SPECS
assert FAMILIES["Tiny"].references == ()

env = gym.make(ID, render_mode="ansi")
assert env.unwrapped.table.provenance.kind == "measured"  # type: ignore[attr-defined]
check_env(gym.make(ID, disable_env_checker=True).unwrapped)
env.reset(seed=0)
rows = env.unwrapped.table.source_index.argsort()  # type: ignore[attr-defined]
rewards = [float(env.step(rows[line])[1]) for line in (0, 1, 1)]
assert rewards == [0.9, 0.935, 0.935]
text = env.render()
assert isinstance(text, str)
assert "tagger-01" in text
assert "pulls" not in text, "a table without features is not a bandit"
gym.make(ID, render_mode="rgb_array").reset()
envs = gym.make_vec(ID, num_envs=3)
envs.reset(seed=0)
assert envs.step(envs.action_space.sample())[1].shape == (3,)

assert main.main(["compare", "--env", ID, "--agents", "random", "--seeds", "4", "--out", "runs"]) == 0
assert main.main(["report", "runs", "--out", "report.html"]) == 0
assert ID in Path("report.html").read_text(encoding="utf-8")

if (HERE / "docs" / "_site").is_dir():
    sys.path.insert(0, str(HERE / "docs"))
    from _site import environments, results

    page = environments.page(SPECS[ID], results.load(), "")
    assert "Nobody. Twelve taggers. 2026." in page
    assert "no agent has been run on it yet" in page
    assert ID in environments.family_page("Tiny", [SPECS[ID]], results.load())
