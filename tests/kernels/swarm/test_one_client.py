"""One client: each of its rules is one function, in rules.py or rates.py, that the engines of both fidelities call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import btflow

KERNELS = Path(btflow.__file__).parent / "kernels"
RULES = (KERNELS / "swarm" / "rules.py", KERNELS / "swarm" / "rates.py")
FULL = [path for room in ("swarm", "access") for path in (KERNELS / room).glob("*.py") if path != RULES[0]]
_SHARED = ("picking", "choking_ranked", "limiter_shares", "rates", "tracker", "whole_pieces")
SHARED = [KERNELS / "swarm" / f"{name}.py" for name in _SHARED]
FLOW = [*(KERNELS / "flow").glob("*.py"), *SHARED]

ALIKE = {
    "start_all": "posts the start of every client into the engine's own calendar",
    "give_birth": "posts the start of the client that rules.next_born gives",
}
"""Functions of the same text in both engines, and what they do besides calling rules."""

ALSO_READ = {
    "pieces": "the shape of the file",
    "blocks": "the shape of the file",
    "last_piece_blocks": "the shape of the file",
    "block_size": "the shape of the file",
    "last_block_size": "the shape of the file",
    "header": "the bytes of a block on an access link",
    "stay": "below 0 nobody leaves, and there is nothing to decide",
    "rate_window": "handed to rates.updated by who keeps a rate elsewhere than in `conn`",
    "slot_bits": "the peer of an end",
    "tallied": "whether there is anything to count",
    "max_initiate": "how near the limit is, for those opened a second",
    "optimistic": "which of those that wait is drawn",
}
"""Fields of `Rules` that rules.py or rates.py decide by and the engines read as well, and why."""


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef))


def called(function: ast.FunctionDef, module: str | None = None) -> set[str]:
    """Return the names of what a function calls of a module, or of its own."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    if module is None:
        return {f.id for f in calls if isinstance(f, ast.Name)}
    return {
        f.attr for f in calls if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == module
    }


def test_both_engines_call_every_rule() -> None:
    rules = {function.name: function for function in functions(RULES[0])}
    for engine in (FULL, FLOW):
        used = {name for path in engine for function in functions(path) for name in called(function, "rules")}
        assert used <= set(rules)
        within = {name for rule in used for name in called(rules[rule]) & set(rules)}
        assert used | within == set(rules)


class Unqualified(ast.NodeTransformer):
    """Takes modules away: `state.OPEN` becomes `OPEN`. What has attributes and is not a function's own is a module."""

    def __init__(self, own: set[str]) -> None:
        self.own = own

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace a name of a module."""
        if isinstance(node.value, ast.Name) and node.value.id not in self.own:
            return ast.copy_location(ast.Name(node.attr, node.ctx), node)
        return self.generic_visit(node)


def text(function: ast.FunctionDef) -> str:
    """Return a function's statements, without documentation or the modules of what it uses, its own names numbered."""
    own = {a.arg for a in function.args.args} | {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    numbers: dict[str, str] = {}
    body = function.body[1:] if ast.get_docstring(function) else function.body
    body = [Unqualified(own).visit(statement) for statement in body]
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in own:
                node.id = numbers.setdefault(node.id, f"name{len(numbers)}")
    return "\n".join(map(ast.dump, body))


def test_no_function_is_typed_twice() -> None:
    files = [path for path in KERNELS.rglob("*.py") if "link" not in path.relative_to(KERNELS).parts]
    seen: dict[str, str] = {}
    twice = set()
    for path in sorted(files):
        for function in functions(path):
            if len(function.body) == 2 and len(list(ast.walk(function.body[1]))) < 25:
                continue  # one line that reads or sets a field
            name = f"{path.relative_to(KERNELS)}:{function.name}"
            if (other := seen.setdefault(text(function), name)) != name:
                twice.add(function.name if other.endswith(f":{function.name}") else f"{other}, {name}")
    assert twice == set(ALIKE)


def fields(path: Path, of: Callable[[ast.expr], bool]) -> set[str]:
    """Return the attributes that a file reads of what `of` says."""
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and of(node.value)
    }


def test_the_constants_of_a_rule_are_read_by_that_rule_alone() -> None:
    """Who reads them elsewhere decides what rules.py decides."""

    def is_rules(node: ast.expr) -> bool:
        return (isinstance(node, ast.Name) and node.id == "r") or (
            isinstance(node, ast.Attribute) and node.attr == "rules"
        )

    decided = {name for path in RULES for name in fields(path, is_rules)}
    assert {"snub_time", "pipeline_seconds", "random_first", "max_initiate", "min_peers", "rate_fudge"} <= decided
    elsewhere = {name for path in {*FULL, *FLOW} - {*RULES} for name in fields(path, is_rules)} & decided
    assert elsewhere == set(ALSO_READ)
