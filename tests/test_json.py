# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import loopsmith as ls
from loopsmith import ir, te, tir


def scaled_sum(n: int = 16) -> tir.PrimFunc:
    a = te.placeholder((n, n), "float32", name="A")
    k = te.reduce_axis((0, n), name="k")
    b = te.compute((n,), lambda i: te.sum(a[i, k] * 2.0, axis=k), name="B")
    return te.create_prim_func([a, b])


def test_a_function_reads_back_and_computes_the_same() -> None:
    func = scaled_sum()
    read = ls.from_json(ls.to_json(func))
    assert read is not func
    ls.assert_structural_equal(read, func)
    assert read.script() == func.script()
    a = np.arange(256, dtype=np.float32).reshape(16, 16)
    b = np.zeros(16, np.float32)
    ls.build(read)(a, b)
    np.testing.assert_allclose(b, 2 * a.sum(1), rtol=1e-6)


def test_lowered_functions_and_modules_read_back() -> None:
    module = ir.make_module({"f": scaled_sum(), "g": scaled_sum(8)}, {"version": 3})
    for node in [module, ls.lower(module)]:
        text = ls.to_json(node)
        assert ls.to_json(ls.from_json(text)) == text
        ls.assert_structural_equal(ls.from_json(text), node)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_nodes_pickle_and_copy(again: Any) -> None:
    func = scaled_sum()
    ls.assert_structural_equal(again(func), func)
    x = tir.var("x", "int64")
    read = again(x * x + x)
    assert read.a.a is read.a.b
    assert read.a.a is read.b
    assert read.b is not x
    assert again(x).dtype == "int64"
    assert again(tir.decl_buffer((4, x), "float16", scope="shared")).scope() == "shared"
    target = ls.Target("llvm -mcpu=skylake")
    assert again(target) == target


def test_spans_are_left_out_on_demand() -> None:
    func = scaled_sum()
    with_spans, without = ls.to_json(func), ls.to_json(func, spans=False)
    assert ls.from_json(without).span is None
    assert json.loads(without)["sources"] == []
    assert len(without) <= len(with_spans)


def test_a_bad_text_is_refused_with_the_place() -> None:
    text = ls.to_json(scaled_sum())
    with pytest.raises(ls.FormatError, match=r"from_json: no JSON at offset \d+") as error:
        ls.from_json(text[: len(text) // 2])
    assert error.value.code == "json_is_whole"
    document = json.loads(text)
    node = next(i for i, node in enumerate(document["nodes"]) if node["type"] == "Mul")
    document["nodes"][node]["a"] = 10**6
    with pytest.raises(ValueError, match=f"from_json: /nodes/{node}/a: is not the number of"):
        ls.from_json(json.dumps(document))


def test_an_axis_without_a_domain_is_refused() -> None:
    document = json.loads(ls.to_json(scaled_sum()))
    axis = next(node for node in document["nodes"] if node["type"] == "IterVar")
    del axis["dom"]
    with pytest.raises(ls.FormatError, match="block B: axis v_i has no domain"):
        ls.from_json(json.dumps(document))


def test_the_schema_in_the_documentation_is_that_of_the_release() -> None:
    text = (ROOT / "docs" / "ir.schema.json").read_text()
    assert text == ir.json_schema(), "write ir.json_schema() into docs/ir.schema.json"
    by_type = {
        n["properties"]["type"]["const"]: n for n in json.loads(text)["$defs"]["node"]["oneOf"]
    }
    for node in json.loads(ls.to_json(ir.make_module({"f": scaled_sum()})))["nodes"]:
        schema = by_type[node["type"]]
        assert set(schema["required"]) <= set(node) <= set(schema["properties"])
