// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/merge_online.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view online_parameters =
    R"(A: T.Buffer((6, 8), "float32"), W: T.Buffer((6, 8), "float32"),
S: T.Buffer((6,), "float32"))";

Ptr<PrimFunc> maximum_and_sum(std::string_view term, std::string_view start = "-inf",
                              std::string_view init = "T.float32(0)") {
  return program(online_parameters, fmt::format(R"(
m = T.alloc_buffer((6,))
for i, k in T.grid(6, 8):
    with T.block("m"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            m[vi] = T.float32("{}")
        m[vi] = T.max(m[vi], A[vi, vk])
for i, k in T.grid(6, 8):
    with T.block("S"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            S[vi] = {}
        S[vi] = S[vi] + {}
)",
                                                start, init, term));
}

/// Cuts the axis of the terms of both, and puts its parts outside.
std::vector<LoopRV> cut(Schedule& sch) {
  std::vector<LoopRV> loops;
  for (const char* block : {"m", "S"}) {
    const auto [i, k] = get_loops(sch, get_block(sch, block)).take<2>();
    const auto parts = split(sch, k, {infer, 4});
    reorder(sch, {parts[0], i, parts[1]});
    loops.push_back(parts[0]);
  }
  return loops;
}

std::string refusal_of_online(const Ptr<PrimFunc>& func) {
  Schedule sch(func);
  const std::vector<LoopRV> loops = cut(sch);
  return error_of([&] { merge_online(sch, loops); });
}

TEST(merge_online, rescales_sums_where_the_maximum_grows) {
  const auto before = maximum_and_sum("T.exp(A[vi, vk] - m[vi]) * W[vi, vk]");
  Schedule sch(before);
  const LoopRV merged = merge_online(sch, cut(sch));
  EXPECT_EQ(get_child_blocks(sch, merged).size(), 5u);
  expect_replays(sch, before);
  const auto expected = program(online_parameters, R"(
m = T.alloc_buffer((6,))
before = T.alloc_buffer((6,))
scale = T.alloc_buffer((6,))
for i in range(6):
    with T.block("m_init"):
        vi = T.axis.spatial(6, i)
        m[vi] = T.float32("-inf")
for i in range(6):
    with T.block("S_init"):
        vi = T.axis.spatial(6, i)
        S[vi] = T.float32(0)
for p in range(2):
    for i in range(6):
        with T.block("m_before"):
            vi = T.axis.spatial(6, i)
            before[vi] = m[vi]
    for i, k in T.grid(6, 4):
        with T.block("m_update"):
            vi = T.axis.spatial(6, i)
            vk = T.axis.reduce(8, p * 4 + k)
            m[vi] = T.max(m[vi], A[vi, vk])
    for i in range(6):
        with T.block("m_scale"):
            vi = T.axis.spatial(6, i)
            scale[vi] = T.exp(before[vi] - T.max(m[vi], T.min_value("float32")))
    for i in range(6):
        with T.block("S_rescale"):
            vi = T.axis.spatial(6, i)
            S[vi] = S[vi] * scale[vi]
    for i, k in T.grid(6, 4):
        with T.block("S_update"):
            vi = T.axis.spatial(6, i)
            vk = T.axis.reduce(8, p * 4 + k)
            S[vi] = S[vi] + T.exp(A[vi, vk] - T.max(m[vi], T.min_value("float32"))) * W[vi, vk]
)");
  require_structural_equal(sch.func()->body, expected->body, true);
}

TEST(merge_online, knows_axes_of_one_value) {
  const auto before = program(online_parameters, R"(
m = T.alloc_buffer((6, 1))
for k, i, u in T.grid(8, 6, 1):
    with T.block("m"):
        vk, vi, vu = T.axis.remap("RSS", [k, i, u])
        with T.init():
            m[vi, vu] = T.min_value("float32")
        m[vi, vu] = T.max(m[vi, vu], A[vi, vk])
for k, i in T.grid(8, 6):
    with T.block("S"):
        vk, vi = T.axis.remap("RS", [k, i])
        with T.init():
            S[vi] = T.float32(0)
        S[vi] = S[vi] + T.exp(A[vi, vk] - m[vi, 0]) * W[vi, vk]
)");
  Schedule sch(before);
  merge_online(sch,
               {get_loops(sch, get_block(sch, "m"))[0], get_loops(sch, get_block(sch, "S"))[0]});
  EXPECT_NE(body_of(sch).find("S[vi_init] * m_scale[vi_init, 0]"), std::string::npos)
      << body_of(sch);
}

TEST(merge_online, takes_maxima_and_sums_of_parts) {
  const auto before = maximum_and_sum("T.exp(A[vi, vk] - m[vi])");
  Schedule sch(before);
  std::vector<LoopRV> loops;
  for (const char* block : {"m", "S"}) {
    const auto parts = split(sch, get_loops(sch, get_block(sch, block))[1], {infer, 4});
    const BlockRV part = rfactor(sch, parts[0], 0);
    for (const BlockRV each : {part, get_block(sch, block)}) {
      const auto around = get_loops(sch, each);
      // The part of a maximum stays apart; that of a sum needs the maximum.
      if (each == part && loops.empty()) continue;
      const LoopRV outer = around[1];
      std::vector<LoopRV> order(around.begin(), around.end());
      std::erase(order, outer);
      order.insert(order.begin(), outer);
      reorder(sch, order);
      loops.push_back(outer);
    }
  }
  ASSERT_EQ(loops.size(), 3u);
  merge_online(sch, loops);
  EXPECT_NE(body_of(sch).find("S[vi_init] * m_scale[vi_init]"), std::string::npos) << body_of(sch);
  expect_replays(sch, before);
}

TEST(merge_online, refuses_terms_that_do_not_scale) {
  const auto code = [](std::string_view term) {
    return refusal_of_online(maximum_and_sum(term)).substr(0, 21);
  };
  EXPECT_EQ(refusal_of_online(maximum_and_sum("A[vi, vk] * m[vi]")),
            "maximum_has_the_form: merge_online: block S does not scale with m: its values "
            "are no products with one power of what the maximum is of by then");
  // Another power than of what the maximum is of might be too large on the way.
  for (const char* term :
       {"T.exp(W[vi, vk] - m[vi])", "T.exp(m[vi] - A[vi, vk])", "T.exp(A[vi, vk] - m[0])",
        "T.exp(A[vi, vk] - m[vi]) + A[vi, vk]", "T.exp(A[vi, vk] - m[vi]) * m[vi]",
        "T.exp(A[vi, vk] - m[vi]) * T.exp(A[vi, vk] - m[vi])", "T.exp(A[vi, 7 - vk] - m[vi])"}) {
    EXPECT_EQ(code(term), "maximum_has_the_form:") << term;
  }
  EXPECT_EQ(refusal_of_online(maximum_and_sum("T.exp(A[vi, vk] - m[vi])", "-inf", "T.float32(1)")),
            "maximum_has_the_form: merge_online: block S does not scale with m: it is no sum "
            "that starts with 0");
}

TEST(merge_online, refuses_blocks_that_need_no_maximum) {
  Schedule sch(program(online_parameters, R"(
m = T.alloc_buffer((6,))
for k, i in T.grid(8, 6):
    with T.block("m"):
        vk, vi = T.axis.remap("RS", [k, i])
        with T.init():
            m[vi] = T.min_value("float32")
        m[vi] = T.max(m[vi], A[vi, vk])
for k, i in T.grid(8, 6):
    with T.block("p"):
        vk, vi = T.axis.remap("SS", [k, i])
        S[vi] = W[vi, 0] + T.float32(1)
)"));
  const LoopRV first = get_loops(sch, get_block(sch, "m"))[0];
  const LoopRV second = get_loops(sch, get_block(sch, "p"))[0];
  EXPECT_EQ(error_of([&] { merge_online(sch, {first, second}); }),
            "maximum_has_the_form: merge_online: block p does not scale with m: it does not "
            "depend on the maximum");
}

TEST(merge_online, refuses_other_loops) {
  const auto func = maximum_and_sum("T.exp(A[vi, vk] - m[vi])");
  Schedule sch(func);
  const auto loops = get_loops(sch, get_block(sch, "m"));
  const auto others = get_loops(sch, get_block(sch, "S"));
  EXPECT_EQ(error_of([&] { merge_online(sch, {loops[0], others[0]}); }),
            "maximum_has_the_form: merge_online: loop i is not over terms of block m alone");
  EXPECT_EQ(error_of([&] { merge_online(sch, {others[1], loops[1]}); }),
            "maximum_has_the_form: merge_online: block S is no maximum of floating-point numbers");
  EXPECT_EQ(error_of([&] { merge_online(sch, {loops[1]}); }),
            "arguments_fit: merge_online: 1 loops are given, 2 or more are needed");
  // Those inside of other loops do not follow each other.
  EXPECT_EQ(error_of([&] { merge_online(sch, {loops[1], others[1]}); }).substr(0, 29),
            "statements_follow_each_other:");
}

TEST(merge_online, keeps_values_that_are_used_up) {
  const auto kept = [](std::string_view index, std::string_view more) {
    return program(online_parameters, fmt::format(R"(
m = T.alloc_buffer((6,))
p = T.alloc_buffer((6, 8))
for k, i in T.grid(8, 6):
    with T.block("m"):
        vk, vi = T.axis.remap("RS", [k, i])
        with T.init():
            m[vi] = T.min_value("float32")
        m[vi] = T.max(m[vi], A[vi, vk])
for k, i in T.grid(8, 6):
    with T.block("p"):
        vk, vi = T.axis.remap("SS", [k, i])
        p[vi, vk] = T.exp(A[vi, vk] - m[vi])
for k, i in T.grid(8, 6):
    with T.block("S"):
        vk, vi = T.axis.remap("RS", [k, i])
        with T.init():
            S[vi] = T.float32(0)
        S[vi] = S[vi] + p[vi, {}]
{}
)",
                                                  index, more));
  };
  const auto loops_in = [](Schedule& sch) {
    std::vector<LoopRV> loops;
    for (const char* block : {"m", "p", "S"}) {
      loops.push_back(get_loops(sch, get_block(sch, block))[0]);
    }
    return loops;
  };
  Schedule sch(kept("vk", ""));
  merge_online(sch, loops_in(sch));
  EXPECT_NE(body_of(sch).find("p[vi, vk] = T.exp(A[vi, vk] - m[vi])"), std::string::npos);
  constexpr auto reader = R"(
for i, k in T.grid(6, 8):
    with T.block("W"):
        vi, vk = T.axis.remap("SS", [i, k])
        W[vi, vk] = p[vi, vk]
)";
  Schedule read(kept("vk", reader));
  EXPECT_EQ(error_of([&] { merge_online(read, loops_in(read)); }),
            "step_keeps_results: merge_online: results would change: p is used by others than the "
            "iteration that makes "
            "it");
  // Of an earlier iteration, for another maximum.
  Schedule earlier(kept("vk // 2", ""));
  EXPECT_EQ(error_of([&] { merge_online(earlier, loops_in(earlier)); }).substr(0, 19),
            "step_keeps_results:");
}

TEST(merge_online, ends_where_a_maximum_reads_its_own_buffer) {
  Schedule sch(program(R"(A: T.Buffer((4,), "float32"), S: T.Buffer((1,), "float32"))", R"(
M = T.alloc_buffer((4,))
for k in range(4):
    with T.block("M"):
        vk = T.axis.reduce(4, k)
        with T.init():
            M[0] = T.float32("-inf")
        M[0] = T.max(M[0], M[vk])
for k in range(4):
    with T.block("S"):
        vk = T.axis.reduce(4, k)
        with T.init():
            S[0] = T.float32(0)
        S[0] = S[0] + T.exp(A[vk] - M[0])
)"));
  const LoopRV loops[] = {get_loops(sch, get_block(sch, "M"))[0],
                          get_loops(sch, get_block(sch, "S"))[0]};
  EXPECT_NE(error_of([&] { merge_online(sch, {loops[0], loops[1]}); }), "");
}

/// What a term reads changes with the sum, so that it cannot be rescaled.
TEST(merge_online, refuses_terms_in_the_memory_of_sums) {
  const auto refusal = [](std::string_view memory) {
    Schedule sch(program(online_parameters, fmt::format(R"(
pointer = T.address_of(S[0])
V = T.decl_buffer((6,), data={})
m = T.alloc_buffer((6,))
for i in range(6):
    for k in range(8):
        with T.block("m"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                m[vi] = T.float32("-inf")
            m[vi] = T.max(m[vi], A[vi, vk])
    for l in range(8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, l])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.exp(A[vi, vk] - m[vi]) * (V[vi] + T.float32(1))
)",
                                                        memory)));
    return error_of([&] { merge_online(sch, {get_loop(sch, "k"), get_loop(sch, "l")}); });
  };
  const std::string start =
      "step_keeps_results: merge_online: results would change: loop k may read elements of S that "
      "it updates: ";
  EXPECT_EQ(refusal("S.data"), start + "a term reads their memory");
  EXPECT_EQ(refusal("pointer"), start + "it accesses memory by a pointer");
}

TEST(merge_online, refuses_elements_with_terms_of_several_sums) {
  Schedule sch(program(online_parameters, R"(
m = T.alloc_buffer((6,))
for k in range(8):
    for i in range(6):
        with T.block("m"):
            vk, vi = T.axis.remap("RS", [k, i])
            with T.init():
                m[vi] = T.float32("-inf")
            m[vi] = T.max(m[vi], A[vi, vk])
for l in range(8):
    for i in range(12):
        with T.block("S"):
            vk = T.axis.reduce(8, l)
            vi = T.axis.spatial(6, i // 2)
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.exp(A[vi, vk] - m[vi])
)"));
  EXPECT_EQ(error_of([&] { merge_online(sch, {get_loop(sch, "k"), get_loop(sch, "l")}); }),
            "step_keeps_results: merge_online: results may change: the init of block S cannot go "
            "before loop l, as an element may have terms of more than one reduction");
}

}  // namespace
}  // namespace loopsmith
