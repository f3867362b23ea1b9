"""Install upstream files of data sets that do not ship completely.

Files go to $HPO_ENVS_DATA, else to the user's cache folder. They are checked against the catalogue before they are
installed; correct files are kept, others replaced.
"""

import argparse

from hpo_envs.tables import catalogue
from hpo_envs.tables.files import folder

EPILOG = """\
examples:
  hpo-envs fetch --list                                     the data sets, and which are installed
  hpo-envs fetch nasbenchnlp-ptb-logs                       one data set
  hpo-envs fetch --all                                      all of them"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets, see --list")
    parser.add_argument("--all", action="store_true", help="every data set")
    parser.add_argument("--list", action="store_true", help="show the data sets and stop")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """Install the data sets, or list them."""
    if args.list:
        return _list()
    known = ", ".join(catalogue.datasets())
    if args.all and args.names:
        raise ValueError(f"names must be left out with --all, got {' '.join(args.names)}")
    if not args.all and not args.names:
        raise ValueError(f"names must be one or more data sets ({known}), or --all, got none")
    from hpo_envs.tables.files.download import fetch  # imports requests

    done = fetch(None if args.all else args.names, progress=not args.quiet)
    files = catalogue.files()
    for name in dict.fromkeys(files[f].dataset for f in done):
        mine = [f for f in done if files[f].dataset == name]
        new = [f for f in mine if done[f] == "installed"]
        size = sum((folder.data_folder() / f).stat().st_size for f in new)
        print(f"{name}: {len(new)} files installed ({size:,} bytes), {len(mine) - len(new)} were already correct")
    print(f"folder: {folder.data_folder()}")
    return 0


def _list() -> int:
    print(f"{'data set':<14} {'files':>5} {'bytes':>12}  {'installed':<9}  {'licence':<27}  what")
    for name in catalogue.datasets():
        records = folder.select(name)
        there = sum(folder.is_installed(r, folder.data_folder()) for r in records)
        state = "yes" if there == len(records) else "no" if not there else f"{there} files"
        size = f"{sum(r.bytes for r in records):,}" + ("+" if any(not r.bytes for r in records) else "")
        licence = ", ".join(dict.fromkeys(r.licence for r in records))
        title = catalogue.known()[name].title if name in catalogue.known() else records[0].repository
        print(f"{name:<14} {len(records):>5} {size:>12}  {state:<9}  {licence:<27}  {title}")
    print(f"folder: {folder.data_folder()}")
    return 0
