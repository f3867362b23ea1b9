"""`python -m hpo_envs` is `hpo-envs`."""

import sys

from hpo_envs.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
