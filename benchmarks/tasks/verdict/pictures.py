"""The picture of the verdict: leads over random search by task group, and what the lead of a model depends on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpo_envs.benchmarks.plots import COLOURS, PLACES, STYLE, panels, save
from hpo_envs.benchmarks.report.groups import shown
from hpo_envs.tables.checks import extra_module


def draw(found: Mapping[str, Any], path: Path) -> list[Path]:
    """Draw both panels from the summary of the verdict; return the files. `path` has no suffix."""
    rows, agents = [*reversed(found["by_group"])], shown(found)
    with extra_module("matplotlib", "plots", "plots").rc_context(STYLE):
        figure, ((left, right),) = panels(1, 2, (9.0, 1.2 + 0.17 * len(rows)), width_ratios=(3, 2))
        for agent, marker in zip(agents, "os^D", strict=False):
            colour = COLOURS[PLACES.get(agent, len(agent)) % len(COLOURS)]
            left.plot([-r[agent] for r in rows], range(len(rows)), marker, color=colour, label=agent, markersize=4)
        left.axvline(0.0, color="black", linewidth=0.8)
        left.set_yticks(range(len(rows)), [r["group"] for r in rows], fontsize=6.5)
        left.set_xlabel("lead over random search: mean normalised regret, 40 evaluations", fontsize=8)
        figure.legend(loc="outside upper left", ncols=len(agents), fontsize=8)
        effects = [*reversed(found["pays"]["effects"])]
        for y, e in enumerate(effects):
            right.plot([e["low"], e["high"]], [y, y], color=COLOURS[0])
            right.plot(e["effect"], y, "o", color=COLOURS[0], markersize=4)
        right.axvline(0.0, color="black", linewidth=0.8)
        right.set_yticks(range(len(effects)), [e["property"] for e in effects], fontsize=8)
        right.set_xlabel("change of bo's lead for one standard\ndeviation, 95 % interval over task groups", fontsize=8)
        right.set_ylim(-0.6, len(effects) - 0.4)
        return save(figure, path, dpi=110)
