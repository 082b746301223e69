// SPDX-License-Identifier: Apache-2.0
// Blocks, their axes, and what is said of them.
#include <unordered_set>

#include "loopsmith/ir/extent.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

/// An extent, a pair (begin, end), or a range.
Ptr<Range> domain(Lowering& lowering, const ScriptValue& given, DataType like) {
  const ScriptValue value = lowering.named(given);
  if (value.is_none()) return nullptr;
  if (auto range = value.node_as<Range>()) return range;
  if (const auto* list = value.as_shared<ScriptValue::List>()) {
    lowering.require_here(list->items.size() == 2, "domain_is_range",
                          hint("give an extent or (begin, end)"),
                          "an axis has a domain of {} parts", list->items.size());
    const std::vector<Expr> both = lowering.matched(list->items);
    lowering.require_here(both[0].dtype().is_integer() && both[1].dtype().is_integer(),
                          "domain_is_integer", hint("give integers"),
                          "the domain of an axis requires an integer dtype, not {}",
                          to_string(both[0].dtype()));
    auto [begin, end] = match_types(both[0], both[1]);
    return range(begin, extent_between(begin, end));
  }
  const Expr extent = lowering.expr(value, like);
  lowering.require_here(extent.dtype().is_integer(), "domain_is_integer", hint("give an integer"),
                        "the domain of an axis requires an integer dtype, not {}",
                        to_string(extent.dtype()));
  return range(zero_of(extent.dtype()), extent);
}

ScriptValue axis_definition(Lowering& lowering, Ptr<Range> dom, Expr value, IterType type,
                            std::string_view word) {
  BlockState& state = lowering.block_with_axes(word);
  lowering.require_here(value.defined() || !state.is_realized, "axis_is_bound",
                        hint("give the value of the axis: T.axis.spatial(n, i)"),
                        "{}: the axis has no value", word);
  const auto open = [&state, dom, value, type, span = current_span](const std::string& name) {
    const SpanScope here(span);
    const DataType dtype = dom ? dom->extent.dtype() : value.defined() ? value.dtype() : i32;
    const Ptr<Var> variable = var(name, dtype);
    state.axes.push_back(make(IterVar{.dom = dom, .var = variable, .iter_type = type}));
    if (state.is_realized) state.values.push_back(value);
    return ScriptValue::Definition::Opened{{ScriptValue::node(variable)}};
  };
  return ScriptValue::Data(
      std::make_shared<const ScriptValue::Definition>(ScriptValue::Definition{open, "v", true}));
}

template <IterType type>
ScriptValue axis(Lowering& lowering, const Arguments& args, const Word& word) {
  const DataType like = args.has(2) ? lowering.data_type(args[2], "dtype") : i32;
  Ptr<Range> dom = domain(lowering, args[0], like);
  const DataType dtype = dom ? dom->extent.dtype() : like;
  const Expr value = args[1].is_none() ? Expr() : lowering.expr(args[1], dtype);
  return axis_definition(lowering, std::move(dom), value, type,
                         fmt::format("T.axis.{}", word.name));
}

/// All values that a loop's variable takes lie in this range.
Ptr<Range> range_of(const LoopHeader& loop) {
  if (is_const_int(loop.step, 1)) return range(loop.min, loop.extent);
  const Expr one = int_imm(loop.min.dtype(), 1);
  const std::int64_t* step = as_int(loop.step);
  const Expr width = loop.extent - one;
  if (step && *step < 0) return range(loop.min + width * loop.step, width * -loop.step + one);
  return range(loop.min, width * loop.step + one);
}

ScriptValue remap(Lowering& lowering, const Arguments& args, const Word&) {
  const std::string kinds = lowering.text(args[0], "T.axis.remap");
  const std::vector<ScriptValue> loops = lowering.items_or_one(args[1]);
  lowering.require_here(kinds.size() == loops.size(), "one_kind_an_axis",
                        hint("give one letter for each loop"),
                        "T.axis.remap: {} kinds for {} loops", kinds.size(), loops.size());
  std::vector<ScriptValue> axes;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const bool is_reduction = kinds[i] == 'R';
    lowering.require_here(is_reduction || kinds[i] == 'S', "axis_kind_is_known",
                          hint("S is a spatial axis, R a reduction"),
                          "T.axis.remap: '{}' is no kind of axis", kinds.substr(i, 1));
    const Expr value = lowering.expr(loops[i]);
    const LoopHeader* loop = lowering.loop_of(value);
    lowering.require_here(loop != nullptr, "axis_is_bound_to_loop",
                          hint("write T.axis.spatial(extent, value) for other values"),
                          "T.axis.remap: {} is not the variable of a loop", value);
    axes.push_back(axis_definition(lowering, range_of(*loop), value,
                                   is_reduction ? IterType::comm_reduce : IterType::data_par,
                                   "T.axis.remap"));
  }
  if (axes.size() == 1) return axes[0];
  return ScriptValue::list(std::move(axes), true);
}

// ---- Blocks ----

/// In the syntax of 2021: `tir.block([128, tir.reduce_axis(0, 128)], "C")`.
void header_axes(Lowering& lowering, BlockState& state, const ScriptValue& given) {
  state.has_axes_of_header = true;
  for (const ScriptValue& item : lowering.items(given, "T.block")) {
    if (const auto known = item.node_as<IterVar>()) {
      state.axes.push_back(known);
    } else {
      const Ptr<Range> dom = domain(lowering, item, i32);
      state.axes.push_back(make(IterVar{.dom = dom, .var = var("v", dom->extent.dtype())}));
    }
  }
  state.bound.resize(state.axes.size());
}

ScriptValue block(Lowering& lowering, const Arguments& args, const Word&) {
  auto frame = std::make_shared<Frame>();
  frame->kind = Frame::Kind::block;
  lowering.function("T.block");
  const bool is_old = args[0].as_shared<ScriptValue::List>() != nullptr;
  const ScriptValue& name = is_old ? args[1] : args[0];
  if (is_old) header_axes(lowering, frame->block, args[0]);
  if (!name.is_none()) frame->block.name = lowering.text(name, "T.block");
  frame->block.is_realized = !(args.has(2) && lowering.truth(args[2], "no_realize"));
  return ScriptValue::Data(std::move(frame));
}

ScriptValue init(Lowering& lowering, const Arguments&, const Word&) {
  lowering.block_with_axes("T.init");
  auto frame = std::make_shared<Frame>();
  frame->kind = Frame::Kind::init;
  return ScriptValue::Data(std::move(frame));
}

void set_regions(Lowering& lowering, std::optional<std::vector<Ptr<BufferRegion>>>& place,
                 const Arguments& args, std::string_view word) {
  lowering.require_here(!place.has_value(), "given_once", hint("put both into one"),
                        "{} is given twice in one block", word);
  place.emplace();
  for (const ScriptValue& given : args.rest()) {
    for (const ScriptValue& value : lowering.items_or_one(given)) {
      place->push_back(lowering.region(value));
    }
  }
}

ScriptValue reads(Lowering& lowering, const Arguments& args, const Word&) {
  set_regions(lowering, lowering.block_with_axes("T.reads").reads, args, "T.reads");
  return {};
}

ScriptValue writes(Lowering& lowering, const Arguments& args, const Word&) {
  set_regions(lowering, lowering.block_with_axes("T.writes").writes, args, "T.writes");
  return {};
}

ScriptValue where(Lowering& lowering, const Arguments& args, const Word&) {
  BlockState& state = lowering.block_with_axes("T.where");
  lowering.require_here(!state.predicate.defined(), "given_once", hint("join them with `and`"),
                        "T.where is given twice in one block");
  const Expr given = lowering.expr(args[0]);
  state.predicate = given.is<IntImm>() ? cast(boolean, given) : given;
  lowering.require_here(state.predicate.dtype() == boolean, "condition_is_bool",
                        hint("give a comparison"), "T.where: the condition is {}, not bool",
                        to_string(state.predicate.dtype()));
  return {};
}

/// Two annotations of one key: dicts are joined, other values must be equal.
Ref joined_annotation(Lowering& lowering, std::string_view key, const Ref& known,
                      const Ref& value) {
  const auto known_dict = Ptr<Dict>::from(known), dict = Ptr<Dict>::from(value);
  if (known_dict.defined() && dict.defined()) {
    Attrs all = known_dict->items;
    for (const auto& [inner, given] : dict->items) {
      all = all.with(inner, joined_annotation(lowering, inner, all.get(inner), given));
    }
    return make(Dict{.items = std::move(all)});
  }
  lowering.require_here(!known.defined() || structural_equal(known, value), "given_once",
                        hint("leave one out"), "T.block_attr: {} is given twice", key);
  return value;
}

ScriptValue block_attr(Lowering& lowering, const Arguments& args, const Word&) {
  BlockState& state = lowering.block_with_axes("T.block_attr");
  Attrs all = state.annotations.value_or(Attrs());
  for (const auto& [key, value] : lowering.attrs(args[0], "T.block_attr")) {
    all = all.with(key, joined_annotation(lowering, key, all.get(key), value));
  }
  state.annotations = std::move(all);
  return {};
}

/// In the syntax of 2021: the value of an axis that the header of the block defines.
ScriptValue bind(Lowering& lowering, const Arguments& args, const Word&) {
  BlockState& state = lowering.block_with_axes("T.bind");
  const Expr axis = lowering.expr(args[0]);
  for (std::size_t i = 0; i < state.bound.size(); ++i) {
    if (!state.axes[i]->var.same_as(axis)) continue;
    lowering.require_here(!state.bound[i].defined(), "given_once", hint("bind each axis once"),
                          "axis {} is bound twice", axis);
    state.bound[i] = lowering.expr(args[1], axis.dtype());
    return {};
  }
  fail(ErrorKind::script, "axis_is_known", hint("bind an axis of the block's header"), current_span,
       "{} is no axis of the block", axis);
}

/// `T.reduce_axis(begin, end)` in the header of a block, in the syntax of 2021.
template <IterType type>
ScriptValue header_axis(Lowering& lowering, const Arguments& args, const Word&) {
  const ScriptValue given = args.has(1) ? ScriptValue::list({args[0], args[1]}, true) : args[0];
  const Ptr<Range> dom = domain(lowering, given, i32);
  return ScriptValue::node(
      make(IterVar{.dom = dom, .var = var("v", dom->extent.dtype()), .iter_type = type}));
}

constexpr std::string_view axis_parameters =
    "dom: ExprLike | tuple[ExprLike, ExprLike] | Range | None, binding: ExprLike | None = None, "
    "dtype: str = \"int32\"";
constexpr std::string_view header_axis_parameters = "begin: ExprLike, end: ExprLike | None = None";

}  // namespace

std::span<const Word> axis_words() {
  static constexpr Word words[] = {
      {"T.axis", "spatial", axis_parameters, "Var", axis<IterType::data_par>,
       "An axis each value of which writes its own elements."},
      {"T.axis", "S", axis_parameters, "Var", axis<IterType::data_par>, "The same as spatial."},
      {"T.axis", "reduce", axis_parameters, "Var", axis<IterType::comm_reduce>,
       "An axis of a commutative reduction."},
      {"T.axis", "R", axis_parameters, "Var", axis<IterType::comm_reduce>, "The same as reduce."},
      {"T.axis", "scan", axis_parameters, "Var", axis<IterType::ordered>,
       "An axis whose values run in order."},
      {"T.axis", "opaque", axis_parameters, "Var", axis<IterType::opaque>,
       "An axis of which nothing is known."},
      {"T.axis", "remap", "kinds: str, bindings: Sequence[ExprLike] | ExprLike", "Any", remap,
       "Axes bound to loops, over their ranges: S spatial, R reduction."},
  };
  return words;
}

std::span<const Word> block_words() {
  static constexpr Word words[] = {
      {"T", "block",
       "name: str | Sequence[Any] | None = None, name_hint: str | None = None, no_realize: bool = "
       "False",
       "ContextManager[Any]", block, "A block: a unit of computation with axes."},
      {"T", "init", "", "ContextManager[None]", init, "What runs before the first reduction step."},
      {"T", "reads", "*regions: Any", "None", reads, "What the block reads."},
      {"T", "writes", "*regions: Any", "None", writes, "What the block writes."},
      {"T", "where", "predicate: ExprLike", "None", where, "Where the block runs."},
      {"T", "block_attr", "attrs: dict[str, Any]", "None", block_attr,
       "The annotations of the block."},
      {"T", "bind", "axis: Var, value: ExprLike", "None", bind,
       "The value of an axis of the block's header (the syntax of 2021)."},
      {"T", "reduce_axis", header_axis_parameters, "IterVar", header_axis<IterType::comm_reduce>,
       "An axis in the header of a block (the syntax of 2021)."},
      {"T", "scan_axis", header_axis_parameters, "IterVar", header_axis<IterType::ordered>,
       "An axis in the header of a block (the syntax of 2021)."},
      {"T", "opaque_axis", header_axis_parameters, "IterVar", header_axis<IterType::opaque>,
       "An axis in the header of a block (the syntax of 2021)."},
  };
  return words;
}

}  // namespace loopsmith::parsing
