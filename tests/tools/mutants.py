"""The ways in which the machine's rules can be broken, one at a time, as changed syntax trees.

Pure: no I/O; the caller hands the sources in.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

TABLE = "loop.machine.table"
GUARDS = "loop.machine.guards"
JUDGE = "loop.machine.judge"
STOPS = "loop.machine.stops"
ADVANCE = "loop.machine.advance"
ABSORB = "loop.machine.absorb"
RESUME = "loop.machine.resume"

ENTRIES = (
    (TABLE, "TABLE"),
    (GUARDS, "CODER_GUARDS"),
    (GUARDS, "REVIEWER_GUARDS"),
    (GUARDS, "COMMANDS_GUARDS"),
    (JUDGE, "CANDIDATE_OUTCOMES"),
    (JUDGE, "PROVIDER_OUTCOMES"),
    (ADVANCE, "COUNTED"),
    (ABSORB, "ROUND_TAKEN"),
)
"""Module and name of each list of rules: every entry is deleted in turn."""
MODULES = tuple(dict.fromkeys([*(module for module, _ in ENTRIES), STOPS, RESUME]))
CONTINUATIONS = ("rerun", "ruling", "edit")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One broken rule."""

    name: str
    """What was broken, in words that a story about it is likely to have in its name."""
    module: str
    tree: ast.Module
    """The whole module with the rule broken, ready to be compiled."""


def all_mutants(sources: Mapping[str, str]) -> list[Mutant]:
    """Every mutant of the machine, in order of the files.

    Args:
        sources: Source text by module name, for each of `MODULES`.
    """
    found: list[Mutant] = []
    for module, name in ENTRIES:
        found += _without_entries(module, name, sources[module])
    found += _without_branches(JUDGE, sources[JUDGE], "forestall", "")
    found += _without_operands(JUDGE, sources[JUDGE], "forestall")
    for module in (JUDGE, GUARDS):
        found += _without_branches(module, sources[module], None, "counters.")
        found += _with_caps_one_later(module, sources[module])
    found += _without_branches(RESUME, sources[RESUME], "_target", "")
    found += _without_branches(RESUME, sources[RESUME], "resume", "edited")
    found += _without_continuations(sources[STOPS])
    return found


def _without_entries(module: str, name: str, source: str) -> Iterator[Mutant]:
    """Delete each key of a dict, or each element of a tuple, that stands under `name`."""
    count = len(_entries_of(ast.parse(source), name))
    for index in range(count):
        tree = ast.parse(source)
        deleted = _entries_of(tree, name)[index]
        value = _assigned(tree, name)
        if isinstance(value, ast.Dict):
            del value.keys[index], value.values[index]
        else:
            del value.elts[index]
        yield Mutant(f"{name} without {ast.unparse(deleted)}", module, ast.fix_missing_locations(tree))


def _assigned(tree: ast.Module, name: str) -> ast.Dict | ast.Tuple:
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=target)], value=ast.Dict() | ast.Tuple() as value)
                | ast.AnnAssign(target=ast.Name(id=target), value=ast.Dict() | ast.Tuple() as value)
            ) if target == name:
                return value
    raise LookupError(f"no dict or tuple is called {name}; change ENTRIES with the rename")


def _entries_of(tree: ast.Module, name: str) -> list[ast.expr]:
    value = _assigned(tree, name)
    return value.elts if isinstance(value, ast.Tuple) else [key for key in value.keys if key is not None]


def _places(tree: ast.AST, function: str | None) -> Iterator[ast.AST]:
    """The nodes of one function, or of the whole module, in a stable order."""
    for node in ast.walk(tree):
        if function is None or (isinstance(node, ast.FunctionDef) and node.name == function):
            yield from ast.walk(node)
            return
    raise LookupError(f"no function is called {function}; change the list of mutants with the rename")


def _without_branches(module: str, source: str, function: str | None, about: str) -> Iterator[Mutant]:
    """Take each `if` away whose test speaks of `about`: its branch is never gone into."""
    for index in range(len(_branches(ast.parse(source), function, about))):
        tree = ast.parse(source)
        branch = _branches(tree, function, about)[index]
        test = ast.unparse(branch.test)
        branch.test = ast.Constant(value=False)
        yield Mutant(
            f"{module.rpartition('.')[2]} without: if {test}", module, ast.fix_missing_locations(tree)
        )


def _branches(tree: ast.Module, function: str | None, about: str) -> list[ast.If]:
    places = _places(tree, function)
    return [node for node in places if isinstance(node, ast.If) and about in ast.unparse(node.test)]


def _without_operands(module: str, source: str, function: str) -> Iterator[Mutant]:
    """Take each operand of an `and` or `or` away."""

    def operands(tree: ast.Module) -> list[tuple[ast.BoolOp, int]]:
        found = [node for node in _places(tree, function) if isinstance(node, ast.BoolOp)]
        return [(node, n) for node in found for n in range(len(node.values))]

    for index in range(len(operands(ast.parse(source)))):
        tree = ast.parse(source)
        node, number = operands(tree)[index]
        whole, part = ast.unparse(node), ast.unparse(node.values[number])
        del node.values[number]
        yield Mutant(f"{function}: ({whole}) without ({part})", module, ast.fix_missing_locations(tree))


def _with_caps_one_later(module: str, source: str) -> Iterator[Mutant]:
    """Make each cap's `>=` a `>`: once too often."""

    def caps(tree: ast.Module) -> list[ast.Compare]:
        compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
        return [node for node in compared if "caps." in ast.unparse(node)]

    for index in range(len(caps(ast.parse(source)))):
        tree = ast.parse(source)
        node = caps(tree)[index]
        whole = ast.unparse(node)
        node.ops = [ast.Gt()]
        yield Mutant(f"cap one too late: {whole}", module, ast.fix_missing_locations(tree))


def _without_continuations(source: str) -> Iterator[Mutant]:
    """Take from each stop each way on that it has."""
    for row in range(len(_entries_of(ast.parse(source), "STOPS"))):
        for way in CONTINUATIONS:
            tree = ast.parse(source)
            value = _assigned(tree, "STOPS")
            call = value.values[row] if isinstance(value, ast.Dict) else None
            assert isinstance(call, ast.Call), "a row of STOPS is no StopRow(...) call"
            given = next((keyword for keyword in call.keywords if keyword.arg == way), None)
            if given is None and way != "edit":  # only an edit leads somewhere by default
                continue
            if given is not None and ast.unparse(given.value) == "None":
                continue
            call.keywords = [keyword for keyword in call.keywords if keyword.arg != way]
            call.keywords.append(ast.keyword(arg=way, value=ast.Constant(value=None)))
            name = ast.unparse(_entries_of(tree, "STOPS")[row])
            yield Mutant(f"{name} without {way}", STOPS, ast.fix_missing_locations(tree))
