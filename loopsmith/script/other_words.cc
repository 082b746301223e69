// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/script/other_words.h"

#include <utility>

namespace loopsmith {

std::string_view hint_for_other_word(std::string_view word) {
  static constexpr std::pair<std::string_view, std::string_view> hints[] = {
      {"print",
       "register a function of the host, ls.register_func(\"show\", print), and write "
       "T.evaluate(T.call_packed(\"show\", x))"},
      {"Parallel", "write `for i in T.parallel(n):`"},
      {"Pipelined", "annotate the loop with software_pipeline_stage in a schedule"},
      {"Persistent", "write `for i in T.parallel(n):`"},
      {"Kernel", "bind loops: `for b in T.thread_binding(n, thread=\"blockIdx.x\"):`"},
      {"alloc_shared", "write T.alloc_buffer(shape, dtype, scope=\"shared\")"},
      {"alloc_fragment", "write T.alloc_buffer(shape, dtype, scope=\"local\")"},
      {"alloc_local", "write T.alloc_buffer(shape, dtype, scope=\"local\")"},
      {"copy", "write the loops of the copy"},
      {"gemm", "write the loops of the product, and schedule them"},
      {"program_id", "bind a loop: T.thread_binding(n, thread=\"blockIdx.x\")"},
      {"arange", "write a loop, and vectorize it: `for i in T.vectorized(n):`"},
      {"where", "write T.if_then_else(condition, a, b)"},
  };
  for (const auto& [name, hint] : hints) {
    if (name == word) return hint;
  }
  return {};
}

}  // namespace loopsmith
