// SPDX-License-Identifier: Apache-2.0
// Calls: of words, types, methods, macros and functions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "loopsmith/ir/buffer_address.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

constexpr int max_expansions = 10000;
constexpr int max_nested_expansions = 200;

using Named = std::vector<std::pair<std::string, ScriptValue>>;

const ScriptValue* find_named(const Named& named, std::string_view name) {
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

/// `T.float32(x)`: a constant or a cast; `T.float32()`: a new variable; `T.handle("float32")`.
ScriptValue call_type(Lowering& lowering, DataType type, const std::vector<ScriptValue>& args,
                      const Named& named) {
  const ScriptValue* is_size = find_named(named, "is_size_var");
  if (type == handle_type) {
    const ScriptValue* scope = find_named(named, "storage_scope");
    if (args.size() > 1) scope = &args[1];
    if (args.empty() || args[0].is_none()) {
      return ScriptValue::definition(
          [](const std::string& name) {
            return ScriptValue::Definition::Opened{{ScriptValue::node(var(name, handle_type))}};
          },
          "v");
    }
    const Ptr<PointerType> pointer =
        make(PointerType{.element = lowering.data_type(args[0], "T.handle"),
                         .storage_scope = scope ? lowering.text(*scope, "T.handle") : "global"});
    return ScriptValue::node(pointer);
  }
  if (args.empty() || args[0].is_none()) {
    const bool size = is_size && lowering.truth(*is_size, "is_size_var");
    return ScriptValue::definition(
        [type, size](const std::string& name) {
          const Ptr<Var> variable = size ? size_var(name, type) : var(name, type);
          return ScriptValue::Definition::Opened{{ScriptValue::node(variable)}};
        },
        "v");
  }
  if (const auto* text = args[0].as<std::string>()) {
    double value = 0;
    if (*text == "inf" || *text == "-inf") {
      value = *text == "inf" ? HUGE_VAL : -HUGE_VAL;
    } else if (*text == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else {
      lowering.require_here(false, "constant_is_known", hint("inf, -inf and nan are such texts"),
                            "T.{}: '{}' is no number", to_string(type), *text);
    }
    return ScriptValue::node(float_imm(type, value));
  }
  if (const auto* truth = args[0].as<bool>(); truth && !type.is_bool()) {
    return ScriptValue::node(const_of(type, *truth ? 1 : 0));
  }
  if (const auto* real = args[0].as<double>(); real && type.is_float() && type.is_scalar()) {
    return ScriptValue::node(float_imm(type, *real));
  }
  if (args[0].as<ScriptValue::Integer>() && type.is_scalar()) {
    const Expr value = lowering.expr(args[0], type.is_bool() ? i32 : type);
    if (type.is_bool()) return ScriptValue::node(cast(boolean, value));
    lowering.require_here(value.dtype() == type || (type == i64 || type.is_float()),
                          "constant_in_range", hint("use a wider type"),
                          "the constant is out of the range of {}", to_string(type));
    return ScriptValue::node(cast(type, value));
  }
  return ScriptValue::node(cast(type, lowering.expr(args[0], type)));
}

}  // namespace

Arguments::Arguments(const Word& word, std::vector<ScriptValue> positional, Named named) {
  const std::vector<std::string_view> names = parameter_names(word.parameters);
  // Called only where something is wrong: most calls are right, and texts take time.
  const auto refuse = [&](std::string_view code, std::string problem) {
    throw UserError(ErrorKind::script, std::string(code), std::move(problem),
                    fmt::format("{}.{}({})", word.space, word.name, word.parameters), current_span);
  };
  std::vector<std::string_view> places;
  std::size_t most = 0;
  bool takes_rest = false;
  bool by_name_only = false;
  for (const std::string_view name : names) {
    if (name == "*") {
      by_name_only = true;
    } else if (name.starts_with('*')) {
      takes_rest = by_name_only = true;
    } else {
      places.push_back(name);
      most += by_name_only ? 0 : 1;
    }
  }
  values_.resize(places.size());
  given_.resize(places.size());
  // A type that is said by its name leaves the first place to the value: T.reinterpret(x, dtype=d).
  const auto is_dtype = [](const auto& each) { return each.first == "dtype"; };
  const auto dtype = std::ranges::find_if(named, is_dtype);
  if (!positional.empty() && !places.empty() && places.back() == "value" && dtype != named.end()) {
    positional.insert(positional.begin(), std::move(dtype->second));
    named.erase(dtype);
  }
  for (std::size_t i = 0; i < positional.size(); ++i) {
    if (i >= most && !takes_rest) {
      refuse("argument_count", fmt::format("{}.{} takes {} arguments, {} were given", word.space,
                                           word.name, most, positional.size()));
    }
    if (i >= most) {
      rest_.push_back(std::move(positional[i]));
      continue;
    }
    values_[i] = std::move(positional[i]);
    given_[i] = true;
  }
  for (auto& [name, value] : named) {
    const auto place = std::find(places.begin(), places.end(), name);
    if (place == places.end()) {
      refuse("argument_is_known",
             fmt::format("{}.{} has no parameter {}", word.space, word.name, name));
    }
    const auto i = static_cast<std::size_t>(place - places.begin());
    if (given_[i]) {
      refuse("argument_is_given_once",
             fmt::format("{}.{}: {} is given twice", word.space, word.name, name));
    }
    values_[i] = std::move(value);
    given_[i] = true;
  }
  // A parameter without a default is one that must be given.
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (given_[i]) continue;
    const auto begin = static_cast<std::size_t>(places[i].data() - word.parameters.data());
    std::size_t end = begin;
    for (int depth = 0; end < word.parameters.size(); ++end) {
      const char c = word.parameters[end];
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      if (depth == 0 && c == ',') break;
    }
    const bool has_default =
        word.parameters.substr(begin, end - begin).find('=') != std::string_view::npos;
    if (!has_default) {
      refuse("argument_is_missing",
             fmt::format("{}.{}: {} is missing", word.space, word.name, places[i]));
    }
  }
}

const ScriptValue& Arguments::operator[](std::size_t i) const {
  return values_[i];
}

std::vector<std::string_view> parameter_names(std::string_view signature) {
  std::vector<std::string_view> names;
  std::size_t i = 0;
  while (i < signature.size()) {
    while (i < signature.size() && (signature[i] == ' ' || signature[i] == ',')) ++i;
    const std::size_t begin = i;
    while (i < signature.size() && signature[i] != ':' && signature[i] != ',' &&
           signature[i] != '=') {
      ++i;
    }
    if (i > begin && signature[begin] != '/') names.push_back(signature.substr(begin, i - begin));
    for (int depth = 0; i < signature.size() && (depth > 0 || signature[i] != ','); ++i) {
      if (signature[i] == '[' || signature[i] == '(') ++depth;
      if (signature[i] == ']' || signature[i] == ')') --depth;
    }
  }
  return names;
}

ScriptValue Lowering::eval_call(const Expression& e) {
  const ScriptValue function = named(eval(*e.items[0]));
  if (const auto* word = function.as<const Word*>()) {
    if ((*word)->name == "Let" && (*word)->space == "T") return eval_let(e);
  }
  std::vector<ScriptValue> positional;
  Named named;
  for (std::size_t i = 1; i < e.items.size(); ++i) {
    const Expression& item = *e.items[i];
    if (item.kind == ExpressionKind::keyword) {
      named.emplace_back(item.text, eval(*item.items[0]));
    } else if (item.kind == ExpressionKind::starred && item.text == "**") {
      const ScriptValue value = this->named(eval(*item.items[0]));
      const auto* dict = value.as_shared<ScriptValue::Dict>();
      require_here(dict != nullptr, "value_is_dict", hint("give a dict from texts to values"),
                   "**: {} is no dict", describe(value));
      for (const auto& [key, part] : dict->items) named.emplace_back(text(key, "**"), part);
    } else if (item.kind == ExpressionKind::starred) {
      for (ScriptValue& part : items(eval(*item.items[0]), "*")) {
        positional.push_back(std::move(part));
      }
    } else {
      positional.push_back(eval(item));
    }
  }
  return call(function, std::move(positional), std::move(named));
}

ScriptValue Lowering::call(const ScriptValue& function, std::vector<ScriptValue> positional,
                           Named named) {
  if (const auto* word = function.as<const Word*>()) {
    const Arguments arguments(**word, std::move(positional), std::move(named));
    return (*word)->call(*this, arguments, **word);
  }
  if (const auto* type = function.as<DataType>()) return call_type(*this, *type, positional, named);
  if (const auto* bound = function.as_shared<ScriptValue::Method>()) {
    return method(*bound, std::move(positional), std::move(named));
  }
  if (const auto* macro = function.as<std::shared_ptr<const MacroDefinition>>()) {
    expand(**macro, std::move(positional), std::move(named));
    return {};
  }
  if (const auto* lambda = function.as<ScriptValue::Lambda>()) {
    return apply(*lambda->expression, positional);
  }
  if (const auto name = function.node_as<GlobalVar>()) return call_function(name, positional);
  if (const auto func = function.node_as<PrimFunc>()) {
    fail(ErrorKind::script, "call_is_in_module",
         hint("define both in one @I.ir_module, and call cls.name(...)"), current_span,
         "{} is a function outside of this module", func->name());
  }
  if (!function.as<std::shared_ptr<ForeignValue>>()) {
    fail(ErrorKind::script, "value_is_function", hint("see the names of loopsmith.script.tir"),
         current_span, "{} cannot be called", describe(function));
  }
  Resolver::Locals locals{{"function", function}};
  std::string source = "function(";
  for (ScriptValue& value : positional) {
    source += fmt::format("a{}, ", locals.size());
    locals.emplace_back(fmt::format("a{}", locals.size()), this->named(value));
  }
  for (auto& [name, value] : named) {
    source += fmt::format("{}=a{}, ", name, locals.size());
    locals.emplace_back(fmt::format("a{}", locals.size()), this->named(value));
  }
  return ask(source + ")", std::move(locals));
}

ScriptValue Lowering::apply(const Expression& lambda, const std::vector<ScriptValue>& arguments) {
  require_here(lambda.names.size() == arguments.size(), "argument_count",
               hint("give one argument for each parameter"),
               "the lambda takes {} arguments, {} were given", lambda.names.size(),
               arguments.size());
  const Scope scope(*this);
  for (std::size_t i = 0; i < arguments.size(); ++i) bind(lambda.names[i], arguments[i]);
  return named(eval(*lambda.items[0]));
}

ScriptValue Lowering::call_function(const Ptr<GlobalVar>& name,
                                    const std::vector<ScriptValue>& args) {
  require_here(module_ != nullptr, "call_is_in_module", hint("put both into one @I.ir_module"),
               "{}: there is no module around this function", name->name_hint);
  DataType type = void_type;
  for (std::size_t i = 0; i < module_->names.size(); ++i) {
    if (module_->names[i].same_as(name)) type = module_->ret_types[i];
  }
  std::vector<Expr> values{name};
  for (const ScriptValue& value : args) {
    const auto buffer = this->named(value).node_as<Buffer>();
    values.push_back(buffer ? Expr(buffer->data) : expr(value));
  }
  return ScriptValue::node(loopsmith::call(type, op("call_global"), std::move(values)));
}

ScriptValue Lowering::method(const ScriptValue::Method& method, std::vector<ScriptValue> positional,
                             Named named) {
  const ScriptValue& self = method.self[0];
  const auto argument = [&](std::size_t i, std::string_view name) -> ScriptValue {
    if (i < positional.size()) return positional[i];
    const ScriptValue* value = find_named(named, name);
    return value ? *value : ScriptValue();
  };
  if (method.name == "same_as") {
    const ScriptValue given = argument(0, "other");
    const Ref* other = given.as<Ref>();
    return ScriptValue::truth(other && other->same_as(*self.as<Ref>()));
  }
  if (method.name == "astype") {
    return ScriptValue::node(cast(data_type(argument(0, "dtype"), "astype"), expr(self)));
  }
  const auto buffer = self.node_as<Buffer>();
  if (method.name == "scope") return ScriptValue::text(std::string(buffer->scope()));
  if (method.name == "vload" || method.name == "vstore") {
    const bool is_load = method.name == "vload";
    ScriptValue::Access access{buffer, items_or_one(argument(0, "begin")), current_span};
    require_here(access.indices.size() == buffer->shape.size(), "one_index_a_dimension",
                 hint("give one index for each dimension"),
                 "buffer {} has {} dimensions, {} indices were given", buffer->name,
                 buffer->shape.size(), access.indices.size());
    const ScriptValue mask = argument(2, "predicate");
    const Expr predicate = mask.is_none() ? Expr() : expr(mask);
    std::vector<Expr> indices = access_indices(access);
    const ScriptValue type_given = is_load ? argument(1, "dtype") : ScriptValue();
    int lanes = 1;
    if (is_load && !type_given.is_none()) {
      lanes = data_type(type_given, "vload").lanes / buffer->dtype.lanes;
    }
    if (!is_load)
      lanes = expr(argument(1, "value"), buffer->dtype).dtype().lanes / buffer->dtype.lanes;
    if (!indices.empty() && indices.back().dtype().is_scalar() && lanes > 1) {
      const Expr base = indices.back();
      indices.back() = make(Ramp{.base = base, .stride = int_imm(base.dtype(), 1), .lanes = lanes});
    }
    if (is_load) {
      return ScriptValue::node(make(
          BufferLoad{.buffer = buffer, .indices = std::move(indices), .predicate = predicate}));
    }
    ScriptValue::Access place{buffer, {}, current_span};
    for (const Expr& index : indices) place.indices.push_back(ScriptValue::node(index));
    store(place, argument(1, "value"), predicate);
    return {};
  }
  if (method.name == "offset_of") {
    return ScriptValue::node(offset_of(*buffer, exprs(argument(0, "indices"))));
  }
  // access_ptr(access_mask, ptr_type, content_lanes, offset, extent)
  const ScriptValue mask = argument(0, "access_mask");
  const ScriptValue lanes = argument(2, "content_lanes");
  const ScriptValue offset = argument(3, "offset");
  const ScriptValue extent = argument(4, "extent");
  const auto* letters = mask.as<std::string>();
  PointerUse use{.mask = letters ? pointer_mask(*letters)
                                 : static_cast<int>(integer(mask, "access_ptr"))};
  if (!lanes.is_none()) use.lanes = static_cast<int>(integer(lanes, "access_ptr"));
  if (!offset.is_none()) use.offset = expr(offset);
  if (!extent.is_none()) use.extent = expr(extent);
  return ScriptValue::node(access_ptr(buffer, use));
}

/// Inlines a macro: its parameters are names for what was given, its lines are read here.
void Lowering::expand(const MacroDefinition& macro, std::vector<ScriptValue> positional,
                      Named named) {
  require_here(func_ != nullptr, "word_is_in_function", hint("call it in a @T.prim_func"),
               "a macro is called outside of a function");
  require_here(++expansions_ <= max_expansions, "macro_is_finite",
               hint("write a loop, or a function"), "macros are expanded more than {} times",
               max_expansions);
  require_here(++expansion_depth_ <= max_nested_expansions, "macro_is_finite",
               hint("a macro cannot call itself"), "macros are expanded inside each other {} deep",
               max_nested_expansions);
  positional.insert(positional.begin(), macro.first.begin(), macro.first.end());
  const Statement& s = *macro.function;
  const SyntaxTree* const outer_tree = std::exchange(tree_, macro.tree.get());
  const VariablePlan plan(s);
  const VariablePlan* const outer_plan = std::exchange(plan_, &plan);
  Resolver* const outer_resolver = resolver_;
  if (macro.resolver) resolver_ = macro.resolver.get();
  // Free names mean what they mean where the macro was written.
  auto outer_names = macro.is_hygienic ? std::exchange(names_, globals_) : decltype(names_){};
  {
    const Scope scope(*this);
    std::size_t next = 0;
    for (const Parameter& p : s.parameters) {
      const ScriptValue* by_name = find_named(named, p.name);
      if (p.is_starred) {
        bind(p.name,
             ScriptValue::list(
                 {positional.begin() + static_cast<std::ptrdiff_t>(next), positional.end()}, true));
        next = positional.size();
      } else if (p.is_doubly_starred) {
        ScriptValue::Dict rest;
        for (const auto& [key, value] : named) {
          const bool is_other = std::ranges::none_of(
              s.parameters, [&](const Parameter& other) { return other.name == key; });
          if (is_other) rest.items.emplace_back(ScriptValue::text(key), this->named(value));
        }
        bind(p.name, ScriptValue::Data(std::make_shared<const ScriptValue::Dict>(std::move(rest))));
      } else if (next < positional.size()) {
        bind(p.name, this->named(positional[next++]));
      } else if (by_name) {
        bind(p.name, this->named(*by_name));
      } else {
        require_here(p.value != nullptr, "argument_is_missing",
                     hint("give one argument for each parameter"), "macro {}: {} is missing",
                     s.text, p.name);
        bind(p.name, eval(*p.value));
      }
    }
    require_here(next == positional.size(), "argument_count",
                 hint("give one argument for each parameter"),
                 "macro {} takes {} arguments, {} were given", s.text, s.parameters.size(),
                 positional.size());
    for (const auto& [key, value] : named) {
      const bool is_taken = std::ranges::any_of(s.parameters, [&](const Parameter& p) {
        return p.is_doubly_starred || (p.name == key && !p.is_starred);
      });
      require_here(is_taken, "argument_is_known", hint("see the parameters of the macro"),
                   "macro {} has no parameter {}", s.text, key);
    }
    const Stmt inlined = suite(s.body);
    emit(inlined);
  }
  if (macro.is_hygienic) names_ = std::move(outer_names);
  resolver_ = outer_resolver;
  plan_ = outer_plan;
  tree_ = outer_tree;
  --expansion_depth_;
}

}  // namespace loopsmith::parsing
