"""Entry point of `python -m hpo_envs`, the same as `hpo-envs`."""

import sys

from hpo_envs.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
