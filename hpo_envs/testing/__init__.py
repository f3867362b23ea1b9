"""Functions that check the contracts of environments, agents, tables and families, for tests of other packages.

Each `check_*` raises an `AssertionError` that names the rule if the object breaks one. No test framework is needed:
call them from a test, a script or a notebook.

    from hpo_envs.testing import check_agent, check_env, check_table

    check_env("MyTask-v0")
    check_agent(MyAgent, stages=["rows", "objectives"])
    check_table(my_table)
"""

from hpo_envs.testing.agents import AGENT_RULES, STAGES, check_agent
from hpo_envs.testing.envs import ENV_RULES, check_env
from hpo_envs.testing.families import FAMILY_RULES, check_family
from hpo_envs.testing.tables import TABLE_RULES, check_table

__all__ = [
    "AGENT_RULES", "ENV_RULES", "FAMILY_RULES", "STAGES", "TABLE_RULES", "check_agent", "check_env", "check_family",
    "check_table",
]  # fmt: skip
