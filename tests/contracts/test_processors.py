"""Environments and tables have the same bits on every processor and Python; see docs/trust.md."""

import ast
import json
from collections.abc import Iterator

import pytest

from tests.helpers import here_and_elsewhere, sources
from tests.regression import digests

OLDER = {**digests.FEATURES["no AVX2"], "OPENBLAS_CORETYPE": "Nehalem"}
"""A processor without AVX2 and AVX-512. Features that it lacks cannot be disabled; others are tested at night."""

_SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from tests.regression import digests
from hpo_envs.tables import store
from tests.helpers import IDS, ONE_OF_EACH, WIDE
keys = [(id, form) for id in (IDS if WIDE else ONE_OF_EACH) for form in ("scalar", "batched")]
found = {f"{id}/{form}": digests.steps(id, form == "batched", 20) for id, form in keys}
ships = [name for name in store.names() if name == "user/example" or not name.startswith("user/")]
found |= {name: store.load(name).provenance.sha256 for name in ships if not store.missing(name)}
json.dump(found, sys.stdout)
"""
"""Digests of steps by id and form, and hashes of tables."""


def test_ids_and_tables_are_the_same_in_another_process_on_older_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    here, other = map(json.loads, here_and_elsewhere(_SCRIPT, monkeypatch, OLDER))
    assert [key for key in here if other[key] != here[key]] == []
    assert len(here) > 100


_DEPENDS = frozenset(
    "exp exp2 expm1 log log2 log10 log1p power float_power cbrt hypot sin cos tan sinh cosh tanh arcsin arccos arctan "
    "arctan2 arcsinh arccosh arctanh logaddexp dot vdot inner matmul tensordot einsum asin acos atan atan2 erf erfc "
    "gamma lgamma pow linalg NormalDist scipy".split()
)
"""Names of functions and modules whose results may depend on the processor."""

ALLOWED = {
    "tables/exact.py": "is the substitute, and its product of matrices is exact",
    "tables/cells/probe.py": "singular values, of which four decimals are kept",
    "tables/datasets/cushlepor/agreement.py": "Kendall's tau counts pairs",
    **{
        f"families/{path}.py": "trains: derivatives are rounded before they change a parameter"
        for path in (
            *(f"charmini/training/{name}" for name in ("layers", "lstm", "transformer")),
            "cellmini/training/cell",
            *(f"textmini/training/{name}" for name in ("classifiers", "encoders", "features")),
        )
    },
    "tables/datasets/cushlepor/semantic.py": "vectors of a language model, in tables that are the user's",
    "tables/user/deciding/definitions.py": "the decimal logarithm's ceiling",
    "tables/user/deciding/relations.py": "a likelihood, whose threshold is far from its round-off",
    "tables/user/deciding/scales.py": "likelihoods, whose thresholds are far from their round-off",
    "tables/user/space.py": "Sobol points are whole numbers over a power of two",
    "families/function/example.py": "the function of an example",
}
FOLDERS = ("tables/", "core/", "families/", "wrappers/")


def _uses(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("np", "math"):
            if node.attr in _DEPENDS:
                yield f"line {node.lineno}: {node.value.id}.{node.attr}"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield f"line {node.lineno}: @"
        elif isinstance(node, ast.ImportFrom) and {
            str(node.module).partition(".")[0],
            *(a.name for a in node.names),
        } & {"scipy", "NormalDist"}:
            yield f"line {node.lineno}: {node.module}"


def test_what_environments_compute_avoids_what_depends_on_processor() -> None:
    found = {}
    for name, path in sources().items():
        if not name.startswith(FOLDERS):
            continue
        if "fit" in path.stem:  # runs once; its results ship
            continue
        if uses := list(_uses(ast.parse(path.read_text(encoding="utf-8")))):
            found[name] = uses
    assert {name: uses for name, uses in found.items() if name not in ALLOWED} == {}
    assert sorted(found) == sorted(ALLOWED), "an exception that is none any more"


WHOLE = frozenset(
    {
        "SPLITS.values()", "_SPLITS.values()", "SIZES", "(r.bytes for r in records)",
        "(place[k] for k in g.predecessors(n))", "(inputs if k == 0 else size for k in sources)",
        "(GROUPS[name] for name in features if name not in APART)",
        "(len(c.nodes) + c.first + sum((len(i) for _, i in c.nodes)) for c in (a, b))",
    }
)  # fmt: skip
"""Sums in other modules whose terms are whole numbers."""
ADDED = {"agents/search/base.py": "arrays", "agents/transfer/ridge.py": "arrays"}


def _counts(node: ast.expr) -> bool:
    """Return whether an expression is a whole number: a comparison, a length, or made of these."""
    if isinstance(node, ast.IfExp | ast.BinOp):
        parts = (node.body, node.orelse) if isinstance(node, ast.IfExp) else (node.left, node.right)
        return not isinstance(getattr(node, "op", None), ast.Div | ast.Pow) and all(map(_counts, parts))
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    return isinstance(node, ast.Compare) or ast.unparse(node).startswith(("len(", "int(", "not "))


def _sums(tree: ast.AST) -> Iterator[str]:
    """Calls of the built-in `sum` whose terms may be floats."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "sum":
            what = node.args[0]
            counted = isinstance(what, ast.GeneratorExp) and _counts(what.elt)
            if not counted and ast.unparse(what) not in WHOLE and not ast.unparse(what).startswith("map(len, "):
                yield f"line {node.lineno}: {ast.unparse(node)}"


def test_floats_are_not_summed_by_built_in_which_python_changed() -> None:
    found = {}
    for name, path in sources().items():
        if name.startswith((*FOLDERS, "agents/")) and (uses := list(_sums(ast.parse(path.read_text("utf-8"))))):
            found[name] = uses
    assert {name: uses for name, uses in found.items() if name not in ADDED} == {}, "exact.total adds floats"
    assert sorted(found) == sorted(ADDED), "an exception that is none any more"
    assert list(_sums(ast.parse("sum(c * w for c, w in pairs)"))) == ["line 1: sum((c * w for c, w in pairs))"]
