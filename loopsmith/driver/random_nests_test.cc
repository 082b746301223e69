// SPDX-License-Identifier: Apache-2.0
// Programs drawn from the grammar of loop nests under random steps, and by the default schedule,
// compiled: what they compute stays the same.
#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loopsmith/driver/build.h"
#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/runtime/device.h"
#include "loopsmith/schedule/testing/random_nest.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/fuzz_cases.h"
#include "loopsmith/transform/split_host_device.h"

namespace loopsmith {
namespace {

using schedule_testing::Machine;
using schedule_testing::random_nest;
using schedule_testing::RandomNest;

/// What `make` gives; nullopt where it refuses, as it may for reasons of the target.
template <class Make>
auto made_of(const RandomNest& nest, const Make& make) -> std::optional<decltype(make())> {
  try {
    return make();
  } catch (const UserError& error) {
    const bool is_left_early = error.code() == "iterations_reach_their_end";
    EXPECT_TRUE(error.kind() == ErrorKind::lower || is_left_early) << error.what() << "\n"
                                                                   << nest.text();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\n" << nest.text();
  }
  return {};
}

/// Builds what the steps made of a program, or schedules the program by rule, and compares what it
/// computes.
void expect_same_code(const RandomNest& nest, const Target& target, bool by_rule = false) {
  const std::optional<Module> module = made_of(nest, [&] {
    return build(by_rule ? nest.before : nest.after, target, {.default_schedule = by_rule});
  });
  if (!module) return;
  const auto verdict =
      interp::compare_code(nest.before, [&](auto arguments) { module->entry().call(arguments); });
  EXPECT_NE(verdict.answer, interp::Answer::different) << verdict.reason << "\n"
                                                       << nest.text() << "lowered to\n"
                                                       << module->source("tir");
}

/// The same of what is left to the code generator.
void expect_same_when_lowered(const RandomNest& nest, const Target& target, bool by_rule = false) {
  const std::optional<Ptr<PrimFunc>> lowered = made_of(nest, [&] {
    const Ptr<PrimFunc> func = by_rule ? schedule_by_rule(nest.before, target) : nest.after;
    const Ptr<PrimFunc> whole = lower(func, target);
    split_host_device(whole);  // Refuses what a host may not do.
    return whole;
  });
  if (!lowered) return;
  const auto verdict = interp::compare(nest.before, *lowered);
  if (schedule_testing::is_of_no_result(verdict.reason)) return;
  EXPECT_NE(verdict.answer, interp::Answer::different) << verdict.reason << "\n"
                                                       << nest.text() << "lowered to\n"
                                                       << script(*lowered);
}

/// Programs for devices that were lowered to others once.
constexpr std::string_view found[] = {
    // Threads that reduce in each iteration of a loop that reduces, too.
    R"(A: T.Buffer((3, 4, 4), "int32"), C: T.Buffer((1,), "int32")):
    for i, j in T.grid(3, 4):
        if T.bool(True):
            for k in T.thread_binding(4, thread="threadIdx.x", annotations={"regroups": ["C"]}):
                with T.block("C"):
                    vi = T.axis.reduce(3, i)
                    vj = T.axis.reduce(16, j * 4 + k)
                    with T.init():
                        C[0] = 5
                    C[0] = C[0] + A[vi, vj // 4, vj % 4])",
    // The same where the reduction starts in the last iteration of both.
    R"(A: T.Buffer((16,), "int32"), C: T.Buffer((1,), "int32")):
    for j in range(4):
        if T.bool(True):
            for k in T.thread_binding(4, thread="threadIdx.x", annotations={"regroups": ["C"]}):
                with T.block("C"):
                    vj = T.axis.reduce(16, 15 - j * 4 - k)
                    C[0] = C[0] + A[vj])",
    // Memory decides whether the reduction starts.
    R"(A: T.Buffer((2,), "int32"), B: T.Buffer((1,), "int32")):
    for i in T.thread_binding(2, thread="threadIdx.x", annotations={"regroups": ["B"]}):
        with T.block("B"):
            vi = T.axis.reduce(2, i)
            T.where(A[i] < 2)
            with T.init():
                B[0] = 0
            B[0] = T.min(B[0], A[vi]))",
    // It never starts.
    R"(A: T.Buffer((7,), "uint32"), B: T.Buffer((5,), "uint32")):
    for i in T.thread_binding(2, thread="threadIdx.x", annotations={"regroups": ["B"]}):
        with T.block("B"):
            vi = T.axis.reduce(2, 1 - i)
            T.where(1 <= i and i < 1)
            with T.init():
                B[0] = A[6]
            B[0] = B[0] + A[vi])",
    // Lanes inside of threads that reduce.
    R"(B: T.Buffer((4, 3, 4), "int32"), C: T.Buffer((4, 4), "int32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k in T.thread_binding(3, thread="threadIdx.y", annotations={"regroups": ["C"]}):
            for j in T.vectorized(4):
                with T.block("C"):
                    vi, vk, vj = T.axis.remap("SRS", [i, k, j])
                    C[vi, vj] = C[vi, vj] + B[vi, vk, vj])",
    // Threads inside of lanes.
    R"(B: T.Buffer((3, 4), "int32"), C: T.Buffer((4,), "int32")):
    for j in T.vectorized(4):
        C[j] = 0
        for k in T.thread_binding(3, thread="threadIdx.x", annotations={"regroups": ["C"]}):
            with T.block("C"):
                vj, vk = T.axis.remap("SR", [j, k])
                C[vj] = C[vj] + B[vk, vj])",
    // A loop around the threads has no iteration: nothing is reduced.
    R"(A: T.Buffer((1, 4), "int32"), E: T.Buffer((1,), "int32")):
    for i in T.thread_binding(6, thread="blockIdx.x"):
        for j in range(0):
            for k in T.thread_binding(4, thread="threadIdx.x", annotations={"regroups": ["E"]}):
                with T.block("E"):
                    vi = T.axis.reduce(6, i)
                    vj = T.axis.reduce(0, j)
                    vk = T.axis.reduce(4, k)
                    with T.init():
                        E[0] = 7
                    E[0] = E[0] + A[vj, vk])",
    // No threads.
    R"(A: T.Buffer((1,), "int32"), D: T.Buffer((1,), "int32")):
    for i in T.thread_binding(0, thread="threadIdx.y", annotations={"regroups": ["D"]}):
        with T.block("D"):
            vi = T.axis.reduce(1, i)
            D[0] = D[0] + A[vi]
    for i in T.thread_binding(1, thread="threadIdx.x"):
        A[i] = 3)",
    // What decides whether a reduction starts is written just before.
    R"(A: T.Buffer((6,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((6,), "int32")
    for i in T.thread_binding(6, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[vi] = A[vi] - 50
        with T.block("C"):
            vi = T.axis.reduce(6, i)
            T.where(B[i] < 2)
            with T.init():
                C[0] = 0
            C[0] = C[0] + B[vi])",
    // Threads without a result begin with what is in memory.
    R"(A: T.Buffer((6, 6), "int32"), D: T.Buffer((6,), "int32")):
    for i in T.thread_binding(8, thread="threadIdx.y"):
        for j in T.thread_binding(6, thread="threadIdx.x", annotations={"regroups": ["D"]}):
            with T.block("D"):
                vi = T.axis.spatial(6, i)
                vj = T.axis.reduce(6, j)
                T.where(i < 6)
                with T.init():
                    D[vi] = A[vi, vi]
                D[vi] = T.max(D[vi], A[vj, vi]))",
    // A fetch by the host of what the device reads.
    R"(A: T.Buffer((4,), "int32"), C: T.Buffer((4, 4), "int32")):
    for i in range(4):
        T.prefetch(A[i])
        for j in T.thread_binding(4, thread="threadIdx.x"):
            C[i, j] = A[i] + j)",
    // Blocks store for nothing.
    R"(A: T.Buffer((5, 4), "int32")):
    x = T.decl_buffer((), "int32", scope="local")
    x[()] = 1
    A[0, 0] = x[()]
    for i in T.thread_binding(4, thread="blockIdx.x"):
        A[i, 3 - i] = A[i, 3 - i] + 3
        x[()] = A[i, 0])",
    // The shape of shared memory is told by a variable of the kernel.
    R"(F: T.Buffer((5,), "int32"), G: T.Buffer((5,), "int32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        n: T.int32 = F[i] % 4
        S_data = T.allocate([4], "int32", "shared")
        S = T.decl_buffer((T.max(n, 3) // 4 + 4,), "int32", data=S_data, scope="shared")
        for j in T.thread_binding(4, thread="threadIdx.x"):
            S[j] = F[i] + j
        for j in T.thread_binding(4, thread="threadIdx.x"):
            if i == 0:
                G[j] = S[3 - j])"};

TEST(random_nests, stay_right_for_devices_that_were_not) {
  for (const std::string_view lines : found) {
    const std::string text =
        fmt::format("from loopsmith.script import tir as T\n\n@T.prim_func\ndef main({}\n", lines);
    const Ptr<PrimFunc> func = parse_function(text);
    for (const char* target : {"opencl", "cuda -arch=sm_90"}) {
      const Ptr<PrimFunc> lowered = lower(func, Target(target));
      const auto verdict = interp::compare(func, lowered);
      EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason << "\n"
                                                      << text << "lowered to\n"
                                                      << script(lowered);
    }
  }
}

TEST(random_nests, start_from_results_by_the_default_schedule) {
  const Ptr<PrimFunc> func = parse_function(R"(from loopsmith.script import tir as T

@T.prim_func
def main(A: T.Buffer((6, 8), "int32"), C: T.Buffer((6,), "int32")):
    for i, j in T.grid(6, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = C[vi]
            C[vi] = C[vi] + A[vi, vj]
)");
  const Module module = build(func);
  const auto verdict =
      interp::compare_code(func, [&](auto arguments) { module.entry().call(arguments); });
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason;
}

template <class Check>
void for_each_nest(int cases, Machine machine, const Check& check) {
  const int first = testing::first_fuzz_seed(), count = testing::fuzz_cases(cases);
  int checked = 0;
  for (int seed = first; seed < first + count; ++seed) {
    const std::optional<RandomNest> nest = random_nest(static_cast<std::uint64_t>(seed), machine);
    if (!nest) continue;
    ++checked;
    check(*nest);
  }
  EXPECT_GT(checked, count / 3);
}

Target device_of(const RandomNest& nest) {
  return Target(nest.seed % 2 == 0 ? "opencl" : "cuda -arch=sm_90");
}

TEST(random_nests, compute_the_same_when_compiled) {
  for_each_nest(100, Machine::processor, [](const RandomNest& nest) {
    expect_same_code(nest, Target("llvm -mcpu=native"));
  });
}

TEST(random_nests, compute_the_same_when_compiled_from_c) {
  for_each_nest(10, Machine::processor,
                [](const RandomNest& nest) { expect_same_code(nest, Target("c")); });
}

TEST(random_nests, compute_the_same_by_the_default_schedule) {
  for_each_nest(100, Machine::processor, [](const RandomNest& nest) {
    expect_same_code(nest, Target("llvm -mcpu=native"), /*by_rule=*/true);
  });
}

TEST(random_nests, compute_the_same_when_lowered_for_devices) {
  for_each_nest(300, Machine::gpu,
                [](const RandomNest& nest) { expect_same_when_lowered(nest, device_of(nest)); });
}

TEST(random_nests, compute_the_same_by_the_default_schedule_of_devices) {
  for_each_nest(100, Machine::processor, [](const RandomNest& nest) {
    expect_same_when_lowered(nest, device_of(nest), /*by_rule=*/true);
  });
}

#if !defined(__SANITIZE_ADDRESS__)  // The driver keeps memory to the end, a leak to it.
TEST(random_nests, compute_the_same_on_a_device) {
  if (device_count(kDLOpenCL) == 0) GTEST_SKIP() << "there is no driver of OpenCL";
  for_each_nest(20, Machine::gpu,
                [](const RandomNest& nest) { expect_same_code(nest, Target("opencl")); });
}
#endif

}  // namespace
}  // namespace loopsmith
