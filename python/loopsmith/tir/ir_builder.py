# SPDX-License-Identifier: Apache-2.0
"""Statements built by calls, one after the other: loops, branches and memory as ``with`` scopes.

>>> ib = ir_builder.create()
>>> A = ib.buffer_ptr(buffer)
>>> with ib.for_range(0, n, name="i") as i:
...     with ib.if_scope(i % 2 == 0):
...         A[i] = A[i] + 1
>>> body = ib.get()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Union, cast

from .. import _core
from .._core import (
    Allocate,
    AttrStmt,
    Buffer,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IterVar,
    LetStmt,
    PointerType,
    SeqStmt,
    Stmt,
    StringImm,
    Var,
    While,
)
from .definitions import decl_buffer

if TYPE_CHECKING:
    from .._core import ExprLike

    Rest = Callable[[Stmt], Stmt]

__all__ = ["BufferVar", "IRBuilder", "create"]

_Item = Union[Stmt, "Rest"]

_kinds = {
    "serial": "serial",
    "parallel": "parallel",
    "vectorize": "vectorized",
    "vectorized": "vectorized",
    "unroll": "unrolled",
    "unrolled": "unrolled",
}

# A pointer does not say how many elements lie behind it.
_UNKNOWN_EXTENT = 2**31 - 1


class BufferVar:
    """A buffer whose elements are read by ``x[i]`` and stored by ``x[i] = value``.

    One index of a buffer of several dimensions counts its elements row by row.
    """

    def __init__(self, builder: IRBuilder, buffer: Buffer) -> None:
        self._builder = builder
        self.buffer = buffer

    @property
    def dtype(self) -> str:
        """The type of the elements."""
        return self.buffer.dtype

    @property
    def data(self) -> Var:
        """The pointer, as calls take it."""
        return self.buffer.data

    def asobject(self) -> Var:
        """Return the pointer, as calls take it."""
        return self.buffer.data

    def _indices(self, index: Any) -> list[Expr]:
        given = list(index) if isinstance(index, (tuple, list)) else [index]
        indices: list[Any] = [i.var if isinstance(i, IterVar) else i for i in given]
        shape = list(self.buffer.shape)
        if len(indices) == 1 and len(shape) > 1:
            rest = indices[0]
            unravelled: list[Any] = []
            for extent in reversed(shape[1:]):
                unravelled.insert(0, rest % extent)
                rest = rest // extent
            indices = [rest, *unravelled]
        return indices

    def __getitem__(self, index: Any) -> BufferLoad:
        """Return an element, or a vector of elements."""
        return BufferLoad(self.buffer, self._indices(index))

    def __setitem__(self, index: Any, value: ExprLike) -> None:
        """Store an element, or a vector of elements."""
        indices = self._indices(index)
        place = BufferLoad(self.buffer, indices)
        stored = value if isinstance(value, Expr) else _core.const(value, place.dtype)
        if stored.dtype != place.dtype:
            _core.fail(
                "TypeMismatch",
                "store_has_type",
                f"ir_builder: data type does not match content type: {stored.dtype} is stored in "
                f"{self.buffer.name}, which holds {place.dtype}",
                hint=f'write value.astype("{place.dtype}")',
            )
        self._builder.emit(BufferStore(self.buffer, stored, indices))


def pointed(content_type: str, name: str, scope: str = "") -> Buffer:
    """Return the buffer of unknown extent behind a pointer."""
    data = Var(name, pointer=PointerType(content_type, scope or "global"))
    return decl_buffer((_UNKNOWN_EXTENT,), content_type, name, data=data)


class IRBuilder:
    """Gathers statements, in the scopes that are open."""

    buffer_var = BufferVar
    """The class of buffers that it gives."""

    def __init__(self) -> None:
        self._scopes: list[list[_Item]] = [[]]
        self._branch: IfThenElse | None = None

    # ---- Statements ----

    def emit(self, stmt: Stmt | ExprLike | Rest) -> None:
        """Add a statement; an expression, for its effect; or what is put around what follows."""
        is_item = isinstance(stmt, Stmt) or (callable(stmt) and not isinstance(stmt, Expr))
        self._scopes[-1].append(cast("_Item", stmt) if is_item else Evaluate(cast("Expr", stmt)))

    def scope_attr(self, node: Any, attr_key: str, value: ExprLike) -> None:
        """Say something about a node, to the end of the scope."""
        meant: Any = StringImm(value) if isinstance(value, str) else value
        if attr_key == "thread_extent":
            meant = _core.max(1, meant)
        self.emit(lambda body: AttrStmt(node, attr_key, meant, body))

    def let(self, var_name: str, value: ExprLike) -> Var:
        """Name a value, to the end of the scope."""
        meant = value if isinstance(value, Expr) else _core.const(value)
        var = Var(var_name, meant.dtype)
        self.emit(lambda body: LetStmt(var, meant, body))
        return var

    def likely(self, expr: ExprLike) -> Expr:
        """Return a condition that mostly holds."""
        return cast("Expr", _core.likely(expr))

    # ---- Memory ----

    def allocate(
        self,
        dtype: str,
        shape: ExprLike | Sequence[ExprLike],
        name: str = "buf",
        axis_separators: Sequence[int] | None = None,
        scope: str = "",
    ) -> BufferVar:
        """Allocate memory, to the end of the scope."""
        buffer = decl_buffer(
            shape, dtype, name, scope=scope or "global", axis_separators=axis_separators or ()
        )

        def around(body: Stmt) -> Stmt:
            return Allocate(
                buffer.data, dtype, buffer.shape, condition=True, body=DeclBuffer(buffer, body)
            )

        self.emit(around)
        return self.buffer_var(self, buffer)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """Declare a pointer that comes from elsewhere: a parameter, whose elements are indexed."""
        buffer = pointed(content_type, name, scope)
        self.emit(lambda body: DeclBuffer(buffer, body))
        return self.buffer_var(self, buffer)

    def buffer_ptr(self, buf: Buffer, shape: Any = None) -> BufferVar:
        """Return a buffer that exists as one whose elements can be stored.

        The shape is that of the buffer; the parameter is there for programs that pass one.
        """
        return self.buffer_var(self, buf)

    # ---- Scopes ----

    @contextmanager
    def _scope(self) -> Iterator[list[_Item]]:
        items: list[_Item] = []
        self._scopes.append(items)
        try:
            yield items
        finally:
            self._scopes.pop()

    @contextmanager
    def for_range(
        self,
        begin: ExprLike,
        end: ExprLike,
        name: str = "i",
        dtype: str | None = None,
        kind: str = "serial",
    ) -> Iterator[Var]:
        """Open a loop from `begin` to `end`, without it; gives the loop's variable.

        Parameters
        ----------
        begin, end
            Integers; where one of them has 64 bits, the variable has.
        name
            Of the variable.
        dtype
            Of the variable, where it is not that of the bounds.
        kind
            ``serial``, ``parallel``, ``vectorize`` or ``unroll``.

        Raises
        ------
        UserError
            For another kind.
        """
        if kind not in _kinds:
            _core.fail(
                "FormatError",
                "loop_kind_exists",
                f"for_range: there is no kind of loop '{kind}'",
                hint="the kinds are serial, parallel, vectorize and unroll",
            )
        wide = any(getattr(bound, "dtype", "") == "int64" for bound in (begin, end))
        dtype = dtype or ("int64" if wide else "int32")
        start, stop = _index(begin, dtype), _index(end, dtype)
        is_whole = isinstance(begin, int) and begin == 0
        extent = stop if is_whole else _core.Analyzer().simplify(stop - start)
        var = Var(name, dtype)
        with self._scope() as items:
            yield var
        self.emit(For(var, start, extent, kind=_kinds[kind], body=_joined(items)))

    @contextmanager
    def while_loop(self, condition: ExprLike) -> Iterator[None]:
        """Open a loop that runs while the condition holds."""
        with self._scope() as items:
            yield
        self.emit(While(condition, _joined(items)))

    @contextmanager
    def if_scope(self, cond: ExprLike) -> Iterator[None]:
        """Open what is done where the condition holds."""
        with self._scope() as items:
            yield
        self.emit(IfThenElse(cond, _joined(items)))

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Open what is done where the condition of the `if_scope` just before does not hold.

        Raises
        ------
        UserError
            Where no `if_scope` without an `else_scope` stands just before.
        """
        before = self._scopes[-1][-1] if self._scopes[-1] else None
        if not isinstance(before, IfThenElse) or before.else_case is not None:
            _core.fail(
                "UserError",
                "else_follows_if",
                "else_scope: it does not follow an if_scope",
                hint="open it right after the if_scope that it belongs to",
            )
        with self._scope() as items:
            yield
        self._scopes[-1][-1] = IfThenElse(before.condition, before.then_case, _joined(items))

    @contextmanager
    def new_scope(self) -> Iterator[None]:
        """Open a scope, at the end of which its attributes, names and memory end."""
        with self._scope() as items:
            yield
        self.emit(_joined(items))

    def get(self) -> Stmt:
        """Return all statements as one.

        Raises
        ------
        UserError
            While a scope is open.
        """
        if len(self._scopes) != 1:
            _core.fail(
                "UserError",
                "scopes_are_closed",
                "ir_builder: a scope is still open",
                hint="call get() after the last `with`",
            )
        stmt = _joined(self._scopes[0])
        self._scopes = [[]]
        return stmt


def create() -> IRBuilder:
    """Return a builder without statements."""
    return IRBuilder()


def _index(value: ExprLike, dtype: str) -> Expr:
    return value if isinstance(value, Expr) and value.dtype == dtype else _core.cast(dtype, value)


def _joined(items: Sequence[_Item]) -> Stmt:
    """Return the statements as one; what is put around what follows is around the rest."""
    rest: list[Stmt] = []
    for item in reversed(items):
        if isinstance(item, Stmt):
            parts = list(item.seq) if isinstance(item, SeqStmt) else [item]
            rest[:0] = parts
        else:
            rest = [item(_sequence(rest))]
    return _sequence(rest)


def _sequence(stmts: Sequence[Stmt]) -> Stmt:
    if not stmts:
        return Evaluate(0)
    return stmts[0] if len(stmts) == 1 else SeqStmt(stmts)
