# SPDX-License-Identifier: Apache-2.0
"""What ``import tvm`` gives: the modules of that name, and its names of all generations."""

from __future__ import annotations

import loopsmith.te
import loopsmith.tir

from ..missing import other_names
from . import (
    arith,
    contrib,
    dlight,
    driver,
    error,
    ffi,
    instrument,
    ir,
    ir_pass,
    meta_schedule,
    nd,
    runtime,
    script,
    target,
    te,
    testing,
    tir,
    topi,
    transform,
)
from . import ir_container as container
from . import nd as ndarray
from . import runtime as module
from .build_options import build_config, decl_tensor_intrin
from .data_type import DataType
from .driver import build, compile, lower
from .error import TVMError
from .ir import IRModule
from .nd import context, cpu, cuda, device, gpu, opencl
from .runtime import convert, get_global_func, register_func
from .target import Target
from .te import create_schedule, hybrid
from .tir import PrimFunc, decl_buffer, ir_builder
from .tir.expr import call_pure_intrin, const

__version__ = "0.18.0"

call_intrin = loopsmith.tir.call_intrin
call_extern = loopsmith.tir.call_extern
call_packed = loopsmith.tir.call_packed
call_pure_extern = loopsmith.tir.call_pure_extern

# Generations before 0.7 had tensor expressions and statements at the top.
expr = tir
stmt = tir
make = tir
base = error
_ffi = ffi
schedule = tir
tensor = te
api = te
intrin = tir
register_extern = register_global_func = register_func
extern = loopsmith.te.extern
scan = loopsmith.te.scan
select = loopsmith.tir.select

load_json = ir.load_json
save_json = ir.save_json
GlobalVar = ir.GlobalVar

vars(tir).update(ir_pass=ir_pass, dlight=dlight, meta_schedule=meta_schedule)
vars(target)["build_config"] = build_config

# Later generations have TensorIR in two halves: s_tir for schedules, tirx for what runs.
s_tir = tirx = tir

__getattr__ = other_names("tvm", loopsmith.te, loopsmith.tir)
