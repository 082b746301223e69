# SPDX-License-Identifier: Apache-2.0
"""Modules, which are also maps from names to functions."""

from __future__ import annotations

from typing import Any

from loopsmith import tir
from loopsmith.ir import make_module

from .expressions import call_op
from .functions import attribute

_functions: Any = vars(tir.IRModule)["functions"]


class Functions(list[Any]):
    """The functions of a module, as a list and as a map from their names."""

    def __init__(self, module: Any) -> None:
        super().__init__(_functions.__get__(module))
        self._names = list(module.names)

    def items(self) -> list[tuple[Any, Any]]:
        """Return names and functions."""
        return list(zip(self._names, self))

    def keys(self) -> list[Any]:
        """Return the names."""
        return self._names

    def values(self) -> list[Any]:
        """Return the functions."""
        return list(self)

    def __getitem__(self, key: Any) -> Any:
        """Return a function by its place or its name."""
        if isinstance(key, (int, slice)):
            return super().__getitem__(key)
        name = getattr(key, "name_hint", key)
        for each, func in self.items():
            if each.name_hint == name:
                return func
        raise KeyError(name)


def get_global_var(module: Any, name: str) -> Any:
    for each in module.names:
        if each.name_hint == name:
            return each
    raise ValueError(f'Cannot find global var "{name}" in the Module')


def _with_functions(module: Any, changed: Any) -> Any:
    known = [(name.name_hint, func) for name, func in module.items()]
    named = {**dict(known), **{getattr(key, "name_hint", key): func for key, func in changed}}
    return make_module(named, dict(module.attrs or {}))


def set_function(module: Any, name: Any, func: Any) -> None:
    module.become(_with_functions(module, [(name, func)]))


def update(module: Any, other: Any) -> None:
    module.become(_with_functions(module, other.items()))


def _module_attrs(module: Any) -> dict[str, Any]:
    return dict(module.attrs or {})


def module_with_attr(module: Any, attr_key: str, attr_value: Any) -> Any:
    return module_with_attrs(module, {attr_key: attr_value})


def module_with_attrs(module: Any, attr_map: Any) -> Any:
    given = {key: attribute(value) for key, value in attr_map.items()}
    return make_module(_named(module), {**_module_attrs(module), **given})


def module_without_attr(module: Any, attr_key: str) -> Any:
    attrs = _module_attrs(module)
    attrs.pop(attr_key, None)
    return make_module(_named(module), attrs)


def get_attr(module: Any, attr_key: str) -> Any:
    return _module_attrs(module).get(attr_key)


def _named(module: Any) -> dict[str, Any]:
    return {name.name_hint: func for name, func in module.items()}


def has_function(module: Any, name: Any) -> bool:
    return getattr(name, "name_hint", name) in _named(module)


def delete_function(module: Any, name: Any) -> None:
    named = _named(module)
    del named[getattr(name, "name_hint", name)]
    module.become(make_module(named, _module_attrs(module)))


def renamed(module: Any, replacements: Any) -> Any:
    """Return a module whose functions have other names, also where they call each other."""
    names = {
        getattr(old, "name_hint", old): getattr(new, "name_hint", new)
        for old, new in replacements.items()
    }
    unknown = set(names) - set(_named(module))
    if unknown:
        raise ValueError(f"replace_global_vars: there is no function {sorted(unknown)[0]}")

    def renamed(node: Any) -> Any:
        is_call = isinstance(node, tir.Call) and call_op.__get__(node) == "call_global"
        if not is_call or node.args[0].name_hint not in names:
            return None
        called = tir.GlobalVar(names[node.args[0].name_hint])
        return tir.Call(node.dtype, "call_global", [called, *list(node.args)[1:]])

    functions = {}
    for name, func in _named(module).items():
        made = func.with_body(tir.rewrite(func.body, after=renamed))
        if name in names and (func.attrs or {}).get("global_symbol") is not None:
            made = made.with_attr("global_symbol", names[name])
        functions[names.get(name, name)] = made
    return make_module(functions, _module_attrs(module))
