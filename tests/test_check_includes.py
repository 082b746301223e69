# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from check_includes import (
    check_circles,
    check_file,
    check_questions,
    check_tree,
    read_floors,
    read_include_all,
)
from joined_names import check_joined_names

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


def test_a_header_of_all_stands_for_those_that_it_includes():
    include_all = read_include_all("loopsmith_include_all(ir/table.cc ir/pass_*.h ir/more/*.h)")
    assert include_all == {"ir/all": ["ir/pass_*.h", "ir/more/*.h"]}
    files = {
        "loopsmith/ir/table.cc": '#include "loopsmith/ir/all.h"\n',
        "loopsmith/ir/table.h": "",
        "loopsmith/ir/pass_a.h": '#include "loopsmith/ir/table.h"\n',
        "loopsmith/ir/more/b.h": "",
    }
    (problem,) = check_circles(files, {}, include_all)
    assert problem.startswith("components include each other: ") and "ir/pass_a" in problem
    assert check_circles({**files, "loopsmith/ir/pass_a.h": ""}, {}, include_all) == []
    include_all["ir/all"] += ["EXCEPT", "ir/pass_a.h"]
    assert check_circles(files, {}, include_all) == []


def test_a_back_arrow_that_is_none_is_named():
    files = {"loopsmith/ir/a.cc": '#include "loopsmith/ir/b.h"\n', "loopsmith/ir/b.h": ""}
    assert check_circles(files, {"ir/b": ("ir/a",)}) == [
        "ir/b does not include ir/a; it is no back arrow"
    ]


def test_this_tree_is_clean():
    assert check_tree(Path(__file__).parent.parent) == []


def test_a_primitive_that_asks_what_the_law_answers_is_named():
    text = '#include <vector>\n#include "loopsmith/schedule/legality/legality.h"\n'
    path = "loopsmith/schedule/primitives/split.cc"
    assert check_questions({path: text}) == [
        f"{path}:2: a primitive includes loopsmith/schedule/legality/legality.h; "
        "leave the question to the law, by a plan's `preservation`"
    ]
    assert check_questions({"loopsmith/schedule/fixes/loops.cc": text}) == []


def joined(*sources: str, folder: str = "ir") -> list[str]:
    files = {f"loopsmith/{folder}/{'ab'[i]}.cc": text for i, text in enumerate(sources)}
    return check_joined_names(files)


def hidden(text: str) -> str:
    return f"namespace loopsmith {{\nnamespace {{\n{text}\n}}  // namespace\n}}\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "bool is_new(const Expr& e, int n = 1) {\n  if (n) return 1;\n}",
            "is_new(const Expr&, int)",
        ),
        ("struct Pair : Base {\n  int a;\n};", "Pair"),
        ("enum class Kind { a, b };", "Kind"),
        ("constexpr int limit = 3;", "limit"),
        ('constexpr const char* names[] = {"a {", "b"};', "names"),
        (
            "template <class T, int n>\nT last(const std::vector<T>& all) {\n}",
            "last(const std::vector<T>&)",
        ),
    ],
)
def test_a_name_that_two_sources_hide_is_named(text, name):
    (problem,) = joined(hidden("\n// One {\n" + text), hidden(text))
    assert problem == (
        f"loopsmith/ir/b.cc:3: {name} is defined in loopsmith/ir/a.cc:5, too, and builds may join "
        "the two; give it another name, or both one place"
    )


def test_a_name_that_one_source_hides_and_another_exports_is_named():
    function = "int size_of(int x) {\n  return x;\n}"
    (problem,) = joined(f"namespace loopsmith {{\n{function}\n}}\n", hidden(function))
    assert problem.startswith("loopsmith/ir/b.cc:3: size_of(int) is defined in loopsmith/ir/a.cc:2")


def test_names_that_are_no_definitions_alike_may_stand_in_two_sources():
    function = "int size_of(int x) {\n  return x;\n}"
    assert joined(hidden(function), hidden(function.replace("int x", "long x"))) == []
    assert joined(hidden(function), hidden("int size_of(int x);")) == []
    assert joined(hidden(function), hidden(function).replace("smith {", "smith::te {")) == []
    assert joined(hidden("struct A::Parts {\n};"), hidden("struct B::Parts {\n};")) == []
    assert joined(hidden("TEST(a, b) {\n}"), hidden("TEST(a, b) {\n}")) == []
    assert joined(function, function, folder="te") == []
