# SPDX-License-Identifier: Apache-2.0
import graphlib
from pathlib import Path

import places
import pytest
import tidy
from check_includes import (
    BACK_ARROWS,
    check_circles,
    check_file,
    check_tree,
    graph_of,
    product_files,
    read_floors,
)
from conftest import ROOT
from include_graph import drawn, floors_graph, folder_graph

CMAKE_LISTS = """
loopsmith_floor(support LINK fmt::fmt-header-only)
loopsmith_floor(runtime LINK support LIBRARIES ${CMAKE_DL_LIBS})
loopsmith_floor(ir LINK support)
if(LOOPSMITH_BUILD_LLVM)
  loopsmith_floor(codegen LINK ir)
endif()
"""
FLOORS = read_floors(CMAKE_LISTS)


def test_a_floor_may_include_itself_and_what_it_links():
    assert {
        "support": {"support"},
        "runtime": {"support", "runtime"},
        "ir": {"support", "ir"},
        "codegen": {"support", "ir", "codegen"},
    } == FLOORS


def test_an_include_of_a_lower_floor_passes():
    text = '#include <vector>\n#include "loopsmith/ir/expr.h"\n#include "loopsmith/support/ref.h"\n'
    assert check_file("loopsmith/codegen/llvm/emit.cc", text, FLOORS) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            '#include "loopsmith/codegen/emit.h"',
            "floor ir includes loopsmith/codegen/emit.h, but may include only support, ir",
        ),
        (
            '#  include "loopsmith/runtime/pool.h"',
            "floor ir includes loopsmith/runtime/pool.h, but may include only support, ir",
        ),
        ('#include "expr.h"', '"expr.h" is not written from the root, as "loopsmith/..."'),
        (
            "#include <loopsmith/ir/expr.h>",
            '<loopsmith/ir/expr.h> is ours; write "loopsmith/ir/expr.h"',
        ),
    ],
)
def test_an_include_that_climbs_is_named_with_its_line(line: str, problem: str):
    assert check_file("loopsmith/ir/stmt.h", f"#pragma once\n{line}\n", FLOORS) == [
        f"loopsmith/ir/stmt.h:2: {problem}"
    ]


def test_a_folder_that_is_no_floor_is_named():
    assert check_file("loopsmith/attic/a.cc", "", FLOORS) == [
        "loopsmith/attic/a.cc: folder attic is no floor; add it to CMakeLists.txt, in its order"
    ]


def test_a_tree_is_walked_to_its_leaves(tmp_path: Path):
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS)
    leaf = tmp_path / "loopsmith" / "ir" / "detail"
    leaf.mkdir(parents=True)
    (leaf / "walk.cc").write_text('#include "loopsmith/codegen/emit.h"\n')
    assert [problem.split(": ")[0] for problem in check_tree(tmp_path, {})] == [
        "loopsmith/ir/detail/walk.cc:1"
    ]


def test_components_that_include_each_other_are_named():
    files = {
        "loopsmith/ir/a.h": "",
        "loopsmith/ir/a.cc": '#include "loopsmith/ir/b.h"\n',
        "loopsmith/ir/b.h": '#include "loopsmith/ir/c.h"\n',
        "loopsmith/ir/c.h": '#include "loopsmith/ir/a.h"\n',
    }
    (problem,) = check_circles(files, {})
    assert problem.startswith("components include each other: ")
    assert {"ir/a", "ir/b", "ir/c"} == set(problem.split(": ")[1].split(" <- "))
    assert check_circles(files, {"ir/a": ("ir/b",)}) == []


def test_a_back_arrow_that_is_none_is_named():
    files = {"loopsmith/ir/a.cc": '#include "loopsmith/ir/b.h"\n', "loopsmith/ir/b.h": ""}
    assert check_circles(files, {"ir/b": ("ir/a",)}) == [
        "ir/b does not include ir/a; it is no back arrow"
    ]


def test_this_tree_is_clean():
    assert check_tree(Path(__file__).parent.parent) == []


def test_the_drawn_graph_has_no_arrow_back_but_the_stated_ones():
    graph = graph_of(product_files(ROOT))
    back = {(source, target) for source, targets in BACK_ARROWS.items() for target in targets}
    arrows = folder_graph(graph, ["ir"])
    text = drawn(arrows, back)
    assert '"ir/stmt" -> "ir/expr";' in text
    assert text.count("color=red") == len(arrows & back) > 0
    floors = floors_graph(graph)
    assert ("codegen", "ir") in floors and ("ir", "codegen") not in floors
    graphlib.TopologicalSorter({a: {b for x, b in floors if x == a} for a, _ in floors}).prepare()


def test_places_of_the_newest_things_are_counted():
    kinds = {kind.name: kind for kind in places.KINDS}
    node = places.places_of(kinds["node"], places.Thing("For"))
    assert [place.split(":")[0] for place in node] == ["loopsmith/ir/node.h", "loopsmith/ir/stmt.h"]
    assert len(places.places_of(kinds["field"], places.Thing("For::kind"))) == 1
    unroll = places.Thing("unroll_loops", ("loopsmith/transform/unroll_loops",))
    where = places.places_of(kinds["pass"], unroll)
    assert where[0] == "loopsmith/transform/unroll_loops"
    assert sum(place.startswith("loopsmith/transform/pipeline.cc") for place in where) == 2


def test_clang_tidy_reads_changed_files_first_and_others_in_the_order_of_the_commit():
    changed = [tidy.ROOT / "loopsmith" / "ir" / "fold.cc"]
    others = tidy.other_sources(changed)
    assert changed[0] not in others and len(others) > 100
    assert others == tidy.other_sources(changed) and others != sorted(others)
