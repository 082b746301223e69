# SPDX-License-Identifier: Apache-2.0
"""``tvm.build_config``: the scope in which generations before 0.7 set options of the compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import loopsmith.te

from ..missing import MissingName
from .transform import PassContext

__all__ = ["build_config", "decl_tensor_intrin"]

_OPTIONS_OF_PASSES = {
    "auto_unroll_max_depth": ("tir.UnrollLoop", "auto_max_depth"),
    "auto_unroll_max_step": ("tir.UnrollLoop", "auto_max_step"),
    "partition_const_loop": ("tir.LoopPartition", "partition_const_loop"),
    "unroll_explicit": ("tir.UnrollLoop", "explicit_unroll"),
}
_BUFFERS = ("offset_factor", "data_alignment")

_WITHOUT_EFFECT = {
    "dump_pass_ir": (False,),
    "restricted_func": (True,),
    "detect_global_barrier": (False,),
    "double_buffer_split_loop": (0, 1),
    "instrument_bound_checkers": (False,),
}
"""The values with which an option asks for what is done anyway."""


def build_config(**options: Any) -> PassContext:
    """Return a scope with options of the compiler.

    Parameters
    ----------
    options
        ``offset_factor`` and ``data_alignment`` of the buffers that intrinsics declare,
        ``auto_unroll_max_step`` and ``unroll_explicit``, ``partition_const_loop``,
        ``disable_vectorize``, ``add_lower_pass``.
        Whoever passes another one is told that it is not provided.
    """
    config: dict[str, Any] = {}
    buffers: dict[str, Any] = {}
    for name, value in options.items():
        if name in _OPTIONS_OF_PASSES:
            which, option = _OPTIONS_OF_PASSES[name]
            config.setdefault(which, {})[option] = value
        elif name in _BUFFERS:
            buffers[name] = value
        elif name in ("disable_vectorize", "add_lower_pass"):
            config[f"tir.{name}"] = value
        elif value not in _WITHOUT_EFFECT.get(name, ()):
            raise MissingName(f"tvm.build_config({name}={value!r})")
    context = PassContext(config=config)
    context.buffer_options = buffers
    return context


def decl_tensor_intrin(
    op: Any,
    fcompute: Callable[..., Any],
    name: str = "tensor_intrin",
    binds: Mapping[Any, Any] | None = None,
    scalar_params: Sequence[Any] | None = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> Any:
    """Return an intrinsic, with buffers as the options of the scope want them."""
    options = {**PassContext.current().buffer_options, **(default_buffer_params or {})}
    return loopsmith.te.decl_tensor_intrin(op, fcompute, name, binds, scalar_params, options)
