"""Re-checks size and checksum of every installed upstream file.

The exit status is 1 if a file is corrupt. Files that are not installed are counted, and are no error.
"""

from __future__ import annotations

import argparse

from hpo_envs.tables import store
from hpo_envs.tables.files import folder

EPILOG = """\
examples:
  hpo-envs verify                 everything that is installed
  hpo-envs verify nmthpo -v       one data set, with a line for each file"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets (default: all)")
    parser.add_argument("-v", "--verbose", action="store_true", help="name files that are right or missing, too")


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    checks = folder.verify(args.names or None)
    for c in checks:
        if c.status == "corrupt" or args.verbose:
            print(f"{c.status:<8} {c.record.file}" + (f": {c.detail}" if c.detail else ""))
    count = {s: sum(c.status == s for c in checks) for s in ("ok", "corrupt", "missing")}
    print(f"{count['ok']} files ok, {count['corrupt']} corrupt, {count['missing']} not installed")
    print(f"folder: {store.data_folder()}")
    if count["corrupt"]:
        bad = dict.fromkeys(c.record.dataset for c in checks if c.status == "corrupt")
        print(f"Run `hpo-envs fetch {' '.join(bad)}` to install the corrupt files again.")
    return 1 if count["corrupt"] else 0
