// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/parallel_reductions.h"

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/lower_blocks.h"
#include "loopsmith/transform/lower_init.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/record_regroupings.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

int count_parallel(const Ptr<PrimFunc>& func) {
  int count = 0;
  pre_order_visit(func->body, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    count += loop && loop->kind == ForKind::parallel;
    return true;
  });
  return count;
}

/// The function with partial results, from what its loops are found to regroup.
Ptr<PrimFunc> in_parts(const Ptr<PrimFunc>& func) {
  return parallel_reductions(lower_blocks(lower_init(record_regroupings(func))));
}

/// What the reduction becomes; it, and its lowered form, compute what the program says.
Ptr<PrimFunc> checked(const Ptr<PrimFunc>& func) {
  const Ptr<PrimFunc> made = in_parts(func);
  verify_well_formed(made);
  Rewriter serial;
  serial.on<For>([&](const For& loop) -> Stmt {
    For copy = *serial.children(loop);
    copy.kind = ForKind::serial;
    return make(std::move(copy));
  });
  const Ptr<PrimFunc> plain = serial.body_of(func);
  interp::assert_same(plain, made);
  interp::assert_same(plain, lower_function(func, {.verify = true}));
  return made;
}

Ptr<PrimFunc> reduction(const std::string& parameters, const std::string& loops,
                        const std::string& update) {
  return parse_function("@T.prim_func\ndef main(" + parameters + "):\n" + loops + update);
}

TEST(parallel_reductions, sums_in_parts) {
  const auto func = checked(reduction(R"(A: T.Buffer((4, 100), "float32"),
         C: T.Buffer((4,), "float32"))",
                                      R"(
    for i in range(4):
        for k in T.parallel(100):
)",
                                      R"(            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
)"));
  EXPECT_EQ(count_parallel(func), 1);
  // 100 elements are 8 parts, as many as are combined in one group.
  EXPECT_NE(script(func).find("T.parallel(8,"), std::string::npos) << script(func);
}

TEST(parallel_reductions, takes_any_size) {
  const auto func = reduction(R"(n: T.int32, A: T.Buffer((n,), "float32"),
         C: T.Buffer((1,), "float32"))",
                              R"(
    for k in T.parallel(n):
)",
                              R"(        with T.block("C"):
            vk = T.axis.reduce(n, k)
            with T.init():
                C[0] = T.float32("-inf")
            C[0] = T.max(C[0], A[vk])
)");
  EXPECT_EQ(count_parallel(checked(func)), 1);
}

TEST(parallel_reductions, keeps_where_a_maximum_is) {
  checked(reduction(R"(A: T.Buffer((90,), "float32"), I: T.Buffer((1,), "int32"),
         V: T.Buffer((1,), "float32"))",
                    R"(
    for k in T.parallel(90):
)",
                    R"(        with T.block("top"):
            vk = T.axis.reduce(90, k)
            with T.init():
                I[0] = -1
                V[0] = T.float32(-3e38)
            first: T.bool = V[0] > A[vk] or (V[0] == A[vk] and I[0] <= vk)
            index: T.int32 = T.Select(first, I[0], vk)
            value: T.float32 = T.Select(first, V[0], A[vk])
            I[0] = index
            V[0] = value
)"));
}

TEST(parallel_reductions, combines_in_groups) {
  const auto func = checked(reduction(R"(A: T.Buffer((3, 1000), "float32"),
         C: T.Buffer((3,), "float32"))",
                                      R"(
    for i in range(3):
        for k in T.parallel(1000):
)",
                                      R"(            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
)"));
  const std::string text = script(func);
  EXPECT_NE(text.find("C_parts = T.decl_buffer((64, 16))"), std::string::npos) << text;
  EXPECT_NE(text.find("for group in range(8):"), std::string::npos) << text;
}

TEST(parallel_reductions, of_threads_are_combined_in_shared_memory) {
  const auto threads = [](int count) {
    return reduction(R"(A: T.Buffer((3, 20), "float32"), C: T.Buffer((3,), "float32"))",
                     fmt::format(R"(
    for i in T.thread_binding(3, thread="blockIdx.x"):
        for k in T.thread_binding({}, thread="threadIdx.x"):
            for l in range({}):
)",
                                 count, 20 / count),
                     fmt::format(R"(                with T.block("C"):
                    vi = T.axis.spatial(3, i)
                    vk = T.axis.reduce(20, k * {} + l)
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]
)",
                                 20 / count));
  };
  for (const int count : {4, 20}) {
    const auto func = threads(count);
    const auto made = in_parts(func);
    verify_well_formed(made);
    const std::string text = script(made);
    EXPECT_NE(text.find("scope=\"shared\""), std::string::npos) << text;
    EXPECT_NE(text.find("thread=\"threadIdx.x\""), std::string::npos) << text;
    interp::assert_same(func, made);
    interp::assert_same(func, lower_function(func, {.verify = true}));
  }
}

TEST(parallel_reductions, of_threads_read_what_an_iteration_around_has_written) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 6), "float32")):
    S = T.alloc_buffer((8, 12), scope="shared")
    for i in T.thread_binding(8, thread="vthread.x"):
        for j in range(12):
            with T.block("S"):
                vi, vj = T.axis.remap("SS", [i, j])
                S[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(6):
            for k in T.thread_binding(12, thread="threadIdx.x"):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] = C[vi, vj] + S[vi, vk]
)");
  interp::assert_same(func, in_parts(func));
  interp::assert_same(func, lower_function(func, {.verify = true}));
}

TEST(parallel_reductions, of_threads_read_results_of_their_own) {
  const auto func = parse_function(R"(@T.prim_func
def main(C: T.Buffer((12, 12), "int32")):
    for d in range(1, 12):
        for i in range(12 - d):
            for k in T.thread_binding(12, thread="threadIdx.x"):
                with T.block("C"):
                    vi = T.axis.spatial(12, i)
                    vd = T.axis.spatial(T.Range(1, 12), d)
                    vk = T.axis.reduce(12, k)
                    T.where(k < d)
                    with T.init():
                        C[vi, vi + vd] = T.int32(100)
                    C[vi, vi + vd] = T.min(C[vi, vi + vd], C[vi, vi + vk] + C[vi + vk + 1, vi + vd])
)");
  interp::assert_same(func, in_parts(func));
  interp::assert_same(func, lower_function(func, {.verify = true}));
}

TEST(parallel_reductions, takes_few_iterations_that_are_much_work) {
  const auto func = checked(reduction(R"(A: T.Buffer((4, 160), "float32"),
         C: T.Buffer((4,), "float32"))",
                                      R"(
    for ko in T.parallel(8):
        for i, ki in T.grid(4, 20):
)",
                                      R"(            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(160, ko * 20 + ki)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
)"));
  EXPECT_NE(script(func).find("T.parallel(8,"), std::string::npos) << script(func);
}

TEST(parallel_reductions, takes_loops_that_are_fused) {
  const auto func = checked(reduction(R"(A: T.Buffer((30, 20), "float32"),
         C: T.Buffer((1,), "float32"))",
                                      R"(
    for ik in T.parallel(600):
)",
                                      R"(        with T.block("C"):
            vi = T.axis.reduce(30, ik // 20)
            vk = T.axis.reduce(20, ik % 20)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] + A[vi, vk]
)"));
  EXPECT_EQ(count_parallel(func), 1);
}

TEST(parallel_reductions, starts_where_loops_around_do) {
  const auto func = checked(reduction(R"(A: T.Buffer((3, 4, 64), "float32"),
         C: T.Buffer((3,), "float32"))",
                                      R"(
    for ij in range(12):
        for k in T.parallel(64):
)",
                                      R"(            with T.block("C"):
                vi = T.axis.spatial(3, ij // 4)
                vj = T.axis.reduce(4, ij % 4)
                vk = T.axis.reduce(64, k)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vj, vk]
)"));
  EXPECT_EQ(count_parallel(func), 1);
}

TEST(parallel_reductions, leaves_little_work_serial) {
  const auto func = checked(reduction(R"(A: T.Buffer((9,), "float32"),
         C: T.Buffer((1,), "float32"))",
                                      R"(
    for k in T.parallel(9):
)",
                                      R"(        with T.block("C"):
            vk = T.axis.reduce(9, k)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] + A[vk]
)"));
  EXPECT_EQ(count_parallel(func), 0);
}

TEST(parallel_reductions, refuses_what_has_no_partial_results) {
  const auto error_in = [](const std::string& loop) {
    const auto func =
        reduction(R"(A: T.Buffer((90,), "float32"), C: T.Buffer((1,), "float32"))", loop,
                  R"(        with T.block("C"):
            vk = T.axis.reduce(90, k)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] * A[vk] + A[vk]
)");
    const std::string error = error_of([&] { in_parts(func); });
    return error.substr(0, error.find("\n  at "));
  };
  EXPECT_EQ(
      error_in("\n    for k in T.parallel(90):\n"),
      "parallel loop k is a reduction without partial results: how its iterations update C is "
      "no known reducer, they use it otherwise, or its parts would be too large\n  hint: rfactor "
      "the reduction, then parallelize the new loop");
  EXPECT_EQ(error_in("\n    for k in T.parallel(90, annotations={\"regroups\": [\"C\"]}):\n"),
            "loop k: annotation \"regroups\" names C, whose updates have no partial results\n  "
            "hint: leave the annotation out: what the loop regroups is then found out");
}

Ptr<PrimFunc> with_lines(std::string_view lines) {
  return parse_function(fmt::format(R"(@T.prim_func
def main(A: T.Buffer((200, 6), "float32"), X: T.Buffer((200,), "int32"), C: T.Buffer((6,), "float32"), H: T.Buffer((6,), "int32")):
{})",
                                    lines));
}

/// Its body with partial results; the whole of lowering computes what the program says.
std::string checked_body(std::string_view lines) {
  const auto func = with_lines(lines);
  const auto lowered = lower_function(func, {.verify = true});
  const interp::Verdict verdict = interp::compare(func, lowered);
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason << "\n" << script(lowered);
  const std::string text = script(in_parts(func));
  return text.substr(text.find("):\n") + 3) + "\n";
}

TEST(parallel_reductions, gives_each_part_a_result) {
  EXPECT_EQ(checked_body(R"(
    for k in T.parallel(50):
        C[0] = A[k, 0] + C[0]
)"),
            R"(    C_parts = T.decl_buffer((6, 16))
    for k_part in T.parallel(6, annotations={"regroups": []}):
        for e in range(1):
            C_parts[k_part, e] = T.float32(-0.0)
        for k_in_part in range(9):
            if k_part * 9 + k_in_part < 50:
                C_parts[k_part, 0] = C_parts[k_part, 0] + A[k_part * 9 + k_in_part, 0]
    for row, e in T.grid(6, 1):
        C[e] = C[e] + C_parts[row, e]
)");
}

TEST(parallel_reductions, takes_what_stands_under_a_condition_on_memory) {
  const std::string body = checked_body(R"(
    if H[0] < 3:
        t = T.int32(0)
        for k in T.parallel(50):
            t = X[k]
            C[0] = A[k, 0] + C[0]
            X[k] = t + 1
)");
  EXPECT_NE(body.find("C_parts[k_part, 0] = C_parts[k_part, 0] + A["), std::string::npos) << body;
}

TEST(parallel_reductions, takes_what_all_iterations_add_to_where_others_are_unknown) {
  const std::string body = checked_body(R"(
    for k in T.parallel(50):
        if k > 0:
            X[X[k] % 1 + k] = 3
        C[0] = A[k, 0] + C[0]
)");
  EXPECT_NE(body.find("C_parts[k_part, 0] = C_parts[k_part, 0] + A["), std::string::npos) << body;
}

TEST(parallel_reductions, runs_in_turn_what_also_stores_through_memory) {
  const auto func = with_lines(R"(
    for k in T.parallel(50):
        C[0] = A[k, 0] + C[0]
        C[X[k] % 5 + 1] = A[k, 1]
)");
  const std::string text = script(in_parts(func));
  EXPECT_EQ(text.find("T.parallel"), std::string::npos) << text;
}

TEST(parallel_reductions, combines_many_in_groups_and_accesses_nothing_else) {
  const std::string body = checked_body(R"(
    for k in T.parallel(200):
        for j in range(k % 6):
            if X[k] > 3:
                C[j] = T.min(C[j], A[k, j])
)");
  EXPECT_NE(body.find("for group in range(3):\n        for other in range(1, 8):"),
            std::string::npos)
      << body;
  EXPECT_NE(body.find("!= T.float32(\"inf\"):"), std::string::npos) << body;
}

TEST(parallel_reductions, gives_each_combiner_results_of_its_own) {
  EXPECT_EQ(checked_body(R"(
    for k in T.parallel(20):
        C[0] = T.min(C[0], A[k, 0])
        C[1] = T.max(C[1], A[k, 0])
)"),
            R"(    C_parts = T.decl_buffer((2, 16))
    C_parts_1 = T.decl_buffer((2, 16))
    for k_part in T.parallel(2, annotations={"regroups": []}):
        for e in range(1):
            C_parts[k_part, e] = T.float32("inf")
        for e in range(1):
            C_parts_1[k_part, e] = T.float32("-inf")
        for k_in_part in range(10):
            C_parts[k_part, 0] = T.min(C_parts[k_part, 0], A[k_part * 10 + k_in_part, 0])
            C_parts_1[k_part, 0] = T.max(C_parts_1[k_part, 0], A[k_part * 10 + k_in_part, 0])
    for row, e in T.grid(2, 1):
        C[e] = T.min(C[e], C_parts[row, e])
    for row, e in T.grid(2, 1):
        C[1 + e] = T.max(C[1 + e], C_parts_1[row, e])
)");
}

TEST(parallel_reductions, takes_places_from_memory) {
  const std::string floats = checked_body(R"(
    for k in T.parallel(200):
        C[X[k] % 6] = C[X[k] % 6] + A[k, 0]
)");
  EXPECT_NE(floats.find("C_parts"), std::string::npos);
  const std::string few = checked_body(R"(
    for k in T.parallel(200):
        H[X[k] % 6] = H[X[k] % 6] + 1
)");
  EXPECT_NE(few.find("H_parts"), std::string::npos);
  // Of integers, atomic updates need no room.
  const auto counts = with_lines(R"(
    for k in T.parallel(200, annotations={"atomic_updates": 1}):
        H[X[k] % 6] = H[X[k] % 6] + 1
)");
  EXPECT_EQ(script(in_parts(counts)).find("H_parts"), std::string::npos);
}

TEST(parallel_reductions, leaves_what_iterations_have_for_themselves) {
  const auto own = with_lines(R"(
    s = T.decl_buffer((1,), "float32")
    for k in T.parallel(200):
        s[0] = T.float32(0)
        for j in range(6):
            s[0] = s[0] + A[k, j]
        A[k, 0] = s[0]
)");
  EXPECT_EQ(script(in_parts(own)).find("s_parts"), std::string::npos);
}

TEST(parallel_reductions, follows_the_init_of_blocks_out_of_the_loop) {
  const std::string body = checked_body(R"(
    L = T.alloc_buffer((6,), "float32")
    for k in T.parallel(200):
        for j in range(6):
            with T.block("L"):
                vk, vj = T.axis.remap("SS", [k, j])
                L[vj] = A[vk, vj] * A[vk, vj]
        for j in range(6):
            with T.block("C"):
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    C[vj] = T.float32(0)
                C[vj] = C[vj] + L[5 - vj]
)");
  EXPECT_FALSE(body.empty());
}

TEST(parallel_reductions, reads_other_elements_where_they_are) {
  const std::string body = checked_body(R"(
    for k in T.parallel(50):
        C[0] = C[0] + C[k % 5 + 1] * A[k, 0]
)");
  EXPECT_NE(
      body.find("C_parts[k_part, 0] = C_parts[k_part, 0] + C[(k_part * 9 + k_in_part) % 5 + 1]"),
      std::string::npos)
      << body;
}

TEST(parallel_reductions, tells_elements_apart_that_share_a_box) {
  const std::string body = checked_body(R"(
    for i in range(3):
        for k in T.parallel(50):
            H[i * 2] = H[i * 2] + H[k % 3 * 2 + 1]
)");
  EXPECT_NE(body.find("H_parts"), std::string::npos) << body;
}

TEST(parallel_reductions, runs_in_turn_what_conflicts_with_its_own_reads) {
  const std::string body = checked_body(R"(
    for k in T.parallel(50):
        if k < 49:
            C[0] = C[0] + A[k, 0]
        else:
            C[1] = C[1] + A[k, 0]
            A[0, 1] = C[1]
)");
  EXPECT_NE(body.find("for k in range(50):"), std::string::npos) << body;
}

TEST(parallel_reductions, knows_what_stands_around_the_loop) {
  const std::string body = checked_body(R"(
    for j in range(6):
        for i in range(j + 1, 6):
            for k in T.parallel(50):
                C[j] = C[j] + C[i] * A[k, 0]
)");
  EXPECT_NE(body.find("C_parts"), std::string::npos) << body;
}

}  // namespace
}  // namespace loopsmith
