"""The figures of the stories, drawn when the site is built."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import warnings
from pathlib import Path

STORIES = Path(__file__).resolve().parent.parent / "stories"
SEEDS = "3"
"""Runs of each agent: enough for a picture, and seconds."""


def draw(folder: Path) -> str:
    """Tells every story on the embedded tables and writes its figure; returns what the page says of them."""
    sys.path.insert(0, str(STORIES))
    parts = ["", f"## What they draw\nHere with `--seeds {SEEDS} --table surrogate`: the embedded tables answer.", ""]
    try:
        for path in sorted(STORIES.glob("*.py")):
            if path.stem == "story":
                continue
            spec = importlib.util.spec_from_file_location(f"story_of_{path.stem}", path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                spec.loader.exec_module(module)
                module.main(["--seeds", SEEDS, "--table", "surrogate", "--out", str(folder)])
            title = (module.__doc__ or "").partition("\n")[0]
            parts += [f"### {title}", f"![{title}](stories/{path.stem}.png)", ""]
    finally:
        sys.path.remove(str(STORIES))
        sys.modules.pop("story", None)
    return "\n\n".join(parts)
