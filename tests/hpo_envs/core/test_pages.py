"""Pages of families contain the texts of their engine."""

from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.core.family import complete
from hpo_envs.families.nmthpo.page import NMTHPOEnv

ENGINE = """One step.

    ## Episode End
    After the last row.

    ## Information
    At reset: `table`.

    ## Arguments
    - `table="auto"`: which table,
      and where from.
    - `shuffle=False`: of rows.
    - `subsample=1.0`: of rows.
    """

PAGE = """One family.

    ## Description
    Text with {braces}.

    ## Information
    At each step: `cost`.

    ## Arguments
    - `pair`: one of `subsample`, or more.
    - `shuffle`, `levels`: not here.
    """


def test_section_is_familys_then_engines() -> None:
    assert complete(PAGE, ENGINE) == (
        "One family.\n\n## Description\nText with {braces}.\n\n## Episode End\nAfter the last row.\n\n"
        "## Information\nAt each step: `cost`.\n\nAt reset: `table`.\n\n## Arguments\n"
        "- `pair`: one of `subsample`, or more.\n- `shuffle`, `levels`: not here.\n"
        '- `table="auto"`: which table,\n  and where from.\n- `subsample=1.0`: of rows.'
    )


def test_classes_without_page_and_engines_keep_their_docstrings() -> None:
    class Plain(NMTHPOEnv):
        """One line."""

    class Bare(NMTHPOEnv):
        pass

    assert Plain.__doc__ == "One line."
    assert Bare.__dict__.get("__doc__") is None
    assert (CurvesEnv.__doc__ or "").startswith("Environment whose steps train")
