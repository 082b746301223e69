// SPDX-License-Identifier: Apache-2.0
// Loops, branches, and what stands after `with`.
#include <algorithm>

#include "loopsmith/arith/infer_regions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

/// The names that a loop or a `with` defines.
std::vector<const Expression*> names_of(const Expression* target) {
  if (!target) return {};
  const bool is_list =
      target->kind == ExpressionKind::tuple || target->kind == ExpressionKind::list;
  return is_list ? target->items : std::vector{target};
}

/// Regions in which names that begin a block's body are replaced by what they stand for.
std::vector<Ptr<BufferRegion>> with_values(const std::vector<Ptr<BufferRegion>>& regions,
                                           const Stmt& body) {
  Substitution values;
  for (const auto* let = body.as<LetStmt>(); let; let = let->body.as<LetStmt>()) {
    values[let->var] = substitute(let->value, values);
  }
  if (values.empty()) return regions;
  std::vector<Ptr<BufferRegion>> result;
  for (const auto& region : regions) {
    BufferRegion changed = *region;
    for (Ptr<Range>& range : changed.region) {
      range = make(Range{.min = substitute(range->min, values),
                         .extent = substitute(range->extent, values)});
    }
    result.push_back(make(std::move(changed)));
  }
  return result;
}

}  // namespace

const LoopHeader* Lowering::loop_of(const Expr& variable) const {
  const auto found = loops_.find(variable.get());
  return found == loops_.end() ? nullptr : &found->second;
}

void Lowering::for_loop(const Statement& s) {
  const ScriptValue iterated = named(eval(*s.value));
  const auto* frame = iterated.as<std::shared_ptr<Frame>>();
  require_here(frame && (*frame)->kind == Frame::Kind::loops, "loop_is_over_range",
               hint("write range, T.serial, T.parallel, T.vectorized, T.unroll, T.grid or "
                    "T.thread_binding"),
               "for: {} is no loop of the language", describe(iterated));
  const std::vector<LoopHeader>& loops = (*frame)->loops;
  const auto targets = names_of(s.targets[0]);
  // One name for several loops is a tuple of their variables.
  const bool is_tuple = s.targets[0]->kind == ExpressionKind::name && loops.size() > 1;
  const auto starred = std::ranges::find(targets, ExpressionKind::starred, &Expression::kind);
  const bool has_rest = starred != targets.end();
  const auto rest_begin = static_cast<std::size_t>(starred - targets.begin());
  const bool has_names_for_all =
      has_rest ? targets.size() - 1 <= loops.size() : targets.size() == loops.size();
  require_here(is_tuple || has_names_for_all, "one_name_a_loop",
               hint("give one name for each loop"), "for: {} names for {} loops", targets.size(),
               loops.size());
  const std::size_t rest_count = has_rest ? loops.size() + 1 - targets.size() : 0;
  std::vector<Ptr<Var>> variables;
  const auto define = [&] {
    std::vector<ScriptValue> all;
    std::vector<ScriptValue> rest;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      // `*outer, k`: the starred name is the list of all loops that the others leave.
      const bool is_rest = has_rest && i >= rest_begin && i < rest_begin + rest_count;
      const std::size_t place = i < rest_begin || !has_rest ? i : i + 1 - rest_count;
      const Expression& written = *targets[is_tuple ? 0 : is_rest ? rest_begin : place];
      const Expression& target = is_rest ? *written.items[0] : written;
      require_here(target.kind == ExpressionKind::name, "target_is_name",
                   hint("give the loop a name"), "for: {} is no name", target.source);
      const SpanScope span(tree_->span(target));
      const std::string name = is_tuple || is_rest
                                   ? fmt::format("{}_{}", target.text, is_rest ? i - rest_begin : i)
                                   : std::string(target.text);
      variables.push_back(var(name, loops[i].extent.dtype()));
      loops_.insert_or_assign(variables.back().get(), loops[i]);
      all.push_back(ScriptValue::node(variables.back()));
      if (is_rest) rest.push_back(all.back());
      if (!is_tuple && !is_rest) bind(target.text, all.back());
      open_loops_.push_back(variables.back());
    }
    if (is_tuple) bind(targets[0]->text, ScriptValue::list(std::move(all), true));
    if (has_rest) bind((*starred)->items[0]->text, ScriptValue::list(std::move(rest), true));
  };
  const std::size_t outer_loops = open_loops_.size();
  const bool runs = std::ranges::all_of(loops, [](const LoopHeader& loop) {
    const std::int64_t* extent = as_int(loop.extent);
    return extent && *extent > 0;
  });
  Stmt body = loop_suite(s.body, define, runs);
  open_loops_.resize(outer_loops);
  emit(nest(loops, variables, std::move(body)));
}

/// The loops around a body, outermost first.
Stmt Lowering::nest(const std::vector<LoopHeader>& loops, const std::vector<Ptr<Var>>& variables,
                    Stmt body) {
  for (std::size_t i = loops.size(); i-- > 0;) {
    const LoopHeader& loop = loops[i];
    For node{.loop_var = variables[i],
             .min = loop.min,
             .extent = loop.extent,
             .step = loop.step,
             .kind = loop.kind,
             .annotations = loop.annotations,
             .body = std::move(body)};
    if (loop.kind == ForKind::thread_binding) {
      node.thread_binding = make(IterVar{.var = var("iter", variables[i]->dtype),
                                         .iter_type = IterType::thread_index,
                                         .thread_tag = loop.thread_tag});
    }
    body = make(std::move(node));
  }
  return body;
}

void Lowering::while_loop(const Statement& s) {
  const ScriptValue condition = named(eval(*s.value));
  const std::optional<bool> known = known_truth(condition);
  if (known && !*known) return;
  const Expr runs = known ? Expr(true) : expr(condition);
  // What is known is true: the loop ends by a break alone.
  emit(make(While{.condition = runs, .body = loop_suite(s.body, {}, known.has_value(), !known)}));
}

void Lowering::if_statement(const Statement& s) {
  const ScriptValue condition = named(eval(*s.value));
  // What Python knows is decided now; definitions of the branch hold after it, as in Python.
  if (const std::optional<bool> known = known_truth(condition)) {
    return statements(*known ? s.body : s.else_body);
  }
  const Expr chosen = expr(condition);
  const AssignedVariables before = assigned_;
  Stmt then_case = suite(s.body);
  const AssignedVariables after_then = std::exchange(assigned_, before);
  Stmt else_case = s.else_body.statements.empty() ? Stmt() : suite(s.else_body);
  assigned_.meet(after_then);
  emit(make(IfThenElse{
      .condition = chosen, .then_case = std::move(then_case), .else_case = std::move(else_case)}));
}

void Lowering::with_statement(const Statement& s) {
  const ScriptValue value = eval(*s.value);
  if (const auto* held = value.as<std::shared_ptr<Frame>>()) {
    // A copy: a frame may stand in a variable, and be entered twice.
    Frame frame = **held;
    if (frame.kind == Frame::Kind::block) return with_block(s, frame);
    if (frame.kind == Frame::Kind::init) {
      BlockState& state = block("T.init");
      require_here(!state.init.defined(), "given_once", hint("put both into one"),
                   "T.init is given twice in one block");
      require_here(s.targets.empty(), "scope_defines_names", hint("leave out `as`"),
                   "T.init defines no name");
      state.init = optional_suite(s.body);
      return;
    }
    return with_branch(s, frame);
  }
  const auto* definition = value.as_shared<ScriptValue::Definition>();
  require_here(definition != nullptr, "with_has_scope",
               hint("write T.block, T.init, T.LetStmt, T.attr, T.launch_thread, T.allocate, ..."),
               "with: {} is no scope of the language", describe(value));
  const auto targets = names_of(s.targets.empty() ? nullptr : s.targets[0]);
  require_here(targets.size() <= 1 && (targets.empty() || targets[0]->kind == ExpressionKind::name),
               "scope_defines_names", hint("give one name"), "with: one name is defined, not {}",
               targets.size());
  auto opened =
      definition->open(targets.empty() ? definition->default_name : std::string(targets[0]->text));
  Stmt body = suite(s.body, [&] {
    if (!targets.empty()) bind(targets[0]->text, opened.value[0]);
  });
  emit(opened.wrap ? opened.wrap(std::move(body)) : std::move(body));
}

void Lowering::with_branch(const Statement& s, Frame& frame) {
  require_here(s.targets.empty(), "scope_defines_names", hint("leave out `as`"),
               "the scope defines no name");
  if (frame.kind == Frame::Kind::loop_while) {
    return emit(make(While{.condition = frame.condition, .body = loop_suite(s.body, {}, false)}));
  }
  if (frame.kind == Frame::Kind::branch) {
    IfThenElse node{.condition = frame.condition};
    IfThenElse* const outer = std::exchange(branch_, &node);
    suite(s.body);
    branch_ = outer;
    require_here(node.then_case.defined(), "branch_has_then", hint("write `with T.Then():` inside"),
                 "T.If has no T.Then");
    return emit(make(std::move(node)));
  }
  require_here(frame.kind == Frame::Kind::then || frame.kind == Frame::Kind::else_body,
               "with_has_scope", hint("write it after `for`"), "with: a loop is no scope");
  require_here(branch_ != nullptr, "branch_has_condition", hint("put it into `with T.If(...):`"),
               "T.Then or T.Else stands outside of T.If");
  IfThenElse* const branch = std::exchange(branch_, nullptr);
  Stmt body = optional_suite(s.body);
  branch_ = branch;
  (frame.kind == Frame::Kind::then ? branch->then_case : branch->else_case) = std::move(body);
}

void Lowering::with_block(const Statement& s, Frame& frame) {
  BlockState& state = frame.block;
  const auto targets = names_of(s.targets.empty() ? nullptr : s.targets[0]);
  require_here(targets.size() == state.axes.size(), "one_name_an_axis",
               hint("define axes by T.axis inside the block"),
               "T.block: {} names for {} axes in its header", targets.size(), state.axes.size());
  const Span here = current_span;
  blocks_.push_back(&state);
  const AssignedVariables before = assigned_;
  std::vector<Ptr<Var>> loops_around = std::exchange(open_loops_, {});
  Stmt body = suite(s.body, [&] {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      require_here(targets[i]->kind == ExpressionKind::name, "target_is_name",
                   hint("give the axis a name"), "T.block: {} is no name", targets[i]->source);
      IterVar axis = *state.axes[i];
      axis.var = var(std::string(targets[i]->text), axis.var->dtype);
      bind(targets[i]->text, ScriptValue::node(axis.var));
      state.axes[i] = make(std::move(axis));
    }
  });
  if (state.predicate.defined()) assigned_ = before;
  open_loops_ = std::move(loops_around);
  blocks_.pop_back();
  const SpanScope span(here);
  emit(finished(state, std::move(body)));
}

/// The block, with its axes bound as its header or its lines say.
Stmt Lowering::finished(BlockState& state, Stmt body) {
  std::vector<LoopHeader> made;
  std::vector<Ptr<Var>> made_variables;
  if (state.has_axes_of_header) bind_header_axes(state, made, made_variables);
  Block node{.iter_vars = state.axes,
             .name_hint = state.name,
             .alloc_buffers = state.alloc_buffers,
             .match_buffers = state.match_buffers,
             .annotations = state.annotations.value_or(Attrs()),
             .init = state.init,
             .body = std::move(body)};
  if (state.reads) node.reads = with_values(*state.reads, node.body);
  if (state.writes) node.writes = with_values(*state.writes, node.body);
  Ptr<Block> block = make(std::move(node));
  const int unknown = (state.reads ? 0 : 1) | (state.writes ? 0 : 2);
  if (unknown != 0 && !state.is_root) {
    block = detect_regions(block, unknown);
    detects_ = true;
  }
  if (!state.is_realized) {
    require_here(!state.predicate.defined(), "block_is_realized", hint("leave out no_realize"),
                 "T.where is given in a block without T.realize");
    return block;
  }
  Stmt result =
      make(BlockRealize{.iter_values = state.values,
                        .predicate = state.predicate.defined() ? state.predicate : Expr(true),
                        .block = block});
  for (std::size_t i = made.size(); i-- > 0;) {
    result = loopsmith::for_loop(made_variables[i], made[i].min, made[i].extent, std::move(result));
  }
  return result;
}

/// In the syntax of 2021, axes stand in the header. Bound one by one with `tir.bind`; or to the
/// loops around the block, in order; or, where there are none, to loops that are made for them.
void Lowering::bind_header_axes(BlockState& state, std::vector<LoopHeader>& made,
                                std::vector<Ptr<Var>>& variables) {
  const bool is_bound =
      std::ranges::any_of(state.bound, [](const Expr& value) { return value.defined(); });
  if (is_bound) {
    for (std::size_t i = 0; i < state.axes.size(); ++i) {
      require_here(state.bound[i].defined(), "axis_is_bound", hint("write tir.bind(axis, value)"),
                   "axis {} has no value", state.axes[i]->var->name);
    }
    state.values = state.bound;
    return;
  }
  const std::vector<Ptr<Var>>& around = open_loops_;
  if (!around.empty()) {
    require_here(around.size() == state.axes.size(), "loops_fit_axes",
                 hint("bind each axis: tir.bind(axis, value)"),
                 "the block has {} axes, the loops around it are {}", state.axes.size(),
                 around.size());
    state.values.assign(around.begin(), around.end());
    return;
  }
  for (std::size_t i = 0; i < state.axes.size(); ++i) {
    const Range& domain = *state.axes[i]->dom;
    made.push_back({domain.min, domain.extent, 1});
    variables.push_back(var(fmt::format("i{}", i), domain.extent.dtype()));
    state.values.emplace_back(variables.back());
  }
}

}  // namespace loopsmith::parsing
