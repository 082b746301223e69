// SPDX-License-Identifier: Apache-2.0
// How long it takes to read a script. Medians.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

/// A function of about `lines` lines: blocks in loops, stores, variables, calls.
std::string long_function(int lines) {
  std::string text =
      "@T.prim_func\ndef main(A: T.Buffer((128, 128), \"float32\"), B: T.Buffer((128, 128), "
      "\"float32\"), n: T.int32):\n";
  for (int i = 0; i < lines; i += 10) {
    text += fmt::format(
        "    for i, j in T.grid(128, 128):\n"
        "        with T.block(\"b{}\"):\n"
        "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
        "            T.reads(A[vi, vj])\n"
        "            T.writes(B[vi, vj])\n"
        "            B[vi, vj] = A[vi, vj] * T.float32({}) + T.exp(A[vi, vj])\n"
        "    for i in T.parallel(n):\n"
        "        x = A[i, 0] + 1.0\n"
        "        if i % 2 == 0 and i < n - 1:\n"
        "            A[i, n // 2] = T.if_then_else(x < 0, x * x, T.max(x, B[i, 0]))\n",
        i, i);
  }
  return text;
}

double milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void measure(int lines) {
  const std::string text = long_function(lines);
  std::vector<double> times;
  for (int round = 0; round < 21; ++round) {
    const double start = milliseconds();
    (void)parse(text, {.name = "bench"});
    times.push_back(milliseconds() - start);
  }
  std::ranges::sort(times);
  fmt::print("{:6} lines {:8} bytes {:8.2f} ms\n", lines, text.size(), times[times.size() / 2]);
}

}  // namespace
}  // namespace loopsmith

int main() {
  for (const int lines : {100, 1000, 10000}) loopsmith::measure(lines);
}
