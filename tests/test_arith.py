# SPDX-License-Identifier: Apache-2.0
"""Integer analysis as Python sees it; what it finds is tested in C++."""

from __future__ import annotations

import pytest

import loopsmith as ls
from loopsmith import arith, te, tir

x = tir.Var("x", "int32")
y = tir.Var("y", "int32")
z = tir.Var("z", "int32")
Range = tir.Range


def constants(values):
    return [int(value) for value in values]


def test_analyzer_answers_from_what_it_was_told():
    analyzer = arith.Analyzer()
    analyzer.bind(x, Range(0, 8))
    assert analyzer.const_int_bound(x * 2 + 1) == arith.ConstIntBound(1, 15)
    assert analyzer.modular_set(x * 4 + 1).coeff == 4
    assert analyzer.simplify((x // 4) * 4 + x % 4) is x
    assert analyzer.can_prove(x < 8)
    assert not analyzer.can_prove(x < 4)
    with analyzer.constraint_scope(x < 4):
        assert analyzer.can_prove(x < 4)
    assert not analyzer.can_prove(x < 4)
    with analyzer.constraint_scope(x % 4 == 2):
        assert analyzer.can_prove(x % 2 == 0)
    analyzer.update(y, arith.ConstIntBound(0, 3))
    assert analyzer.can_prove(y < 4, arith.ProofStrength.SYMBOLIC_BOUND)
    assert analyzer.can_prove_equal(x + x, x * 2)
    values = arith.int_set(analyzer, x + y, {x: arith.IntSet(0, 3)})
    assert ls.structural_equal(
        analyzer.simplify(values.max_value - y), analyzer.simplify(x * 0 + 3)
    )
    assert repr(arith.IntSet.nothing()) == "IntSet.nothing()"
    assert arith.IntSet.everything().min_value is None
    assert arith.IntSet(3, 3).is_single_point() and not arith.IntSet(0, 3).is_single_point()


def test_detect_iter_map_finds_digits():
    found = arith.detect_iter_map([x // 8, x % 8], {x: Range(0, 64)}, check_level="bijective")
    assert not found.errors
    assert found.is_injective
    assert constants(index.args[0].extent for index in found.indices) == [8, 8]
    assert constants(index.args[0].lower_factor for index in found.indices) == [8, 1]
    assert found.indices[0].args[0].source.source is x
    assert "lower_factor=8" in repr(found.indices[0])
    outputs = [y, z]
    inverse = arith.inverse_affine_iter_map(found.indices, outputs)
    assert ls.structural_equal(inverse[x], y * 8 + z)
    assert ls.structural_equal(arith.normalize_iter_map_to_expr(found.indices[0]), x // 8)


def test_detect_iter_map_says_why_there_is_none():
    found = arith.detect_iter_map([x, x], {x: Range(0, 3)})
    assert list(found.indices) == []
    assert found.errors == ["Mapped indices are not independent."]
    with pytest.raises(ValueError, match="there is no level 'strict': say bijective"):
        arith.detect_iter_map([x], {x: Range(0, 3)}, check_level="strict")


def test_iter_maps_ask_an_analyzer_of_sizes():
    loops = {x: Range(0, 16)}
    assert arith.detect_iter_map([x % z], loops).errors
    known = arith.Analyzer()
    known.bind(z, tir.const(4))
    assert not arith.detect_iter_map([x % z], loops, analyzer=known).errors
    assert len(arith.normalize_to_iter_sum(x // z, loops, known).args) == 1
    blocks = {x: Range(0, 4), y: Range(0, z)}
    assert arith.subspace_divide([y * z + x], blocks, [x]) == []
    assert len(arith.subspace_divide([y * z + x], blocks, [x], analyzer=known)) == 2
    assert arith.iter_map_simplify([x % z + x // z * z], loops, analyzer=known)[0] is x


def test_reductions_are_simplified_by_what_their_axes_are():
    k = te.reduce_axis((0, 10), "k")
    once = te.reduce_axis((3, 4), "once")
    a = te.placeholder((10,), name="a")
    simplify = arith.Analyzer().simplify
    assert ls.structural_equal(simplify(te.sum(k // 10, k)), te.sum(tir.const(0), k))
    guarded = te.sum(tir.if_then_else(k < 12, k + 1, 0), k)
    assert ls.structural_equal(simplify(guarded), te.sum(k + 1, k))
    assert ls.structural_equal(simplify(te.sum(a[once], once)), a[3])
    assert ls.structural_equal(simplify(te.sum(a[k], k, where=k > 12)), tir.const(0, "float32"))
    assert ls.structural_equal(
        simplify(te.sum(a[k], k, where=k > 12, init=2.0)), tir.const(2.0, "float32")
    )
    kept = simplify(te.sum(a[k], k, where=k > 2))
    assert simplify(kept) is kept


def test_iter_map_simplify_undoes_a_split():
    loops = {x: Range(0, 4), y: Range(0, 16)}
    assert arith.iter_map_simplify([(x * 16 + y) // 16], loops)[0] is x
    total = arith.normalize_to_iter_sum(y + x * 16 + z, loops)
    assert constants(term.scale for term in total.args) == [16, 1]
    assert total.base is z


def test_subspace_divide_gives_outer_and_inner():
    loops = {z: Range(0, 8), y: Range(0, 4), x: Range(0, 3)}
    (outer, inner), conditions = arith.subspace_divide([z * 12 + y * 3 + x], loops, [x])
    assert constants([outer.extent, inner.extent]) == [32, 3]
    assert ls.structural_equal(arith.normalize_iter_map_to_expr(outer.source), z * 4 + y)
    assert [int(condition) for condition in conditions] == [1, 1]
    assert arith.subspace_divide([z * 12 + y * 3 + x], loops, [y]) == []


def test_bounds_are_deduced_and_detected():
    simplify = arith.Analyzer().simplify
    assert constants(arith.detect_linear_equation(x * 3 + y * 2 + 1, [x, y])) == [3, 2, 1]
    low, high = arith.detect_clip_bound((x >= 2) & (x < 9), [x])
    assert constants([low, high]) == [2, 8]
    deduced = arith.deduce_bound(x, x * 4 < 10, {}, {})
    assert int(simplify(deduced.max_value)) == 2


def test_regions_are_estimated():
    loops = {x: Range(0, 8)}
    exact = arith.estimate_region_strict_bound([Range(x * 4, 4)], loops)
    assert exact is not None
    assert constants([exact[0].min_value, exact[0].max_value]) == [0, 31]
    assert arith.estimate_region_lower_bound([Range(x * 4, 3)], loops) is None
    above = arith.estimate_region_upper_bound([Range(x * 4, 3)], loops)
    assert constants([above[0].min_value, above[0].max_value]) == [0, 30]
    both = arith.union_lower_bound([arith.IntSet(0, 3), arith.IntSet(4, 7)])
    assert int(both.max_value) == 7


def test_linear_systems_are_solved():
    solved = arith.solve_linear_equations([x + y == 5, x - y == 1], [x, y])
    assert constants(dict(solved.src_to_dst)[v] for v in (x, y)) == [3, 2]
    none = arith.solve_linear_equations(x * 2 == 3, [x])
    assert constants(none.dst.relations) == [0]
    ranged = arith.solve_linear_inequalities([x >= 2, x * 2 < 11], [x])
    (found,) = dict(ranged.ranges).values()
    assert constants([found.min, found.extent]) == [2, 4]
    moved = arith.solve_linear_inequalities([x >= 2, x < 9], [x], deskew_range=True)
    ((_, new_range),) = moved.dst.ranges
    assert constants([new_range.min, new_range.extent]) == [0, 7]


def test_index_maps_are_made_of_functions():
    tiles = arith.index_map(lambda i, j: (i // 4, j, i % 4))
    assert [v.name for v in tiles.initial_indices] == ["i", "j"]
    assert constants(tiles.map_shape([14, 7])) == [4, 7, 4]
    assert constants(tiles.map_indices([9, 2])) == [2, 2, 1]
    back = tiles.inverse([Range(0, 16), Range(0, 7)])
    assert constants(back.map_indices([2, 2, 1])) == [9, 2]
    back, padding = tiles.non_surjective_inverse([Range(0, 14), Range(0, 7)])
    a, _, c = back.initial_indices
    expected = arith.index_map(lambda a, b, c: (a * 4 + c, b))
    assert back.is_equivalent_to(expected)
    assert arith.Analyzer().can_prove_equal(padding, (a == 3) & (c > 1))
    rest = arith.index_map(lambda n, *hw, c: (n, c, *hw), ndim=4)
    assert [v.name for v in rest.initial_indices] == ["n", "hw_0", "hw_1", "c"]
    same = tiles.simplify([Range(0, 4), Range(0, 7)])
    assert constants(same.map_indices([3, 5])) == [0, 5, 3]


def test_index_maps_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"pass ndim, at least 1: the function takes \*rest"):
        arith.index_map(lambda i, *rest: [i])
    with pytest.raises(ValueError, match="the function takes 1 indices, ndim is 2"):
        arith.index_map(lambda i: i, ndim=2)
    with pytest.raises(ValueError, match=r"an index map takes no \*\*more"):
        arith.index_map(lambda i, **more: i)
    with pytest.raises(ls.UserError, match="number of parameters mismatch"):
        arith.index_map(lambda i: i).map_indices([1, 2])
