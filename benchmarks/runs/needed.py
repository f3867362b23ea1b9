"""What a function of a script needs, found in the script's syntax.

A function is known by the syntax of its definition, and of every top-level statement that binds a name which it uses,
directly or through others. Comments, formatting, docstrings and calls of `print` do not count, and neither does a
statement that nothing needs, such as the call that starts a search. Not covered: names used by `globals()` or `exec`,
and values that are only known when the script runs.

Nothing is compiled or run, so a syntax that Python accepts cannot make this fail.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PARTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
"""Nodes that a block is divided into."""


@dataclass(frozen=True)
class _Statement:
    """A simple statement, a definition, or the head of a block.

    Attributes:
        syntax: Its syntax tree as text.
        binds: Global names that it binds.
        changes: Global names whose objects it changes: `name.attribute = ...`, `name[...] = ...`, `name.method(...)`.
        uses: Global names that it uses.
    """

    syntax: str
    binds: frozenset[str]
    changes: frozenset[str]
    uses: frozenset[str]


def needed(cells: Sequence[str], names: Collection[str], lines: Collection[int] = (), last: bool = False) -> str | None:
    """The syntax of some functions and of what they need, as text.

    Args:
        cells: Source of a script, or of the cells of a notebook in the order in which they were run.
        names: Global names of the functions or classes.
        lines: First lines of lambdas in the last cell.
        last: Whether only the last binding of a name counts, as in a notebook, whose cells are run again.

    Returns:
        None if it cannot be found: no such name or line, or syntax nested too deeply.
    """
    try:
        trees = [ast.parse(cell) for cell in cells]
        lambdas = [n for n in ast.walk(trees[-1]) if isinstance(n, ast.Lambda) and n.lineno in lines]
        statements = [statement for tree in trees for statement in _statements(_Quiet().visit(tree).body)]
        todo = {*names}.union(*map(_uses, lambdas))
        found = [ast.dump(node) for node in lambdas]
    except (SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return None
    if {node.lineno for node in lambdas} != {*lines} or not {*names} <= {n for s in statements for n in s.binds}:
        return None
    imported = {n for s in statements if s.syntax.startswith("Import") for n in s.binds}
    known, kept = set[str](), set[int]()
    while todo := todo - known:
        known |= todo
        new = {i for name in todo for i in _about(name, statements, last, name in imported)} - kept
        kept |= new
        todo = {name for i in new for name in statements[i].uses}
    syntax = [statements[i].syntax for i in sorted(kept)]
    return "\n".join([*found, *(dict.fromkeys(syntax) if last else syntax)])


def _about(name: str, statements: list[_Statement], last: bool, imported: bool) -> list[int]:
    """Indices of the statements that bind a name or change its object; a call of a module changes no name."""
    binding = [i for i, s in enumerate(statements) if name in s.binds]
    start = binding[-1] if last and binding else -1
    changing = [] if imported else [i for i, s in enumerate(statements) if name in s.changes and i > start]
    return [*(binding[-1:] if last else binding), *changing]


class _Quiet(ast.NodeTransformer):
    """Removes docstrings, other constants that stand alone, and calls of `print`."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        value = node.value
        prints = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "print"
        return None if prints or isinstance(value, ast.Constant) else self.generic_visit(node)


def _statements(body: Iterable[ast.AST]) -> Iterator[_Statement]:
    """Statements of a script; those of a block one by one, after its head; imports name by name."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                source = f"{'.' * node.level}{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
                bound = alias.asname or alias.name.partition(".")[0]
                yield _Statement(f"Import {source} {ast.dump(alias)}", frozenset({bound}), frozenset(), frozenset())
            continue
        children = [*ast.iter_child_nodes(node)]
        inner = [] if isinstance(node, DEFINITIONS) else [child for child in children if isinstance(child, PARTS)]
        own = [child for child in children if child not in inner] if inner else [node]
        name = {node.name} if inner and isinstance(node, ast.ExceptHandler) and node.name else set()
        yield _Statement(
            "\n".join([type(node).__name__, *map(ast.dump, own)]),
            frozenset(name.union(*(_binds(n) | _declared(n) for n in own))),
            frozenset().union(*map(_changes, own)),
            frozenset().union(*map(_uses, own)),
        )
        yield from _statements(inner)


def _binds(node: ast.AST) -> set[str]:
    """Names that a node binds in its own scope."""
    if isinstance(node, DEFINITIONS):
        return {node.name}
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    if isinstance(node, ast.alias):
        return {node.asname or node.name.partition(".")[0]}
    if isinstance(node, COMPREHENSIONS):
        walruses = (n for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
        return set().union(*(_binds(n.target) for n in walruses))
    if isinstance(node, ast.Lambda):
        return set()
    names = [getattr(node, "name", None), getattr(node, "rest", None)]  # of handlers and patterns
    return {n for n in names if isinstance(n, str)}.union(*map(_binds, ast.iter_child_nodes(node)))


def _declared(node: ast.AST) -> set[str]:
    """Names that functions within a node declare as global."""
    return {name for n in ast.walk(node) if isinstance(n, ast.Global) for name in n.names}


def _changes(node: ast.AST) -> set[str]:
    if isinstance(node, (*DEFINITIONS, ast.Lambda)):
        return set()
    inner = set[str]().union(*map(_changes, ast.iter_child_nodes(node)))
    stores = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
    calls = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    target: ast.AST | None = node if stores else node.value.func if calls else None  # type: ignore[attr-defined]
    if isinstance(target, ast.Attribute | ast.Subscript):
        while isinstance(target, ast.Attribute | ast.Subscript | ast.Call):
            target = target.func if isinstance(target, ast.Call) else target.value
        inner |= {target.id} if isinstance(target, ast.Name) else set()
    return inner


def _uses(node: ast.AST) -> set[str]:
    """Names that a node uses, and functions within it, other than their own local ones."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    children = [*ast.iter_child_nodes(node)]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return {node.target.id} | _uses(node.value)
    if isinstance(node, FUNCTIONS):
        body = node.body if isinstance(node.body, list) else [node.body]
        arguments = {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
        local = arguments.union(*map(_binds, body)) - set().union(*map(_declared, body))
        outside = [child for child in children if child not in body]
        return (set().union(*map(_uses, body)) - local).union(*map(_uses, outside))
    if isinstance(node, COMPREHENSIONS):
        local = set().union(*(_binds(g.target) for g in node.generators))
        return (set().union(*map(_uses, children)) - local) | _uses(node.generators[0].iter)
    return set().union(*map(_uses, children))
