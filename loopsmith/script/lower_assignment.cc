// SPDX-License-Identifier: Apache-2.0
// Assignments, and the variables that they make.
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

/// True when a variable of `variable` cannot keep a value of `value`.
bool is_wider(DataType value, DataType variable) {
  if (value.is_float()) return !variable.is_float() || value.bits > variable.bits;
  return value.is_integer() && variable.is_integer() && value.bits > variable.bits;
}

/// True when a constant is a value of `type`.
bool holds(DataType type, const Expr& constant) {
  const std::int64_t* integer = as_int(constant);
  if (type.is_float()) return true;
  return integer && *integer >= min_int(type) && *integer <= max_int(type);
}

/// True for `T.let`, which as an annotation says that a name keeps its value.
bool is_let(const Expression& annotation) {
  return annotation.kind == ExpressionKind::attribute && annotation.text == "let";
}

}  // namespace

void Lowering::assign(const Statement& s) {
  const bool has_name = s.targets[0]->kind == ExpressionKind::name;
  naming_ = has_name ? std::string(s.targets[0]->text) : std::string();
  const ScriptValue value = eval(*s.value);
  naming_.clear();
  for (const Expression* target : s.targets) assign_value(*target, value);
}

void Lowering::assign_value(const Expression& target, const ScriptValue& value) {
  const SpanScope span(tree_->span(target));
  if (target.kind == ExpressionKind::tuple || target.kind == ExpressionKind::list) {
    std::vector<ScriptValue> values = items(value, "assignment");
    if (value.as_shared<ScriptValue::Meta>()) {
      for (ScriptValue& item : values) {
        item = ScriptValue::Data(
            std::make_shared<const ScriptValue::Meta>(ScriptValue::Meta{{std::move(item)}}));
      }
    }
    require_here(values.size() == target.items.size(), "as_many_names_as_values",
                 hint("give one name for each value"), "{} names for {} values",
                 target.items.size(), values.size());
    return assign_parallel(target.items, values);
  }
  if (target.kind == ExpressionKind::name) return assign_name(target, value, nullptr);
  if (target.kind == ExpressionKind::subscript) {
    const ScriptValue place = eval(target);
    const auto* access = place.as_shared<ScriptValue::Access>();
    require_here(access != nullptr, "store_is_to_buffer", hint("store to an element of a buffer"),
                 "{} is {}, which cannot be assigned", target.source, describe(place));
    return store(*access, value, nullptr);
  }
  fail(ErrorKind::script, "target_is_name", hint("assign to a name or an element of a buffer"),
       current_span, "{} cannot be assigned", target.source);
}

/// `a, b = b, a`: all values are computed before the first is assigned.
void Lowering::assign_parallel(const std::vector<const Expression*>& targets,
                               const std::vector<ScriptValue>& values) {
  std::vector<ScriptValue> kept = values;
  bool overwrites = false;
  for (const Expression* target : targets) {
    const ScriptValue* known = target->kind == ExpressionKind::name ? find(target->text) : nullptr;
    overwrites = overwrites || target->kind == ExpressionKind::subscript ||
                 (known && known->as<ScriptValue::Scalar>());
  }
  for (ScriptValue& value : kept) {
    const Ref* node = value.as<Ref>();
    const bool is_computed = value.as_shared<ScriptValue::Access>() ||
                             (node && Expr::from(*node).defined() && !node->is<IntImm>() &&
                              !node->is<FloatImm>() && !node->is<Var>());
    if (!overwrites || !is_computed) continue;
    const Expr e = expr(value);
    const Ptr<Var> variable = var("t", e.dtype());
    emit_around([e, variable](Stmt body) -> Stmt {
      return make(LetStmt{.value = e, .var = variable, .body = std::move(body)});
    });
    value = ScriptValue::node(variable);
  }
  for (std::size_t i = 0; i < targets.size(); ++i) assign_value(*targets[i], kept[i]);
}

void Lowering::assign_name(const Expression& target, const ScriptValue& value,
                           const Expr& annotated) {
  const std::string_view name = target.text;
  if (const auto* definition = value.as_shared<ScriptValue::Definition>()) {
    require_here(!is_bound_here(name), "defined_once", hint("give it another name"),
                 "{} is already defined in this scope", name);
    auto opened = definition->open(std::string(name));
    if (opened.wrap) emit_around(std::move(opened.wrap));
    return bind(name, std::move(opened.value[0]));
  }
  if (const auto* meta = value.as_shared<ScriptValue::Meta>()) {
    return bind(name, meta->value[0]);
  }
  if (const auto* list = value.as_shared<ScriptValue::List>()) {
    std::vector<ScriptValue> opened;
    for (const ScriptValue& item : list->items) {
      const auto* definition = item.as_shared<ScriptValue::Definition>();
      opened.push_back(item);
      if (!definition) continue;
      auto parts = definition->open(fmt::format("{}_{}", name, opened.size() - 1));
      if (parts.wrap) emit_around(std::move(parts.wrap));
      opened.back() = std::move(parts.value[0]);
    }
    return bind(name, ScriptValue::list(std::move(opened), list->is_tuple));
  }
  require_here(!value.as<std::shared_ptr<Frame>>(), "scope_has_suite",
               hint("write `for x in ...:` or `with ...:`"),
               "{}: a loop or a scope cannot be assigned", name);
  const Ref* node = value.as<Ref>();
  const bool is_literal = value.as<ScriptValue::Integer>() || value.as<double>();
  const bool is_value =
      is_literal || value.as<bool>() || value.as_shared<ScriptValue::Access>() ||
      (node && Expr::from(*node).defined() && !node->is<StringImm>() && !node->is<GlobalVar>());
  if (!is_value) return bind(name, value);
  DataType like = annotated.defined() ? annotated.dtype() : void_type;
  const ScriptValue* known = find(name);
  if (const auto* scalar = known ? known->as<ScriptValue::Scalar>() : nullptr) {
    like = scalar->buffer->dtype;
  }
  const Expr result = expr(value, like);
  if (result.dtype().is_void()) {
    fail(ErrorKind::script, "value_has_type", hint("call it on a line of its own"), current_span,
         "{}: the value has no type", name);
  }
  if (annotated.defined()) {
    const Variable* variable = plan_ ? plan_->find(target) : nullptr;
    if (!variable || !variable->is_memory) {
      const Ptr<Var> defined = Ptr<Var>::from(annotated);
      const Expr cast_value = defined->dtype.is_handle() ? result : cast(defined->dtype, result);
      bind(name, ScriptValue::node(defined));
      return emit_around([cast_value, defined](Stmt body) -> Stmt {
        return make(LetStmt{.value = cast_value, .var = defined, .body = std::move(body)});
      });
    }
    return assign_variable(target, cast(annotated.dtype(), result), false);
  }
  assign_variable(target, result, is_literal);
}

/// A number gets a name: a LetStmt if it keeps its value, else a buffer without dimensions.
void Lowering::assign_variable(const Expression& target, Expr value, bool is_literal) {
  const std::string_view name = target.text;
  const ScriptValue* known = find(name);
  const Ptr<Var> loop_variable = known ? known->node_as<Var>() : nullptr;
  require_here(!loop_variable.defined() || !loop_of(loop_variable), "loop_variable_is_fixed",
               hint("use another name"), "the loop variable {} cannot be assigned", name);
  if (known && known->as<ScriptValue::Scalar>()) {
    return assign_again(name, known->as<ScriptValue::Scalar>()->buffer, value, is_literal);
  }
  const Variable* variable = plan_ ? plan_->find(target) : nullptr;
  if (variable && variable->is_memory && !value.dtype().is_handle()) {
    return define_variable(target, *variable, value, is_literal);
  }
  Ptr<Var> defined = var(std::string(name), value.dtype());
  if (const auto* source = value.as<Var>(); source && source->pointer) {
    Var copy = *source;
    copy.name = name;
    defined = make(std::move(copy));
  }
  bind(name, ScriptValue::node(defined));
  emit_around([value, defined](Stmt body) -> Stmt {
    return make(LetStmt{.value = value, .var = defined, .body = std::move(body)});
  });
}

/// A variable that began with a number without a type takes that of the first value that has one.
void Lowering::assign_again(std::string_view name, const Ptr<Buffer>& buffer, const Expr& value,
                            bool is_literal) {
  const DataType type = buffer->dtype, given = value.dtype();
  const auto literal = literal_variables_.find(buffer.get());
  const bool is_open = literal != literal_variables_.end() && !literal->second.has_type;
  if (is_open) {
    const bool is_number = (given.is_integer() && !given.is_bool()) || given.is_float();
    const bool decides = is_number && given.is_scalar() && given != type &&
                         (!is_literal || is_wider(given, type)) &&
                         holds(given, literal->second.first);
    if (decides) throw VariableType{literal->second.key, given};
    literal->second.has_type = !is_literal;
  }
  // A literal was converted already where it fits.
  if (is_wider(given, type) && !type.is_bool()) {
    const std::string fix =
        fmt::format("write its first value with a type, {} = T.{}(0), or store T.cast(..., \"{}\")",
                    name, to_string(given), to_string(type));
    fail(ErrorKind::script, "variable_keeps_type", hint(fix), current_span,
         "variable {} is {}, because that is how it was first assigned; now it is assigned a {}",
         name, to_string(type), to_string(given));
  }
  assigned_.add(buffer.get());
  emit(loopsmith::store(buffer, cast(type, value), {}));
}

/// Memory for a variable, in the suite that it belongs to.
void Lowering::define_variable(const Expression& target, const Variable& variable, Expr value,
                               bool is_literal) {
  const std::string name(target.text);
  const VariableKey key{&target, expansions_};
  const Expr first = value;
  const auto decided = variable_types_.find(key);
  if (decided != variable_types_.end()) value = cast(decided->second, value);
  const Ptr<Buffer> buffer = decl_buffer({}, value.dtype(), name, "local");
  if (is_literal) {
    literal_variables_[buffer.get()] = {key, first, decided != variable_types_.end()};
  }
  auto home = std::ranges::find(bodies_, variable.home, &Body::suite);
  if (home == bodies_.end()) home = std::prev(bodies_.end());
  for (auto body = home + 1; body-- != bodies_.begin();) {
    if (!body->loop.known()) continue;
    loops_of_variables_[buffer.get()] = body->loop;
    break;
  }
  assigned_.add(buffer.get());
  home->items.push_back(
      {nullptr,
       [buffer](Stmt body) -> Stmt {
         return make(Allocate{.dtype = buffer->dtype,
                              .extents = {},
                              .condition = true,
                              .buffer_var = buffer->data,
                              .body = make(DeclBuffer{.buffer = buffer, .body = std::move(body)})});
       },
       current_span});
  const ScriptValue bound = ScriptValue::Data(ScriptValue::Scalar{buffer});
  if (home == std::prev(bodies_.end())) {
    bind(target.text, bound);
  } else {
    // Visible in the suite that it belongs to: as if it had been bound before this statement.
    names_.insert_or_assign(target.text, bound);
    lifted_[home->suite].push_back(target.text);
  }
  emit(loopsmith::store(buffer, value, {}));
}

/// The value of a variable. One that is new in each iteration must have got it in this one.
Expr Lowering::read_variable(std::string_view name, const Ptr<Buffer>& buffer) {
  const auto loop = loops_of_variables_.find(buffer.get());
  if (loop != loops_of_variables_.end() && !assigned_.contains(buffer.get())) {
    const std::string fix = fmt::format(
        "write {} = T.{}(0), or what it begins with, before the "
        "loop of line {}",
        name, to_string(buffer->dtype), loop->second.line);
    refuse_carried(name, "may not have assigned it", fix);
  }
  return loopsmith::load(buffer, {});
}

/// Refuses a name that a loop around this place assigns later on, where Python would carry it.
void Lowering::require_assigned_before(std::string_view name) {
  if (!plan_) return;
  Span loop;
  for (const Body& body : bodies_) {
    if (body.loop.known()) loop = body.loop;
    if (!loop.known() || !plan_->assigns(name, *body.suite)) continue;
    const std::string fix = fmt::format(
        "write {} = ..., what it begins with, before the loop of line {}", name, loop.line);
    refuse_carried(name, "has not assigned it yet", fix);
  }
}

void Lowering::refuse_carried(std::string_view name, std::string_view why, const std::string& fix) {
  fail(ErrorKind::script, "variable_is_not_carried", hint(fix), current_span,
       "{} is read where this iteration {}: a variable that is first assigned in a loop is new in "
       "each iteration",
       name, why);
}

void Lowering::augmented(const Statement& s) {
  const ScriptValue before = eval(*s.targets[0]);
  const ScriptValue right = eval(*s.value);
  assign_value(*s.targets[0], eval_binary(s.text, before, right));
}

void Lowering::annotated(const Statement& s) {
  const Expression& target = *s.targets[0];
  require_here(target.kind == ExpressionKind::name, "target_is_name", hint("annotate a name"),
               "{} cannot be annotated", target.source);
  require_here(s.value != nullptr, "variable_has_value", hint("give it a value: x: T.int32 = 0"),
               "{} gets a type and no value", target.text);
  const Expression* annotation = s.annotation;
  const bool is_typed_let = annotation->kind == ExpressionKind::subscript &&
                            is_let(*annotation->items[0]) && annotation->items.size() == 2;
  if (is_let(*annotation)) return assign_variable(target, expr(eval(*s.value)), false);
  const ScriptValue type = eval(is_typed_let ? *annotation->items[1] : *annotation);
  const ScriptValue value = eval(*s.value);
  Ptr<Var> variable;
  if (const auto* scalar = type.as<DataType>()) {
    variable = var(std::string(target.text), *scalar);
  } else if (const auto pointer = type.node_as<PointerType>()) {
    variable = make(Var{.name = std::string(target.text), .pointer = pointer});
  } else if (const auto* definition = type.as_shared<ScriptValue::Definition>()) {
    variable = definition->open(std::string(target.text)).value[0].node_as<Var>();
  }
  require_here(variable.defined(), "annotation_is_type", hint("write x: T.int32 = ..."),
               "{} is no type", s.annotation->source);
  assign_name(target, value, variable);
}

}  // namespace loopsmith::parsing
