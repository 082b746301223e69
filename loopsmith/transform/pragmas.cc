// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/pragmas.h"
#include "loopsmith/support/error.h"

#include <algorithm>

namespace loopsmith {
namespace {

constexpr std::string_view prefix = "pragma_";

/// What lowering acts on, and hints about parallel loops, which no result depends on.
constexpr std::string_view known_pragmas[] = {
    "pragma_auto_unroll_max_step",        "pragma_unroll_explicit",
    "pragma_loop_partition_hint",         "pragma_nontemporal",
    "pragma_parallel_launch_point",       "pragma_parallel_stride_pattern",
    "pragma_parallel_barrier_when_finish"};

/// Those whose value is code, or the name of a file with code.
constexpr std::string_view code_pragmas[] = {"pragma_import_c", "pragma_import_llvm"};

/// The value of a pragma, if it is of the right kind.
Expr value_of(std::string_view key, const Ref& value, std::string_view what, const Span& span) {
  Expr given = Expr::from(value);
  if (std::ranges::find(code_pragmas, key) != std::end(code_pragmas)) {
    require(given.defined() && given.is<StringImm>(), ErrorKind::lower, "pragma_is_a_text",
            hint("give the code, or the path of a file that has it"), span,
            "lower_blocks: the value of {} of {} is no text", key, what);
    return given;
  }
  require(given.defined() && as_int(given) && *as_int(given) >= 0, ErrorKind::lower,
          "pragma_is_a_number", hint("give an integer, 0 or more"), span,
          "lower_blocks: the value of {} of {} is no such number", key, what);
  return given;
}

bool is_known(std::string_view key) {
  return std::ranges::find(known_pragmas, key) != std::end(known_pragmas) ||
         std::ranges::find(code_pragmas, key) != std::end(code_pragmas);
}

}  // namespace

Stmt with_pragmas(const Attrs& annotations, std::string_view what, const Span& span, Stmt body) {
  for (const auto& [key, value] : annotations) {
    if (!key.starts_with(prefix)) continue;
    require(is_known(key), ErrorKind::lower, "pragma_is_known",
            hint("use pragma_auto_unroll_max_step, pragma_unroll_explicit, "
                 "pragma_loop_partition_hint, pragma_nontemporal, pragma_import_c or "
                 "pragma_import_llvm, or unannotate "
                 "it"),
            span, "lower_blocks: {} has annotation {}, which is no known pragma", what, key);
    body = make(AttrStmt{
        .attr_key = key, .value = value_of(key, value, what, span), .body = std::move(body)});
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
