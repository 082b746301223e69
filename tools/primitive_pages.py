# SPDX-License-Identifier: Apache-2.0
"""Writes docs/primitives.md: a page for each schedule primitive, with an example that was run."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "primitives.md"

INTRODUCTION = """\
# Schedule primitives

Made by `tools/primitive_pages.py` from the primitives themselves; the examples were run.

Each is a method of `tir.Schedule`. Blocks and loops are given as handles or by name. A condition
that does not hold raises a `ScheduleError` with that code, and changes nothing; `error.fixes` are
calls that would be accepted instead, none of which promises anything in your name; the hint says
which promise would help. `sch.can_apply(name, ...)` asks without an exception.

The examples start from these programs:
"""

# The programs of the examples, each as the body of a function.
PROGRAMS = {
    "matmul": """
    A: T.Buffer((64, 32)), B: T.Buffer((32, 48)), C: T.Buffer((64, 48))
    for i, j, k in T.grid(64, 48, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
    "converted": """
    A: T.Buffer((32, 64)), B: T.Buffer((64, 48), "int8"), C: T.Buffer((32, 48))
    for i, j, k in T.grid(32, 48, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * T.Cast("float32", B[vk, vj])
""",
    "sizes": """
    a: T.handle, b: T.handle
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i] * T.float32(2)
""",
    "softmax": """
    A: T.Buffer((32, 64), "float32"), W: T.Buffer((64,), "float32"), S: T.Buffer((32,), "float32")
    M = T.alloc_buffer((32,))
    for i, k in T.grid(32, 64):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], A[vi, vk])
    for j, l in T.grid(32, 64):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [j, l])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.exp(A[vi, vk] - M[vi]) * W[vk] * T.float32(0.5)
""",
    "stages": """
    A: T.Buffer((32, 16), "float32"), C: T.Buffer((32, 16), "float32")
    B = T.alloc_buffer((32, 16))
    for i, j in T.grid(32, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for y, x in T.grid(32, 16):
        with T.block("C"):
            vy, vx = T.axis.remap("SS", [y, x])
            C[vy, vx] = B[vy, vx] * T.float32(2)
""",
    "calls": """
    A: T.Buffer((32, 16), "float32"), B: T.Buffer((32, 16), "float32")
    for i in range(32):
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            T.reads(A[vi, 0:16])
            T.writes(B[vi, 0:16])
            T.call_extern("int32", "next_row", T.address_of(A[vi, 0]), T.address_of(B[vi, 0]))
""",
    "transposed": """
    A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 16), "float32")
    for i, j in T.grid(32, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * T.float32(2)
""",
    "rows": """
    A: T.Buffer((32, 16), "float32"), D: T.Buffer((32,), "float32")
    S = T.alloc_buffer((32,))
    for i, k in T.grid(32, 16):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
    for i in range(32):
        with T.block("D"):
            vi = T.axis.remap("S", [i])
            D[vi] = S[vi] + T.float32(1)
""",
    "update": """
    A: T.Buffer((32,), "float32")
    for i in range(32):
        with T.block("A"):
            vi = T.axis.remap("S", [i])
            A[vi] = A[vi] * T.float32(2)
""",
    "stencil": """
    A: T.Buffer((34,), "float32"), C: T.Buffer((32,), "float32")
    B = T.alloc_buffer((34,))
    for i in range(34):
        with T.block("B"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi] + T.float32(1)
    for y in range(32):
        with T.block("C"):
            vy = T.axis.remap("S", [y])
            C[vy] = B[vy] + B[vy + 1] + B[vy + 2]
""",
    "padded": """
    X: T.Buffer((64,), "float32"), Y: T.Buffer((70,), "float32")
    for i in range(70):
        with T.block("Y"):
            vi = T.axis.spatial(70, i)
            Y[vi] = T.if_then_else(3 <= vi and vi < 67, X[vi - 3], T.float32(0))
""",
    "sweep": """
    A: T.Buffer((34, 34), "float32")
    for i, j in T.grid(32, 32):
        A[i + 1, j + 1] = A[i, j + 1] + A[i + 1, j] + A[i + 2, j + 1] + A[i + 1, j + 2]
""",
    "statements": """
    A: T.Buffer((33,), "float32"), B: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")
    t = T.alloc_buffer((1,))
    for i in range(32):
        A[i + 1] = A[i] + B[i]
    for j in range(32):
        t[0] = A[j] * T.float32(2)
        C[j] = t[0] + T.float32(1)
    for k in range(1, 32):
        B[k] = C[k - 1]
""",
    "branches": """
    A: T.Buffer((32, 16), "float32")
    for i in range(32):
        if i % 2 == 0:
            for j in range(16):
                A[i, j] = T.float32(1)
        else:
            for k in range(16):
                A[i, k] = T.float32(2)
""",
    "counted": """
    A: T.Buffer((64,), "float32"), B: T.Buffer((32,), "float32")
    k = T.int32(0)
    for i in range(32):
        A[k] = B[i]
        k += 2
""",
    "search": """
    A: T.Buffer((64,), "float32"), B: T.Buffer((2,), "int32")
    best = A[0] * T.float32(1)
    place = T.int32(0)
    for i in range(64):
        if A[i] > best:
            best = A[i]
            place = i
    B[0] = place
""",
    "counts": """
    A: T.Buffer((8, 100), "int32"), H: T.Buffer((256,), "int32")
    for p in range(8):
        for i in range(100):
            H[A[p, i]] = H[A[p, i]] + 1
""",
    "sparse": """
    S: T.Buffer((33,), "int32"), V: T.Buffer((900,), "float32"), Y: T.Buffer((32,), "float32")
    for i in range(32):
        Y[i] = T.float32(0)
        for k in range(S[i], S[i + 1]):
            Y[i] = Y[i] + V[k]
""",
    "dot": """
    A: T.Buffer((4,), "uint8"), B: T.Buffer((16, 4), "int8"), C: T.Buffer((16,), "int32")
    for i, k in T.grid(16, 4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + T.Cast("int32", A[vk]) * T.Cast("int32", B[vi, vk])
""",
}

# For each primitive its program and the steps, of which the last one is shown.
EXAMPLES = {
    "get_block": ("stages", 'print(sch.get_block("C"))'),
    "get_loops": ("matmul", 'print([loop.name for loop in sch.get_loops("C")])'),
    "get_loop": ("matmul", 'print(sch.get_loop("k").name)'),
    "get_child_blocks": (
        "stages",
        'print([block.name for block in sch.get_child_blocks("root")])',
    ),
    "get_child_loops": ("matmul", 'print([loop.name for loop in sch.get_child_loops("i")])'),
    "get_producers": ("stages", 'print([block.name for block in sch.get_producers("C")])'),
    "get_consumers": ("stages", 'print([block.name for block in sch.get_consumers("B")])'),
    "get_output_blocks": (
        "stages",
        'print([block.name for block in sch.get_output_blocks("root")])',
    ),
    "split": ("matmul", 'sch.split("i", factors=[None, 16], names=["io", "ii"])'),
    "fuse": ("matmul", 'sch.fuse("i", "j")'),
    "merge": ("stages", 'sch.merge("i", "y")'),
    "reorder": ("matmul", 'sch.reorder("k", "i", "j")'),
    "add_unit_loop": ("update", 'sch.add_unit_loop("A")'),
    "parallel": ("matmul", 'sch.parallel("i")'),
    "vectorize": ("matmul", 'sch.vectorize("j")'),
    "unroll": ("matmul", 'sch.unroll("k")'),
    "bind": ("matmul", 'sch.bind("i", "blockIdx.x")'),
    "compute_at": ("stages", 'sch.compute_at("B", "y")'),
    "reverse_compute_at": ("stages", 'sch.reverse_compute_at("C", "i")'),
    "compute_inline": ("stages", 'sch.compute_inline("B")'),
    "reverse_compute_inline": ("stages", 'sch.reverse_compute_inline("C")'),
    "fuse_reduction_epilogue": ("rows", 'sch.fuse_reduction_epilogue("S", "D")'),
    "rolling_buffer": ("stencil", 'sch.compute_at("B", "y")\nsch.rolling_buffer("B", 0)'),
    "store_at": (
        "stencil",
        'yo, yi = sch.split("y", [None, 8])\n'
        'sch.compute_at("B", yi)\nsch.store_at("B", yo)\nsch.parallel(yo)',
    ),
    "decompose_reduction": ("matmul", 'sch.decompose_reduction("C", "k")'),
    "hoist_factor": ("softmax", 'sch.hoist_factor("S")'),
    "rfactor": ("rows", 'sch.rfactor("k", factor_axis=0)'),
    "tree_reduce": ("rows", 'sch.tree_reduce("k", [None, 4])'),
    "privatize": ("counts", 'sch.privatize("p", "H")\nsch.parallel("p")'),
    "atomic": ("counts", 'sch.atomic("p")'),
    "inspect_split": ("sparse", 'sch.parallel("i")\nsch.inspect_split("i", parts=4)'),
    "cache_read": ("stages", 'sch.cache_read("B", 0, "local")'),
    "cache_write": ("stages", 'sch.cache_write("C", 0, "local")'),
    "cache_inplace": ("update", 'sch.cache_inplace("A", 0, "local")'),
    "cache_expression": (
        "converted",
        'sch.cache_expression("C", "B", "global", lambda i, j, k: (j // 16, k, j % 16))',
    ),
    "reindex": ("transposed", 'sch.reindex("B", ("read", 0))'),
    "reindex_cache_read": (
        "transposed",
        'sch.reindex_cache_read("B", 0, "local", lambda i, j: (i, j))',
    ),
    "reindex_cache_write": (
        "transposed",
        'sch.reindex_cache_write("B", 0, "local", lambda i, j: (j, i))',
    ),
    "blockize": (
        "matmul",
        'sch.split("i", [None, 16])\nsch.reorder("i_0", "i_1", "j", "k")\nsch.blockize("i_1")',
    ),
    "loop_partition": ("update", 'sch.loop_partition("i", [8, None])'),
    "version_loop": ("sizes", 'sch.version_loop(loops=["i"], least=[1000])\nsch.parallel("i")'),
    "peel": ("update", 'sch.peel("i", first=1, last=2)'),
    "distribute": (
        "statements",
        'sch.expand_scalar("t", "j")\nsch.distribute("j")',
    ),
    "shift": ("update", 'sch.shift("i", 4)'),
    "skew": ("sweep", 'sch.skew("i", "j")\nsch.reorder("j", "i")\nsch.parallel("i")'),
    "sink_if": ("branches", 'sch.sink_if("j")'),
    "hoist_if": ("branches", 'sch.sink_if("j")\nsch.hoist_if("j")'),
    "reorder_statements": (
        "statements",
        'sch.peel("k")\nsch.reorder_statements("k", "k_first")',
    ),
    "merge_siblings": ("statements", 'sch.merge_siblings("j", "k")'),
    "merge_online": (
        "softmax",
        'sch.hoist_factor("S")\nsch.reorder("k", "i")\nsch.reorder("l", "j")\n'
        'sch.merge_online(["k", "l"])',
    ),
    "expand_scalar": ("statements", 'sch.expand_scalar("t", "j")'),
    "substitute_scalar": ("counted", 'sch.substitute_scalar("k", "i")'),
    "store_last": ("search", 'i, j = sch.store_last("i")\nsch.vectorize(i)\nsch.vectorize(j)'),
    "normalize_nest": ("branches", 'sch.normalize_nest("i")'),
    "parallel_scan": ("statements", 'sch.parallel_scan("i", length=16)'),
    "cache_index": ("transposed", 'sch.fuse("i", "j")\nsch.cache_index("B", "local", 0)'),
    "read_at": ("stages", 'sch.read_at("y", "C", 0, "local")'),
    "write_at": ("stages", 'sch.write_at("y", "C", 0, "local")'),
    "pad_einsum": ("matmul", 'sch.pad_einsum("C", [1, 1, 48])'),
    "pad_axes": ("rows", 'sch.pad_axes("S", [12, 1])'),
    "decompose_padding": ("padded", 'sch.decompose_padding("Y", "i")'),
    "tensorize": (
        "dot",
        'sch.decompose_reduction("C", "i")\nsch.tensorize("i", "dot_16x4_vnni")',
    ),
    "prefetch": ("matmul", 'sch.prefetch("C", "A", "i", offset=2)'),
    "storage_align": ("stages", 'sch.storage_align("B", 0, axis=0, factor=32, offset=8)'),
    "set_scope": ("stages", 'sch.set_scope("B", 0, "local")'),
    "unsafe_set_dtype": ("stages", 'sch.unsafe_set_dtype("B", 0, "float16")'),
    "set_axis_separator": ("stages", 'sch.set_axis_separator("B", ("write", 0), [1])'),
    "unsafe_hide_buffer_access": ("stages", 'sch.unsafe_hide_buffer_access("B", "read", [0])'),
    "annotate_buffer_access": (
        "stages",
        'sch.annotate_buffer_access("B", 0, "read", lambda vi, vj: (vi, vi + 1, 0, 16))',
    ),
    "transform_layout": (
        "stages",
        'sch.transform_layout("B", ("write", 0), lambda i, j: (i // 4, j, i % 4))',
    ),
    "set_layout": ("stages", 'sch.set_layout("B", lambda i, j: (j, i))'),
    "transform_block_layout": (
        "update",
        'sch.transform_block_layout("A", lambda i: (i // 8, i % 8))',
    ),
    "annotate": ("update", 'sch.annotate("i", "pragma_unroll_explicit", 1)'),
    "unannotate": ("update", 'sch.annotate("i", "note", 1)\nsch.unannotate("i", "note")'),
    "trust_calls": ("calls", 'sch.trust_calls(["next_row"])\nsch.parallel("i")'),
    "reorder_block_iter_var": ("transposed", 'sch.reorder_block_iter_var("B", [1, 0])'),
    "sample_categorical": (
        "update",
        "print(sch.sample_categorical([4, 8, 16], [0.25, 0.5, 0.25], decision=1))",
    ),
    "sample_perfect_tile": (
        "update",
        'tile = sch.sample_perfect_tile("i", n=2, decision=[4, 8])\nsch.split("i", tile)',
    ),
    "sample_partitioned_tile": (
        "update",
        'tile = sch.sample_partitioned_tile("i", n=3, partition_pos=1, innerpart_factor=8,\n'
        '                                   decision=[4, 2, 4])\nsch.split("i", tile)',
    ),
    "sample_compute_location": (
        "stages",
        'sch.compute_at("B", sch.sample_compute_location("B", decision=0))',
    ),
    "calculate": (
        "update",
        "lanes = sch.sample_categorical([4, 8], [0.5, 0.5], decision=1)\n"
        'sch.split("i", [None, 2 * lanes])  # calculate("*", 2, lanes)\nprint(sch.trace)',
    ),
    "enter_postproc": ("update", "sch.enter_postproc()\nprint(sch.trace)"),
    "begin_macro": (
        "update",
        'sch.begin_macro("halves", "i")\nsch.split("i", [2, None])\nsch.end_macro()\n'
        "print(sch.trace)",
    ),
    "end_macro": (
        "update",
        'sch.begin_macro("in_parallel")\nsch.parallel("i")\nsch.end_macro()\nprint(sch.trace)',
    ),
}


def source_of(program: str) -> str:
    """Return the program of that name as a script."""
    parameters, _, body = PROGRAMS[program].strip("\n").partition("\n")
    return f"@T.prim_func\ndef {program}({parameters.strip()}):\n{body}\n"


def lines_of(func: Any) -> list[str]:
    """Return a function as lines of script, without what stands before its first line."""
    text = str(func.script())
    return text[text.index("def ") :].splitlines()


def run(program: str, steps: str) -> tuple[str, str]:
    """Return what the steps print, and the difference that the last one makes."""
    from loopsmith import tir
    from loopsmith.script import from_source

    printed: list[str] = []
    sch = tir.Schedule(from_source(source_of(program)), seed=1, debug_mask="all")
    space = {"sch": sch, "print": lambda *values: printed.append(" ".join(map(str, values)))}
    before = lines_of(sch.func)
    exec(steps, space)
    after = lines_of(sch.func)
    difference = difflib.unified_diff(before, after, n=1, lineterm="")
    return "\n".join(printed), "\n".join(
        line for line in list(difference)[2:] if not line.startswith("@@")
    )


def section(primitive: dict[str, Any]) -> str:
    """Return the page of one primitive."""
    name = primitive["name"]
    signature = re.sub(r"\btyping\.", "", primitive["signature"]).replace("(self, ", "(")
    lines = [f"## {name}", "", primitive["doc"], "", "```text", signature[4:], "```", ""]
    parameters = [one for one in primitive["parameters"] if one["doc"]]
    lines += [f"* `{one['name']}`: {one['doc']}" for one in parameters]
    lines += [""] if parameters else []
    if primitive["conditions"]:
        lines += ["It is refused where"]
        lines += [
            f"* `{one['code']}`: {one['problem'].replace('{}', '…')}; {one['hint']}."
            for one in primitive["conditions"]
        ]
        lines += [""]
    if name in EXAMPLES:
        program, steps = EXAMPLES[name]
        printed, difference = run(program, steps)
        lines += [f"With `{program}`:", "", "```text", steps]
        lines += [f"# {line}" for line in printed.splitlines()]
        lines += ["```", ""]
        if difference:
            lines += ["```diff", difference, "```", ""]
    return "\n".join(lines)


def page_text() -> str:
    """Return the text of the page, from the primitives that the extension knows."""
    from loopsmith import _core

    primitives = _core.primitives()
    parts = [INTRODUCTION]
    parts += [f"```text\n{source_of(name)}```\n" for name in PROGRAMS]
    index = ", ".join(f"[{one['name']}](#{one['name']})" for one in primitives)
    return "\n".join([*parts, f"The primitives: {index}.\n", *map(section, primitives)])


if __name__ == "__main__":
    PAGE.write_text(page_text())
