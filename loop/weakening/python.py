"""Tests of pytest and unittest, read from Python's syntax tree.

Pure: no I/O. A side that does not parse makes both be read by their lines.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence

from loop.weakening.cases import ALWAYS, NOTHING, Case, FileCases, number_repeats
from loop.weakening.python_lines import read_lines

_CHECKS = re.compile(
    r"_*(assert|check|verif|expect|ensure|should|must|raises|warns|fail|deprecated_call)", re.IGNORECASE
)
_UNCONDITIONAL = frozenset({"skip", "skipTest", "SkipTest", "expectedFailure"})
_SKIPS = _UNCONDITIONAL | {"xfail", "importorskip", "skipif", "skipIf", "skipUnless"}
_STEPS = frozenset({"setUp", "setUpClass", "setup_method", "setup_class", "asyncSetUp"})
_FILE_STEPS = frozenset({"setUpModule", "setup_module", "setup_function"})
_HOOKS = frozenset({"collect_ignore", "collect_ignore_glob", "pytest_ignore_collect"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def read_python(old: str | None, new: str | None) -> tuple[FileCases, FileCases]:
    """Read both sides of a change."""
    try:
        return _read(old), _read(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return (NOTHING if old is None else read_lines(old), NOTHING if new is None else read_lines(new))


def _read(text: str | None) -> FileCases:
    if text is None:
        return NOTHING
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    looks = {node.name for node in ast.walk(tree) if isinstance(node, _Function) and _looks(node.body, set())}
    cases: dict[str, Case] = {}
    for case in _cases(tree.body, (), (), looks):
        cases[case.name] = case  # a second definition of a name replaces the first, as when it runs
    return FileCases(number_repeats(cases.values()), tuple(_scope_skips(tree.body, _FILE_STEPS)))


def _cases(
    body: Sequence[ast.stmt], parents: tuple[str, ...], skips: tuple[str, ...], looks: set[str]
) -> Iterator[Case]:
    """The tests of a module or class; `skips` are the marks of what holds it."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name.startswith("test"):
                marks = (*skips, *_decorator_skips(node), *_call_skips(node.body))
                count = _looks(node.body, looks)
                yield Case("::".join((*parents, node.name)), node.name, marks, count)
            case ast.ClassDef() if node.name.startswith("Test") or node.bases:
                own = (*_decorator_skips(node), *_scope_skips(node.body, _STEPS))
                yield from _cases(node.body, (*parents, node.name), skips + own, looks)
            case ast.If():
                yield from _cases(node.body, parents, (*skips, f"if {ast.unparse(node.test)}"), looks)
                yield from _cases(node.orelse, parents, (*skips, f"unless {ast.unparse(node.test)}"), looks)
            case ast.Try():
                yield from _cases([*node.body, *node.orelse, *node.finalbody], parents, skips, looks)
            case ast.With():
                yield from _cases(node.body, parents, skips, looks)
            case _:
                pass


def _decorator_skips(node: _Function | ast.ClassDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        yield from _mark(decorator)
        if _tail(decorator) == "parametrize" and _has_no_values(decorator):
            yield ALWAYS


def _mark(node: ast.expr) -> Iterator[str]:
    """The mark that an expression stands for, its reason left out; a list stands for several."""
    if isinstance(node, ast.List | ast.Tuple):
        for item in node.elts:
            yield from _mark(item)
        return
    name = _tail(node)
    if name not in _SKIPS:
        return
    conditions = []
    if isinstance(node, ast.Call):
        conditions = node.args[: None if name == "importorskip" else 1]
        conditions = conditions + [word.value for word in node.keywords if word.arg == "condition"]
    if name in _UNCONDITIONAL or (name == "xfail" and not conditions):
        yield ALWAYS
    else:
        yield f"{name} {', '.join(ast.unparse(item) for item in conditions)}"


def _scope_skips(body: Sequence[ast.stmt], steps: frozenset[str]) -> Iterator[str]:
    """Marks within a module or a class that hold for all of its tests."""
    for node in body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                if name == "pytestmark":
                    yield from _mark(value)
                elif name == "__test__" and isinstance(value, ast.Constant) and not value.value:
                    yield ALWAYS
                elif name in _HOOKS:
                    yield f"{name} {ast.unparse(value)}"
                else:
                    yield from _call_skips([node])
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if node.name in _HOOKS:
                    yield node.name
                elif node.name in steps or any("autouse" in ast.unparse(d) for d in node.decorator_list):
                    yield from _call_skips(node.body)
            case ast.ClassDef():
                pass
            case _:
                yield from _call_skips([node])


def _call_skips(body: Sequence[ast.stmt], condition: str = "") -> Iterator[str]:
    """Calls that skip and `raise SkipTest`, each with the conditions under which it stands."""
    for node in body:
        match node:
            case ast.If():
                test = ast.unparse(node.test)
                yield from _call_skips(node.body, f"{condition} if {test}")
                yield from _call_skips(node.orelse, f"{condition} unless {test}")
            case ast.For() | ast.AsyncFor() | ast.While() | ast.With() | ast.AsyncWith() | ast.Try():
                yield from _call_skips(node.body, condition)
                for handler in getattr(node, "handlers", []):
                    yield from _call_skips(handler.body, f"{condition} except")
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass
            case ast.Raise(exc=ast.expr() as raised) if _tail(raised) == "SkipTest":
                yield condition.strip() or ALWAYS
            case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
                if _tail(call) == "importorskip":
                    yield f"importorskip {ast.unparse(call.args[0]) if call.args else ''}{condition}"
                elif _tail(call) in _SKIPS:
                    yield condition.strip() or ALWAYS
            case _:
                pass


def _looks(body: Sequence[ast.stmt], looks: set[str]) -> int:
    """How many assertions a body makes up to an early end; `looks` are helpers that make some."""
    count = 0
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.Assert():
                    count += not isinstance(node.test, ast.Constant)
                case ast.Call() if _CHECKS.match(_tail(node)) or _tail(node) in looks:
                    count += 1
                case _:
                    pass
        if isinstance(statement, ast.Return | ast.Raise):
            break
    return count


def _has_no_values(decorator: ast.expr) -> bool:
    values = decorator.args[1:2] if isinstance(decorator, ast.Call) else []
    return any(isinstance(value, ast.List | ast.Tuple) and not value.elts for value in values)


def _tail(node: ast.expr) -> str:
    """The last name of `a.b.c` or of what is called; empty for anything else."""
    if isinstance(node, ast.Call):
        return _tail(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
