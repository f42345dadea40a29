"""The ways in which the machine's rules can be broken, one at a time, as changed syntax trees.

Pure: no I/O; the caller hands the sources in.
"""

import ast
import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType

TABLE = "loop.machine.table"
GUARDS = "loop.machine.guards"
JUDGE = "loop.machine.judge"
STOPS = "loop.machine.stops"
ADVANCE = "loop.machine.advance"
ABSORB = "loop.machine.absorb"
RESUME = "loop.machine.resume"
CHECKS = "loop.machine.checks"
LIFT = "loop.machine.lift"
BUDGET = "loop.machine.budget"
PLAN = "loop.machine.plan"
DETAILS = "loop.machine.details"
LADDER = "loop.machine.ladder"
ESCALATION = "loop.machine.escalation"
CLIMB = "loop.machine.climb"

ENTRIES = (
    (TABLE, "TABLE"),
    (GUARDS, "CODER_GUARDS"),
    (GUARDS, "REVIEWER_GUARDS"),
    (GUARDS, "COMMANDS_GUARDS"),
    (JUDGE, "CANDIDATE_OUTCOMES"),
    (JUDGE, "PROVIDER_OUTCOMES"),
    (ADVANCE, "COUNTED"),
    (ABSORB, "ROUND_TAKEN"),
    (ABSORB, "JUDGED_AGAIN"),
    (ABSORB, "VERDICTS"),
    (ABSORB, "DOUBTED"),
    (ABSORB, "SETTLED"),
    (RESUME, "APPROVED_STAGES"),
    (RESUME, "WAITS_FOR_MAIN"),
    (RESUME, "GRANTED"),
    (LIFT, "USED"),
    (LADDER, "STEPS"),
    (LADDER, "A_PERSONS"),
    (ESCALATION, "GUARDS"),
)
"""Module and name of each list of rules: every entry is deleted in turn."""
BRANCHED = (CHECKS, LIFT, PLAN, RESUME, BUDGET, LADDER, ESCALATION, CLIMB)
"""Modules of whose branches and choices each is taken away."""
MODULES = tuple(dict.fromkeys([*(module for module, _ in ENTRIES), STOPS, *BRANCHED, DETAILS]))
CONTINUATIONS = {"rerun": None, "ruling": None, "edit": None, "grants": (), "granted": None, "allow": False}
"""The fields of a stop that lead on, and what each is where it does not."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One broken rule."""

    name: str
    """What was broken, in words that a story about it is likely to have in its name."""
    module: str
    tree: ast.Module
    """The whole module with the rule broken; new nodes have no places yet."""

    def compile(self) -> CodeType:
        """The broken module, ready to be run."""
        return compile(ast.fix_missing_locations(self.tree), f"<{self.name}>", "exec")


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
    for module in (JUDGE, GUARDS, CHECKS, LIFT):
        found += _with_caps_one_later(module, sources[module])
    for module in BRANCHED:
        found += _without_branches(module, sources[module], None, "")
        found += _with_one_choice(module, sources[module], None)
    for name in ("stop_choices", "retry_time"):
        found += _without_branches(DETAILS, sources[DETAILS], name, "")
    for name in ("_absorb_candidate", "_absorb_review", "_absorb_rebase"):
        found += _with_one_choice(ABSORB, sources[ABSORB], name)
        found += _without_updates(ABSORB, sources[ABSORB], name)
    for name in ("tree_unchanged", "coder_blocked", "_lacks_processes"):
        found += _without_operands(GUARDS, sources[GUARDS], name)
    found += _without_continuations(sources[STOPS])
    return _named_apart(found)


def _named_apart(mutants: list[Mutant]) -> list[Mutant]:
    """The same mutants; of those with one name each after the first says which it is."""
    seen: Counter[str] = Counter()
    for number, mutant in enumerate(mutants):
        seen[mutant.name] += 1
        if seen[mutant.name] > 1:
            name = f"{mutant.name} ({seen[mutant.name]})"
            mutants[number] = dataclasses.replace(mutant, name=name)
    return mutants


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
        yield Mutant(f"{name} without {ast.unparse(deleted)}", module, tree)


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
        yield Mutant(f"{module.rpartition('.')[2]} without: if {test}", module, tree)


def _branches(tree: ast.Module, function: str | None, about: str) -> list[ast.If]:
    """Those that only raise are for a state that contradicts itself: no life comes there."""
    found = [node for node in _places(tree, function) if isinstance(node, ast.If)]
    return [n for n in found if about in ast.unparse(n.test) and not isinstance(n.body[0], ast.Raise)]


def _without_operands(module: str, source: str, function: str) -> Iterator[Mutant]:
    """Take each operand of an `and` or `or` away, but not those that types alone ask for."""

    def operands(tree: ast.Module) -> list[tuple[ast.BoolOp, int]]:
        found = [node for node in _places(tree, function) if isinstance(node, ast.BoolOp)]
        places = [(node, n) for node in found for n in range(len(node.values))]
        return [(node, n) for node, n in places if not _is_for_types(node.values[n])]

    for index in range(len(operands(ast.parse(source)))):
        tree = ast.parse(source)
        node, number = operands(tree)[index]
        whole, part = ast.unparse(node), ast.unparse(node.values[number])
        node.values[number] = ast.Constant(value=isinstance(node.op, ast.And))
        yield Mutant(f"{function}: ({whole}) without ({part})", module, tree)


def _is_for_types(operand: ast.expr) -> bool:
    return ast.unparse(operand).endswith((" is None", " is not None"))


def _with_one_choice(module: str, source: str, function: str | None) -> Iterator[Mutant]:
    """Let each `x if test else y` be `x`, then `y`, whatever the test says."""

    def choices(tree: ast.Module) -> list[ast.IfExp]:
        return [node for node in _places(tree, function) if isinstance(node, ast.IfExp)]

    for index in range(len(choices(ast.parse(source)))):
        for always in (True, False):
            tree = ast.parse(source)
            node = choices(tree)[index]
            whole = ast.unparse(node)
            node.test = ast.Constant(value=always)
            name = f"{module.rpartition('.')[2]} always {always}: {whole}"
            yield Mutant(name, module, tree)


def _without_updates(module: str, source: str, function: str) -> Iterator[Mutant]:
    """Leave each field as it was that a function's dictionaries of strings change."""

    def fields(tree: ast.Module) -> list[tuple[ast.Dict, int]]:
        found = [node for node in _places(tree, function) if isinstance(node, ast.Dict)]
        return [(node, n) for node in found for n in range(len(node.keys))]

    for index in range(len(fields(ast.parse(source)))):
        tree = ast.parse(source)
        node, number = fields(tree)[index]
        key = node.keys[number]
        name = f"{function} without {ast.unparse(key) if key else '**'} ({index})"
        del node.keys[number], node.values[number]
        yield Mutant(name, module, tree)


def _with_caps_one_later(module: str, source: str) -> Iterator[Mutant]:
    """Make each cap's `>=` a `>`: once too often."""

    def caps(tree: ast.Module) -> list[ast.Compare]:
        compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
        return [node for node in compared if "caps_of(" in ast.unparse(node)]

    for index in range(len(caps(ast.parse(source)))):
        tree = ast.parse(source)
        node = caps(tree)[index]
        whole = ast.unparse(node)
        node.ops = [ast.Gt()]
        yield Mutant(f"cap one too late: {whole}", module, tree)


def _without_continuations(source: str) -> Iterator[Mutant]:
    """Take from each stop each way on that it has."""
    for row in range(len(_entries_of(ast.parse(source), "STOPS"))):
        for way, shut in CONTINUATIONS.items():
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
            value_shut = ast.parse(repr(shut), mode="eval").body
            call.keywords.append(ast.keyword(arg=way, value=value_shut))
            name = ast.unparse(_entries_of(tree, "STOPS")[row])
            yield Mutant(f"{name} without {way}", STOPS, tree)
