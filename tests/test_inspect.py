# SPDX-License-Identifier: Apache-2.0
"""All forms of a program, and whose line became which."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import loopsmith as ls
from loopsmith import te

SCRIPT = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
    for i in T.parallel(64):
        with T.block("B"):
            v = T.axis.spatial(64, i)
            B[v] = T.exp(A[v])
    for i in range(n):
        with T.block("again"):
            v = T.axis.spatial(n, i)
            if A[v] < 0.0:
                B[v] = A[v] * 2.0
"""


def built(target: str = "llvm -mcpu=native") -> ls.Module:
    return ls.build(ls.from_source(SCRIPT, name="user.txt"), target, default_schedule=False)


def line_of(text: str, part: str) -> int:
    """Return the number of the only line with that part."""
    found = [i for i, line in enumerate(text.splitlines(), 1) if part in line]
    assert len(found) == 1, (part, found)
    return found[0]


def lines(form: str, numbers: list[int]) -> str:
    return "\n".join(form.splitlines()[number - 1] for number in numbers)


def matmul() -> list[te.Tensor]:
    n = 32
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return [a, b, c]


def softmax() -> list[te.Tensor]:
    n, m = te.size_var("n"), 96
    a = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    top = te.compute((n,), lambda i: te.max(a[i, k], axis=k), name="top")
    e = te.compute((n, m), lambda i, j: te.exp(a[i, j] - top[i]), name="e")
    r = te.reduce_axis((0, m), name="r")
    total = te.compute((n,), lambda i: te.sum(e[i, r], axis=r), name="total")
    return [a, te.compute((n, m), lambda i, j: e[i, j] / total[i], name="out")]


def test_a_line_of_the_user_leads_to_its_code_and_back() -> None:
    sources = built().inspect()
    store = line_of(sources.source, "B[v] = A[v] * 2.0")
    of_store = sources.related("source", store)
    assert "* T.float32(2)" in lines(sources.ir, of_store["ir"])
    assert "fmul" in lines(sources.llvm, of_store["llvm"])
    assert re.search(
        r"vmulss|mulss|vaddss|addss|fmul|fadd", lines(sources.asm, of_store["assembly"])
    )
    other = sources.related("source", line_of(sources.source, "B[v] = T.exp(A[v])"))
    assert not set(other["llvm"]) & set(of_store["llvm"])
    fmul = next(n for n in of_store["llvm"] if "fmul" in lines(sources.llvm, [n]))
    assert store in sources.related("llvm", fmul)["source"]
    assert sources.source_lines[store - 1] == ls.inspection.SourceLine(
        "user.txt", 12, "                B[v] = A[v] * 2.0"
    )


@pytest.mark.parametrize("program", [matmul, softmax])
@pytest.mark.parametrize("target", ["llvm -mcpu=native", "llvm -mcpu=x86-64", "c"])
def test_marks_do_not_change_the_code(program: object, target: str) -> None:
    sources = ls.build(program(), target).inspect()  # type: ignore[operator]
    forms = sources.forms
    for name in ["c"] if target == "c" else ["llvm", "assembly"]:
        assert forms[name].text == getattr(sources, name)
        assert len(forms[name].program_lines) == len(forms[name].lines)
    code = forms["c" if target == "c" else "assembly"]
    # Most instructions belong to a line.
    marked = sum(bool(each) for each in code.program_lines)
    assert marked > 10
    computed = [
        (text, belongs)
        for text, belongs in zip(code.lines, code.program_lines)
        if re.search(r"^\s+(v?(mul|fmadd\d*)ps|.* = ls_muladd|.* = .* \* )", text)
    ]
    assert computed
    assert sum(bool(belongs) for _, belongs in computed) >= 0.9 * len(computed)


def test_lines_of_c_are_related() -> None:
    sources = built("c").inspect()
    store = line_of(sources.source, "B[v] = A[v] * 2.0")
    assert re.search(r"B\[.*\] = .*\* 2", lines(sources.c, sources.related("source", store)["c"]))


def test_functions_of_a_module_stand_below_each_other() -> None:
    text = """
@I.ir_module
class Module:
    @T.prim_func
    def first(A: T.Buffer((8,), "int32")):
        A[0] = 11

    @T.prim_func
    def second(A: T.Buffer((8,), "int32")):
        A[0] = 22
"""
    sources = ls.build(ls.from_source(text)).inspect()
    for number in ("11", "22"):
        of_line = sources.related("ir", line_of(sources.ir, f"= {number}"))
        assert number in lines(sources.source, of_line["source"])
        assert number in lines(sources.assembly, of_line["assembly"])


def test_what_is_printed_names_the_lines() -> None:
    sources = ls.build(matmul()).inspect()
    text = str(sources)
    assert text.startswith("==== source ====\n")
    assert "test_inspect.py:" in text
    ir = text[text.index("==== ir ====") : text.index("==== llvm ====")].splitlines()
    assert any(re.fullmatch(r" *\d+ \| +for .*", line) for line in ir)
    assert repr(sources) == "<loopsmith.Sources of main>"


def test_show_prints_and_html_has_all(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sources = built().inspect()
    sources.show()
    assert capsys.readouterr().out == str(sources) + "\n"
    html = sources._repr_html_()
    assert html.count("<figure>") == 4
    assert html.count("<span data-of=") > 20
    sources.write_html(tmp_path / "page.html")
    assert html in (tmp_path / "page.html").read_text()


def test_lines_that_are_not_there_are_refused() -> None:
    sources = built().inspect()
    with pytest.raises(ls.UserError, match="inspect: there is no line 0 of ir"):
        sources.related("ir", 0)
    with pytest.raises(ls.UserError, match="inspect: there is no line 1 of c"):
        sources.related("c", 1)


def test_a_loaded_module_has_no_sources(tmp_path: Path) -> None:
    built().export(tmp_path / "x.o")
    sources = ls.load_module(tmp_path / "x.o").inspect()
    with pytest.raises(ls.CallError, match="module: has no source json"):
        sources.source  # noqa: B018
