// SPDX-License-Identifier: Apache-2.0
// What expressions amount to.
#include <algorithm>
#include <cstdlib>

#include "loopsmith/ir/find_data_type.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/script/other_words.h"
#include "loopsmith/script/python_number.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

bool is_identifier_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// What a digit counts; more than any base for what is none.
int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/// The lowering that asked Python for a value, and waits for it.
thread_local Lowering* waiting_lowering = nullptr;

}  // namespace

ScriptValue Lowering::eval(const Expression& e) {
  const SpanScope span(tree_->span(e));
  try {
    return deep_call([&] { return eval_inside(e); });
  } catch (const UserError& error) {
    if (error.kind() == ErrorKind::script && error.span().known()) throw;
    // What an operator or a node refuses is refused here, wherever its operands were defined.
    throw UserError(ErrorKind::script, error.code(), error.problem(), error.hint(), current_span);
  }
}

ScriptValue Lowering::eval_inside(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::name: return eval_name(e);
    case ExpressionKind::number: return eval_number(e);
    case ExpressionKind::text: return ScriptValue::text(e.value);
    case ExpressionKind::dots: return ScriptValue::Data(ScriptValue::Dots{});
    case ExpressionKind::tuple: return ScriptValue::list(eval_items(e.items), true);
    case ExpressionKind::list: return ScriptValue::list(eval_items(e.items));
    case ExpressionKind::dict: {
      ScriptValue::Dict dict;
      for (std::size_t i = 0; i + 1 < e.items.size(); i += 2) {
        ScriptValue key = eval(*e.items[i]);
        dict.items.emplace_back(std::move(key), eval(*e.items[i + 1]));
      }
      return ScriptValue::Data(std::make_shared<const ScriptValue::Dict>(std::move(dict)));
    }
    case ExpressionKind::call: return eval_call(e);
    case ExpressionKind::attribute: return eval_attribute(e);
    case ExpressionKind::subscript: return eval_subscript(e);
    case ExpressionKind::slice: {
      ScriptValue::Slice slice;
      for (const Expression* part : e.items) {
        slice.parts.push_back(part ? eval(*part) : ScriptValue());
      }
      return ScriptValue::Data(std::make_shared<const ScriptValue::Slice>(std::move(slice)));
    }
    case ExpressionKind::unary: return eval_unary(e);
    case ExpressionKind::binary: {
      const ScriptValue a = eval(*e.items[0]);
      return eval_binary(e.text, a, eval(*e.items[1]));
    }
    case ExpressionKind::logic: return eval_logic(e);
    case ExpressionKind::compare: return eval_compare(e);
    case ExpressionKind::conditional: return eval_conditional(e);
    case ExpressionKind::lambda: return ScriptValue::Data(ScriptValue::Lambda{&e});
    case ExpressionKind::foreign: return eval_foreign(e);
    case ExpressionKind::starred:
    case ExpressionKind::keyword: break;
  }
  fail(ErrorKind::script, "starred_in_list", hint("use it in a list or a call"), current_span,
       "{} has no meaning here", e.source);
}

std::vector<ScriptValue> Lowering::eval_items(const std::vector<const Expression*>& items) {
  std::vector<ScriptValue> values;
  values.reserve(items.size());
  for (const Expression* item : items) {
    if (item->kind != ExpressionKind::starred) {
      values.push_back(eval(*item));
      continue;
    }
    for (ScriptValue& value : this->items(eval(*item->items[0]), "*")) {
      values.push_back(std::move(value));
    }
  }
  return values;
}

ScriptValue Lowering::eval_name(const Expression& e) {
  if (std::optional<ScriptValue> value = resolve(e.text)) {
    const auto* scalar = value->as<ScriptValue::Scalar>();
    return scalar ? ScriptValue::node(read_variable(e.text, scalar->buffer)) : *std::move(value);
  }
  require_assigned_before(e.text);
  const auto ended = ended_.find(e.text);
  require_here(ended == ended_.end(), "use_outside_scope",
               hint("move the use into the scope of its definition, or define it before"),
               "{} is used outside the scope of its definition", e.text);
  fail(ErrorKind::script, "name_is_defined", hint("define it, or pass it to the parser"),
       current_span, "undefined name {}", e.text);
}

ScriptValue Lowering::eval_number(const Expression& e) {
  std::string digits;
  for (const char c : e.text) {
    if (c != '_') digits += c;
  }
  const bool is_prefixed = digits.size() > 2 && digits[0] == '0' && is_identifier_part(digits[1]) &&
                           !(digits[1] >= '0' && digits[1] <= '9') && digits[1] != 'e' &&
                           digits[1] != 'E';
  int base = 10;
  std::string_view rest = digits;
  if (is_prefixed) {
    base = digits[1] == 'x' || digits[1] == 'X' ? 16 : digits[1] == 'b' || digits[1] == 'B' ? 2 : 8;
    rest.remove_prefix(2);
  } else if (digits.find_first_of(".eE") != std::string::npos) {
    return ScriptValue::real(std::strtod(digits.c_str(), nullptr));
  }
  __int128 value = 0;
  bool is_number = !rest.empty();
  for (const char c : rest) {
    const int digit = digit_of(c);
    is_number = is_number && digit < base && value < (max_python_integer >> 5);
    if (is_number) value = value * base + digit;
  }
  require_here(is_number, "number_is_known", hint("64 bits are the most that a constant can have"),
               "{} is no number of the language", e.text.substr(0, 40));
  return ScriptValue::integer(value);
}

ScriptValue Lowering::eval_attribute(const Expression& e) {
  ScriptValue value = eval(*e.items[0]);
  return attribute(value, e.text, e);
}

ScriptValue Lowering::attribute(const ScriptValue& given, std::string_view name,
                                const Expression& e) {
  const ScriptValue value = named(given);
  if (const auto* space = value.as<ScriptValue::Namespace>()) {
    if (space->name == "module") {
      require_here(module_ != nullptr, "call_is_in_module", hint("put both into one @I.ir_module"),
                   "{}: there is no module around this function", e.source);
      for (std::size_t i = 0; i < module_->names.size(); ++i) {
        if (module_->labels[i] == name) return ScriptValue::node(module_->names[i]);
      }
      fail(ErrorKind::script, "function_is_in_module", hint("define it in the module"),
           current_span, "the module has no function {}", name);
    }
    if (space->name == "T" && name == "axis") {
      return ScriptValue::Data(ScriptValue::Namespace{"T.axis"});
    }
    if (const Word* word = find_word(space->name, name)) return ScriptValue::Data(word);
    const auto type = space->name == "T" ? find_data_type(name) : std::nullopt;
    if (type) return ScriptValue::Data(*type);
    const std::string_view other = hint_for_other_word(name);
    fail(ErrorKind::script, "word_is_known",
         hint(other.empty() ? "see the names of loopsmith.script.tir" : other), current_span,
         "{} has no attribute {}", space->name, name);
  }
  if (const auto* word = value.as<const Word*>(); word && (*word)->name == "call_packed") {
    if (const Word* inner = find_word("T", name)) return ScriptValue::Data(inner);
  }
  if (const Ptr<Buffer> buffer = value.node_as<Buffer>()) {
    if (std::optional<ScriptValue> found = buffer_attribute(buffer, name)) return *found;
  }
  const Ref* node = value.as<Ref>();
  const bool is_expr =
      (node && Expr::from(*node).defined()) || value.as_shared<ScriptValue::Access>() != nullptr;
  if (is_expr && name == "dtype") return ScriptValue::text(to_string(expr(value).dtype()));
  if (is_expr && (name == "astype" || name == "same_as")) {
    return ScriptValue::Data(std::make_shared<const ScriptValue::Method>(
        ScriptValue::Method{{ScriptValue::node(expr(value))}, std::string(name)}));
  }
  if (node && node->is<Range>()) {
    if (name == "min") return ScriptValue::node(node->as<Range>()->min);
    if (name == "extent") return ScriptValue::node(node->as<Range>()->extent);
  }
  return ask(fmt::format("value.{}", name), {{"value", value}});
}

std::optional<ScriptValue> Lowering::buffer_attribute(const Ptr<Buffer>& buffer,
                                                      std::string_view name) {
  const auto list = [](const std::vector<Expr>& items) {
    std::vector<ScriptValue> values;
    for (const Expr& item : items) {
      const auto* constant = item.as<IntImm>();
      values.push_back(constant && constant->dtype == i32 ? ScriptValue::integer(constant->value)
                                                          : ScriptValue::node(item));
    }
    return ScriptValue::list(std::move(values), true);
  };
  if (name == "data") return ScriptValue::node(buffer->data);
  if (name == "shape") return list(buffer->shape);
  if (name == "strides") return list(buffer->strides);
  if (name == "dtype") return ScriptValue::text(to_string(buffer->dtype));
  if (name == "name") return ScriptValue::text(buffer->name);
  if (name == "ndim") return ScriptValue::integer(static_cast<__int128>(buffer->shape.size()));
  if (name == "elem_offset") {
    return ScriptValue::node(buffer->elem_offset.defined() ? buffer->elem_offset : Expr(0));
  }
  constexpr std::string_view methods[] = {"vload", "vstore",    "access_ptr",
                                          "scope", "offset_of", "same_as"};
  for (const std::string_view known : methods) {
    if (known != name) continue;
    return ScriptValue::Data(std::make_shared<const ScriptValue::Method>(
        ScriptValue::Method{{ScriptValue::node(buffer)}, std::string(name)}));
  }
  return std::nullopt;
}

ScriptValue Lowering::eval_subscript(const Expression& e) {
  // Annotated[tir.Buffer, T.Buffer((128,), "float32")]: type checkers read the first, we the last.
  const bool is_annotated = e.items[0]->text == "Annotated";
  if (is_annotated && e.items[1]->kind == ExpressionKind::tuple) {
    return eval(*e.items[1]->items.back());
  }
  const ScriptValue value = named(eval(*e.items[0]));
  ScriptValue index = eval(*e.items[1]);
  if (const Ptr<Buffer> buffer = value.node_as<Buffer>()) {
    ScriptValue::Access access{buffer, {}, current_span};
    if (const auto* list = index.as_shared<ScriptValue::List>(); list && list->is_tuple) {
      access.indices = list->items;
    } else {
      access.indices = {std::move(index)};
    }
    require_here(access.indices.size() == buffer->shape.size(), "one_index_a_dimension",
                 hint("give one index for each dimension"),
                 "buffer {} has {} dimensions, {} indices were given", buffer->name,
                 buffer->shape.size(), access.indices.size());
    return ScriptValue::Data(std::make_shared<const ScriptValue::Access>(std::move(access)));
  }
  if (const auto* list = value.as_shared<ScriptValue::List>()) {
    if (const auto* place = index.as<ScriptValue::Integer>()) {
      const auto size = static_cast<__int128>(list->items.size());
      const __int128 i = place->value < 0 ? place->value + size : place->value;
      require_here(i >= 0 && i < size, "index_in_range", hint("count from 0"),
                   "the list has {} items, the index is {}", list->items.size(),
                   static_cast<std::int64_t>(place->value));
      return list->items[static_cast<std::size_t>(i)];
    }
  }
  if (const auto* dict = value.as_shared<ScriptValue::Dict>()) {
    for (const auto& [key, item] : dict->items) {
      const auto* a = key.as<std::string>();
      const auto* b = index.as<std::string>();
      if (a && b && *a == *b) return item;
    }
  }
  // T.Buffer[(128,), "float32"]: how it was written before calls.
  if (value.as<const Word*>()) {
    const auto* list = index.as_shared<ScriptValue::List>();
    return call(value, list && list->is_tuple ? list->items : std::vector{index}, {});
  }
  const Ref* node = value.as<Ref>();
  require_here(!node || !Expr::from(*node).defined(), "only_buffers_are_indexed",
               hint("declare a buffer: T.match_buffer, T.decl_buffer, T.alloc_buffer"),
               "{} is {}, which has no elements", e.items[0]->source, describe(value));
  return ask("value[index]", {{"value", value}, {"index", index}});
}

/// What is not of the language goes to the resolver, with the names of the script that it may use.
ScriptValue Lowering::eval_foreign(const Expression& e) {
  Resolver::Locals locals;
  for (std::size_t i = 0; i < e.source.size();) {
    std::size_t end = i;
    while (end < e.source.size() && is_identifier_part(e.source[end])) ++end;
    const std::string_view word = e.source.substr(i, end - i);
    const ScriptValue* value = end > i ? find(word) : nullptr;
    if (value) {
      const auto* scalar = value->as<ScriptValue::Scalar>();
      locals.emplace_back(std::string(word),
                          scalar ? ScriptValue::node(read_variable(word, scalar->buffer)) : *value);
    }
    i = std::max(end, i + 1);
  }
  return ask(e.source, std::move(locals), e.source);
}

ScriptValue Lowering::ask(std::string_view source, Resolver::Locals locals,
                          std::string_view shown) {
  require_here(resolver_ != nullptr, "resolver_is_given",
               hint("write it in the language, or give the parser a resolver"),
               "{} is not of the script language", shown);
  for (auto& [name, value] : locals) value = plain(value);
  Lowering* const outer = std::exchange(waiting_lowering, func_ ? this : nullptr);
  try {
    ScriptValue value = resolver_->evaluate(source, locals);
    waiting_lowering = outer;
    return value;
  } catch (...) {
    waiting_lowering = outer;
    throw;
  }
}

Lowering* Lowering::waiting() {
  return waiting_lowering;
}

Lowering* Lowering::set_waiting(Lowering* reader) {
  return std::exchange(waiting_lowering, reader);
}

ScriptValue Lowering::call_from_python(const ScriptValue& function,
                                       std::vector<ScriptValue> positional,
                                       std::vector<std::pair<std::string, ScriptValue>> named) {
  const ScriptValue value = call(function, std::move(positional), std::move(named));
  if (const auto* meta = value.as_shared<ScriptValue::Meta>(); meta && !is_building_) {
    // Names that a helper's result gets in the script leave no trace either.
    if (meta->value[0].as_shared<ScriptValue::List>()) return value;
  }
  const auto* definition = value.as_shared<ScriptValue::Definition>();
  if (!definition) {
    // What a line of a script would do with it.
    const auto* word = function.as<const Word*>();
    const bool is_statement = value.as<Ref>() && Stmt::from(*value.as<Ref>()).defined();
    if (is_building_ && (is_statement || (word && (*word)->name == "evaluate"))) {
      use(value);
      return {};
    }
    const auto* list = value.as_shared<ScriptValue::List>();
    if (!list) return this->named(value);
    std::vector<ScriptValue> items;
    for (const ScriptValue& item : list->items) items.push_back(this->named(item));
    return ScriptValue::list(std::move(items), list->is_tuple);
  }
  auto opened = definition->open(naming_.empty() ? definition->default_name : naming_);
  // A builder enters what lasts to the end of a suite, but for views, which are declared at once.
  const bool is_view = opened.value[0].node_as<Buffer>() && function.as<const Word*>() &&
                       (*function.as<const Word*>())->name != "decl_buffer";
  if (opened.wrap && is_building_ && !is_view) {
    Frame frame{.kind = Frame::Kind::definition};
    frame.value = std::move(opened.value);
    frame.wrap = std::move(opened.wrap);
    return ScriptValue::Data(std::make_shared<Frame>(std::move(frame)));
  }
  if (opened.wrap) emit_around(std::move(opened.wrap));
  return opened.value[0];
}

/// A value as Python knows it: elements and regions become nodes, lambdas functions.
ScriptValue Lowering::plain(const ScriptValue& given) {
  ScriptValue value = named(given);
  if (const auto* access = value.as_shared<ScriptValue::Access>()) {
    const bool is_region = std::ranges::any_of(access->indices, [](const ScriptValue& index) {
      return index.as_shared<ScriptValue::Slice>() != nullptr;
    });
    return is_region ? ScriptValue::node(region(value)) : ScriptValue::node(expr(value));
  }
  if (const auto* lambda = value.as<ScriptValue::Lambda>())
    return eval_foreign(*lambda->expression);
  if (const auto* list = value.as_shared<ScriptValue::List>()) {
    std::vector<ScriptValue> items;
    for (const ScriptValue& item : list->items) items.push_back(plain(item));
    return ScriptValue::list(std::move(items), list->is_tuple);
  }
  return value;
}

/// `T.Let(body, where={x: value})`: x is defined by standing there.
ScriptValue Lowering::eval_let(const Expression& e) {
  const Expression* body = nullptr;
  const Expression* where = nullptr;
  for (const Expression* item : std::vector(e.items.begin() + 1, e.items.end())) {
    const bool is_where = item->kind == ExpressionKind::keyword && item->text == "where";
    (is_where ? where : body) = is_where ? item->items[0] : item;
  }
  if (!where && e.items.size() == 3) {
    body = e.items[1];
    where = e.items[2];
  }
  const bool is_let = body && where && where->kind == ExpressionKind::dict &&
                      where->items.size() == 2 && where->items[0]->kind == ExpressionKind::name;
  require_here(is_let, "let_has_one_name", hint("write T.Let(body, where={x: value})"),
               "T.Let defines one name, and gives its value");
  const Expr value = expr(eval(*where->items[1]));
  const std::string_view name = where->items[0]->text;
  const ScriptValue* known = find(name);
  Ptr<Var> variable = known ? known->node_as<Var>() : nullptr;
  if (!variable.defined() || variable->dtype != value.dtype())
    variable = var(std::string(name), value.dtype());
  const Scope scope(*this);
  bind(name, ScriptValue::node(variable));
  return ScriptValue::node(
      loopsmith::make(Let{.value = value, .var = variable, .body = expr(eval(*body))}));
}

}  // namespace loopsmith::parsing
