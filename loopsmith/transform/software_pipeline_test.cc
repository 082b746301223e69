// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/software_pipeline.h"

#include <random>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

/// The function after all passes up to and with `software_pipeline`, simplified.
Ptr<PrimFunc> pipelined(const Ptr<PrimFunc>& func) {
  Ptr<PrimFunc> current = func;
  bool is_done = false;
  for (const Pass& pass : lowering_passes()) {
    if (is_done && pass.name != "simplify") continue;
    current = pass.run(current, {});
    if (is_done) break;
    is_done = pass.name == "software_pipeline";
  }
  return current;
}

/// Expects that the pipelined function, and what it is lowered to, compute the same.
void expect_pipelined_as_before(const Ptr<PrimFunc>& func) {
  for (const Ptr<PrimFunc>& after : {pipelined(func), lower_function(func, {.verify = true})}) {
    const interp::Verdict verdict = interp::compare(func, after);
    EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason << "\n" << script(after);
  }
}

std::string error_of_loop(const std::string& annotations, const std::string& body) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((12, 4), "float32"), C: T.Buffer((12, 4), "float32")):
    for k in T.serial(12, annotations={)" +
                                   annotations + R"(}):
)" + body);
  const std::string text = error_of([&] { lower_function(func); });
  return text.substr(0, text.find("\n  at "));
}

/// A chain load -> scale -> add, each stage through memory of its own.
Ptr<PrimFunc> chain(const std::string& bounds, const std::string& annotations) {
  return parse_function(R"(@T.prim_func
def main(A: T.Buffer((24, 4), "float32"), C: T.Buffer((24, 4), "float32"), n: T.int32):
    for k in T.serial()" +
                        bounds + ", annotations={" + annotations + R"(}):
        with T.block("body"):
            vk = T.axis.spatial(24, k)
            T.reads(A[vk, 0:4])
            T.writes(C[vk, 0:4])
            B = T.alloc_buffer((4,), "float32")
            D = T.alloc_buffer((4,), "float32")
            for j in range(4):
                with T.block("load"):
                    vj = T.axis.spatial(4, j)
                    B[vj] = A[vk, vj]
            for j in range(4):
                with T.block("scale"):
                    vj = T.axis.spatial(4, j)
                    D[vj] = B[vj] * T.float32(2)
            for j in range(4):
                with T.block("add"):
                    vj = T.axis.spatial(4, j)
                    C[vk, vj] = D[vj] + B[3 - vj]
)");
}

TEST(software_pipeline, numbers_statements_itself_where_no_pass_did) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for k in T.serial(12, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        with T.decl_buffer((1,)) as B:
            B[0] = A[k]
            C[k] = B[0] + T.float32(1)
)");
  const auto after = software_pipeline(func);
  EXPECT_NE(script(after).find("(2, 1)"), std::string::npos) << script(after);
  const interp::Verdict verdict = interp::compare(func, after);
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason;
}

TEST(software_pipeline, overlaps_loads_with_what_uses_them) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((12, 4), "float32"), C: T.Buffer((12, 4), "float32")):
    B = T.alloc_buffer((12, 4), "float32")
    for k in T.serial(12, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        for j in range(4):
            with T.block("B"):
                vk, vj = T.axis.remap("SS", [k, j])
                B[vk, vj] = A[vk, vj]
        for j in range(4):
            with T.block("C"):
                vk, vj = T.axis.remap("SS", [k, j])
                C[vk, vj] = B[vk, 3 - vj] * T.float32(2)
)");
  EXPECT_EQ(script(pipelined(func)) + "\n", R"(# from loopsmith.script import tir as T

@T.prim_func
def main(A: T.Buffer((12, 4), "float32"), C: T.Buffer((12, 4), "float32")):
    B = T.decl_buffer((2, 1, 4))
    for j in range(4):
        B[0, 0, j] = A[0, j]
    for k in range(11):
        for j in range(4):
            B[(k + 1) % 2, 0, j] = A[k + 1, j]
        for j in range(4):
            C[k, j] = B[k % 2, 0, 3 - j] * T.float32(2)
    for j in range(4):
        C[11, j] = B[1, 0, 3 - j] * T.float32(2)
)");
  expect_pipelined_as_before(func);
}

TEST(software_pipeline, gives_memory_as_many_versions_as_are_alive) {
  const auto func =
      chain("24", R"("software_pipeline_stage": [0, 1, 3], "software_pipeline_order": [2, 1, 0])");
  const std::string text = script(pipelined(func));
  // The load of iteration k + 3 comes after the last use of iteration k in each step.
  EXPECT_NE(text.find("B = T.decl_buffer((3, 4))"), std::string::npos) << text;
  EXPECT_NE(text.find("D = T.decl_buffer((2, 4))"), std::string::npos) << text;
  expect_pipelined_as_before(func);
  const std::string shape = script(pipelined(chain(
      "24", R"("software_pipeline_stage": [0, 0, 0], "software_pipeline_order": [0, 1, 2])")));
  EXPECT_NE(shape.find("B = T.decl_buffer((4,))"), std::string::npos) << shape;
}

TEST(software_pipeline, takes_any_bounds) {
  const std::string stages =
      R"("software_pipeline_stage": [0, 1, 2], "software_pipeline_order": [0, 1, 2], "software_pipeline_async_stages": [0])";
  for (const char* bounds : {"3, 24", "0", "1", "2", "T.max(T.min(n, 24), 0)"}) {
    SCOPED_TRACE(bounds);
    expect_pipelined_as_before(chain(bounds, stages));
  }
}

TEST(software_pipeline, keeps_reductions_and_nests) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    As = T.alloc_buffer((8, 16), "float32", scope="shared")
    Al = T.alloc_buffer((8, 16), "float32", scope="local")
    for ko in T.serial(4, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        for i, k in T.grid(8, 4):
            with T.block("As"):
                vi = T.axis.spatial(8, i)
                vk = T.axis.spatial(16, ko * 4 + k)
                As[vi, vk] = A[vi, vk]
        for ki in T.serial(4, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [1, 0]}):
            for i in range(8):
                with T.block("Al"):
                    vi = T.axis.spatial(8, i)
                    vk = T.axis.spatial(16, ko * 4 + ki)
                    Al[vi, vk] = As[vi, vk]
            for i, j in T.grid(8, 8):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    vk = T.axis.reduce(16, ko * 4 + ki)
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] = C[vi, vj] + Al[vi, vk] * B[vk, vj]
)");
  expect_pipelined_as_before(func);
}

TEST(software_pipeline, splices_blocks_with_sequences) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for k in T.serial(12, annotations={"software_pipeline_stage": [0, 0, 1], "software_pipeline_order": [0, 1, 2]}):
        with T.block("outer"):
            vk = T.axis.spatial(12, k)
            T.reads(A[vk])
            T.writes(C[vk])
            B = T.alloc_buffer((2,), "float32")
            with T.block("pair"):
                T.reads(A[vk])
                T.writes(B[0:2])
                B[0] = A[vk]
                B[1] = A[vk] + T.float32(1)
            C[vk] = B[0] * B[1]
)");
  EXPECT_NE(script(pipelined(func)).find("B = T.decl_buffer((2, 2))"), std::string::npos);
  expect_pipelined_as_before(func);
}

TEST(software_pipeline, doubles_buffers_that_ask_for_it) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((12, 4), "float32"), C: T.Buffer((12, 4), "float32")):
    B = T.alloc_buffer((12, 4), "float32")
    for k in range(12):
        for j in range(4):
            with T.block("B"):
                vk, vj = T.axis.remap("SS", [k, j])
                T.block_attr({"double_buffer_scope": 0})
                B[vk, vj] = A[vk, vj]
        for j in range(4):
            with T.block("C"):
                vk, vj = T.axis.remap("SS", [k, j])
                C[vk, vj] = B[vk, 3 - vj]
)");
  const std::string text = script(pipelined(func));
  EXPECT_NE(text.find("for k in range(11):"), std::string::npos) << text;
  EXPECT_NE(text.find("B[(k + 1) % 2, 0, j] = A[k + 1, j]"), std::string::npos) << text;
  expect_pipelined_as_before(func);
}

TEST(software_pipeline, refuses_what_dependences_forbid) {
  constexpr const char* two = R"(        A[k, 0] = T.float32(1)
        C[k, 0] = A[k, 0]
)";
  constexpr const char* both =
      R"("software_pipeline_stage": [1, 0], "software_pipeline_order": [0, 1])";
  EXPECT_EQ(error_of_loop(both, two),
            "lower: software_pipeline: in loop k, statement 0, which writes A, would not be done "
            "before statement 1, which writes C, in the same iteration, which depends on it\n"
            "  hint: give what comes later a later stage, or the same stage and a later place");
  // What the next iteration reads is written a stage too late.
  constexpr const char* scan = R"(        A[k, 0] = C[T.max(k - 1, 0), 0]
        C[k, 0] = A[k, 0] + T.float32(1)
)";
  const std::string text = error_of_loop(
      R"("software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1])", scan);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "lower: software_pipeline: in loop k, statement 1, which writes C, would not be done "
            "before statement 0, which writes A, 1 iterations later, which depends on it");
}

TEST(software_pipeline, refuses_annotations_that_do_not_fit) {
  constexpr const char* two = R"(        A[k, 0] = T.float32(1)
        C[k, 0] = A[k, 0]
)";
  const auto problem = [&](const std::string& annotations, const std::string& body) {
    const std::string text = error_of_loop(annotations, body);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(problem(R"("software_pipeline_stage": [0, 1])", two),
            "lower: software_pipeline: loop k has software_pipeline_stage but no "
            "software_pipeline_order");
  EXPECT_EQ(problem(R"("software_pipeline_stage": 1, "software_pipeline_order": [0, 1])", two),
            "lower: software_pipeline: software_pipeline_stage of loop k is no list of numbers");
  EXPECT_EQ(
      problem(R"("software_pipeline_stage": [0, 1, 1], "software_pipeline_order": [0, 1])", two),
      "lower: software_pipeline: loop k has 3 stages and 2 places");
  EXPECT_EQ(problem(R"("software_pipeline_stage": [0, 1], "software_pipeline_order": [1, 1])", two),
            "lower: software_pipeline: two statements of loop k have the place 1");
  EXPECT_EQ(
      problem(R"("software_pipeline_stage": [0, 99], "software_pipeline_order": [0, 1])", two),
      "lower: software_pipeline: loop k has stage 99, more than 64");
  EXPECT_EQ(
      problem(
          R"("software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1], "software_pipeline_async_stages": [2])",
          two),
      "lower: software_pipeline: loop k has no stage 2 to be asynchronous");
  EXPECT_EQ(problem(R"("software_pipeline_stage": [0], "software_pipeline_order": [0])", two),
            "lower: software_pipeline: loop k has 2 statements, and stages for 1");
  EXPECT_EQ(problem(R"("software_pipeline_stage": [0], "software_pipeline_order": [0])",
                    "        A[k, 0] = T.float32(1)\n"),
            "lower: software_pipeline: the body of loop k is no sequence of statements");
  EXPECT_EQ(problem(R"("software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1])",
                    "        A[k, 0] = T.float32(1)\n        break\n"),
            "lower: software_pipeline: loop k may be left early");
}

TEST(software_pipeline, refuses_versions_of_what_a_pointer_reaches) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for k in T.serial(12, annotations={"software_pipeline_stage": [0, 1],
                                       "software_pipeline_order": [0, 1]}):
        B = T.decl_buffer((1,), "float32")
        B[0] = A[k]
        C[k] = T.call_extern("float32", "f", B.data)
)");
  const std::string text = error_of([&] { lower_function(func); });
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "lower: software_pipeline: loop k needs 2 versions of buffer B, which is reached "
            "through its pointer");
}

TEST(software_pipeline, refuses_to_double_what_a_block_does_not_write) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((12,), "float32")):
    for k in range(12):
        with T.block("A"):
            vk = T.axis.spatial(12, k)
            T.block_attr({"double_buffer_scope": 1})
            A[vk] = T.float32(1)
)");
  const std::string text = error_of([&] { lower_function(func); });
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "lower: lower_blocks: double_buffer_scope of block A is no buffer that it writes");
}

TEST(software_pipeline, refuses_loops_that_run_at_once) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    for k in T.parallel(12, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        A[k] = T.float32(1)
        C[k] = A[k]
)");
  const std::string text = error_of([&] { lower_function(func); });
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "lower: software_pipeline: loop k is run concurrently, not step by step");
}

TEST(software_pipeline, is_right_for_any_stages_that_it_takes) {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int taken = 0;
  for (int i = 0; i < 40; ++i) {
    int order[] = {0, 1, 2};
    std::shuffle(order, order + 3, random);
    const std::string annotations = fmt::format(
        R"("software_pipeline_stage": [{}, {}, {}], "software_pipeline_order": [{}, {}, {}])",
        pick(3), pick(3), pick(4), order[0], order[1], order[2]);
    const auto func = chain(fmt::format("{}, {}", pick(3), pick(8) + 3), annotations);
    if (!error_of([&] { lower_function(func); }).empty()) continue;
    ++taken;
    SCOPED_TRACE(annotations);
    expect_pipelined_as_before(func);
  }
  EXPECT_GE(taken, 5);
}

}  // namespace
}  // namespace loopsmith
