"""`python -m hpo_envs` is `hpo-envs`."""

import sys

from hpo_envs.cli import main

if __name__ == "__main__":
    sys.exit(main())
