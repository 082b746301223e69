// SPDX-License-Identifier: Apache-2.0
// Suites and simple statements.
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

/// The statements as one; those that do nothing stay, for they were written.
Stmt sequence(std::vector<Stmt> statements) {
  if (statements.empty()) return no_op();
  if (statements.size() == 1) return statements[0];
  std::vector<Stmt> flat;
  for (Stmt& stmt : statements) {
    if (const auto* inner = stmt.as<SeqStmt>()) {
      flat.insert(flat.end(), inner->seq.begin(), inner->seq.end());
    } else {
      flat.push_back(std::move(stmt));
    }
  }
  return make(SeqStmt{.seq = std::move(flat)});
}

/// An error of the IR's own checks, as one of the script at this place.
[[noreturn]] void rethrow_here(const UserError& error, const Span& span) {
  throw UserError(ErrorKind::script, error.code(), error.problem(), error.hint(),
                  error.span().known() ? error.span() : span);
}

}  // namespace

// ---- Names ----

Lowering::Scope::Scope(Lowering& lowering)
    : lowering_(lowering),
      begin_(lowering.bindings_.size()),
      outer_begin_(std::exchange(lowering.scope_begin_, lowering.bindings_.size())) {}

Lowering::Scope::~Scope() {
  auto& bindings = lowering_.bindings_;
  for (; bindings.size() > begin_; bindings.pop_back()) {
    Binding& last = bindings.back();
    lowering_.ended_[last.name] = last.name;
    if (last.outer) {
      lowering_.names_[last.name] = *std::move(last.outer);
    } else {
      lowering_.names_.erase(last.name);
    }
  }
  lowering_.scope_begin_ = outer_begin_;
}

void Lowering::bind(std::string_view name, ScriptValue value) {
  const auto known = names_.find(name);
  Binding binding{name, std::nullopt};
  if (known != names_.end()) binding.outer = known->second;
  bindings_.push_back(std::move(binding));
  if (!func_ && !module_) globals_.insert_or_assign(name, value);
  names_.insert_or_assign(name, std::move(value));
}

bool Lowering::is_bound_here(std::string_view name) const {
  return std::any_of(bindings_.begin() + static_cast<std::ptrdiff_t>(scope_begin_), bindings_.end(),
                     [&](const Binding& binding) { return binding.name == name; });
}

const ScriptValue* Lowering::find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &found->second;
}

std::optional<ScriptValue> Lowering::resolve(std::string_view name) {
  if (const ScriptValue* known = find(name)) return *known;
  if (name == "None") return ScriptValue();
  if (name == "True" || name == "False") return ScriptValue::truth(name == "True");
  if (name == "range") return ScriptValue::Data(find_word("builtin", name));
  if (resolver_) {
    if (std::optional<ScriptValue> value = resolver_->name(name)) return value;
  }
  if (name == "T" || name == "tir" || name == "ty") {
    return ScriptValue::Data(ScriptValue::Namespace{"T"});
  }
  if (name == "I" || name == "ir") return ScriptValue::Data(ScriptValue::Namespace{"I"});
  if (name == "cls" && module_) return ScriptValue::Data(ScriptValue::Namespace{"module"});
  if (const Word* word = find_word("builtin", name)) return ScriptValue::Data(word);
  return std::nullopt;
}

// ---- Suites ----

Stmt Lowering::joined(std::vector<Item> items) {
  std::vector<Stmt> rest;  // In reverse.
  for (; !items.empty(); items.pop_back()) {
    Item& item = items.back();
    if (!item.wrap) {
      rest.push_back(std::move(item.stmt));
      continue;
    }
    const SpanScope span(item.span);
    std::ranges::reverse(rest);
    Stmt inner = sequence(std::move(rest));
    rest.clear();
    try {
      rest.push_back(item.wrap(std::move(inner)));
    } catch (const UserError& error) {
      rethrow_here(error, item.span);
    }
  }
  std::ranges::reverse(rest);
  return sequence(std::move(rest));
}

Stmt Lowering::suite(const Suite& suite, const std::function<void()>& before, Span loop) {
  bodies_.push_back({&suite, {}, loop});
  {
    const Scope scope(*this);
    if (before) before();
    statements(suite);
  }
  if (const auto lifted = lifted_.find(&suite); lifted != lifted_.end()) {
    for (const std::string_view name : lifted->second) names_.erase(name);
    lifted_.erase(lifted);
  }
  std::vector<Item> items = std::move(bodies_.back().items);
  bodies_.pop_back();
  return joined(std::move(items));
}

Stmt Lowering::optional_suite(const Suite& suite) {
  const AssignedVariables before = assigned_;
  Stmt stmt = this->suite(suite);
  assigned_ = before;
  return stmt;
}

Stmt Lowering::loop_suite(const Suite& suite, const std::function<void()>& before, bool runs,
                          bool ends) {
  const AssignedVariables outside = assigned_;
  loop_exits_.emplace_back();
  Stmt stmt = this->suite(suite, before, current_span);
  const LoopExits exits = std::move(loop_exits_.back());
  loop_exits_.pop_back();
  assigned_.meet(exits.at_continue);
  if (!ends) assigned_ = AssignedVariables::unreachable();
  assigned_.meet(exits.at_break);
  if (!runs) assigned_.meet(outside);
  return stmt;
}

void Lowering::statements(const Suite& suite) {
  for (const Statement* s : suite.statements) statement(*s);
}

void Lowering::statement(const Statement& s) {
  const Span here = tree_->span(s);
  const SpanScope span(here);
  try {
    deep_call([&] { statement_inside(s); });
  } catch (const UserError& error) {
    if (error.kind() == ErrorKind::script && error.span().known()) throw;
    rethrow_here(error, here);
  }
}

void Lowering::statement_inside(const Statement& s) {
  switch (s.kind) {
    case StatementKind::expression: return expression_statement(s);
    case StatementKind::assign: return assign(s);
    case StatementKind::augmented: return augmented(s);
    case StatementKind::annotated: return annotated(s);
    case StatementKind::for_: return for_loop(s);
    case StatementKind::while_: return while_loop(s);
    case StatementKind::if_: return if_statement(s);
    case StatementKind::with: return with_statement(s);
    case StatementKind::return_: return return_statement(s);
    case StatementKind::break_:
    case StatementKind::continue_: return leave_iteration(s);
    case StatementKind::assert_: return assert_statement(s);
    case StatementKind::import: return import(s);
    case StatementKind::pass: return;
    case StatementKind::function:
    case StatementKind::class_: break;
  }
  fail(ErrorKind::script, "not_in_functions", hint("define it outside of the function"),
       current_span, "{} {} stands inside a function",
       s.kind == StatementKind::class_ ? "class" : "function", s.text);
}

void Lowering::emit(Stmt stmt) {
  require_here(!bodies_.empty(), "word_is_in_function", hint("use it in a @T.prim_func"),
               "a statement stands outside of a function");
  bodies_.back().items.push_back({std::move(stmt), {}, current_span});
}

void Lowering::emit_around(std::function<Stmt(Stmt)> wrap) {
  require_here(!bodies_.empty(), "word_is_in_function", hint("use it in a @T.prim_func"),
               "a statement stands outside of a function");
  bodies_.back().items.push_back({nullptr, std::move(wrap), current_span});
}

// ---- Simple statements ----

void Lowering::expression_statement(const Statement& s) {
  if (s.value->kind == ExpressionKind::text || s.value->kind == ExpressionKind::dots) return;
  use(eval(*s.value));
}

/// A value on a line of its own.
void Lowering::use(const ScriptValue& value) {
  if (value.is_none()) return;
  if (value.as_shared<ScriptValue::Definition>()) {
    named(value);
    return;
  }
  if (const Ref* node = value.as<Ref>()) {
    if (const Stmt stmt = Stmt::from(*node); stmt.defined()) return emit(stmt);
  }
  if (const auto* list = value.as_shared<ScriptValue::List>()) {
    for (const ScriptValue& item : list->items) use(item);
    return;
  }
  require_here(!value.as<std::shared_ptr<Frame>>(), "scope_has_suite",
               hint("write `for x in ...:` or `with ...:`"),
               "the loop or scope has nothing that belongs to it");
  // What a Python function gives that was called for its effect.
  if (value.as<std::shared_ptr<ForeignValue>>()) return;
  const Expr result = expr(value);
  require_here(!result.is<StringImm>(), "statement_has_effect", hint("leave it out"),
               "the text does nothing");
  emit(make(Evaluate{.value = result}));
}

void Lowering::leave_iteration(const Statement& s) {
  const bool is_break = s.kind == StatementKind::break_;
  if (!loop_exits_.empty()) {
    LoopExits& exits = loop_exits_.back();
    (is_break ? exits.at_break : exits.at_continue).meet(assigned_);
  }
  assigned_ = AssignedVariables::unreachable();
  emit(is_break ? Stmt(make(Break{})) : Stmt(make(Continue{})));
}

void Lowering::return_statement(const Statement& s) {
  const ScriptValue value = s.value ? named(eval(*s.value)) : ScriptValue();
  assigned_ = AssignedVariables::unreachable();
  if (value.is_none()) return emit(make(Return{}));
  const DataType type = func_ ? func_->ret_type : void_type;
  const Expr result = expr(value, type);
  require_here(!result.is<StringImm>(), "value_is_expression",
               hint("return a number or an expression"), "a text is returned");
  if (func_ && func_->infers_type) {
    func_->ret_type = result.dtype();
    func_->infers_type = false;
  }
  emit(make(Return{.value = result}));
}

void Lowering::assert_statement(const Statement& s) {
  const ScriptValue condition = named(eval(*s.value));
  const ScriptValue message =
      s.message ? eval(*s.message) : ScriptValue::text(std::string(s.value->source));
  if (const std::optional<bool> known = known_truth(condition)) {
    require_here(*known, "assertion_holds", hint("see the condition"), "{}",
                 text(message, "assert"));
    return;
  }
  const Expr what = expr(condition);
  const Expr why = expr(message);
  emit_around([what, why](Stmt body) -> Stmt {
    return make(AssertStmt{.condition = what, .message = why, .body = std::move(body)});
  });
}

}  // namespace loopsmith::parsing
