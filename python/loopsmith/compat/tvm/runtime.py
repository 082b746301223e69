# SPDX-License-Identifier: Apache-2.0
"""``tvm.runtime``: compiled modules, functions of the host, and values as nodes."""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

import loopsmith as ls
from loopsmith import InternalError, _core

from ..missing import other_names
from . import nd
from .contrib.cc import needing_runtime
from .data_type import DataType
from .error import TVMError
from .nd import Device, NDArray, cpu, cuda, device, opencl
from .object_path import ObjectPath

__all__ = [
    "BenchmarkResult",
    "DataType",
    "Device",
    "Executable",
    "InternalError",
    "Module",
    "NDArray",
    "Object",
    "ObjectPath",
    "PackedFunc",
    "ShapeTuple",
    "String",
    "TVMError",
    "Tensor",
    "const",
    "convert",
    "cpu",
    "cuda",
    "device",
    "empty",
    "enabled",
    "from_dlpack",
    "get_global_func",
    "load",
    "load_module",
    "ndarray",
    "opencl",
    "register_func",
    "tensor",
]

Object = ls.tir.Node
String = str
ShapeTuple: Any = tuple
ndarray = nd

# Later generations call arrays tensors.
Tensor, tensor, empty, from_dlpack = NDArray, nd.tensor, nd.empty, nd.from_dlpack


def register_func(func_name: Any, f: Any = None, override: bool = False) -> Any:
    """Register a function of the host; arrays come to it as those of this package.

    Parameters
    ----------
    func_name
        Its name; a function is registered under its own one.
    f
        The function; without, what comes back is a decorator.
    override
        Whether it takes the place of another one.
    """
    if callable(func_name):
        f, func_name = func_name, func_name.__name__

    def register(function: Any) -> Any:
        @functools.wraps(function)
        def called(*args: Any) -> Any:
            return function(*(nd.lent(each) for each in args))

        ls.register_func(func_name, called, override)
        return function

    return register if f is None else register(f)


def get_global_func(name: str, allow_missing: bool = False) -> Any:
    """Return the function that was registered under a name.

    Raises
    ------
    ValueError
        There is none, unless `allow_missing`: then None is returned.
    """
    try:
        return ls.get_global_func(name, allow_missing)
    except ls.UserError as error:
        raise ValueError(f"Cannot find global function {name}: {error}") from error


class BenchmarkResult(NamedTuple):
    """How long the calls took, in seconds: one number for each repetition."""

    results: list[float]

    @property
    def mean(self) -> float:
        """The mean."""
        return float(np.mean(self.results))

    @property
    def median(self) -> float:
        """The one in the middle."""
        return float(np.median(self.results))

    @property
    def min(self) -> float:
        """The shortest."""
        return float(np.min(self.results))

    @property
    def max(self) -> float:
        """The longest."""
        return float(np.max(self.results))

    @property
    def std(self) -> float:
        """The standard deviation."""
        return float(np.std(self.results))

    def __str__(self) -> str:
        """Return a row of milliseconds under its header."""
        columns = ("mean", "median", "max", "min", "std")
        header = " ".join(f"{name + ' (ms)':>12}" for name in columns)
        return header + "\n" + " ".join(f"{getattr(self, name) * 1e3:12.4f}" for name in columns)


class PackedFunc:
    """A function of a compiled module, or of the host."""

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        self._call = call
        self.name = name

    def __call__(self, *args: Any) -> Any:
        """Run it: results are written in place."""
        return self._call(*args)


def _number_of(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives the one element of the array that another one gives."""
    return lambda *args: np.asarray(call(*args)).item()


def _with_flags(function: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of a function that takes any number for a parameter of type bool."""
    kinds = [each[1] for each in _core.describe_parameters(function)]
    if "bool" not in kinds:
        return call

    def taking(*args: Any) -> Any:
        return call(
            *(
                bool(each) if kind == "bool" and isinstance(each, int) else each
                for kind, each in zip(kinds, args)
            ),
            *args[len(kinds) :],
        )

    return taking


_DEVICES = ("cuda", "opencl")


class Module:
    """Compiled functions. Called itself, it runs its only function, or ``main``."""

    type_key = "llvm"

    def __init__(
        self,
        module: ls.Module,
        program: Any = None,
        entry: str | None = None,
        returned: Mapping[str, str] | None = None,
    ) -> None:
        self._module = module
        self._returned = returned or {}
        self._program = program
        self._entry = entry

    @property
    def entry_name(self) -> str:
        """What the function is called that a call of the module runs."""
        return "__tvm_main__"

    @property
    def entry_func(self) -> PackedFunc:
        """The function that a call of the module runs."""
        return PackedFunc(self, self.entry_name)

    @property
    def imported_modules(self) -> list[DeviceModule]:
        """The code of a GPU, where there is some."""
        return [DeviceModule(self._module, kind) for kind in _DEVICES if self._source(kind)]

    @property
    def imports(self) -> list[DeviceModule]:
        """The same, as later generations call it."""
        return self.imported_modules

    @property
    def mod(self) -> Module:
        """The module of an executable: they are one here."""
        return self

    def jit(self, **_: Any) -> Module:
        """Return what can be called: the code is loaded already."""
        return self

    def get_function(self, name: str, query_imports: bool = False) -> PackedFunc:
        """Return a function by its name.

        Raises
        ------
        AttributeError
            The module has none of that name.
        """
        if name in (self.entry_name, self._entry):
            return self.entry_func
        try:
            function = self._module[name]
            called = _with_flags(function, function)
            return PackedFunc(_number_of(called) if name in self._returned else called, name)
        except (KeyError, ls.UserError) as error:
            raise AttributeError(f"Module has no function '{name}': {error}") from None

    __getitem__ = get_function

    def implements_function(self, function_name: str, query_imports: bool = False) -> bool:
        """Return whether it has a function of that name."""
        try:
            self.get_function(function_name, query_imports)
        except AttributeError:
            return False
        return True

    def __call__(self, *args: Any) -> Any:
        """Run the only function, or ``main``."""
        return self._main(*args)

    @functools.cached_property
    def _main(self) -> Callable[..., Any]:
        program = getattr(self._program, "mod", self._program)
        is_alone = not isinstance(program, ls.tir.IRModule) or len(program) == 1
        is_number = "main" in self._returned or (is_alone and bool(self._returned))
        names = self._module.names
        has_main = len(names) == 1 or "main" in names
        called = _with_flags(self._module, self._module) if has_main else self._module
        return _number_of(called) if is_number else called

    def get_source(self, fmt: str = "") -> str:
        """Return the generated code: of LLVM, or of the machine (``"asm"``, ``"s"``); or C."""
        wanted = {
            "ll": ["llvm"],
            "": ["llvm", "c", *_DEVICES],
            "c": ["c"],
            "asm": ["assembly"],
            "s": ["assembly"],
        }
        for name in wanted.get(fmt, ()):
            found = self._source(name)
            if found:
                return found
        raise ValueError(f"get_source: there is no form {fmt!r}; there are ll and asm, or c")

    def _source(self, name: str) -> str:
        with suppress(ls.UserError, KeyError):
            return self._module.source(name)
        return ""

    inspect_source = get_source

    def export_library(self, path: str | os.PathLike[str], **options: Any) -> str:
        """Write a shared library, which `load_module` reads, and other languages call."""
        unknown = sorted(set(options) - {"fcompile", "workspace_dir"})
        if unknown:
            raise TypeError(f"export_library: there is no option {unknown[0]}")
        file = os.fspath(path)
        self._module.export(file)
        return file

    def save(self, path: str | os.PathLike[str], fmt: str = "") -> None:
        """Write the code: an object file, assembly, LLVM or C, as the end of the name says."""
        self._module.export(os.fspath(path))
        if os.fspath(path).endswith((".o", ".s", ".ll")):
            needing_runtime.add(os.path.realpath(path))

    write_to_file = save

    def time_evaluator(
        self,
        func_name: str,
        dev: Device,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        **options: Any,
    ) -> Callable[..., BenchmarkResult]:
        """Return what measures a function on given arguments.

        Parameters
        ----------
        func_name
            Which function.
        dev
            Where it runs.
        number
            How many calls one repetition averages over.
        repeat
            How many repetitions there are.
        min_repeat_ms
            How long a repetition takes at least: `number` grows until it does.
        """
        from .timing import measured

        func = self.get_function(func_name)
        return lambda *args: BenchmarkResult(measured(func, args, number, repeat, min_repeat_ms))


Executable = Module


class DeviceModule:
    """The kernels of a module: their source."""

    def __init__(self, module: ls.Module, kind: str) -> None:
        self._module = module
        self.type_key = self.kind = kind
        self.imported_modules: list[Any] = []

    def get_source(self, fmt: str = "") -> str:
        """Return the source of the kernels, or what it was compiled to: ``"ptx"``.

        Raises
        ------
        CallError
            There is no such form.
        """
        source: str = self._module.source(fmt if fmt not in ("", "cu", "cl") else self.kind)
        return source

    inspect_source = get_source


def load_module(path: str | os.PathLike[str], fmt: str = "") -> Module:
    """Load the functions of a library that `export_library` wrote.

    A lone function that was called ``main``, as no function of a library may be, is called by that
    name.
    """
    module = ls.load_module(path)
    return Module(module, entry="main" if len(module.names) == 1 else None)


load = load_module


def enabled(target: str) -> bool:
    """Return whether programs can be compiled for a target here, and run."""
    return target in ("llvm", "c", "cpu")


def const(value: Any, dtype: str | None = None, span: Any = None) -> Any:
    """Return a constant."""
    from .tir.expr import const as made

    return made(value, dtype, span)


def convert(value: Any, span: Any = None) -> Any:
    """Return numbers, texts and lists as nodes and lists of them; anything else as it is.

    A function of Python becomes one that programs tell from others.
    """
    if isinstance(value, types.FunctionType):
        return PackedFunc(value, value.__name__)
    if isinstance(value, str):
        return ls.tir.StringImm(value)
    if isinstance(value, np.generic):
        return ls.tir.const(value.item(), str(value.dtype))
    if isinstance(value, (bool, int, float)):
        return ls.tir.const(value)
    if isinstance(value, (list, tuple)):
        return [convert(item) for item in value]
    if isinstance(value, dict):
        return {key: convert(item) for key, item in value.items()}
    return value


__getattr__ = other_names("tvm.runtime")
