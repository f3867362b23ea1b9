"""Score your translations with hLEPOR: one score per line, and the mean.

    python -m hpo_envs.tables.datasets.cushlepor.score my.tsv
    python -m hpo_envs.tables.datasets.cushlepor.score my.tsv --setting cushlepor-lm-en-de --variant released
    python -m hpo_envs.tables.datasets.cushlepor.score my.tsv --setting tuned.json

my.tsv is tab-separated with a header line and the columns hypothesis and reference, UTF-8, no quoting. A setting is a
published one by name, or a JSON file with the six parameters by name.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hpo_envs.tables import hlepor
from hpo_envs.tables.checks import parsed, regular
from hpo_envs.tables.datasets.cushlepor import text


def setting_of(given: str) -> hlepor.Parameters:
    """A published setting by name, or that of a JSON file.

    Raises:
        ValueError: The setting is unknown or invalid, or the file lacks the six numbers.
        OSError: The file cannot be read.
    """
    if not given.endswith(".json"):
        return hlepor.preset(given)
    content = parsed(Path(given), json.loads, "JSON")
    try:
        return hlepor.Parameters(**{name: float(content[name]) for name in hlepor.NAMES})  # type: ignore[arg-type]
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"setting must be JSON with {', '.join(hlepor.NAMES)}, got {given} ({error!r})") from None


def main(words: Sequence[str] | None = None) -> None:
    """Print the scores of a file; exit with status 2 for an invalid argument or file."""
    parser = argparse.ArgumentParser(
        prog="python -m hpo_envs.tables.datasets.cushlepor.score",
        description=__doc__,
        epilog="published settings: " + ", ".join(hlepor.PRESETS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, help="TSV with columns hypothesis and reference")
    parser.add_argument("--setting", default="default", help="see above (default: %(default)s)")
    parser.add_argument("--variant", default="paper", help=f"{', '.join(hlepor.VARIANTS)} (default: %(default)s)")
    args = parser.parse_args(words)
    try:
        pairs = text.parse_pairs(regular(args.file).read_bytes(), str(args.file))
        scores = hlepor.score(*pairs, setting_of(args.setting), variant=args.variant)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print("\n".join(f"{score:.6f}" for score in [*scores]))
    print(f"mean {float(np.mean(scores)):.6f}")


if __name__ == "__main__":
    main()
