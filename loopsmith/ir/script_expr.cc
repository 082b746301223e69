// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/extent.h"

#include <fmt/format.h>
#include "loopsmith/ir/fold.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_literals.h"
#include "loopsmith/ir/script_writer.h"
#include "loopsmith/ir/tensor.h"
#include "loopsmith/ir/vector_lanes.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::detail {
namespace {

/// How a binary node is written: an operator, or a function where operators cannot say it.
struct BinaryForm {
  std::uint16_t kind;
  std::string_view symbol;  ///< Empty: none.
  Binding binding;
  std::string_view function;  ///< That does the same as the operator; empty: none.
};

constexpr BinaryForm binary_forms[] = {
    {kind_of<Add>, " + ", Binding::sum, ""},
    {kind_of<Sub>, " - ", Binding::sum, ""},
    {kind_of<Mul>, " * ", Binding::product, ""},
    {kind_of<Div>, " / ", Binding::product, ""},
    {kind_of<Mod>, "", Binding::atom, "T.truncmod"},
    {kind_of<FloorDiv>, " // ", Binding::product, ""},
    {kind_of<FloorMod>, " % ", Binding::product, ""},
    {kind_of<Min>, "", Binding::atom, "T.min"},
    {kind_of<Max>, "", Binding::atom, "T.max"},
    {kind_of<EQ>, " == ", Binding::comparison, ""},
    {kind_of<NE>, " != ", Binding::comparison, ""},
    {kind_of<LT>, " < ", Binding::comparison, ""},
    {kind_of<LE>, " <= ", Binding::comparison, ""},
    {kind_of<GT>, " > ", Binding::comparison, ""},
    {kind_of<GE>, " >= ", Binding::comparison, ""},
    {kind_of<And>, " and ", Binding::and_, ""},
    {kind_of<Or>, " or ", Binding::or_, ""},
};

const BinaryForm* binary_form(std::uint16_t kind) {
  for (const BinaryForm& form : binary_forms) {
    if (form.kind == kind) return &form;
  }
  return nullptr;
}

/// True when the operator, or the function, would make something else of the same operands.
bool would_fold(const Expr& e) {
  const bool divides = is_division(e.get()->kind);
  return (divides && is_const_int(operands_of(e).second, 0)) || fold(e).defined();
}

bool is_number(const Expr& e) {
  return !e.dtype().is_handle() && !e.dtype().is_void();
}

struct BitForm {
  Op op;
  std::string_view symbol;
  Binding binding;
};
constexpr BitForm bit_forms[] = {
    {op("bitwise_and"), " & ", Binding::bit_and}, {op("bitwise_or"), " | ", Binding::bit_or},
    {op("bitwise_xor"), " ^ ", Binding::bit_xor}, {op("shift_left"), " << ", Binding::shift},
    {op("shift_right"), " >> ", Binding::shift},
};

/// `&` and its like say the same as the call; null when they do not.
const BitForm* bit_form(const Call& call) {
  for (const BitForm& form : bit_forms) {
    if (form.op != call.op) continue;
    const DataType type = call.args[0].dtype();
    const bool plain = call.dtype == type && call.args[1].dtype() == type && type.is_integer() &&
                       !type.is_bool() && !(as_int(call.args[0]) && as_int(call.args[1]));
    return plain ? &form : nullptr;
  }
  return nullptr;
}

/// True when the function named like the intrinsic makes this very call of these arguments.
bool function_says_it(const Call& call) {
  if (call.op.info().result == Result::given) return true;
  if (call.dtype != result_type(call.op, call.args)) return false;
  const bool chosen = call.op == op("if_then_else") || call.op == op("likely");
  if (chosen && as_int(call.args[0])) return false;
  for (const BitForm& form : bit_forms) {
    if (form.op == call.op) return false;
  }
  return call.op != op("bitwise_not") || !call.args[0].dtype().is_bool();
}

/// The text of the kind of an axis in IterVar nodes.
constexpr std::string_view iter_type_names[] = {"DataPar", "ThreadIndex", "CommReduce", "Ordered",
                                                "Opaque"};

}  // namespace

void ScriptWriter::expr(const Expr& e, Binding around) {
  if (cut_) return;
  if (!e.defined()) return put("None");
  const Marking marking(*this, e);
  deep_call([&] { expr_inside(e, around); });
}

void ScriptWriter::expr_inside(const Expr& e, Binding around) {
  if (e.is<Var>() || e.is<GlobalVar>()) return put(name(e));
  if (const auto* imm = e.as<IntImm>()) return constant(*imm);
  if (const auto* imm = e.as<FloatImm>()) return constant(*imm);
  if (const auto* imm = e.as<StringImm>()) return put(string_literal(imm->value));
  if (binary_form(e.get()->kind)) return binary_node(e, around);
  if (const auto* load = e.as<BufferLoad>()) return buffer_load(*load);
  if (const auto* node = e.as<Call>()) return call(*node, around);
  if (const auto* node = e.as<Reduce>()) return reduction(*node);
  if (const auto* node = e.as<ProducerLoad>()) {
    put(name(node->producer));
    return subscript([&] { list(node->indices, [&](const Expr& i) { expr(i); }); },
                     node->indices.empty());
  }
  if (const auto* node = e.as<Let>()) {
    names_.open();
    define(node->var, node->var->name);
    put("T.Let(");
    expr(node->body);
    put(", where={");
    put(name(node->var));
    put(": ");
    expr(node->value);
    put("})");
    return names_.close();
  }
  if (const auto* node = e.as<Not>(); node && node->dtype.is_scalar() && !fold(e).defined()) {
    return parenthesised(around > Binding::not_, [&] {
      put("not ");
      expr(node->a, Binding::not_);
    });
  }
  node_call(e);
}

void ScriptWriter::binary_node(const Expr& e, Binding around) {
  const BinaryForm& form = *binary_form(e.get()->kind);
  const auto [a, b] = operands_of(e);
  const bool logic = e.is<And>() || e.is<Or>();
  const bool says_it = is_number(a) && !would_fold(e) && !(logic && e.dtype().is_vector()) &&
                       !(e.is<Div>() && !e.dtype().is_float());
  if (!says_it) return node_call(e);
  if (!form.function.empty()) {
    put(form.function);
    put("(");
    expr(a);
    put(", ");
    expr(b);
    return put(")");
  }
  infix(form.symbol, form.binding, a, b, around);
}

void ScriptWriter::infix(std::string_view symbol, Binding binding, const Expr& a, const Expr& b,
                         Binding around) {
  // All operators hold to the left; comparisons to neither side, because Python would chain them.
  const auto tighter = static_cast<Binding>(static_cast<int>(binding) + 1);
  parenthesised(around > binding, [&] {
    expr(a, binding == Binding::comparison ? tighter : binding);
    put(symbol);
    expr(b, tighter);
  });
}

/// The node by its name and fields: `T.Select(c, a, b)`, `T.Cast("int8", x)`.
void ScriptWriter::node_call(const Expr& e) {
  const Object& node = *e.get();
  const NodeInfo& info = node_info(node);
  put("T.");
  put(info.name);
  put("(");
  list(info.fields, [&](const FieldInfo& field) {
    switch (field.type) {
      case FieldType::ref: return part(field.ref(node));
      case FieldType::refs:
        put("[");
        list(field.refs(node), [&](const Ref& item) { part(item); });
        return put("]");
      case FieldType::data_type: return put(string_literal(to_string(field.at<DataType>(node))));
      case FieldType::integer: return expr(lanes_expr(field.at<std::int64_t>(node)));
      default: return;
    }
  });
  put(")");
}

void ScriptWriter::call(const Call& call, Binding around) {
  if (call.op == op("call_global") && !call.args.empty() && call.args[0].is<GlobalVar>()) {
    expr(call.args[0]);
    put("(");
    list(std::span(call.args).subspan(1), [&](const Expr& arg) { expr(arg); });
    return put(")");
  }
  if (const BitForm* form = bit_form(call)) {
    return infix(form->symbol, form->binding, call.args[0], call.args[1], around);
  }
  const bool named = function_says_it(call);
  put("T.");
  put(named ? call.op.name() : "call_intrin");
  put("(");
  const bool typed = !named || call.op.info().result == Result::given;
  if (typed) put(string_literal(to_string(call.dtype)));
  if (!named) {
    put(", ");
    put(string_literal(fmt::format("tir.{}", call.op.name())));
  }
  if (typed && !call.args.empty()) put(", ");
  list(call.args, [&](const Expr& arg) { expr(arg); });
  put(")");
}

void ScriptWriter::buffer_load(const BufferLoad& load) {
  if (!load.predicate.defined()) return access(load.buffer, load.indices);
  put(name(load.buffer));
  put(".vload([");
  list(load.indices, [&](const Expr& index) { expr(index); });
  put("], predicate=");
  expr(load.predicate);
  put(")");
}

void ScriptWriter::access(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) {
  put(name(buffer));
  subscript([&] { list(indices, [&](const Expr& i) { index(i); }); }, indices.empty());
}

/// A vector of consecutive indices is a slice.
void ScriptWriter::index(const Expr& e) {
  const auto* ramp = e.as<Ramp>();
  const std::int64_t* stride = ramp ? as_int(ramp->stride) : nullptr;
  const bool is_fixed = ramp && ramp->lanes >= 2 && !e.dtype().is_scalable();
  if (!stride || *stride <= 0 || !is_fixed || *stride > 0xFFFF) return expr(e);
  const Marking marking(*this, e);
  expr(ramp->base);
  put(":");
  expr(stop_of(ramp->base, int_imm(ramp->base.dtype(), *stride * ramp->lanes)));
  if (*stride == 1) return;
  put(":");
  expr(ramp->stride);
}

void ScriptWriter::region(const Ptr<Buffer>& buffer, const std::vector<Ptr<Range>>& ranges) {
  put(name(buffer));
  subscript([&] { list(ranges, [&](const Ptr<Range>& range) { interval(*range); }); },
            ranges.empty());
}

void ScriptWriter::interval(const Range& range) {
  const Marking marking(*this, Ref(&range));
  expr(range.min);
  if (range.extent.is<IntImm>() && is_const_int(range.extent, 1)) return;
  put(":");
  expr(stop_of(range.min, range.extent));
}

void ScriptWriter::constant(const IntImm& imm) {
  if (imm.dtype == i32) return put(fmt::format("{}", imm.value));
  if (imm.dtype.is_bool()) return put(imm.value ? "T.bool(True)" : "T.bool(False)");
  const std::string digits = imm.dtype == u64
                                 ? fmt::format("{}", static_cast<std::uint64_t>(imm.value))
                                 : fmt::format("{}", imm.value);
  put(fmt::format("T.{}({})", to_string(imm.dtype), digits));
}

void ScriptWriter::constant(const FloatImm& imm) {
  put(fmt::format("T.{}({})", to_string(imm.dtype), float_literal(imm.dtype, imm.value)));
}

void ScriptWriter::value(const Ref& ref) {
  if (const auto* imm = ref.as<IntImm>(); imm && imm->dtype.is_bool()) {
    const Marking marking(*this, ref);
    return put(imm->value ? "True" : "False");
  }
  part(ref);
}

void ScriptWriter::dict(const Attrs& attrs) {
  put("{");
  list(attrs, [&](const auto& item) {
    put(string_literal(item.first));
    put(": ");
    value(item.second);
  });
  put("}");
}

/// Anything that is written within a line.
void ScriptWriter::part(const Ref& ref) {
  if (cut_) return;
  if (!ref.defined()) return put("None");
  if (const Expr e = Expr::from(ref); e.defined()) return expr(e);
  const Marking marking(*this, ref);
  deep_call([&] { part_inside(ref); });
}

void ScriptWriter::part_inside(const Ref& ref) {
  if (ref.is<Buffer>() || ref.is<Tensor>()) return put(name(ref));
  if (const auto* node = ref.as<BufferRegion>()) return region(node->buffer, node->region);
  if (const auto* node = ref.as<IterVar>()) return iter_var(*node);
  if (const auto* node = ref.as<IndexMap>()) return index_map(*node);
  if (const auto* node = ref.as<CommReducer>()) return reducer(*node);
  if (const auto* node = ref.as<Dict>()) return dict(node->items);
  if (const auto* node = ref.as<List>()) {
    put("[");
    list(node->items, [&](const Ref& item) { value(item); });
    return put("]");
  }
  if (const auto* node = ref.as<Range>()) {
    put("T.Range(");
    expr(node->min);
    put(", ");
    expr(stop_of(node->min, node->extent));
    return put(")");
  }
  if (const auto* node = ref.as<PointerType>()) {
    return put(
        fmt::format("T.handle(\"{}\", \"{}\")", to_string(node->element), node->storage_scope));
  }
  if (const auto* node = ref.as<MatchBufferRegion>()) {
    put(name(node->buffer));
    put(" = T.match_buffer(");
    part(node->source);
    put(", ");
    buffer_arguments(*node->buffer, false, false);
    return put(")");
  }
  put(operation_text(ref));
}

void ScriptWriter::iter_var(const IterVar& axis) {
  put("T.iter_var(");
  put(name(axis.var));
  put(", ");
  part(axis.dom);
  put(fmt::format(", \"{}\", {})", iter_type_names[static_cast<int>(axis.iter_type)],
                  string_literal(axis.thread_tag)));
}

void ScriptWriter::index_map(const IndexMap& map) {
  put("T.index_map(lambda ");
  names_.open();
  list(map.initial_indices, [&](const Ptr<Var>& index) { put(define(index, index->name)); });
  put(": ");
  tuple(map.final_indices);
  names_.close();
  if (map.inverse_index_map) {
    put(", inverse_index_map=");
    part(map.inverse_index_map);
  }
  put(")");
}

void ScriptWriter::reducer(const CommReducer& reducer) {
  put("T.comm_reducer(lambda ");
  names_.open();
  for (const auto* side : {&reducer.lhs, &reducer.rhs}) {
    if (side == &reducer.rhs) put(", ");
    list(*side, [&](const Ptr<Var>& var) { put(define(var, var->name)); });
  }
  put(": ");
  if (reducer.result.size() == 1) {
    expr(reducer.result[0]);
  } else {
    tuple(reducer.result);
  }
  names_.close();
  put(", [");
  list(reducer.identity_element, [&](const Expr& e) { expr(e); });
  put("])");
}

void ScriptWriter::reduction(const Reduce& reduce) {
  put("T.Reduce(");
  reducer(*reduce.combiner);
  put(", source=[");
  list(reduce.source, [&](const Expr& e) { expr(e); });
  put("], init=[");
  list(reduce.init, [&](const Expr& e) { expr(e); });
  put("], axis=[");
  list(reduce.axis, [&](const Ptr<IterVar>& axis) {
    if (!names_.find(axis->var.get())) define(axis->var, axis->var->name);
    iter_var(*axis);
  });
  put("], condition=");
  expr(reduce.condition);
  put(fmt::format(", value_index={})", reduce.value_index));
}

std::string ScriptWriter::operation_text(const Ref& ref) {
  if (const auto* op = ref.as<PlaceholderOp>()) return fmt::format("placeholder({})", op->name);
  if (const auto* op = ref.as<ComputeOp>()) return fmt::format("compute({})", op->name);
  if (const auto* op = ref.as<ScanOp>()) return fmt::format("scan({})", op->name);
  if (const auto* op = ref.as<ExternOp>()) return fmt::format("extern({})", op->name);
  return std::string(node_info(*ref.get()).name);
}

}  // namespace loopsmith::detail
