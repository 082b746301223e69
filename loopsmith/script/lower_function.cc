// SPDX-License-Identifier: Apache-2.0
// Files, modules and functions.
#include <algorithm>
#include <cctype>

#include "loopsmith/arith/infer_regions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

bool is_last(std::string_view dotted, std::string_view name) {
  return dotted == name ||
         (dotted.ends_with(name) && dotted[dotted.size() - name.size() - 1] == '.');
}

}  // namespace

Lowering::Lowering(const SyntaxTree& tree, const ParseOptions& options)
    : tree_(&tree), options_(options), resolver_(options.resolver) {}

BlockState& Lowering::block(std::string_view word) {
  require_here(!blocks_.empty(), "word_is_in_function", hint("use it in a @T.prim_func"),
               "{} is used outside of a function", word);
  return *blocks_.back();
}

BlockState& Lowering::block_with_axes(std::string_view word) {
  BlockState& state = block(word);
  require_here(!state.is_root, "word_is_in_block", hint("write it inside `with T.block(...):`"),
               "{} is used outside of a block", word);
  return state;
}

Lowering::Function& Lowering::function(std::string_view word) {
  require_here(func_ != nullptr, "word_is_in_function", hint("use it in a @T.prim_func"),
               "{} is used outside of a function", word);
  return *func_;
}

// ---- Files ----

Lowering::Decoration Lowering::decoration_of(const Statement& s) {
  Decoration made{.is_private = options_.is_private, .adds_root = options_.adds_root};
  for (const Expression* decorator : s.decorators) {
    const bool is_call = decorator->kind == ExpressionKind::call;
    const std::string_view word = (is_call ? decorator->items[0] : decorator)->source;
    // The last two of each are the words of 2021.
    if (is_last(word, "prim_func") || is_last(word, "script.tir")) made.kind = Kind::function;
    if (is_last(word, "ir_module") || is_last(word, "script.module")) made.kind = Kind::module;
    if (is_last(word, "macro")) made.kind = Kind::macro;
    if (!is_call) continue;
    for (const Expression* item : decorator->items) {
      if (item->kind != ExpressionKind::keyword) continue;
      const std::pair<std::string_view, bool*> switches[] = {
          {"private", &made.is_private},
          {"implicit_root", &made.adds_root},
          {"hygienic", &made.is_hygienic},
      };
      for (const auto& [name, place] : switches) {
        if (item->text == name) *place = truth(eval(*item->items[0]), name);
      }
      if (item->text == "name" && made.kind == Kind::function) {
        const ScriptValue name = named(eval(*item->items[0]));
        if (!name.is_none()) made.name = text(name, "name");
      }
    }
  }
  return made;
}

std::vector<std::pair<std::string, Ref>> Lowering::definitions() {
  std::vector<std::pair<std::string, Ref>> made;
  const Scope scope(*this);
  for (const Statement* s : tree_->body.statements) {
    const SpanScope span(tree_->span(*s));
    const Decoration decoration = decoration_of(*s);
    if (s->kind == StatementKind::function && decoration.kind == Kind::macro) {
      bind(s->text, macro_value(*s, decoration.is_hygienic));
    } else if (s->kind == StatementKind::function) {
      made.emplace_back(s->text, prim_func(*s, decoration));
      bind(s->text, ScriptValue::node(made.back().second));
    } else if (s->kind == StatementKind::class_) {
      made.emplace_back(s->text, ir_module(*s));
    } else if (s->kind == StatementKind::import) {
      import(*s);
    } else if (s->kind == StatementKind::assign) {
      // Constants and variables that the functions below use.
      try {
        const ScriptValue value = named(eval(*s->value));
        for (const Expression* target : s->targets) {
          if (target->kind == ExpressionKind::name) bind(target->text, value);
        }
      } catch (const UserError& error) {
        throw UserError(ErrorKind::script, error.code(), error.problem(), error.hint(),
                        error.span().known() ? error.span() : current_span);
      }
    } else {
      const bool is_nothing =
          s->kind == StatementKind::pass ||
          (s->kind == StatementKind::expression && s->value->kind == ExpressionKind::text);
      require_here(is_nothing, "statement_is_in_function", hint("put it into a @T.prim_func"),
                   "a statement stands outside of a function");
    }
  }
  const SpanScope span(Span{tree_->source, options_.line});
  require_here(!made.empty(), "script_defines_something",
               hint("define a function, @T.prim_func, or a module, @I.ir_module"),
               "the script defines no function and no module");
  return made;
}

const Statement* Lowering::macro() {
  for (const Statement* s : tree_->body.statements) {
    if (s->kind == StatementKind::function) return s;
  }
  const SpanScope span(Span{tree_->source, options_.line});
  fail(ErrorKind::script, "script_defines_something", hint("define a function, @T.macro"),
       current_span, "the script defines no macro");
}

ScriptValue Lowering::macro_value(const Statement& s, bool is_hygienic) {
  // The tree lives as long as the reading of this source.
  const std::shared_ptr<const SyntaxTree> tree(tree_, [](const SyntaxTree*) {});
  return ScriptValue::Data(
      std::make_shared<const MacroDefinition>(MacroDefinition{tree, {}, &s, nullptr, is_hygienic}));
}

/// `from loopsmith.script import tir as T`; imports of anything else are the resolver's.
void Lowering::import(const Statement& s) {
  const bool is_tir =
      is_last(s.module, "script.tir") || s.module == "tir" || s.module == "script.ty";
  const bool is_ir = is_last(s.module, "script.ir");
  if (is_tir || is_ir) {
    bind(s.text, ScriptValue::Data(ScriptValue::Namespace{is_tir ? "T" : "I"}));
  }
}

Ptr<IRModule> Lowering::ir_module(const Statement& s) {
  Module module;
  module_ = &module;
  const Scope scope(*this);
  bind(s.text, ScriptValue::Data(ScriptValue::Namespace{"module"}));
  std::vector<std::pair<const Statement*, Decoration>> functions;
  for (const Statement* inner : s.body.statements) {
    const SpanScope span(tree_->span(*inner));
    if (inner->kind == StatementKind::function) {
      const Decoration decoration = decoration_of(*inner);
      if (decoration.kind == Kind::macro) {
        bind(inner->text, macro_value(*inner, decoration.is_hygienic));
        continue;
      }
      const bool is_new = std::ranges::none_of(
          module.labels, [&](std::string_view label) { return label == inner->text; });
      require_here(is_new, "defined_once", hint("give it another name"),
                   "function {} is defined twice", inner->text);
      functions.emplace_back(inner, decoration);
      module.labels.push_back(inner->text);
      bind(inner->text,
           ScriptValue::node(module.declare(decoration.name.value_or(std::string(inner->text)),
                                            return_type(*inner))));
    } else if (inner->kind == StatementKind::assign &&
               inner->targets[0]->kind == ExpressionKind::name) {
      const ScriptValue value = named(eval(*inner->value));
      const auto func = value.node_as<PrimFunc>();
      bind(inner->targets[0]->text, value);
      if (!func) continue;
      const std::string_view name = inner->targets[0]->text;
      module.labels.push_back(name);
      bind(name, ScriptValue::node(module.declare(std::string(name), func->ret_type)));
      module.functions.back() = func;
    } else if (inner->kind == StatementKind::expression) {
      if (inner->value->kind != ExpressionKind::text && inner->value->kind != ExpressionKind::dots)
        eval(*inner->value);
    } else {
      require_here(inner->kind == StatementKind::pass, "statement_is_in_function",
                   hint("put it into a @T.prim_func"), "a statement stands outside of a function");
    }
  }
  auto next = functions.begin();
  for (std::size_t i = 0; i < module.names.size(); ++i) {
    if (module.functions[i].defined()) continue;
    module.functions[i] = prim_func(*next->first, next->second);
    ++next;
  }
  const Ptr<IRModule> result =
      make(IRModule{.names = module.names, .functions = module.functions, .attrs = module.attrs});
  module_ = nullptr;
  if (options_.check_well_formed) verify_well_formed(result);
  return result;
}

// ---- Functions ----

DataType Lowering::return_type(const Statement& s) {
  if (!s.annotation) return void_type;
  const SpanScope span(tree_->span(*s.annotation));
  const ScriptValue value = named(eval(*s.annotation));
  if (value.is_none()) return void_type;
  if (value.node_as<Var>()) return value.node_as<Var>()->dtype;
  return data_type(value, "return type");
}

/// Declares the parameters that are plain numbers, which the sizes of others may mention.
void Lowering::declare_numbers(const std::vector<Parameter>& parameters) {
  numbers_.clear();
  for (const Parameter& p : parameters) {
    const bool is_plain = p.annotation && p.annotation->kind == ExpressionKind::attribute &&
                          !p.is_starred && !p.value && !is_bound_here(p.name);
    if (!is_plain) continue;
    const SpanScope span(span_between(tree_->source, p.begin, p.end));
    const ScriptValue type = eval(*p.annotation);
    const auto* number = type.as<DataType>();
    if (!number || number->is_handle()) continue;
    numbers_.emplace_back(p.name, var(std::string(p.name), *number));
    bind(p.name, ScriptValue::node(numbers_.back().second));
  }
}

/// Adds a parameter: a scalar, a pointer, or a handle with its buffer.
void Lowering::parameter(const Parameter& p) {
  const SpanScope span(span_between(tree_->source, p.begin, p.end));
  require_here(p.annotation != nullptr, "parameter_has_type",
               hint("write A: T.Buffer((128,), \"float32\"), n: T.int32 or a: T.handle"),
               "parameter {} has no type", p.name);
  require_here(!p.is_starred && !p.is_doubly_starred && !p.value, "parameter_is_plain",
               hint("give each parameter a name and a type, no default"),
               "parameter {} is a star argument or has a default", p.name);
  const auto number =
      std::ranges::find(numbers_, p.name, [](const auto& pair) { return pair.first; });
  const bool is_early = number != numbers_.end();
  require_here(is_early || !is_bound_here(p.name), "defined_once", hint("give it another name"),
               "parameter {} is defined twice", p.name);
  if (is_early) {
    func_->params.push_back(number->second);
    func_->buffer_map.push_back(nullptr);
    numbers_.erase(number);
    return;
  }
  const std::string name(p.name);
  ScriptValue type = eval(*p.annotation);
  if (const auto* word = type.as<const Word*>(); word && (*word)->name == "handle") {
    type = ScriptValue::Data(handle_type);
  }
  if (const auto* definition = type.as_shared<ScriptValue::Definition>()) {
    type = definition->open(name).value[0];
  }
  Ptr<Var> variable;
  Ptr<Buffer> buffer;
  if (const auto* text = type.as<std::string>()) {
    // A type in quotes: "T.float32".
    type = ScriptValue::Data(parse_data_type(text->substr(text->rfind('.') + 1)));
  }
  if (const auto* scalar = type.as<DataType>()) {
    variable = var(name, *scalar);
  } else if (const auto pointer = type.node_as<PointerType>()) {
    variable = make(Var{.name = name, .pointer = pointer});
  } else if (const auto known = type.node_as<Var>()) {
    Var copy = *known;
    copy.name = name;
    variable = make(std::move(copy));
  } else if (const auto written = type.node_as<Buffer>()) {
    // A type may be shared by parameters; a buffer is one object.
    Buffer copy = *written;
    copy.name = name;
    copy.data = pointer_var(name, copy.dtype, std::string(written->scope()));
    buffer = make(std::move(copy));
    variable = var(name + "_handle", handle_type);
  }
  require_here(variable.defined(), "parameter_has_type",
               hint("write A: T.Buffer((128,), \"float32\"), n: T.int32 or a: T.handle"),
               "parameter {}: {} is no type", p.name, describe(type));
  bind(p.name, ScriptValue::node(buffer ? Ref(buffer) : Ref(variable)));
  func_->params.push_back(variable);
  func_->buffer_map.push_back(buffer);
}

Expr Lowering::size_named(const std::string& name) {
  if (const ScriptValue* known = find(name)) return expr(*known);
  const auto is_part = [](char c) {
    return c == '_' || c == '.' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  const bool is_name = std::ranges::all_of(name, is_part) &&
                       !std::isdigit(static_cast<unsigned char>(name.empty() ? '0' : name[0]));
  require_here(is_name, "size_has_name", hint("give a number, an expression, or a new name"),
               "'{}' is no name of a size", name);
  const Ptr<Var> size = var(name);
  if (func_) bind(kept_.emplace_back(name), ScriptValue::node(size));
  return size;
}

/// Reads a function, and again for each variable whose type shows after its first value.
Ptr<PrimFunc> Lowering::prim_func(const Statement& s, const Decoration& decoration) {
  const auto names = names_;
  const SyntaxTree* const tree = tree_;
  Resolver* const resolver = resolver_;
  const int expansions = expansions_;
  for (;;) {
    try {
      return prim_func_once(s, decoration);
    } catch (const VariableType& variable) {
      variable_types_.emplace(variable.key, variable.type);
    }
    names_ = names;
    tree_ = tree;
    resolver_ = resolver;
    expansions_ = expansions;
    expansion_depth_ = 0;
    branch_ = nullptr;
    bodies_.clear();
    blocks_.clear();
    open_loops_.clear();
    lifted_.clear();
    loop_exits_.clear();
  }
}

Ptr<PrimFunc> Lowering::prim_func_once(const Statement& s, const Decoration& decoration) {
  const Span here = tree_->span(s);
  const SpanScope span(here);
  Function func{.name = decoration.name.value_or(std::string(s.text)),
                .is_private = decoration.is_private};
  func_ = &func;
  BlockState root{.name = "root", .is_root = true};
  blocks_.push_back(&root);
  detects_ = false;
  const VariablePlan plan(s);
  plan_ = &plan;
  assigned_ = {};
  Ptr<PrimFunc> result;
  try {
    func.ret_type = return_type(s);
    func.infers_type = !s.annotation && module_ == nullptr;
    const Stmt body = suite(s.body, [&] {
      declare_numbers(s.parameters);
      for (const Parameter& p : s.parameters) parameter(p);
      for (std::size_t i = 0; i < s.parameters.size(); ++i) {
        assign_parameter(s.parameters[i].name, func.params[i]);
      }
    });
    result = finished(func, root, body, decoration.adds_root);
  } catch (const UserError& error) {
    if (error.kind() == ErrorKind::script && error.span().known()) throw;
    throw UserError(ErrorKind::script, error.code(), error.problem(), error.hint(),
                    error.span().known() ? error.span() : here);
  }
  blocks_.pop_back();
  plan_ = nullptr;
  func_ = nullptr;
  return result;
}

/// The function, with its name, a root block where it needs one, and the regions of its blocks.
Ptr<PrimFunc> Lowering::finished(Function& func, BlockState& root, const Stmt& body,
                                 bool adds_root) {
  if (!func.is_private && !func.name.empty() && !func.attrs.contains("global_symbol")) {
    func.attrs = func.attrs.with("global_symbol", string_imm(func.name));
  }
  const bool has_root = !root.alloc_buffers.empty() || (adds_root && needs_root_block(body, false));
  Ptr<PrimFunc> result = make(PrimFunc{.params = func.params,
                                       .buffer_map = func.buffer_map,
                                       .ret_type = func.ret_type,
                                       .attrs = func.attrs,
                                       .body = has_root ? finished(root, body) : body});
  if (detects_) result = infer_regions(result);
  if (options_.check_well_formed) verify_well_formed(result);
  return result;
}

/// A scalar parameter that the function assigns is memory that starts with what was given.
void Lowering::assign_parameter(std::string_view name, const Ptr<Var>& param) {
  if (!plan_->find_parameter(name) || param->dtype.is_handle()) return;
  const Ptr<Buffer> buffer = decl_buffer({}, param->dtype, std::string(name), "local");
  emit_around([buffer](Stmt body) -> Stmt {
    return make(Allocate{.dtype = buffer->dtype,
                         .extents = {},
                         .condition = true,
                         .buffer_var = buffer->data,
                         .body = make(DeclBuffer{.buffer = buffer, .body = std::move(body)})});
  });
  bind(name, ScriptValue::Data(ScriptValue::Scalar{buffer}));
  emit(loopsmith::store(buffer, param, {}));
}

}  // namespace loopsmith::parsing
