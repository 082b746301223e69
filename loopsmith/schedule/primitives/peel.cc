// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/peel.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/data_parameters.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/empty_reductions.h"
#include "loopsmith/schedule/queries/function_variables.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/path_condition.h"
#include "loopsmith/schedule/rewrites/edits.h"
#include "loopsmith/schedule/rewrites/loop_parts.h"

namespace loopsmith {
namespace {

/// The parts of a loop of unknown extent. What is between the borders has an extent below 0 where
/// they meet.
std::vector<PeeledPart> parts_between(const For& loop, const PeelArguments& arguments,
                                      Analyzer& analyzer) {
  const DataType type = loop.loop_var->dtype;
  const Expr zero = int_imm(type, 0), all = cast(type, loop.extent);
  const Expr first = int_imm(type, arguments.first), last = int_imm(type, arguments.last);
  std::vector<PeeledPart> parts;
  if (arguments.first > 0) parts.push_back({zero, analyzer.simplify(min(first, all)), "_first"});
  parts.push_back({first, analyzer.simplify(all - first - last), ""});
  if (arguments.last > 0) {
    parts.push_back({analyzer.simplify(max(first, all - last)),
                     analyzer.simplify(min(last, all - first)), "_last"});
  }
  return parts;
}

bool holds_blocks(const IfThenElse& branch) {
  bool found = false;
  pre_order_visit(make(IfThenElse(branch)), [&](const Ref& ref) {
    found = found || ref.is<Block>();
    return !found && !is_expr(*ref.get());
  });
  return found;
}

/// True when a block in the loop, of whose reduction that is a loop, may have nothing to reduce.
bool may_reduce_nothing_over(const For& loop) {
  bool found = false;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* realize = ref.as<BlockRealize>();
    found = found || (realize && may_reduce_nothing(*realize->block) &&
                      arith::is_reduction_loop(*realize, loop.loop_var));
    return !found && !is_expr(*ref.get());
  });
  return found;
}

/// What is done in a part of a loop: statements, and blocks of which its variable is an axis, know
/// its values, and what these decide is decided.
Stmt body_for_values(const Schedule& schedule, std::uint32_t function, const For& part) {
  const PrimFunc& func = *schedule.as<PrimFunc>(schedule.root(function));
  // Of loops around, blocks with axes read nothing.
  const bool is_known_to_blocks =
      read_beside_sizes(func, part.min).empty() && read_beside_sizes(func, part.extent).empty();
  // The init of a reduction over nothing is given whatever conditions say that read its loops.
  const bool conditions_stay = may_reduce_nothing_over(part);
  Analyzer analyzer;
  learn_sizes(schedule, function, analyzer);
  for (const Ptr<Var>& scalar : arith::data_parameters(func)) analyzer.mark_data(scalar);
  analyzer.bind_range(part.loop_var, part.min, part.extent);
  Rewriter inside;
  // Conditions also by bounds that are sizes.
  const auto decided = [&](const Expr& expr) -> Expr {
    Expr simple = analyzer.simplify(expr);
    if (!simple.dtype().is_bool() || as_int(simple)) return simple;
    for (const bool is_true : {true, false}) {
      const Expr condition = is_true ? simple : analyzer.simplify(!simple);
      if (analyzer.can_prove(condition, ProofStrength::symbolic_bound)) {
        return int_imm(boolean, is_true);
      }
    }
    return simple;
  };
  const auto decide = [&]<class Node>(const Node& node) -> Expr {
    const Expr expr(inside.children(node));
    const Expr simple = decided(expr);
    return simple.is<Node>() ? expr : simple;
  };
  inside.on<Min>([&](const Min& node) { return decide(node); });
  inside.on<Max>([&](const Max& node) { return decide(node); });
  inside.on<FloorDiv>([&](const FloorDiv& node) { return decide(node); });
  inside.on<FloorMod>([&](const FloorMod& node) { return decide(node); });
  inside.on<LT>([&](const LT& node) { return decide(node); });
  inside.on<LE>([&](const LE& node) { return decide(node); });
  inside.on<GT>([&](const GT& node) { return decide(node); });
  inside.on<GE>([&](const GE& node) { return decide(node); });
  inside.on<EQ>([&](const EQ& node) { return decide(node); });
  inside.on<NE>([&](const NE& node) { return decide(node); });
  inside.on<Mul>([&](const Mul& node) -> Expr {
    const Ptr<Mul> product = inside.children(node);
    const bool is_known = as_int(product->a) && as_int(product->b);
    return is_known ? analyzer.simplify(product) : Expr(product);
  });
  inside.on<Select>([&](const Select& node) -> Expr {
    const Expr simple = decided(node.condition);
    const std::int64_t* condition = as_int(simple);
    if (!condition) return Expr(inside.children(node));
    return inside(*condition ? node.true_value : node.false_value);
  });
  inside.on<LetStmt>([&](const LetStmt& node) -> Stmt {
    const Expr value = analyzer.simplify(node.value);
    if (!as_int(value)) return inside.children(node);
    return inside(substitute(node.body, {{node.var, value}}));
  });
  inside.on<IfThenElse>([&](const IfThenElse& node) -> Stmt {
    if (conditions_stay && holds_blocks(node)) {
      IfThenElse copy = node;
      copy.then_case = inside(node.then_case);
      if (node.else_case) copy.else_case = inside(node.else_case);
      return make(std::move(copy));
    }
    const Expr simple = decided(node.condition);
    const std::int64_t* condition = as_int(simple);
    // Blocks of a body are told by their order.
    if (!condition || holds_blocks(node)) return inside.children(node);
    if (*condition) return inside(node.then_case);
    return node.else_case ? inside(node.else_case) : no_op();
  });
  inside.on<For>([&](const For& node) -> Stmt {
    const Ptr<For> decided_inside = inside.children(node);
    if (decided_inside->min.same_as(node.min) && decided_inside->extent.same_as(node.extent)) {
      return decided_inside;
    }
    For copy = *decided_inside;
    copy.min = analyzer.simplify(copy.min);
    copy.extent = analyzer.simplify(copy.extent);
    return make(std::move(copy));
  });
  // Regions are declared in terms of what is decided.
  inside.on<Range>([&](const Range& node) -> Ptr<Range> {
    Ptr<Range> decided_inside = inside.children(node);
    if (decided_inside.get() == &node) return decided_inside;
    return make(Range{.min = analyzer.simplify(decided_inside->min),
                      .extent = analyzer.simplify(decided_inside->extent)});
  });
  inside.on<BlockRealize>([&](const BlockRealize& node) -> Stmt {
    BlockRealize copy = node;
    for (Expr& value : copy.iter_values) value = inside(value);
    if (!conditions_stay) copy.predicate = inside(copy.predicate);
    if (!is_known_to_blocks) return make(std::move(copy));
    for (std::size_t i = 0; i < node.iter_values.size(); ++i) {
      const Ptr<IterVar>& axis = node.block->iter_vars[i];
      const bool is_axis = node.iter_values[i].same_as(part.loop_var) && axis->dom &&
                           (axis->iter_type != IterType::comm_reduce || !node.block->init);
      if (!is_axis) continue;
      const DataType type = axis->var->dtype;
      const Range values{.min = cast(type, part.min), .extent = cast(type, part.extent)};
      analyzer.bind_range(axis->var, values.min, values.extent);
      const Ptr<Block> decided = inside.children(*copy.block);
      if (decided.same_as(copy.block)) continue;
      Block block = *decided;
      IterVar narrow = *axis;
      narrow.dom = make(Range(values));
      block.iter_vars[i] = make(std::move(narrow));
      copy.block = make(std::move(block));
    }
    return make(std::move(copy));
  });
  return inside(part.body);
}

/// The value at which a loop is cut.
Expr value_of(const Schedule& schedule, const LoopValue& at, DataType type) {
  if (const auto* number = std::get_if<std::int64_t>(&at.value)) return int_imm(type, *number);
  if (const auto* loop = std::get_if<LoopRV>(&at.value)) {
    return cast(type, schedule.get(*loop).loop_var);
  }
  return cast(type, std::get<Expr>(at.value));
}

/// The parts of a loop, which counts by 1, around a value. Those without iterations may have an
/// extent below 0.
std::vector<PeeledPart> parts_around(const For& loop, const PeelArguments& arguments,
                                     const Expr& value, Analyzer& analyzer) {
  const DataType type = loop.loop_var->dtype;
  const Expr zero = int_imm(type, 0), all = cast(type, loop.extent);
  const auto is_at_most = [&](const Expr& a, const Expr& b) {
    return analyzer.can_prove(a <= b, ProofStrength::symbolic_bound);
  };
  const auto least = [&](const Expr& a, const Expr& b) {
    return is_at_most(a, b) ? a : is_at_most(b, a) ? b : min(a, b);
  };
  const auto largest = [&](const Expr& a, const Expr& b) {
    return is_at_most(b, a) ? a : is_at_most(a, b) ? b : max(a, b);
  };
  const Expr begin = value - cast(type, loop.min), end = begin + int_imm(type, arguments.first);
  const Expr stop = all - int_imm(type, arguments.last), rest = largest(end, zero);
  std::vector<PeeledPart> parts;
  const auto add = [&](const Expr& from, const Expr& to, std::string suffix) {
    if (is_at_most(to, from)) return;
    parts.push_back({analyzer.simplify(from), analyzer.simplify(to - from), std::move(suffix)});
  };
  add(zero, least(begin, all), "_before");
  add(largest(begin, zero), least(end, all), "_at");
  add(rest, stop, "");
  add(largest(stop, rest), all, "_last");
  return parts;
}

/// True when a block in `inside` reduces over a loop around it that may have no iterations: its
/// init is then given outside of that loop, under the parts as they are for no value of it.
bool may_reduce_nothing(const Schedule& schedule, LoopRV around, LoopRV inside) {
  return std::ranges::any_of(child_blocks(schedule, schedule.node(inside)), [&](BlockRV block) {
    const BlockRealize& realize = schedule.realize(block);
    const std::int64_t* extent = as_int(schedule.get(around).extent);
    return realize.block->init && !(extent && *extent > 0) &&
           arith::is_reduction_loop(realize, schedule.get(around).loop_var);
  });
}

/// The parts before, in, and after the loop, as far as they have iterations.
std::vector<PeeledPart> parts_of(const Schedule& schedule, const PeelArguments& arguments) {
  const For& loop = schedule.get(arguments.loop);
  const DataType type = loop.loop_var->dtype;
  Analyzer analyzer;
  learn_sizes(schedule, schedule.function_of(schedule.node(arguments.loop)), analyzer);
  for (const LoopRV handle : loops_around(schedule, schedule.node(arguments.loop))) {
    const For& around = schedule.get(handle);
    if (!is_const_int(around.step, 1) || handle.index == arguments.loop.index) continue;
    if (may_reduce_nothing(schedule, handle, arguments.loop)) continue;
    analyzer.bind_range(around.loop_var, around.min, around.extent, true);
  }
  if (arguments.at) {
    return parts_around(loop, arguments, value_of(schedule, *arguments.at, type), analyzer);
  }
  const Expr zero = int_imm(type, 0);
  const bool is_aligned = arguments.align > 0, ends_aligned = arguments.align_end > 0;
  // Between borders of known sizes, a loop starts and ends at numbers that no minimum hides.
  if (!is_aligned && !ends_aligned && !as_int(loop.extent)) {
    return parts_between(loop, arguments, analyzer);
  }
  // Without iterations, an extent may be below 0, unless others are counted from it.
  const bool may_be_below = is_aligned && !ends_aligned && arguments.last == 0;
  Expr all = cast(type, loop.extent);
  if (!may_be_below && !analyzer.can_prove(all >= zero, ProofStrength::symbolic_bound)) {
    all = max(all, zero);
  }
  const Expr wanted = is_aligned
                          ? floormod(zero - cast(type, loop.min), int_imm(type, arguments.align))
                          : int_imm(type, arguments.first);
  const Expr first = analyzer.simplify(min(wanted, all));
  const Expr behind = ends_aligned
                          ? floormod(cast(type, loop.min) + all, int_imm(type, arguments.align_end))
                          : int_imm(type, arguments.last);
  const Expr last = is_const_int(behind, 0) ? zero : analyzer.simplify(min(behind, all - first));
  const Expr rest = analyzer.simplify(may_be_below ? all - wanted : all - first - last);
  std::vector<PeeledPart> parts;
  const auto add = [&](const Expr& before, const Expr& extent, std::string suffix) {
    if (is_const_int(extent, 0)) return;
    parts.push_back({analyzer.simplify(before), extent, std::move(suffix)});
  };
  add(zero, first, "_first");
  // Where nothing is left, it may start anywhere.
  add(is_aligned ? wanted : first, rest, "");
  add(first + rest, last, "_last");
  return parts;
}

/// Why a loop may not be cut at a value, if so.
std::optional<Refusal> refuse_value(const Schedule& schedule, const PeelArguments& arguments,
                                    std::int64_t most) {
  const Argument handle(arguments.loop);
  const For& loop = schedule.get(arguments.loop);
  const Argument at = to_argument(*arguments.at);
  if (!is_const_int(loop.step, 1) || arguments.align != 0 || arguments.align_end != 0) {
    const std::int64_t multiple = std::max(arguments.align, arguments.align_end);
    return Refusal{
        &cut_loop_has_all_values,
        {handle, Argument(Ref(loop.step)), Argument(std::max<std::int64_t>(multiple, 1)), at}};
  }
  if (const auto* number = std::get_if<std::int64_t>(&arguments.at->value)) {
    if (*number <= most && *number >= -most) return {};
    return Refusal{&number_is_in_range,
                   {Argument("at"), Argument(*number), Argument(-most), Argument(most)}};
  }
  const DataType type = loop.loop_var->dtype;
  const auto* around = std::get_if<LoopRV>(&arguments.at->value);
  const Expr value =
      around ? Expr(schedule.get(*around).loop_var) : std::get<Expr>(arguments.at->value);
  const DataType own = value.dtype();
  if (!own.is_scalar() || !own.is_integer() || own.bits > type.bits) {
    return Refusal{&value_has_type,
                   {handle, at, Argument(to_string(own)), Argument(to_string(type))}};
  }
  const NodeId node = schedule.node(arguments.loop);
  if (around) {
    const NodeId outer = schedule.node(*around);
    const bool is_nested = outer != node && is_inside(schedule, node, outer) &&
                           scope_of(schedule, node) == scope_of(schedule, outer);
    if (is_nested) return {};
    return Refusal{&loop_is_around_loop, {at, handle}};
  }
  const PrimFunc& func = *schedule.as<PrimFunc>(schedule.root(schedule.function_of(node)));
  if (const std::string read = read_beside_sizes(func, value); !read.empty()) {
    return Refusal{&value_is_of_sizes,
                   {Argument("the value to cut at"), handle, at, Argument(read)}};
  }
  return {};
}

}  // namespace

Planned<PeelPlan> plan_peel(const Schedule& schedule, const PeelArguments& arguments) {
  const Argument handle(arguments.loop);
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  if (auto refusal = refuse_unless_bounds_stay(schedule, arguments.loop)) {
    return *std::move(refusal);
  }
  const auto& [loop, first, last, align, align_end, at] = arguments;
  const std::int64_t most = max_int(schedule.get(loop).loop_var->dtype) / 2;
  const bool is_cut = first > 0 || last > 0 || align != 0 || align_end != 0 || at;
  if (first < 0 || last < 0 || !is_cut) {
    const bool is_last = first > 0 || (first == 0 && last < 0);
    return Refusal{
        &peeled_numbers_are_positive,
        {Argument(is_last ? last : first), handle, Argument(is_last ? "after" : "before")}};
  }
  if (at) {
    if (auto refusal = refuse_value(schedule, arguments, most)) return *std::move(refusal);
  }
  for (const std::int64_t multiple : {align, align_end}) {
    if (multiple == 0) continue;
    if (multiple < 0 || multiple > most || !is_const_int(schedule.get(loop).step, 1)) {
      return Refusal{&aligned_loop_has_all_values,
                     {handle, Argument(Ref(schedule.get(loop).step)), Argument(multiple)}};
    }
  }
  const std::int64_t* extent = as_int(schedule.get(loop).extent);
  // Of those before the loop and after it.
  const std::int64_t least = (align == 0 ? first : 0) + (align_end == 0 ? last : 0);
  if (first > most || last > most || (extent && (*extent <= 0 || least > *extent))) {
    return Refusal{&peeled_iterations_fit,
                   {Argument(first > most || last > most ? "too many" : fmt::format("{}", least)),
                    handle, Argument(Ref(schedule.get(loop).extent))}};
  }
  if (is_left_by_break(schedule, loop))
    return Refusal{&iterations_reach_their_end, {Argument("break"), handle}};
  if (const auto block = reduction_empty_in_parts(schedule, loop)) {
    return changed_results(empty_reductions_start, {handle, Argument(*block)});
  }
  PeelPlan plan{loop, parts_of(schedule, arguments)};
  const bool is_constant = extent && as_int(schedule.get(loop).min) &&
                           as_int(schedule.get(loop).step) &&
                           std::ranges::all_of(plan.parts, [](const PeeledPart& part) {
                             return as_int(part.before) && as_int(part.extent);
                           });
  if (!is_constant) {
    if (const auto block = reduction_started_in(schedule, loop)) {
      return changed_results(reduction_starts_in_the_loop, {Argument(*block), handle});
    }
    return plan;
  }
  for (PeeledPart& part : plan.parts) {
    part.going_on =
        blocks_without_start(schedule, loop, *as_int(part.before), *as_int(part.extent));
  }
  return plan;
}

namespace {

/// A copy of memory for a part; the part uses it then.
Ptr<Buffer> take_copy(Schedule& schedule, std::uint32_t function, const Ptr<Buffer>& shared,
                      const std::string& suffix, Stmt& part) {
  Buffer copy = *shared;
  copy.name = schedule.fresh_buffer_name(function, shared->name + suffix);
  Var data = *shared->data;
  data.name = copy.name;
  copy.data = make(std::move(data));
  const Ptr<Buffer> own = make(std::move(copy));
  Rewriter rename;
  rename.replace_buffer(shared, own);
  part = rename(part);
  return own;
}

}  // namespace

Handles<LoopRV> commit_peel(Schedule& schedule, PeelPlan&& plan) {
  const For loop = schedule.get(plan.loop);
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const SpanScope span(schedule.span_from(loop.span));
  const auto buffers = buffers_by_pointer(*schedule.as<PrimFunc>(schedule.root(function)));
  Analyzer analyzer;
  std::vector<Stmt> parts;
  std::vector<Ptr<Var>> variables;
  std::vector<Ptr<Buffer>> copies;
  Schedule::Renewed renewed;
  for (const PeeledPart& piece : plan.parts) {
    For part = loop;
    part.min = analyzer.simplify(loop.min + piece.before * loop.step);
    part.extent = piece.extent;
    if (!piece.suffix.empty() || !piece.going_on.empty()) {
      part.body =
          body_of_part(schedule, function, loop.body, piece.going_on, piece.suffix, buffers);
    }
    // What memory holds may change.
    const bool has_same_values = !reads_memory(part.min) && !reads_memory(part.extent);
    if (is_const_int(loop.step, 1) && has_same_values) {
      part.body = body_for_values(schedule, function, part);
    }
    if (piece.suffix.empty()) {
      add_renewed_blocks(loop.body, part.body, renewed);
    } else {
      part.loop_var = var(schedule.fresh_loop_name(function, loop.loop_var->name + piece.suffix),
                          loop.loop_var->dtype);
      part.body = clone_with(part.body, {{loop.loop_var, part.loop_var}});
      for (const Ptr<Buffer>& own : plan.own) {
        copies.push_back(take_copy(schedule, function, own, piece.suffix, part.body));
      }
    }
    variables.push_back(part.loop_var);
    parts.push_back(make(std::move(part)));
  }
  const bool reads_results = std::ranges::any_of(
      plan.parts, [](const PeeledPart& part) { return !part.going_on.empty(); });
  const std::optional<BlockRV> outer = block_around(schedule, node);
  schedule.replace(node, seq(std::move(parts)), renewed);
  for (const Ptr<Buffer>& copy : copies) allocate_in(schedule, *outer, copy);
  if (reads_results && outer) update_regions_around(schedule, *outer);
  return loops_of_vars(schedule, function, variables);
}

}  // namespace loopsmith
