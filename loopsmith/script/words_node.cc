// SPDX-License-Identifier: Apache-2.0
// Nodes by their names, as they are: nothing is folded or converted but numbers.
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/vector_lanes.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

template <class T>
ScriptValue binary_node(Lowering& lowering, const Arguments& args, const Word&) {
  const std::vector<Expr> both = lowering.matched({args[0], args[1]});
  return ScriptValue::node(make(T{.a = both[0], .b = both[1]}));
}

ScriptValue not_node(Lowering& lowering, const Arguments& args, const Word&) {
  return ScriptValue::node(make(Not{.a = lowering.expr(args[0])}));
}

ScriptValue cast_node(Lowering& lowering, const Arguments& args, const Word&) {
  const DataType type = lowering.data_type(args[0], "T.Cast");
  return ScriptValue::node(make(Cast{.value = lowering.expr(args[1])}, type));
}

ScriptValue select_node(Lowering& lowering, const Arguments& args, const Word&) {
  const std::vector<Expr> values = lowering.matched({args[1], args[2]});
  return ScriptValue::node(make(Select{
      .condition = lowering.expr(args[0]), .true_value = values[0], .false_value = values[1]}));
}

/// How many lanes: a constant, or a multiple of T.vscale().
std::int64_t lanes(Lowering& lowering, const ScriptValue& count, std::string_view what) {
  const auto known = lanes_of(lowering.expr(count));
  lowering.require_here(known.has_value(), "lanes_in_range",
                        hint("give a constant below 32768, or a multiple of T.vscale()"),
                        "{}: {} is no number of lanes", what, lowering.describe(count));
  return *known;
}

ScriptValue ramp(Lowering& lowering, const Arguments& args, const Word&) {
  const std::vector<Expr> both = lowering.matched({args[0], args[1]});
  return ScriptValue::node(
      make(Ramp{.base = both[0], .stride = both[1], .lanes = lanes(lowering, args[2], "T.Ramp")}));
}

ScriptValue broadcast_node(Lowering& lowering, const Arguments& args, const Word&) {
  return ScriptValue::node(make(Broadcast{.value = lowering.expr(args[0]),
                                          .lanes = lanes(lowering, args[1], "T.Broadcast")}));
}

ScriptValue shuffle(Lowering& lowering, const Arguments& args, const Word&) {
  return ScriptValue::node(
      make(Shuffle{.vectors = lowering.exprs(args[0]), .indices = lowering.exprs(args[1])}));
}

/// Never called: the lowering reads `T.Let` itself, for it defines a name.
ScriptValue let_node(Lowering& lowering, const Arguments&, const Word&) {
  lowering.require_here(false, "let_has_one_name", hint("write T.Let(body, where={x: value})"),
                        "T.Let defines one name, and gives its value");
  return {};
}

ScriptValue call_node(Lowering& lowering, const Arguments& args, const Word&) {
  const DataType type = lowering.data_type(args[0], "T.Call");
  std::string name = lowering.text(args[1], "T.Call");
  if (name.starts_with("tir.")) name.erase(0, 4);
  const OpInfo* info = find_op(name);
  lowering.require_here(info != nullptr, "intrinsic_is_known", hint("see the table of intrinsics"),
                        "there is no intrinsic '{}'", name);
  return ScriptValue::node(call(type, op_of(info), lowering.exprs(args[2])));
}

ScriptValue range_node(Lowering& lowering, const Arguments& args, const Word& word) {
  const bool has_end = args.has(1);
  const std::vector<Expr> both =
      lowering.matched({has_end ? args[0] : ScriptValue::integer(0), has_end ? args[1] : args[0]});
  (void)word;
  ScriptValue::Slice slice{{ScriptValue::node(both[0]), ScriptValue::node(both[1]), {}}};
  return ScriptValue::node(lowering.interval(
      ScriptValue::Data(std::make_shared<const ScriptValue::Slice>(std::move(slice))), both[1],
      false));
}

constexpr std::pair<std::string_view, IterType> iter_types[] = {
    {"DataPar", IterType::data_par},       {"ThreadIndex", IterType::thread_index},
    {"CommReduce", IterType::comm_reduce}, {"Ordered", IterType::ordered},
    {"Opaque", IterType::opaque},
};

ScriptValue iter_var(Lowering& lowering, const Arguments& args, const Word&) {
  const std::string kind = lowering.text(args[2], "T.iter_var");
  const ScriptValue named = lowering.named(args[0]);
  const Ptr<Var> variable =
      named.as<std::string>() ? var(*named.as<std::string>()) : named.node_as<Var>();
  lowering.require_here(variable.defined(), "axis_has_variable", hint("give a variable"),
                        "T.iter_var: {} is no variable", lowering.describe(named));
  IterVar axis{.var = variable};
  if (!args[1].is_none()) axis.dom = lowering.interval(args[1], nullptr, false);
  bool is_known = false;
  for (const auto& [name, type] : iter_types) {
    if (name != kind) continue;
    axis.iter_type = type;
    is_known = true;
  }
  lowering.require_here(is_known, "axis_kind_is_known",
                        hint("DataPar, ThreadIndex, CommReduce, Ordered or Opaque"),
                        "T.iter_var: there is no kind '{}'", kind);
  if (!args[3].is_none()) axis.thread_tag = lowering.text(args[3], "T.iter_var");
  return ScriptValue::node(make(std::move(axis)));
}

std::vector<ScriptValue> as_values(const std::vector<Ptr<Var>>& variables) {
  std::vector<ScriptValue> values;
  for (const Ptr<Var>& variable : variables) values.push_back(ScriptValue::node(variable));
  return values;
}

ScriptValue index_map(Lowering& lowering, const Arguments& args, const Word&) {
  const auto* lambda = args[0].as<ScriptValue::Lambda>();
  lowering.require_here(lambda != nullptr, "map_is_lambda", hint("write T.index_map(lambda i: i)"),
                        "T.index_map: {} is no lambda", lowering.describe(args[0]));
  IndexMap map;
  for (const std::string_view name : lambda->expression->names) {
    map.initial_indices.push_back(var(std::string(name)));
  }
  map.final_indices =
      lowering.exprs(lowering.apply(*lambda->expression, as_values(map.initial_indices)));
  const ScriptValue inverse = lowering.named(args[1]);
  map.inverse_index_map = inverse.node_as<IndexMap>();
  return ScriptValue::node(make(std::move(map)));
}

ScriptValue comm_reducer(Lowering& lowering, const Arguments& args, const Word&) {
  const auto* lambda = args[0].as<ScriptValue::Lambda>();
  lowering.require_here(lambda != nullptr, "map_is_lambda",
                        hint("write T.comm_reducer(lambda x, y: x + y, [T.float32(0)])"),
                        "T.comm_reducer: {} is no lambda", lowering.describe(args[0]));
  CommReducer reducer{.identity_element = lowering.exprs(args[1])};
  const std::size_t n = reducer.identity_element.size();
  const auto& names = lambda->expression->names;
  lowering.require_here(names.size() == 2 * n, "argument_count",
                        hint("give two parameters for each identity"),
                        "T.comm_reducer: {} parameters for {} identities", names.size(), n);
  for (std::size_t i = 0; i < 2 * n; ++i) {
    (i < n ? reducer.lhs : reducer.rhs)
        .push_back(var(std::string(names[i]), reducer.identity_element[i % n].dtype()));
  }
  std::vector<ScriptValue> values = as_values(reducer.lhs);
  for (ScriptValue& value : as_values(reducer.rhs)) values.push_back(std::move(value));
  reducer.result = lowering.exprs(lowering.apply(*lambda->expression, values));
  return ScriptValue::node(make(std::move(reducer)));
}

constexpr std::string_view two_operands = "a: ExprLike, b: ExprLike";

template <class T>
constexpr Word binary(std::string_view name) {
  return {"T", name, two_operands, "Expr", binary_node<T>, "The node, without folding."};
}

}  // namespace

std::span<const Word> node_words() {
  static constexpr Word words[] = {
      binary<Add>("Add"),
      binary<Sub>("Sub"),
      binary<Mul>("Mul"),
      binary<Div>("Div"),
      binary<Mod>("Mod"),
      binary<FloorDiv>("FloorDiv"),
      binary<FloorMod>("FloorMod"),
      binary<Min>("Min"),
      binary<Max>("Max"),
      binary<EQ>("EQ"),
      binary<NE>("NE"),
      binary<LT>("LT"),
      binary<LE>("LE"),
      binary<GT>("GT"),
      binary<GE>("GE"),
      binary<And>("And"),
      binary<Or>("Or"),
      {"T", "Not", "a: ExprLike", "Expr", not_node, "The node, without folding."},
      {"T", "Cast", "dtype: str, value: ExprLike", "Expr", cast_node,
       "A value converted to another type."},
      {"T", "Select", "condition: ExprLike, true_value: ExprLike, false_value: ExprLike", "Expr",
       select_node, "One of two values, both evaluated."},
      {"T", "Ramp", "base: ExprLike, stride: ExprLike, lanes: int", "Expr", ramp,
       "The vector base, base + stride, ..."},
      {"T", "Broadcast", "value: ExprLike, lanes: int", "Expr", broadcast_node,
       "A vector of one value."},
      {"T", "ramp", "base: ExprLike, stride: ExprLike, lanes: int", "Expr", ramp,
       "The same as Ramp."},
      {"T", "broadcast", "value: ExprLike, lanes: int", "Expr", broadcast_node,
       "The same as Broadcast."},
      {"T", "Shuffle", "vectors: Sequence[Expr], indices: Sequence[int]", "Expr", shuffle,
       "Lanes chosen from vectors."},
      {"T", "Let", "body: ExprLike, where: dict[Any, ExprLike]", "Expr", let_node,
       "A body in which a name stands for a value."},
      {"T", "Call", "dtype: str, op: str, args: Sequence[ExprLike] = ()", "Expr", call_node,
       "A call of an intrinsic, of any type."},
      {"T", "Range", "begin: ExprLike, end: ExprLike | None = None", "Range", range_node,
       "The values from begin to end, without end."},
      {"T", "iter_var", "var: Any, dom: Any, iter_type: str, thread_tag: str = \"\"", "IterVar",
       iter_var, "An axis."},
      {"T", "index_map", "mapping: Any, inverse_index_map: Any = None", "IndexMap", index_map,
       "A function from indices to indices."},
      {"T", "comm_reducer", "combiner: Any, identity: Sequence[ExprLike]", "CommReducer",
       comm_reducer, "A commutative combination."},
  };
  return words;
}

}  // namespace loopsmith::parsing
