// SPDX-License-Identifier: Apache-2.0
// What tests of concurrent loops and of threads share.
#pragma once
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith::schedule_testing {

inline std::string obligations_of(const Schedule& schedule) {
  std::vector<std::string> texts;
  for (const Refusal& refusal : obligations(schedule)) texts.push_back(explain(schedule, refusal));
  return fmt::format("{}", fmt::join(texts, "; "));
}

/// B is computed, C reads three of its columns at a time, D reads C.
inline Ptr<PrimFunc> blur() {
  return program(R"(A: T.Buffer((6, 10), "float32"), D: T.Buffer((6, 8), "float32"))", R"(
B = T.alloc_buffer((6, 10))
C = T.alloc_buffer((6, 8))
for i, j in T.grid(6, 10):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * T.float32(2)
for i, j in T.grid(6, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + B[vi, vj + 1] * B[vi, vj + 2]
for i, j in T.grid(6, 8):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = C[vi, vj] + T.float32(1)
)");
}

}  // namespace loopsmith::schedule_testing
