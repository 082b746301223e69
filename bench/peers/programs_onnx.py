# SPDX-License-Identifier: Apache-2.0
"""The workloads as graphs of ONNX, by ONNX Runtime."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from workloads import EPSILON

OPSET, IR_VERSION = 20, 9


def version() -> str:
    """Return which ONNX Runtime."""
    return f"ONNX Runtime {onnxruntime.__version__}"


def session(
    nodes: Sequence[Any], operands: Sequence[Any], out: Any, constants: dict[str, Any]
) -> Any:
    """Return a call of a graph, from the operands' memory into that of the result."""
    names = [f"in{number}" for number in range(len(operands))]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, operand.shape)
        for name, operand in zip(names, operands)
    ]
    output = helper.make_tensor_value_info("out", TensorProto.FLOAT, out.shape)
    given = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(list(nodes), "workload", inputs, [output], given)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    made = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    binding = made.io_binding()
    for name, operand in zip(names, operands):
        binding.bind_cpu_input(name, operand)
    binding.bind_output("out", "cpu", 0, np.float32, out.shape, out.ctypes.data)
    return lambda: made.run_with_iobinding(binding)


def node(kind: str, inputs: str, output: str = "out", **attributes: Any) -> Any:
    """Return a node; its inputs are names between spaces."""
    return helper.make_node(kind, inputs.split(), [output], **attributes)


def single(make: Callable[..., Sequence[Any]], **constants: Any) -> Callable[..., Any]:
    """Return a program of some nodes, which depend on the sizes, with constants."""

    def prepare(*arrays: Any, **sizes: Any) -> Any:
        return session(make(**sizes), arrays[:-1], arrays[-1], constants)

    return prepare


def product(a: Any, b: Any, out: Any, layout: str = "nn", batch: int = 0, **_: int) -> Any:
    """C = A @ B; by Gemm where an operand is transposed."""
    if layout == "nn" or batch:
        return session([node("MatMul", "in0 in1")], [a, b], out, {})
    gemm = node("Gemm", "in0 in1", transA=int(layout[0] == "t"), transB=int(layout[1] == "t"))
    return session([gemm], [a, b], out, {})


def convolution(
    a: Any, w: Any, out: Any, stride: int = 1, pad: int = 0, groups: int = 1, **_: int
) -> Any:
    """Convolution, whose weights are constant: the runtime may pack them before."""
    conv = node("Conv", "in0 w", strides=[stride] * 2, pads=[pad] * 4, group=groups)
    return session([conv], [a], out, {"w": w})


def layer_norm(a: Any, out: Any, columns: int, **_: int) -> Any:
    """Rows less their mean, over their deviation."""
    ones = np.ones(columns, np.float32)
    return session(
        [node("LayerNormalization", "in0 ones", epsilon=EPSILON)], [a], out, {"ones": ones}
    )


def attention(q: Any, k: Any, v: Any, out: Any, d: int, **_: int) -> Any:
    """Softmax of the scores, by the values."""
    nodes = [
        node("Transpose", "in1", "kt", perm=[0, 2, 1]),
        node("MatMul", "in0 kt", "s"),
        node("Mul", "s scale", "scaled"),
        node("Softmax", "scaled", "p", axis=-1),
        node("MatMul", "p in2"),
    ]
    return session(nodes, [q, k, v], out, {"scale": np.float32(1 / math.sqrt(d))})


def stencil(weights: Any) -> Callable[..., Any]:
    """Return a program that convolves an image with constant weights."""

    def prepare(a: Any, out: Any, **_: int) -> Any:
        conv = node("Conv", "in0 w")
        return session([conv], [a[None, None]], out[None, None], {"w": weights[None, None]})

    return prepare


def _star(axes: int) -> Any:
    weights = np.zeros((3,) * axes, np.float32)
    share = np.float32(1 / (2 * axes + 1))
    for axis in range(axes):
        for place in (0, 1, 2):
            weights[tuple(place if each == axis else 1 for each in range(axes))] = share
    return weights


PROGRAMS = {
    "product": product,
    "convolution": convolution,
    "softmax": single(lambda **_: [node("Softmax", "in0", axis=-1)]),
    "layer norm": layer_norm,
    "gelu": single(
        lambda **_: [node("Add", "in0 in1", "x"), node("Gelu", "x", approximate="tanh")]
    ),
    "add": single(lambda **_: [node("Add", "in0 in1")]),
    "row sums": single(
        lambda **_: [node("ReduceSum", "in0 axis", keepdims=0)], axis=np.array([1], np.int64)
    ),
    "column sums": single(
        lambda **_: [node("ReduceSum", "in0 axis", keepdims=0)], axis=np.array([0], np.int64)
    ),
    "transpose": single(lambda **_: [node("Transpose", "in0", perm=[1, 0])]),
    "attention": attention,
    "jacobi": stencil(_star(2)),
    "heat": stencil(_star(3)),
    "blur": stencil(np.full((3, 3), 1 / 9, np.float32)),
    "prefix sum": single(lambda **_: [node("CumSum", "in0 axis")], axis=np.array(0, np.int64)),
}
