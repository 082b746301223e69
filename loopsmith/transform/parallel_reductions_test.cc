// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/parallel_reductions.h"

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
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

/// What the reduction becomes; it, and its lowered form, compute what the program says.
Ptr<PrimFunc> checked(const Ptr<PrimFunc>& func) {
  const Ptr<PrimFunc> made = parallel_reductions(func);
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
  // 100 elements are 12 parts, for all of which one row has place.
  EXPECT_NE(script(func).find("T.parallel(12)"), std::string::npos) << script(func);
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
  EXPECT_NE(text.find("C_rf = T.alloc_buffer((64, 3))"), std::string::npos) << text;
  EXPECT_NE(text.find("C_rf_1 = T.alloc_buffer((8, 3))"), std::string::npos) << text;
}

TEST(parallel_reductions, of_threads_meet_in_shared_memory) {
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
    const auto made = parallel_reductions(func);
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
  interp::assert_same(func, parallel_reductions(func));
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
  interp::assert_same(func, parallel_reductions(func));
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
  EXPECT_NE(script(func).find("T.parallel(8)"), std::string::npos) << script(func);
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
  const auto func = reduction(R"(A: T.Buffer((90,), "float32"), C: T.Buffer((1,), "float32"))",
                              R"(
    for k in T.parallel(90):
)",
                              R"(        with T.block("C"):
            vk = T.axis.reduce(90, k)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] * A[vk] + A[vk]
)");
  EXPECT_EQ(error_of([&] { parallel_reductions(func); }).substr(0, 156),
            "parallel loop k is a reduction without partial results: rfactor: block C is not a "
            "reduction block - it violates condition #4\n  hint: rfactor the reduction, ");
}

}  // namespace
}  // namespace loopsmith
