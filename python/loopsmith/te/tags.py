# SPDX-License-Identifier: Apache-2.0
"""Tags that are given to all operations of a scope."""

from __future__ import annotations

import warnings
from contextlib import ContextDecorator
from contextvars import ContextVar, Token

from .. import _core

_tag_scope: ContextVar[tag_scope | None] = ContextVar("tag_scope", default=None)


class tag_scope(ContextDecorator):  # noqa: N801 - the name that scripts use
    """Give a tag to the operations made inside: a context manager and a decorator."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.is_used = False
        self._token: Token[tag_scope | None] | None = None

    def _recreate_cm(self) -> tag_scope:
        return tag_scope(self.tag)

    def __enter__(self) -> tag_scope:
        if _tag_scope.get() is not None:
            _core.fail("FormatError", "tag_scopes_do_not_nest", "tag_scope: scopes do not nest")
        self._token = _tag_scope.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        assert self._token is not None
        _tag_scope.reset(self._token)
        if not self.is_used and error[0] is None:
            warnings.warn(f"the tag '{self.tag}' was not used", stacklevel=2)


def current_tag(tag: str) -> str:
    """Return the tag of an operation: its own, or that of the scope around it."""
    scope = _tag_scope.get()
    if scope is None:
        return tag
    if tag:
        _core.fail("FormatError", "one_tag", f"the tag '{tag}' is given inside a tag_scope")
    scope.is_used = True
    return scope.tag
