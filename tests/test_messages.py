# SPDX-License-Identifier: Apache-2.0
"""Texts of errors that no other test quotes; each error in the sources is quoted somewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

import loopsmith as ls
from loopsmith import te, tir, transform
from loopsmith.ir import make_module

A8 = 'A: T.Buffer((8,), "float32")'
HANDLE = "a: T.handle"


def function(body: str, parameters: str = A8) -> str:
    """Return the text of a function; the lines of its body stand at the margin."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return f"@T.prim_func\ndef main({parameters}):\n{lines}\n"


def program(body: str, parameters: str = A8) -> tir.PrimFunc:
    return ls.from_source(function(body, parameters))


SCRIPTS = [
    ("B = T.alloc_buffer((8,), align='x')", "align: a text is no constant integer"),
    ("A[0:8:-1] = A[0:8]", "the step of a slice is a positive constant"),
    (
        "with T.block('b', no_realize=True):\n    T.where(True)",
        "T.where is given in a block without T.realize",
    ),
    ("T.reads(A[0])", "T.reads is used outside of a block"),
    (
        "T.attr(A, 'realize_scope', 'shared')",
        "T.attr: T.realize says itself in which scope its memory is",
    ),
    ("x = T.call_extern('void', 'f')", "x: the value has no type"),
    (
        "with T.block('b'):\n    B = T.match_buffer(A[0:8], (2, 2))",
        "the view has 2 dimensions, the region 1",
    ),
    (
        "T.func_attr({'t': T.target({'kind': 'llvm', 'mcpu': [1]})})",
        "T.target: mcpu is no text and no integer",
    ),
    ("x = T.iter_var(3, (0, 8), 'DataPar', '')", "T.iter_var: an integer is no variable"),
    ("T.func_attr({'m': T.index_map(3)})", "T.index_map: an integer is no lambda"),
    (
        "T.func_attr({'m': T.comm_reducer(3, [T.float32(0)])})",
        "T.comm_reducer: an integer is no lambda",
    ),
    ("with T.let(3, 4):\n    A[0] = T.float32(0)", "T.let: an integer is no variable"),
    ("T.buffer_store(3, T.float32(0), [0])", "T.buffer_store: an integer is no buffer"),
    (
        "for i in range(8):\n    with T.block([8], 'b') as [v]:\n        T.bind(i, i)",
        "i is no axis of the block",
    ),
    (
        "for i, j in T.grid(8, 8):\n    with T.block([8], 'b') as v:\n        A[v] = T.float32(0)",
        "the block has 1 axes, the loops around it are 2",
    ),
    ("x = 'a'\nx", "the text does nothing"),
    ("A.shape[0] = 3", "A.shape[0] is an integer, which cannot be assigned"),
    ("x = " + "f'{" * 60 + "1" + "}'" * 60, "more than 50 texts inside each other"),
    ("I.module_attrs({'a': 1})", "I.module_attrs is used outside of a module"),
    ("x = I.module_get_attr('a')", "I.module_get_attr is used outside of a module"),
    ("I.module_set_attr('a', 1)", "I.module_set_attr is used outside of a module"),
]
HANDLES = [
    ("B = T.match_buffer(a, (8,), buffer_type='odd')", "buffer_type: there is no 'odd'"),
    (
        "B = T.match_buffer(a, (8,))\nC = T.match_buffer(a, (8,))",
        "T.match_buffer: parameter a has a buffer already",
    ),
]


@pytest.mark.parametrize(("body", "text"), SCRIPTS)
def test_a_script_that_is_wrong(body: str, text: str):
    with pytest.raises(ls.ScriptError) as caught:
        program(body)
    assert caught.value.problem.startswith(text)


@pytest.mark.parametrize(("body", "text"), HANDLES)
def test_a_script_whose_buffers_are_wrong(body: str, text: str):
    with pytest.raises(ls.ScriptError) as caught:
        program(body, HANDLE)
    assert caught.value.problem == text


READ_ONLY = np.zeros(8, "float32")
READ_ONLY.flags.writeable = False

RUNS = [
    ("A[0] = T.float32(0)", "store to A: its memory is read-only"),
    ("T.evaluate(T.call_extern('int32', 'f', A.data))", "f may write A: its memory is read-only"),
]
THREADS = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def inner(A: T.Buffer((8,), "float32")):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            A[tx] = T.float32(0)

    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            cls.inner(A.data)
"""
ENDLESS = """
@I.ir_module
class Module:
    @T.prim_func
    def main(n: T.int32) -> T.int32:
        return cls.main(n)
"""


@pytest.mark.parametrize(("body", "text"), RUNS)
def test_memory_that_may_not_be_written_is_not(body: str, text: str):
    with pytest.raises(ls.InterpError) as caught:
        ls.interp.run(program(body), READ_ONLY, functions={"f": lambda a: 0})
    assert caught.value.problem == text


def test_what_the_interpreter_stops_at():
    with pytest.raises(ls.InterpError, match="main is called 1000 levels deep"):
        ls.interp.run(ls.from_source(ENDLESS), 1)
    with pytest.raises(ls.InterpError, match="threads are launched inside of threads"):
        ls.interp.run(ls.from_source(THREADS), np.zeros(8, "float32"))
    shuffle = program(
        "for tx in T.thread_binding(8, thread='threadIdx.x'):\n    if tx < 4:\n"
        "        A[tx] = T.tvm_warp_shuffle(-1, A[tx], 6, 32, 32)"
    )
    with pytest.raises(ls.InterpError, match="lane 0 takes a value from lane 6, which gave none"):
        ls.interp.run(shuffle, np.zeros(8, "float32"))


STORE = program("A[0] = T.float32(0)")


class BadCapsule:
    def __dlpack__(self, **_: object) -> int:
        return 3

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def scalars() -> tuple[te.Tensor, te.Tensor]:
    return te.placeholder((), name="a"), te.placeholder((), name="b")


def scan_without_time() -> object:
    state = te.placeholder((), name="state")
    return te.scan(te.compute((), lambda: 0.0), te.compute((), lambda: 1.0), state)


def layout_free() -> object:
    x = te.placeholder((8,), name="X")
    attrs = {"layout_free_placeholders": [3]}
    return te.create_prim_func([x, te.compute((8,), lambda i: x[i], name="Y", attrs=attrs)])


def scan_through_extern() -> object:
    state, x = te.placeholder((4, 2), name="state"), te.placeholder((4, 2), name="X")
    first = te.compute((1, 2), lambda _, i: x[0, i], name="first")
    call = lambda ins, outs: tir.call_extern("int32", "f", ins[0].data, outs[0].data)  # noqa: E731
    made = te.extern((4, 2), [state], call, name="made")
    step = te.compute((4, 2), lambda t, i: state[t - 1, i] + made[t - 1, i], name="step")
    return te.create_prim_func([x, te.scan(first, step, state, inputs=[x], name="scan")])


CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: ls.build(make_module({})), "build: the module has no functions"),
    (lambda: tir.Schedule(STORE, seed=-5), "Schedule: the seed is -5, not within 1 and 2147483647"),
    (lambda: tir.Schedule(STORE, debug_mask="odd"), "Schedule: the debug_mask is odd"),
    (
        lambda: tir.Schedule(STORE, error_render_level="odd"),
        "Schedule: the error_render_level is odd",
    ),
    (lambda: tir.Schedule(tir.Var("x", "int32")), "Schedule: the program is a Var"),
    (
        lambda: scalars()[0] == scalars()[1],
        "comparing a and b, which have no dimensions, is ambiguous",
    ),
    (scan_without_time, "scan scan: the state state has no dimension"),
    (
        scan_through_extern,
        "scan scan: operation made reads its state, but is no compute of this scan alone",
    ),
    (
        lambda: STORE.with_attr("a", {"b": object()}),
        "the attribute 'b' has a value of another type",
    ),
    (layout_free, "layout_free_placeholders: an item is not a tensor"),
    (
        lambda: tir.decl_buffer((8,), "float32", "B")[0 : tir.Var("n", "int32") : 2],
        "buffer B: a slice with a step has (n + 1) // 2 lanes, not a constant",
    ),
    (
        lambda: ls.build(STORE)(BadCapsule()),
        "array: __dlpack__ of a BadCapsule gave no capsule of DLPack",
    ),
    (lambda: tir.const([], "int32"), "constant: a list is no number"),
    (lambda: ls.empty((2,), "int4").numpy(), "array: NumPy has no dtype int4"),
]


@pytest.mark.parametrize(("call", "text"), CALLS, ids=[text for _, text in CALLS])
def test_a_call_that_is_wrong(call: Callable[[], object], text: str):
    with pytest.raises(ls.UserError) as caught:
        call()
    assert caught.value.problem.startswith(text)


def called(argument: str, result: str = "int32") -> object:
    """Return a module whose `main` passes a pointer to `inner`, and says what that gives."""
    inner = ls.from_source(
        "@T.prim_func(private=True)\n"
        'def inner(B: T.Buffer((8,), "float32")) -> T.int32:\n    return 3\n'
    )
    main = ls.from_source(
        '@T.prim_func\ndef main(a: T.handle, C: T.Buffer((1,), "int32")):\n'
        "    s = T.int32()\n"
        f'    A = T.match_buffer(a, (8,), "float32"{argument})\n    C[0] = 0\n'
    )
    pointer = main.buffer_map[main.params[0]].data
    call = tir.Call(op="call_global", args=[tir.GlobalVar("inner"), pointer], dtype=result)
    body = tir.BufferStore(
        buffer=main.buffer_map[main.params[1]],
        value=tir.Cast(value=call, dtype="int32"),
        indices=[0],
    )
    return make_module({"main": main.with_body(body), "inner": inner})


def test_calls_say_what_they_are_given():
    with pytest.raises(ls.LowerError, match="inner gives int32, the call says float32"):
        ls.build(called("", "float32"))
    with pytest.raises(ls.LowerError, match="inner: B has no strides, it is given A with strides"):
        ls.build(called(", strides=[s]"))


def test_a_folder_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "file"))
    with pytest.raises(ls.UserError, match=r"the temporary folder .* cannot be made"):
        ls.build(STORE, target="c")


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_a_library_that_was_not_exported_is_refused(tmp_path: Path):
    exported = tmp_path / "exported.so"
    ls.build(STORE, name="f").export(str(exported))
    metadata = ls.load_module(str(exported)).source("metadata")
    empty = re.sub(r'("functions": ?)\[.*\]', r"\1[]", metadata, flags=re.DOTALL)

    def load(text: str) -> None:
        source, library = tmp_path / "a.c", tmp_path / f"a{abs(hash(text))}.so"
        source.write_text(text)
        command = ["gcc", "-shared", "-fPIC", str(source), "-o", str(library)]
        subprocess.run(command, check=True)
        ls.load_module(str(library))

    def quoted(text: str) -> str:
        return "const char ls_metadata[] = " + "\n".join(
            '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'
            for line in text.splitlines()
        )

    with pytest.raises(ls.FormatError, match="so has no metadata"):
        load("int f;")
    with pytest.raises(ls.FormatError, match="so lacks the function"):
        load(quoted(metadata) + ";")
    with pytest.raises(ls.FormatError, match="so has no functions"):
        load(quoted(empty) + ";")


UNQUOTED = {
    # A rule gives up by it, and another one is asked.
    "block_is_product",
    "exponentials_are_rounded",
    "product_is_of_a_warp",
    # Reached from C++ alone: Python's functions do not allow the call.
    "handles_are_that_many",
    "script_is_function",
    "script_is_module",
    "values_to_combine",
    # Reached from C++ alone: Python has no arrays that begin inside of a device's memory.
    "array_is_aligned",
    "array_is_whole",
    # Ends an attempt of a rule, whose steps are then not taken: it is not shown.
    "copies_have_axes",
    # What NVRTC says when memory ends.
    "compiler_takes_source",
    # Reached with another library that lends copies, or a trace that was cut by hand.
    "lent_a_copy",
    "trace_is_whole",
    # Reached where the system has no process left.
    "process_is_made",
    # Guards of the parser behind others that come first.
    "call_is_in_module",
    "value_is_bool",
    "value_is_for_python",
}
SITE = re.compile(
    r'"([a-z][a-z0-9]*(?:_[a-z0-9]+)+)"\s*,\s*'  # The code.
    r'(?:hint\((?:[^()"]|"(?:[^"\\]|\\.)*"|\([^()]*\))*\)|\w+)\s*,'  # What to do.
    r'[^";]*?((?:"(?:[^"\\]|\\.)*"\s*)+)'  # The text.
)


def test_blocks_with_an_init_are_not_taken_away():
    func = ls.from_source(
        "@T.prim_func\ndef main(A: T.Buffer((4,), 'int32'), S: T.Buffer((1,), 'int32')):\n"
        "    for k in range(4):\n        with T.block('S'):\n"
        "            vk = T.axis.reduce(4, k)\n            with T.init():\n"
        "                S[0] = 0\n            S[0] = S[0] + A[vk]\n"
    )
    with pytest.raises(ls.LowerError, match="block S still has an init or views") as caught:
        transform.lower_blocks(func)
    assert caught.value.code == "blocks_are_bare"


def test_every_error_is_quoted_in_a_test():
    sources = [*(ROOT / "loopsmith").rglob("*.h"), *(ROOT / "loopsmith").rglob("*.cc")]
    sources += (ROOT / "python" / "bindings").glob("*.cc")
    tests = [path for path in sources if path.name.endswith("_test.cc")]
    text = "\n".join(path.read_text() for path in [*tests, *(ROOT / "tests").glob("*.py")])
    text = re.sub(r"UNQUOTED = \{.*?\n\}", "", text, flags=re.DOTALL)
    text = re.sub(r'"\s*[rf]?"', "", text).replace("\\", "")
    words = set(re.findall(r"\w+", text))
    missing = {}
    quoted = set()
    for path in set(sources) - set(tests):
        for code, message in SITE.findall(path.read_text()):
            whole = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', message)).replace("\\", "")
            longest = max(re.split(r"\{[^}]*\}", whole), key=len).strip()
            if code in words or longest in text:
                quoted.add(code)
            else:
                missing[code] = whole
    assert len(quoted) > 300
    assert set(missing) - quoted == set(UNQUOTED)
