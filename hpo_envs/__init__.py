"""Gymnasium environments for hyperparameter optimisation, architecture search and model selection in NLP.

Importing this package registers the ids; `hpo-envs list` shows them. Nothing is read from disk until an environment
is made.
"""

from hpo_envs.registry import SPECS, register_all

__all__ = ["SPECS", "__version__", "register_all"]
__version__ = "0.1.0"

register_all()
