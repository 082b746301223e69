# SPDX-License-Identifier: Apache-2.0
"""The text of a program, with other schedules in the place of those that it makes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from .recording import Recorded
from .steps import Written, definition

# The parameters of lower and build after the schedule, by position.
_PARAMETERS = {
    "lower": ("args", "name", "binds", "simple_mode"),
    "build": ("args", "target", "target_host", "runtime", "name", "binds"),
}
_SCHEDULE_KEYWORDS = ("inp", "inputs", "sch", "x")


class Site(NamedTuple):
    """A call of lower or build, and the statement that it stands in."""

    call: ast.Call
    statement: ast.stmt


def rewrite(text: str, recorded: list[Recorded]) -> tuple[str, list[str]]:
    """Return a program with schedules of TensorIR, and notes on what stayed as it was."""
    return _Rewriting(text).run(recorded)


class _Rewriting:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.lines = text.splitlines(keepends=True)
        self.parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }
        self.notes: list[tuple[int, str]] = []
        self.edits: list[tuple[int, int, str]] = []  # From, to, what goes there.
        self.uses_script = False
        self.functions: dict[tuple[str, ast.AST], str] = {}
        self.migrated: list[Site] = []

    def run(self, recorded: list[Recorded]) -> tuple[str, list[str]]:
        by_line: dict[int, list[Recorded]] = {}
        for one in recorded:
            by_line.setdefault(one.line, []).append(one)
        for line, ones in sorted(by_line.items()):
            self.migrate_line(line, ones)
        if self.migrated:
            self.drop_schedules()
            self.add_imports()
        return self.edited(), [
            f"line {line}: {note}" if line else note for line, note in sorted(self.notes)
        ]

    def note(self, line: int, text: str) -> None:
        if (line, text) not in self.notes:
            self.notes.append((line, text))

    # ---- Calls ----

    def migrate_line(self, line: int, recorded: list[Recorded]) -> None:
        if not line:
            self.note(0, "a schedule is lowered outside of the program: it stays as it is")
            return
        if refused := [one.reason for one in recorded if one.steps is None]:
            self.note(line, f"the schedule stays as it is: {refused[0]}")
            return
        if any(one.steps != recorded[0].steps for one in recorded):
            self.note(line, "several schedules are lowered here: they stay as they are")
            return
        sites = [site for site in self.sites() if site.call.lineno <= line <= _end(site.call)]
        if len(sites) != 1:
            self.note(line, "which call lowers the schedule cannot be told: it stays as it is")
            return
        assert recorded[0].steps is not None
        self.migrate_call(sites[0], recorded[0].steps)

    def sites(self) -> Iterator[Site]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and _name_called(node) in _PARAMETERS:
                if _name_called(node) == "lower" and not _all_arguments(node):
                    continue  # A method of texts.
                statement: ast.AST = node
                while not isinstance(statement, ast.stmt):
                    statement = self.parents[statement]
                yield Site(node, statement)

    def migrate_call(self, site: Site, steps: Written) -> None:
        given = self.arguments(site.call)
        if "args" not in given and steps.start is None:
            self.note(site.call.lineno, "the arguments have no text: the schedule stays as it is")
            return
        made = f"{self.function_for(site, steps, given.get('args', ''))}({given.get('name', '')})"
        kept = [f"{key}={value}" for key, value in given.items() if key not in ("args", "binds")]
        call = f"{self.source(site.call.func)}({', '.join([made, *kept])})"
        self.edits.append((self.start(site.call), self.end(site.call), call))
        self.migrated.append(site)

    def arguments(self, call: ast.Call) -> dict[str, str]:
        """The arguments of a call after the schedule, by name."""
        given: dict[str, str] = {}
        positional = [self.source(arg) for arg in call.args]
        names = {item.arg for item in call.keywords}
        if not names & set(_SCHEDULE_KEYWORDS):
            positional = positional[1:]
        given.update(zip(_PARAMETERS[_name_called(call)], positional))
        for item in call.keywords:
            if item.arg not in _SCHEDULE_KEYWORDS and item.arg:
                given[item.arg] = self.source(item.value)
        return given

    def function_for(self, site: Site, steps: Written, args: str) -> str:
        """The name of a function that makes the schedule, defined before the statement.

        Its parameter is what the compiled function is called.
        """
        statement = self.outermost_statement(site.statement)
        body = self.body_of(steps, args)
        key = ("\n".join(body), self.parents[statement])
        if key in self.functions:
            return self.functions[key]
        made = f"schedule_{len(self.functions) + 1}"
        while re.search(rf"\b{made}\b", self.text):
            made += "_"
        self.functions[key] = made
        indent = " " * statement.col_offset
        first = _first_line(statement)
        space = [""] if first > 1 and self.lines[first - 2].strip() else []
        head = f'def {made}(name: str = "main") -> ls.tir.Schedule:'
        lines = [*space, head, *(f"    {line}".rstrip() for line in body), ""]
        text = "".join(f"{indent}{line}\n" if line else "\n" for line in lines)
        at = self.offset(first, 0)
        self.edits.append((at, at, text))
        return made

    def outermost_statement(self, statement: ast.stmt) -> ast.stmt:
        """The statement before which a definition can stand: no branch of an ``elif``."""
        parent = self.parents[statement]
        while isinstance(parent, ast.If) and statement in parent.orelse and _is_elif(self, parent):
            statement, parent = parent, self.parents[parent]
        return statement

    def body_of(self, steps: Written, args: str) -> list[str]:
        body: list[str] = []
        for intrinsic, desc, impl in steps.intrinsics:
            self.uses_script = True
            body += [*definition(desc, "desc"), "", *definition(impl, "impl"), ""]
            body.append(f'ls.tir.TensorIntrin.register("{intrinsic}", desc, impl, override=True)')
        if steps.start is None:
            func = f"ls.te.create_prim_func({args})"
        else:
            self.uses_script = True
            body += [*definition(steps.start, "main"), ""]
            func = "main"
        func += '.with_attr("global_symbol", name)'
        return [*body, f"sch = ls.tir.Schedule({func})", *steps.lines, "return sch"]

    # ---- Statements that made the schedules ----

    def drop_schedules(self) -> None:
        """Drop the statements that made schedules, unless something else uses them."""
        tainted = self.schedule_names() - {"_"}
        done = {site.call for site in self.migrated}
        for node, value, names in self.assignments():
            shared = sorted(names & tainted)
            is_other = not self.makes_schedule(value) and not self.names_used(value, tainted, done)
            if shared and is_other:
                self.keep(node, shared)
                return
        dropped: list[ast.stmt] = []
        for statement in self.simple_statements():
            uses = self.names_used(statement, tainted, done)
            if not uses:
                continue
            if not isinstance(statement, ast.stmt) or not self.is_about_schedules(
                statement, tainted
            ):
                self.keep(statement, uses)
                return
            dropped.append(statement)
        lines = {line for one in dropped for line in range(_first_line(one), _end(one) + 1)}
        for statement in self.simple_statements():
            if statement not in dropped and getattr(statement, "lineno", 0) in lines:
                self.keep(statement, ["its line"])
                return
        self.drop(dropped)

    def keep(self, statement: ast.AST, uses: list[str]) -> None:
        line = getattr(statement, "lineno", 0)
        self.note(
            line,
            f"the statements that make the schedules were kept: {', '.join(uses)} is used here",
        )

    def schedule_names(self) -> set[str]:
        """The names whose values are schedules, or come from them."""
        names: set[str] = set()
        done = {site.call for site in self.migrated}
        count = -1
        while len(names) != count:
            count = len(names)
            for _node, value, targets in self.assignments():
                if self.makes_schedule(value) or self.names_used(value, names, done):
                    names |= targets
        return names

    def assignments(self) -> Iterator[tuple[ast.stmt, ast.expr, set[str]]]:
        """The assignments: what is assigned, and the names that get it."""
        for node in ast.walk(self.tree):
            if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {
                inner.id
                for target in targets
                for inner in ast.walk(target)
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
            }
            yield node, node.value, names

    def makes_schedule(self, value: ast.expr) -> bool:
        return any(
            isinstance(inner, ast.Call) and _name_called(inner) == "create_schedule"
            for inner in ast.walk(value)
        )

    def names_used(self, node: ast.AST, names: set[str], done: set[ast.Call]) -> list[str]:
        """Which of the names a node mentions, outside of calls that were migrated."""
        if node in done:
            assert isinstance(node, ast.Call)
            args = [item for item in _all_arguments(node) if not _is_schedule(node, item)]
            return [name for item in args for name in self.names_used(item, names, done)]
        if isinstance(node, ast.Name):
            return [node.id] if node.id in names else []
        if isinstance(node, ast.Lambda):
            names = names - {
                inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)
            }
        used: list[str] = []
        for child in ast.iter_child_nodes(node):
            for name in self.names_used(child, names, done):
                if name not in used:
                    used.append(name)
        return used

    def simple_statements(self) -> Iterator[ast.AST]:
        """Statements without a body; of others, what stands before it."""
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.stmt):
                continue
            if not hasattr(node, "body"):
                yield node
                continue
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, (ast.stmt, ast.ExceptHandler)):
                    yield child

    def is_about_schedules(self, statement: ast.AST, names: set[str]) -> bool:
        """Whether a statement does nothing but make or change schedules."""
        done = [site.call for site in self.migrated]
        if any(site.statement is statement and site.call not in done for site in self.sites()):
            return False
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            return True
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
        root: ast.AST = statement.value.func
        if isinstance(root, ast.Name):
            return False  # A function, which may do more.
        while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
            root = root.func if isinstance(root, ast.Call) else root.value
        return isinstance(root, ast.Name) and root.id in names

    def drop(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            body = next(
                field
                for field in ("body", "orelse", "finalbody")
                if statement in getattr(self.parents[statement], field, [])
            )
            block = getattr(self.parents[statement], body)
            is_last_left = all(one in statements for one in block) and block[0] is statement
            in_module = isinstance(self.parents[statement], ast.Module)
            indent = " " * statement.col_offset
            begin, end = self.offset(statement.lineno, 0), self.offset(_end(statement) + 1, 0)
            instead = f"{indent}pass\n" if is_last_left and not in_module else ""
            self.edits.append((begin, end, instead))

    # ---- Text ----

    def add_imports(self) -> None:
        after = 0
        for node in self.tree.body:
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not (is_text or is_future):
                break
            after = _end(node)
        at = self.offset(after + 1, 0)
        script = "from loopsmith.script import tir as T\n" if self.uses_script else ""
        self.edits.append((at, at, f"import loopsmith as ls\n{script}"))

    def source(self, node: ast.expr) -> str:
        return self.text[self.start(node) : self.end(node)]

    def offset(self, line: int, column: int) -> int:
        """Where a place in the text is; the tree counts columns in bytes."""
        before = sum(len(text) for text in self.lines[: line - 1])
        if line > len(self.lines):
            return before
        return before + len(self.lines[line - 1].encode()[:column].decode())

    def start(self, node: ast.expr) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def edited(self) -> str:
        text = self.text
        for begin, end, instead in sorted(self.edits, key=lambda edit: edit[:2], reverse=True):
            text = text[:begin] + instead + text[end:]
        return text


def _end(node: ast.AST) -> int:
    return int(getattr(node, "end_lineno", 0) or 0)


def _first_line(statement: ast.stmt) -> int:
    """The line of a statement, or of its first decorator."""
    decorators = getattr(statement, "decorator_list", [])
    return min(int(node.lineno) for node in [statement, *decorators])


def _name_called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _all_arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(item.value for item in call.keywords)]


def _is_schedule(call: ast.Call, argument: ast.expr) -> bool:
    """Whether an argument of lower or build is the schedule."""
    named = [item.value for item in call.keywords if item.arg in _SCHEDULE_KEYWORDS]
    return argument in (named or call.args[:1])


def _is_elif(rewriting: _Rewriting, node: ast.If) -> bool:
    first = node.orelse[0] if node.orelse else None
    if not isinstance(first, ast.If):
        return False
    return rewriting.lines[first.lineno - 1].lstrip().startswith("elif")
