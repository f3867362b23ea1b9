"""The code that a function of a script needs, found in the syntax of the script.

It consists of the definition of the function and of the top-level statements that bind the names it uses or change
their objects, directly or through others; with the blocks around these statements, and with whole loops. Comments,
formatting, docstrings and calls of `print` do not count, nor does a statement that is not needed, such as the call that
starts a search. Not covered: objects that are changed under another name, or by a function or decorator that is not
given them; names used by `globals()` or `exec`; docstrings that are read; values only known at run time.

Nothing is compiled or run, so any valid syntax is accepted.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PARTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
"""Nodes that a block is divided into."""
UNDIVIDED = (*DEFINITIONS, ast.For, ast.AsyncFor, ast.While)
"""Statements that are not divided."""
FIXED = ("Import", "FunctionDef", "AsyncFunctionDef")
"""Kinds of statements that bind functions or modules, which calls do not change."""


@dataclass(frozen=True)
class _Statement:
    """A simple statement, a definition, or the head of a block; names are global ones."""

    syntax: str  # syntax tree as text
    binds: frozenset[str]
    changes: frozenset[str]  # of changed objects: `name.attribute = ...`, `name[...] = ...`, `name.seed(...)`
    calls: frozenset[str]  # whose methods it calls, or that it passes to a call, which may change their objects
    uses: frozenset[str]
    blocks: tuple["_Statement", ...] = ()  # the heads of the enclosing blocks
    kind: str = ""  # type of the node


def needed(cells: Sequence[str], names: Collection[str], lines: Collection[int] = (), last: bool = False) -> str | None:
    """Return the syntax of some functions and of all code that they need, as text.

    Args:
        cells: Source of a script, or of the cells of a notebook in the order in which they were run.
        names: Global names of the functions or classes.
        lines: Line numbers of lambdas in the last cell.
        last: Whether only the last binding of a name counts, as in a notebook, whose cells are run again.

    Returns:
        The text; None if a name or line does not exist, or the syntax is invalid or nested too deeply.
    """
    try:
        trees = [ast.parse(cell) for cell in cells]
        lambdas = [n for n in ast.walk(trees[-1]) if isinstance(n, ast.Lambda) and n.lineno in lines]
        quiet = _Quiet(any("print" in _binds(node) for tree in trees for node in tree.body))
        statements = [statement for tree in trees for statement in _statements(quiet.visit(tree).body)]
        todo = {*names}.union(*map(_uses, lambdas))
        found = [ast.dump(node) for node in lambdas]
    except (SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return None
    if {node.lineno for node in lambdas} != {*lines} or not {*names} <= {n for s in statements for n in s.binds}:
        return None
    fixed = {n for s in statements if s.kind in FIXED for n in s.binds}
    known, kept = set[str](), set[int]()
    while todo := todo - known:
        known |= todo
        new = {i for name in todo for i in _about(name, statements, last, name in fixed)} - kept
        kept |= new
        todo = {name for i in new for s in (statements[i], *statements[i].blocks) for name in s.uses}
    syntax = ["\n".join(s.syntax for s in (*statements[i].blocks, statements[i])) for i in sorted(kept)]
    return "\n".join([*found, *(dict.fromkeys(syntax) if last else syntax)])


def syntax(source: bytes) -> str:
    """Return the syntax of a module as text, without comments, formatting, docstrings and calls of `print`.

    Raises:
        SyntaxError: The text is not a Python module.
        ValueError: The text contains null bytes.
        RecursionError: The text is nested too deeply.
    """
    tree = ast.parse(source)
    return ast.dump(_Quiet(any("print" in _binds(node) for node in tree.body)).visit(tree))


def _about(name: str, statements: list[_Statement], last: bool, fixed: bool) -> list[int]:
    """Indices of statements that bind a name (`last`: the last one) or change its object (`fixed`: not by calls)."""
    binding = [i for i, s in enumerate(statements) if name in s.binds][-1 if last else 0 :]
    start = binding[0] if last and binding else -1
    changed = (i for i, s in enumerate(statements) if name in s.changes or (name in s.calls and not fixed))
    return [*binding, *(i for i in changed if i > start)]


class _Quiet(ast.NodeTransformer):
    """Transformer that removes docstrings, other constant statements, and calls of `print` whose result is unused."""

    def __init__(self, own: bool) -> None:
        self.own = own  # whether the script defines a `print`, whose calls must stay

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        value = node.value
        prints = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "print"
        prints = prints and not self.own and not any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))
        return None if prints or isinstance(value, ast.Constant) else self.generic_visit(node)


def _statements(body: Iterable[ast.AST], blocks: tuple[_Statement, ...] = (), part: str = "") -> Iterator[_Statement]:
    """Yield the statements of a script: a block as its head, then its statements; imports name by name.

    `blocks` are the heads of the enclosing blocks, `part` the part of the innermost one: `body`, `orelse`, ...
    """
    none = frozenset[str]()
    for node in body:
        kind = type(node).__name__
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                source = f"{'.' * node.level}{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
                bound = frozenset({alias.asname or alias.name.partition(".")[0]})
                yield _Statement(f"{part} Import {source} {ast.dump(alias)}", bound, none, none, none, blocks, "Import")
            continue
        fields = {name: value for name, value in ast.iter_fields(node) if isinstance(value, list)}
        parts = {n: v for n, v in fields.items() if v and isinstance(v[0], PARTS) and not isinstance(node, UNDIVIDED)}
        inner = {id(child) for children in parts.values() for child in children}
        own = [child for child in ast.iter_child_nodes(node) if id(child) not in inner] if parts else [node]
        name = {node.name} if parts and isinstance(node, ast.ExceptHandler) and node.name else set()
        binds = frozenset(name.union(*(_binds(n) | _declared(n) for n in own)))
        changes, calls, uses = (frozenset[str]().union(*map(f, own)) for f in (_changes, _calls, _uses))
        head = _Statement("\n".join([part, kind, *map(ast.dump, own)]), binds, changes, calls, uses, blocks, kind)
        yield head
        for field, children in parts.items():
            yield from _statements(children, (*blocks, head), field)


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
    """Names whose objects a node changes by setting or deleting an attribute or item, or by seeding."""
    if isinstance(node, (*DEFINITIONS, ast.Lambda)):
        return set()
    inner = set[str]().union(*map(_changes, ast.iter_child_nodes(node)))
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return inner | _root(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
        return inner.union(*map(_root, node.args[:1]))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and "seed" in node.func.attr:
        return inner | _root(node.func)
    return inner


def _calls(node: ast.AST) -> set[str]:
    """Names whose methods a node calls, or that it passes to a call, and those in decorators."""
    if isinstance(node, ast.Lambda):
        return set()
    if isinstance(node, DEFINITIONS):
        return set().union(*map(_uses, node.decorator_list))
    inner = set[str]().union(*map(_calls, ast.iter_child_nodes(node)))
    if not isinstance(node, ast.Call):
        return inner
    method = _root(node.func) if isinstance(node.func, ast.Attribute) else set()
    given = (a for a in node.args if isinstance(a, ast.Name | ast.Attribute | ast.Subscript))
    return inner.union(method, *map(_root, given))


def _root(node: ast.AST) -> set[str]:
    """The name that an attribute, item or call of an object begins with, if any."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _uses(node: ast.AST) -> set[str]:
    """Names that a node and functions in it use, other than their local names."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    children = [*ast.iter_child_nodes(node)]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return {node.target.id} | _uses(node.value)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        body = node.body if isinstance(node.body, list) else [node.body]
        arguments = {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
        local = arguments.union(*map(_binds, body)) - set().union(*map(_declared, body))
        outside = [child for child in children if child not in body]
        return (set().union(*map(_uses, body)) - local).union(*map(_uses, outside))
    if isinstance(node, COMPREHENSIONS):
        local = set().union(*(_binds(g.target) for g in node.generators))
        return (set().union(*map(_uses, children)) - local) | _uses(node.generators[0].iter)
    return set().union(*map(_uses, children))
