// SPDX-License-Identifier: Apache-2.0
// What lanes of a vectorized loop do in step, and what would change its order.
#include "loopsmith/interp/interleaving.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/interp/testing/call.h"
#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::interp {
namespace {

using testing::Call;

/// The text of an error without its lines, which are those of the script.
std::string without_lines(std::string text) {
  for (std::size_t at; (at = text.find(" (line ")) != std::string::npos;) {
    text.erase(at, text.find(')', at) + 1 - at);
  }
  return text;
}

/// A function of A and B, which have 16 elements, with `lines` in lanes i = 0 .. 3.
Ptr<PrimFunc> in_lanes(std::string_view lines) {
  std::string text = R"(@T.prim_func
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in T.vectorized(4):
)";
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    text += fmt::format("        {}\n", lines.substr(0, end));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  return parse_function(text);
}

std::string error_of(const Ptr<PrimFunc>& func, const Options& options = {}) {
  std::vector<std::int32_t> a(16), b(16);
  return without_lines(Call(func).tensor(a).tensor(b).error(options));
}

TEST(interleaving, lanes_leave_a_loop_together) {
  for (const char* lines : {
           // Lanes go round 4, 3, 2 and 1 times.
           "for k in range(4 - i):\n    B[i] = B[i] + k\nA[0] = i",
           "while B[i] < 4 - i:\n    B[i] = B[i] + 1\nA[0] = i",
           "for k in range(5):\n    if k == 4 - i:\n        break\n    B[i] = k\nA[0] = i",
           "while True:\n    if B[i] == 4 - i:\n        break\n    B[i] = B[i] + 1\nA[0] = i",
           // Not all lanes come to the loop.
           "if i == 0:\n    for k in range(3):\n        B[i] = k\nA[0] = i",
           "for k in range(3 - i):\n    for m in range(k + 1):\n        B[i] = m\nA[i] = A[i + 1]",
           // After each iteration of a loop that all come to.
           "for k in range(3):\n    for m in range(4 - i):\n        B[i] = m\n    A[k] = i",
           "for k in range(3):\n    for m in range(9):\n        if m > k + i: break\n    A[k] = i",
       }) {
    EXPECT_EQ(error_of(in_lanes(lines)), "") << lines;
  }
}

TEST(interleaving, iterations_come_one_after_another) {
  EXPECT_EQ(error_of(in_lanes("for k in range(i + 1):\n    A[k] = i")), "");
  EXPECT_EQ(error_of(in_lanes("for k in range(4 - i):\n    A[i + k] = i")),
            "InterpError: no_race: race on A[1]: i = 0 writes it, i = 1 writes it, and nothing "
            "orders the two");
  // Lane 0 reads before it goes on to the loop; afterwards it would read what lane 1 has written.
  const std::string loop = "for k in range(2):\n    A[i] = k", read = "B[i] = A[(i + 1) % 4]";
  EXPECT_EQ(error_of(in_lanes(read + "\n" + loop)),
            "InterpError: no_race: race on A[0]: i = 0 writes it, i = 3 reads it, and nothing "
            "orders the two");
  EXPECT_EQ(error_of(in_lanes(loop + "\n" + read)),
            "InterpError: no_race: race on A[1]: i = 0 reads it, i = 1 writes it, and nothing "
            "orders the two");
}

TEST(interleaving, iterations_of_other_loops_do_not_count) {
  const auto after = [](std::string_view count) {
    return fmt::format(
        "for k in range({}):\n    B[i] = k\n"
        "for k in range(2):\n    if i == k:\n        A[0] = B[i]\n    if i == 1 - k:\n"
        "        B[i] = A[0]",
        count);
  };
  // In iteration 0 of the second loop lane 0 writes and lane 1 reads, in 1 the other way round.
  for (const char* count : {"3", "3 * i", "6 - 3 * i"}) {
    EXPECT_EQ(error_of(in_lanes(after(count))),
              "InterpError: no_race: race on A[0]: i = 0 reads it, i = 1 writes it, and nothing "
              "orders the two")
        << count;
  }
}

TEST(interleaving, calls_end_for_all_lanes) {
  const auto module = parse_module(R"(@I.ir_module
class Module:
    @T.prim_func
    def count(n: T.int32) -> T.int32:
        for k in range(100):
            if k == n:
                return k
        return 0

    @T.prim_func
    def main(A: T.Buffer((16,), "int32")):
        for i in T.vectorized(4):
            A[i] = cls.count(3 - i)
            A[8] = i
            A[9 + i] = A[i]
)");
  const NDArray array = NDArray::zeros({16}, dtype::int32);
  EXPECT_NO_THROW(run(module, "main", std::vector<CallArgument>{array}));
  EXPECT_EQ(array.data<std::int32_t>()[3], 0);
  EXPECT_EQ(array.data<std::int32_t>()[8], 3);
}

TEST(interleaving, take_no_more_memory_than_allowed) {
  const auto func = in_lanes("for k in range(1000):\n    for m in range(1):\n        A[i] = k");
  EXPECT_EQ(error_of(func), "");
  EXPECT_EQ(
      error_of(func, {.max_bytes = 10'000}),
      "InterpError: memory_limit: what lanes of i do inside, 167 loops, does not fit into what "
      "is left of 10000 bytes");
}

}  // namespace
}  // namespace loopsmith::interp
