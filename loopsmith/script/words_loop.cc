// SPDX-License-Identifier: Apache-2.0
// Loops: what stands after `in`.
#include "loopsmith/ir/extent.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

ScriptValue loops(std::vector<LoopHeader> headers) {
  auto frame = std::make_shared<Frame>();
  frame->loops = std::move(headers);
  return ScriptValue::Data(std::move(frame));
}

/// A loop from `start` to `stop`, or from 0 to `start`. Numbers take the type of the others.
LoopHeader header(Lowering& lowering, const Arguments& args, ForKind kind,
                  const ScriptValue& step) {
  const bool has_stop = args.has(1) && !args[1].is_none();
  const ScriptValue start = has_stop ? args[0] : ScriptValue::integer(0);
  const ScriptValue& stop = has_stop ? args[1] : args[0];
  const std::vector<Expr> bounds =
      lowering.matched({start, stop, step.is_none() ? ScriptValue::integer(1) : step});
  for (const Expr& bound : bounds) {
    lowering.require_here(bound.dtype().is_integer() && bound.dtype().is_scalar(),
                          "loop_over_integers", hint("give integers"),
                          "a loop runs over integers, not over {}", to_string(bound.dtype()));
  }
  const std::int64_t* constant = as_int(bounds[2]);
  lowering.require_here(!constant || *constant != 0, "step_is_not_zero",
                        hint("give a positive or negative step"), "the loop has step 0");
  // One type for all: the widest of the bounds.
  auto [first, last] = match_types(bounds[0], bounds[1]);
  const Expr stride = cast(first.dtype(), bounds[2]);
  const Expr extent = extent_between(first, last, stride);
  return {first, extent, stride, kind};
}

template <ForKind kind>
ScriptValue simple_loop(Lowering& lowering, const Arguments& args, const Word&) {
  LoopHeader loop = header(lowering, args, kind, args[2]);
  loop.annotations = lowering.attrs(args[3], "annotations");
  return loops({std::move(loop)});
}

ScriptValue thread_binding(Lowering& lowering, const Arguments& args, const Word&) {
  ScriptValue thread = args[2];
  std::vector<ScriptValue> bounds{args[0], args[1]};
  // T.thread_binding(128, "threadIdx.x")
  if (thread.is_none() && args[1].as<std::string>()) {
    thread = args[1];
    bounds[1] = ScriptValue();
  }
  lowering.require_here(!thread.is_none(), "thread_is_named", hint("write thread=\"threadIdx.x\""),
                        "T.thread_binding: no thread is given");
  const Arguments plain(*find_word("builtin", "range"),
                        bounds[1].is_none() ? std::vector{bounds[0]} : bounds, {});
  LoopHeader loop = header(lowering, plain, ForKind::thread_binding, args[3]);
  loop.thread_tag = lowering.text(thread, "T.thread_binding");
  loop.annotations = lowering.attrs(args[4], "annotations");
  return loops({std::move(loop)});
}

ScriptValue grid(Lowering& lowering, const Arguments& args, const Word&) {
  std::vector<LoopHeader> headers;
  for (const ScriptValue& given : args.rest()) {
    const ScriptValue value = lowering.named(given);
    const auto* pair = value.as_shared<ScriptValue::List>();
    const Arguments bounds(*find_word("builtin", "range"),
                           pair && pair->items.size() == 2 ? pair->items : std::vector{value}, {});
    headers.push_back(header(lowering, bounds, ForKind::serial, ScriptValue()));
  }
  return loops(std::move(headers));
}

constexpr std::string_view loop_parameters =
    "start: ExprLike, stop: ExprLike | None = None, step: ExprLike = 1, *, annotations: "
    "dict[str, Any] | None = None";

constexpr std::string_view loop_result = "Iterator[Expr]";

}  // namespace

std::span<const Word> loop_words() {
  static constexpr Word words[] = {
      {"T", "serial", loop_parameters, loop_result, simple_loop<ForKind::serial>,
       "A loop whose iterations run in order."},
      {"T", "parallel", loop_parameters, loop_result, simple_loop<ForKind::parallel>,
       "A loop whose iterations run on all threads."},
      {"T", "vectorized", loop_parameters, loop_result, simple_loop<ForKind::vectorized>,
       "A loop that becomes vector instructions."},
      {"T", "unroll", loop_parameters, loop_result, simple_loop<ForKind::unrolled>,
       "A loop that becomes a copy of its body for each iteration."},
      {"T", "thread_binding",
       "start: ExprLike, stop: ExprLike | str | None = None, thread: str | None = None, *, step: "
       "ExprLike = 1, annotations: dict[str, Any] | None = None",
       loop_result, thread_binding, "A loop each iteration of which is a GPU thread or block."},
      {"T", "grid", "*extents: ExprLike | tuple[ExprLike, ExprLike]", "Iterator[tuple[Expr, ...]]",
       grid, "Loops inside each other, each from 0 to its extent."},
      {"T", "range", loop_parameters, loop_result, simple_loop<ForKind::serial>,
       "The same as `range` in a script."},
  };
  return words;
}

ScriptValue builtin_range(Lowering& lowering, const Arguments& args, const Word& word) {
  return simple_loop<ForKind::serial>(lowering, args, word);
}

}  // namespace loopsmith::parsing
