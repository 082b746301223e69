// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/insert_barriers.h"

#include <algorithm>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

/// The lines that `body` becomes, inside of a block of 32 threads with shared memory S and T.
std::string with_barriers(const std::string& body) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32"), n: T.int32):
    S = T.decl_buffer((64,), scope="shared")
    R = T.decl_buffer((64,), scope="shared")
    for t in T.thread_binding(32, thread="threadIdx.x"):
)" + body);
  const std::string text = script(insert_barriers(func));
  std::string lines;
  const std::string head = "threadIdx.x\"):\n";
  std::size_t at = text.find(head) + head.size();
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines += text.substr(std::min(at + 8, end), end - std::min(at + 8, end)) + "\n";
    at = end + 1;
  }
  return lines;
}

int barriers_in(const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find("sync("); at != std::string::npos;
       at = text.find("sync(", at + 1))
    ++count;
  return count;
}

TEST(insert_barriers, waits_for_what_another_thread_wrote) {
  EXPECT_EQ(with_barriers(R"(        S[t] = A[0, t]
        B[0, t] = S[31 - t]
)"),
            R"(S[t] = A[0, t]
T.tvm_storage_sync("shared")
B[0, t] = S[31 - t]
)");
}

TEST(insert_barriers, does_not_wait_for_what_a_thread_wrote_itself) {
  EXPECT_EQ(barriers_in(with_barriers(R"(        S[t] = A[0, t]
        R[t] = S[t] + S[t]
        B[0, t] = R[t]
)")),
            0);
}

TEST(insert_barriers, does_not_wait_where_threads_stay_apart) {
  // The first half is written where the second is read.
  EXPECT_EQ(barriers_in(with_barriers(R"(        S[t] = A[0, t]
        B[0, t] = S[t] + R[t + 32]
        if t < 16:
            R[t] = S[t]
)")),
            0);
}

TEST(insert_barriers, waits_once_for_two_copies) {
  EXPECT_EQ(barriers_in(with_barriers(R"(        S[t] = A[0, t]
        R[t] = A[1, t]
        B[0, t] = S[31 - t] + R[31 - t]
)")),
            1);
}

TEST(insert_barriers, waits_before_what_others_still_read_is_overwritten) {
  EXPECT_EQ(with_barriers(R"(        for k in range(8):
            S[t] = A[k, t]
            B[k, t] = S[31 - t]
)"),
            R"(for k in range(8):
    T.tvm_storage_sync("shared")
    S[t] = A[k, t]
    T.tvm_storage_sync("shared")
    B[k, t] = S[31 - t]
)");
}

TEST(insert_barriers, waits_once_an_iteration_where_two_buffers_take_turns) {
  EXPECT_EQ(barriers_in(with_barriers(R"(        for k in range(8):
            S[k % 2 * 32 + t] = A[k, t]
            B[k, t] = S[k % 2 * 32 + 31 - t]
)")),
            1);
}

TEST(insert_barriers, moves_a_condition_of_threads_inside) {
  EXPECT_EQ(with_barriers(R"(        if t < 16:
            S[t] = A[0, t]
            B[0, t] = S[15 - t]
)"),
            R"(if t < 16:
    S[t] = A[0, t]
T.tvm_storage_sync("shared")
if t < 16:
    B[0, t] = S[15 - t]
)");
}

TEST(insert_barriers, leaves_a_condition_that_all_threads_share) {
  EXPECT_EQ(with_barriers(R"(        if n < 16:
            S[t] = A[0, t]
            B[0, t] = S[31 - t]
)"),
            R"(if n < 16:
    S[t] = A[0, t]
    T.tvm_storage_sync("shared")
    B[0, t] = S[31 - t]
)");
}

TEST(insert_barriers, fences_memory_of_the_device_where_that_is_what_threads_exchange) {
  EXPECT_NE(with_barriers(R"(        B[0, t] = A[0, t]
        B[1, t] = B[0, 31 - t]
)")
                .find("T.tvm_storage_sync(\"global\")"),
            std::string::npos);
}

TEST(insert_barriers, knows_that_elements_have_several_indices) {
  EXPECT_EQ(barriers_in(with_barriers(
                R"(        V = T.decl_buffer((32, 2), data=S.data, strides=(1, 1), scope="shared")
        V[t, 0] = A[0, t]
        B[0, t] = V[T.max(t - 1, 0), 1]
)")),
            1);
  // Columns that lie one after another overlap no more than rows do.
  EXPECT_EQ(barriers_in(with_barriers(
                R"(        V = T.decl_buffer((32, 2), data=S.data, strides=(1, 32), scope="shared")
        V[t, 0] = A[0, t]
        B[0, t] = V[t, 0]
)")),
            0);
}

TEST(insert_barriers, compares_indices_of_one_buffer_alone) {
  // Rows 0 of V and 1 of W are elements of one another.
  EXPECT_EQ(barriers_in(with_barriers(
                R"(        V = T.decl_buffer((2, 32), data=S.data, scope="shared")
        W = T.decl_buffer((4, 16), data=S.data, scope="shared")
        V[0, t] = A[0, t]
        B[0, t] = W[1, t // 2]
)")),
            1);
}

/// The barriers of `body`, run by four warps along y, in their order.
std::string barriers_of_warps(const std::string& body) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8, 4, 32), "float32"), B: T.Buffer((8, 4, 32), "float32")):
    S = T.decl_buffer((4, 32), scope="shared")
    for w in T.thread_binding(4, thread="threadIdx.y"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
)" + body);
  const std::string text = script(insert_barriers(func, 32));
  std::string found;
  for (std::size_t at = 0; (at = text.find("sync(\"", at)) != std::string::npos;) {
    at += 6;
    found += text.substr(at, text.find('"', at) - at) + " ";
  }
  return found;
}

TEST(insert_barriers, lets_a_warp_wait_where_its_threads_alone_conflict) {
  EXPECT_EQ(barriers_of_warps(R"(            S[w, t] = A[0, w, t]
            B[0, w, t] = S[w, 31 - t]
)"),
            "warp ");
  EXPECT_EQ(barriers_of_warps(R"(            S[w, t] = A[0, w, t]
            B[0, w, t] = S[3 - w, t]
)"),
            "shared ");
  EXPECT_EQ(barriers_of_warps(R"(            for k in range(8):
                S[w, t] = A[k, w, t]
                B[k, w, t] = S[w, 31 - t]
)"),
            "warp warp ");
}

TEST(insert_barriers, remembers_across_a_wait_of_warps_what_others_have_written) {
  EXPECT_EQ(barriers_of_warps(R"(            S[w, t] = A[0, w, t]
            B[0, w, t] = S[w, 31 - t]
            B[1, w, t] = S[3 - w, t]
)"),
            "warp shared ");
  EXPECT_EQ(barriers_of_warps(R"(            S[w, t] = A[0, w, t]
            B[0, w, t] = S[w, 31 - t]
            B[1, w, t] = S[w, t // 2]
)"),
            "warp ");
  EXPECT_EQ(barriers_of_warps(R"(            for k in range(8):
                S[w, t] = A[k, w, t]
                B[k, w, t] = S[w, 31 - t]
            B[0, w, t] = S[3 - w, t]
)"),
            "warp warp shared ");
}

TEST(insert_barriers, keeps_those_of_the_program) {
  EXPECT_EQ(barriers_in(with_barriers(R"(        S[t] = A[0, t]
        T.tvm_storage_sync("shared")
        B[0, t] = S[31 - t]
)")),
            1);
}

TEST(insert_barriers, refuses_loops_that_are_as_long_as_the_thread_says) {
  const std::string text = error_of([] {
    with_barriers(R"(        for k in range(t):
            S[t] = A[0, t]
            B[0, t] = S[31 - t]
)");
  });
  EXPECT_TRUE(text.starts_with(
      "threads have to wait for each other in loop k, which runs as often as the thread says"))
      << text;
}

}  // namespace
}  // namespace loopsmith
