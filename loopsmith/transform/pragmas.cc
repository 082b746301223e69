// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/pragmas.h"

#include <algorithm>

namespace loopsmith {
namespace {

constexpr std::string_view prefix = "pragma_";

/// What lowering acts on, and hints about parallel loops, which no result depends on.
constexpr std::string_view known_pragmas[] = {
    "pragma_auto_unroll_max_step",    "pragma_unroll_explicit",
    "pragma_loop_partition_hint",     "pragma_parallel_launch_point",
    "pragma_parallel_stride_pattern", "pragma_parallel_barrier_when_finish"};

}  // namespace

Stmt with_pragmas(const Attrs& annotations, std::string_view what, const Span& span, Stmt body) {
  for (const auto& [key, value] : annotations) {
    if (!key.starts_with(prefix)) continue;
    require(std::ranges::find(known_pragmas, key) != std::end(known_pragmas), ErrorKind::lower,
            "pragma_is_known",
            hint("use pragma_auto_unroll_max_step, pragma_unroll_explicit or "
                 "pragma_loop_partition_hint, or unannotate it"),
            span, "lower_blocks: {} has annotation {}, which is no known pragma", what, key);
    const Expr number = Expr::from(value);
    require(number.defined() && as_int(number) && *as_int(number) >= 0, ErrorKind::lower,
            "pragma_is_a_number", hint("give an integer, 0 or more"), span,
            "lower_blocks: the value of {} of {} is no such number", key, what);
    body = make(AttrStmt{.attr_key = key, .value = number, .body = std::move(body)});
  }
  return body;
}

Attrs without_pragmas(const Attrs& annotations) {
  Attrs left = annotations;
  for (const auto& [key, value] : annotations) {
    if (key.starts_with(prefix)) left = left.with(key, nullptr);
  }
  return left;
}

}  // namespace loopsmith
