// SPDX-License-Identifier: Apache-2.0

// What a call from C++ costs: three arrays, all checks, a kernel that does nothing.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "loopsmith/runtime/module.h"
#include "loopsmith/runtime/ndarray.h"

int main() {
  using namespace loopsmith;
  const auto named = [](const char* symbol) { return ExtentRule::named(symbol); };
  const Signature signature(
      {.name = "matmul",
       .parameters =
           {{.name = "A", .shape = {named("m"), named("k")}, .alignment = 64},
            {.name = "B", .shape = {named("k"), named("n")}, .alignment = 64},
            {.name = "C", .shape = {named("m"), named("n")}, .alignment = 64, .writable = true}},
       .symbols = {{"m"}, {"k"}, {"n"}}});
  const ls_packed_function nothing = [](ls_context*, const ls_argument*) -> std::int32_t {
    return LS_OK;
  };
  const Function function = Module({{signature, nothing}}).entry();
  const NDArray a = NDArray::zeros({8, 8}), b = NDArray::zeros({8, 8}), c = NDArray::zeros({8, 8});

  constexpr int calls = 100000;
  double best = 1;
  for (int repeat = 0; repeat < 50; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) function(a, b, c);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::min(best, elapsed.count() / calls);
  }
  fmt::print("a call with three arrays and all its checks: {:.1f} ns\n", best * 1e9);
}
