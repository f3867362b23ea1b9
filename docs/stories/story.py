"""Common parts of the stories: options, verdicts and the figure."""

import argparse
import textwrap
from pathlib import Path

from hpo_envs.benchmarks.plots import COLOURS, panels

__all__ = ["COLOURS", "Story", "figure", "options", "save"]


def options(doc, seeds, arguments=None):
    """Options that every story has."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=seeds, help="runs of each agent (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("stories"), help="folder of the figure")
    return parser.parse_args(arguments)


class Story:
    """Prints a story with a title, and remembers its verdicts."""

    def __init__(self, title):
        self.verdicts = {}
        print(f"{title}\n{'=' * len(title)}")

    def say(self, text):
        """A paragraph."""
        print("\n" + textwrap.fill(" ".join(text.split()), 100))

    def claim(self, claim, holds, numbers):
        """Claim of the paper, result here, and whether they agree."""
        self.verdicts[claim] = bool(holds)
        self.say(f"CLAIM: {claim}")
        self.say(f"HERE: {'it holds' if holds else 'IT DOES NOT HOLD'}. {numbers}")


def figure(columns):
    """A figure with some panels in a row."""
    drawn, (axes,) = panels(1, columns, (4.6 * columns, 3.6))
    for a in axes:
        a.spines[["top", "right"]].set_visible(False)
    return drawn, axes


def save(drawn, out, name):
    """Write the figure and print its path."""
    for a in drawn.axes:
        a.title.set_size(10)
        if a.get_legend_handles_labels()[0]:
            a.legend(fontsize=8, frameon=False)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.png"
    drawn.savefig(path, dpi=110)
    print(f"\nFigure: {path}")
    return path
