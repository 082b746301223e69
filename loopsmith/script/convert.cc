// SPDX-License-Identifier: Apache-2.0
// Values of a script as what the IR takes: expressions, regions, attributes.
#include <limits>

#include "loopsmith/ir/extent.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

constexpr std::int64_t max_lanes = scalable_lanes - 1;

/// An integer takes the type of `like` where it fits; else it is int32, int64 or uint64.
Expr integer_expr(__int128 value, DataType like) {
  if (like.is_float()) return float_imm(like.element(), static_cast<double>(value));
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (value > most) {
    require(value <= std::numeric_limits<std::uint64_t>::max(), ErrorKind::script,
            "constant_in_range", hint("64 bits are the most"), current_span,
            "an integer constant has more than 64 bits");
    return int_imm(u64, static_cast<std::int64_t>(value));
  }
  require(value >= least, ErrorKind::script, "constant_in_range", hint("64 bits are the most"),
          current_span, "an integer constant has more than 64 bits");
  const auto number = static_cast<std::int64_t>(value);
  if (like.is_integer() && !like.is_bool() && number >= min_int(like) && number <= max_int(like)) {
    return int_imm(like.element(), number);
  }
  return int_imm(number >= min_int(i32) && number <= max_int(i32) ? i32 : i64, number);
}

bool is_literal(const ScriptValue& value) {
  return value.as<ScriptValue::Integer>() || value.as<double>();
}

/// Two bounds as expressions of one type, where one of them is a number.
std::pair<Expr, Expr> bounds(Lowering& lowering, const ScriptValue& a, const ScriptValue& b,
                             DataType like) {
  if (is_literal(a) && !is_literal(b)) {
    const Expr second = lowering.expr(b, like);
    return {lowering.expr(a, second.dtype()), second};
  }
  const Expr first = lowering.expr(a, like);
  return {first, lowering.expr(b, is_literal(a) ? like : first.dtype())};
}

}  // namespace

std::string Lowering::describe(const ScriptValue& value) {
  struct Describe {
    std::string operator()(const ScriptValue::None&) const { return "None"; }
    std::string operator()(bool) const { return "a bool"; }
    std::string operator()(const ScriptValue::Integer&) const { return "an integer"; }
    std::string operator()(double) const { return "a float"; }
    std::string operator()(const std::string&) const { return "a text"; }
    std::string operator()(const ScriptValue::Dots&) const { return "'...'"; }
    std::string operator()(const Ref& ref) const {
      if (const Expr e = Expr::from(ref); e.defined())
        return "a value of type " + to_string(e.dtype());
      if (ref.is<Buffer>()) return "a buffer";
      return ref.defined() ? fmt::format("a {}", node_info(*ref.get()).name) : "None";
    }
    std::string operator()(DataType) const { return "a type"; }
    std::string operator()(const ScriptValue::Namespace&) const { return "a module"; }
    std::string operator()(const Word* word) const {
      return fmt::format("the function {}.{}", word->space, word->name);
    }
    std::string operator()(const ScriptValue::Scalar&) const { return "a variable"; }
    std::string operator()(const ScriptValue::Lambda&) const { return "a lambda"; }
    std::string operator()(const std::shared_ptr<const ScriptValue::List>& list) const {
      return list->is_tuple ? "a tuple" : "a list";
    }
    std::string operator()(const std::shared_ptr<const ScriptValue::Dict>&) const {
      return "a dict";
    }
    std::string operator()(const std::shared_ptr<const ScriptValue::Slice>&) const {
      return "a slice";
    }
    std::string operator()(const std::shared_ptr<const ScriptValue::Access>&) const {
      return "an element or region of a buffer";
    }
    std::string operator()(const std::shared_ptr<const ScriptValue::Method>&) const {
      return "a method";
    }
    std::string operator()(const std::shared_ptr<const ScriptValue::Definition>&) const {
      return "a definition without a name";
    }
    std::string operator()(const std::shared_ptr<const ScriptValue::Meta>&) const {
      return "a meta_var";
    }
    std::string operator()(const std::shared_ptr<Frame>&) const { return "a loop or scope"; }
    std::string operator()(const std::shared_ptr<const MacroDefinition>&) const {
      return "a macro";
    }
    std::string operator()(const std::shared_ptr<ForeignValue>&) const {
      return "a Python object that is no expression";
    }
  };
  return std::visit(Describe{}, value.data);
}

ScriptValue Lowering::named(const ScriptValue& value) {
  if (const auto* meta = value.as_shared<ScriptValue::Meta>()) return named(meta->value[0]);
  if (const auto* definition = value.as_shared<ScriptValue::Definition>()) {
    auto opened = definition->open(definition->default_name);
    if (opened.wrap) emit_around(std::move(opened.wrap));
    return opened.value[0];
  }
  return value;
}

Expr Lowering::expr(const ScriptValue& given, DataType like) {
  const ScriptValue value = named(given);
  if (const auto* truth = value.as<bool>()) return Expr(*truth);
  if (const auto* integer = value.as<ScriptValue::Integer>()) {
    return integer_expr(integer->value, like);
  }
  if (const auto* real = value.as<double>()) {
    return float_imm(like.is_float() ? like.element() : f32, *real);
  }
  if (const auto* text = value.as<std::string>()) return string_imm(*text);
  if (const auto* access = value.as_shared<ScriptValue::Access>()) return load(*access);
  if (const auto axis = value.node_as<IterVar>()) return axis->var;
  if (const auto buffer = value.node_as<Buffer>()) {
    fail(ErrorKind::script, "buffer_is_indexed", hint("write A[i, j], or A.data for its pointer"),
         current_span, "buffer {} is no value", buffer->name);
  }
  if (const Ref* node = value.as<Ref>()) {
    if (Expr e = Expr::from(*node); e.defined()) return e;
  }
  fail(ErrorKind::script, "value_is_expression", hint("give a number or an expression"),
       current_span, "an expression is needed here, not {}", describe(value));
}

std::vector<Expr> Lowering::matched(std::vector<ScriptValue> values) {
  DataType like = void_type;
  for (ScriptValue& value : values) {
    value = named(value);
    if (is_literal(value) || value.as<bool>()) continue;
    value = ScriptValue::node(expr(value));
    const DataType type = expr(value).dtype();
    if (like.is_void() && !type.is_handle() && !type.is_bool()) like = type.element();
  }
  std::vector<Expr> result;
  result.reserve(values.size());
  for (const ScriptValue& value : values) result.push_back(expr(value, like));
  return result;
}

std::vector<ScriptValue> Lowering::items(const ScriptValue& given, std::string_view what) {
  const ScriptValue value = named(given);
  if (const auto* list = value.as_shared<ScriptValue::List>()) return list->items;
  if (value.as<std::shared_ptr<ForeignValue>>()) {
    const ScriptValue list = ask("list(value)", {{"value", value}});
    if (const auto* items = list.as_shared<ScriptValue::List>()) return items->items;
  }
  fail(ErrorKind::script, "value_is_list", hint("give a list or a tuple"), current_span,
       "{}: {} is no list", what, describe(value));
}

std::vector<ScriptValue> Lowering::items_or_one(const ScriptValue& value) {
  const bool is_list = value.as_shared<ScriptValue::List>() != nullptr;
  return is_list ? items(value, "list") : std::vector{value};
}

std::vector<Expr> Lowering::exprs(const ScriptValue& list) {
  std::vector<Expr> result;
  for (const ScriptValue& item : items_or_one(list)) result.push_back(expr(item));
  return result;
}

std::int64_t Lowering::integer(const ScriptValue& given, std::string_view what) {
  const ScriptValue value = named(given);
  if (const auto* number = value.as<ScriptValue::Integer>()) {
    constexpr __int128 most = std::numeric_limits<std::int64_t>::max();
    require_here(number->value <= most && number->value >= -most, "constant_in_range",
                 hint("64 bits are the most"), "{}: the number has more than 64 bits", what);
    return static_cast<std::int64_t>(number->value);
  }
  const auto constant = value.node_as<IntImm>();
  require_here(constant.defined(), "value_is_integer", hint("give a constant integer"),
               "{}: {} is no constant integer", what, describe(value));
  return constant->value;
}

bool Lowering::truth(const ScriptValue& value, std::string_view what) {
  const std::optional<bool> known = known_truth(value);
  require_here(known.has_value(), "value_is_bool", hint("give True or False"),
               "{}: {} is not True or False", what, describe(value));
  return *known;
}

std::string Lowering::text(const ScriptValue& given, std::string_view what) {
  const ScriptValue value = named(given);
  if (const auto* text = value.as<std::string>()) return *text;
  const auto constant = value.node_as<StringImm>();
  require_here(constant.defined(), "value_is_text", hint("give a text"), "{}: {} is no text", what,
               describe(value));
  return constant->value;
}

DataType Lowering::data_type(const ScriptValue& value, std::string_view what) {
  if (const auto* type = value.as<DataType>()) return *type;
  return parse_data_type(text(value, what));
}

Ref Lowering::attribute_value(const ScriptValue& given) {
  const ScriptValue value = named(given);
  if (value.is_none()) return nullptr;
  if (const auto* list = value.as_shared<ScriptValue::List>()) {
    List node;
    for (const ScriptValue& item : list->items) node.items.push_back(attribute_value(item));
    return make(std::move(node));
  }
  if (value.as_shared<ScriptValue::Dict>()) return make(Dict{.items = attrs(value, "attribute")});
  if (const Ref* node = value.as<Ref>()) return *node;
  if (const auto* type = value.as<DataType>()) return string_imm(to_string(*type));
  return expr(value);
}

Attrs Lowering::attrs(const ScriptValue& given, std::string_view what) {
  const ScriptValue value = named(given);
  if (value.is_none()) return {};
  const auto* dict = value.as_shared<ScriptValue::Dict>();
  require_here(dict != nullptr, "value_is_dict", hint("give a dict from texts to values"),
               "{}: {} is no dict", what, describe(value));
  Attrs result;
  for (const auto& [key, item] : dict->items) {
    result = result.with(text(key, what), attribute_value(item));
  }
  return result;
}

Ptr<Range> Lowering::interval(const ScriptValue& given, const Expr& extent, bool allows_step) {
  const ScriptValue index = named(given);
  if (const auto range = index.node_as<Range>()) return range;
  const auto* slice = index.as_shared<ScriptValue::Slice>();
  if (!slice) {
    const Expr point = expr(index);
    return make(Range{.min = point, .extent = int_imm(point.dtype().element(), 1)});
  }
  const ScriptValue& step = slice->parts[2];
  require_here(allows_step || step.is_none() || integer(step, "slice") == 1, "region_is_dense",
               hint("leave out the step"), "a region has no step");
  const ScriptValue start = slice->parts[0].is_none() ? ScriptValue::integer(0) : slice->parts[0];
  const ScriptValue stop = slice->parts[1].is_none() ? ScriptValue::node(extent) : slice->parts[1];
  const auto [first, last] = bounds(*this, start, stop, void_type);
  const Expr count = extent_between(first, last);
  const std::int64_t* constant = as_int(count);
  require_here(!constant || *constant > 0, "slice_is_not_empty",
               hint("put the smaller bound first"), "the slice from {} to {} is empty", first,
               last);
  return make(Range{.min = first, .extent = count});
}

Ptr<BufferRegion> Lowering::region(const ScriptValue& given) {
  const ScriptValue value = named(given);
  if (const auto region = value.node_as<BufferRegion>()) return region;
  if (const auto buffer = value.node_as<Buffer>()) return whole_region(buffer);
  if (const auto load = value.node_as<BufferLoad>()) {
    return point_region(load->buffer, load->indices);
  }
  const auto* access = value.as_shared<ScriptValue::Access>();
  require_here(access != nullptr, "value_is_region", hint("write A[i, 0:4]"),
               "a region of a buffer is needed here, not {}", describe(value));
  std::vector<Ptr<Range>> ranges;
  const bool is_scalar = access->buffer->shape.empty();
  for (std::size_t i = 0; i < access->indices.size() && !is_scalar; ++i) {
    ranges.push_back(interval(access->indices[i], access->buffer->shape[i], false));
  }
  return make(BufferRegion{.buffer = access->buffer, .region = std::move(ranges)});
}

std::vector<Expr> Lowering::access_indices(const ScriptValue::Access& access) {
  std::vector<Expr> indices;
  for (std::size_t i = 0; i < access.indices.size(); ++i) {
    const ScriptValue index = named(access.indices[i]);
    const auto* slice = index.as_shared<ScriptValue::Slice>();
    if (!slice) {
      indices.push_back(expr(index));
      continue;
    }
    const Ptr<Range> range = interval(index, access.buffer->shape[i], true);
    const Expr step = slice->parts[2].is_none() ? int_imm(range->min.dtype(), 1)
                                                : expr(slice->parts[2], range->min.dtype());
    const std::int64_t* constant = as_int(step);
    require_here(constant && *constant > 0, "slice_step_is_positive",
                 hint("use T.Ramp for other vectors"),
                 "the step of a slice is a positive constant");
    const Expr stop = slice->parts[1].is_none() ? access.buffer->shape[i]
                                                : expr(slice->parts[1], range->min.dtype());
    const Expr lanes = extent_between(range->min, stop, step);
    const std::int64_t* count = as_int(lanes);
    require_here(count != nullptr, "slice_has_constant_length",
                 hint("a vector has a constant number of lanes; write a loop"),
                 "the slice has {} elements, not a constant number", lanes);
    require_here(*count >= 1 && *count <= max_lanes, "lanes_in_range",
                 hint("a vector has 1 to 32767 lanes; write a loop"), "a vector of {} lanes",
                 *count);
    indices.push_back(*count == 1
                          ? range->min
                          : Expr(make(Ramp{.base = range->min, .stride = step, .lanes = *count})));
  }
  return indices;
}

Expr Lowering::load(const ScriptValue::Access& access) {
  const SpanScope span(access.span);
  return loopsmith::load(access.buffer, access_indices(access));
}

void Lowering::store(const ScriptValue::Access& access, const ScriptValue& value,
                     const Expr& predicate) {
  std::vector<Expr> indices = access_indices(access);
  int lanes = access.buffer->dtype.lanes;
  if (!indices.empty()) lanes *= indices.back().dtype().lanes;
  const DataType type = access.buffer->dtype.element().with_lanes(lanes);
  Expr stored = expr(value, type);
  require_here(!stored.dtype().is_handle() || type.is_handle(), "store_is_number",
               hint("store a number"), "buffer {} takes {}, the value is {}", access.buffer->name,
               to_string(type), describe(named(value)));
  const ScriptValue meant = named(value);
  const auto* whole = meant.as<ScriptValue::Integer>();
  const bool is_whole_type = type.is_integer() && !type.is_bool();
  require_here(!whole || !is_whole_type || stored.dtype() == type.element(), "constant_fits",
               hint("store a smaller number; one that wraps is written T.Cast"),
               "buffer {} takes {}, {} does not fit", access.buffer->name, to_string(type),
               whole ? whole->value : 0);
  require_here(stored.dtype().lanes == 1 || stored.dtype().lanes == lanes, "store_has_lanes",
               hint("store as many values as are addressed; write a loop"),
               "{} values are stored in {} elements", stored.dtype().lanes, lanes);
  emit(make(BufferStore{.buffer = access.buffer,
                        .value = type.is_handle() ? stored : cast(type, stored),
                        .indices = std::move(indices),
                        .predicate = predicate}));
}

}  // namespace loopsmith::parsing
