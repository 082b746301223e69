// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/script/variables.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/support/deep_call.h"

namespace loopsmith::parsing {
namespace {

/// A suite, in the order of reading. It is kept after it was left: names may be read later.
struct PlanScope {
  const Suite* suite;
  PlanScope* outer;
  int depth;
  std::vector<std::string_view> names;  ///< That it defines.
};

class Planner {
 public:
  Planner(std::unordered_map<const Expression*, Variable*>& targets,
          std::unordered_map<std::string_view, Variable*>& parameters,
          std::vector<std::unique_ptr<Variable>>& variables)
      : targets_(targets), parameters_(parameters), variables_(variables) {}

  void function(const Statement& s) {
    open(s.body);
    for (const Parameter& p : s.parameters) {
      Variable* variable = define(p.name);
      parameters_[p.name] = variable;
      written_[p.name].pop_back();  // Parameters are always visible.
    }
    statements(s.body);
  }

 private:
  struct Written {
    Variable* variable;
    PlanScope* scope;
  };

  void open(const Suite& suite) {
    scopes_.push_back(
        std::make_unique<PlanScope>(PlanScope{&suite, scope_, scope_ ? scope_->depth + 1 : 0, {}}));
    scope_ = scopes_.back().get();
  }
  void close() {
    for (const std::string_view name : scope_->names) visible_[name].pop_back();
    scope_ = scope_->outer;
  }

  /// Makes a name visible in `scope`, as a variable or, with null, as a loop's name.
  void show(PlanScope* scope, std::string_view name, Variable* variable) {
    scope->names.push_back(name);
    visible_[name].push_back(variable);
  }

  Variable* define(std::string_view name) {
    variables_.push_back(std::make_unique<Variable>(Variable{scope_->suite, false}));
    Variable* variable = variables_.back().get();
    show(scope_, name, variable);
    written_[name].push_back({variable, scope_});
    return variable;
  }

  bool is_visible(std::string_view name) const {
    const auto found = visible_.find(name);
    return found != visible_.end() && !found->second.empty();
  }

  void assign(const Expression& target) {
    if (target.kind == ExpressionKind::name) {
      Variable* variable = is_visible(target.text) ? visible_[target.text].back() : nullptr;
      if (variable) {
        variable->is_memory = true;
      } else {
        variable = define(target.text);
      }
      targets_[&target] = variable;
    } else if (target.kind == ExpressionKind::tuple || target.kind == ExpressionKind::list) {
      for (const Expression* item : target.items) assign(*item);
    } else {
      read(&target);
    }
  }

  /// Names that a loop or a `with` defines for its suite.
  void bind(const Expression& target) {
    if (target.kind == ExpressionKind::name) show(scope_, target.text, nullptr);
    for (const Expression* item : target.items) {
      if (item && target.kind != ExpressionKind::subscript) bind(*item);
    }
  }

  static PlanScope* common(PlanScope* a, PlanScope* b) {
    while (a != b) (a->depth >= b->depth ? a : b) = (a->depth >= b->depth ? a : b)->outer;
    return a;
  }

  /// A name that is read where it is not visible: was it assigned in a suite that was left?
  void read_name(std::string_view name) {
    const auto written = written_.find(name);
    if (written == written_.end() || written->second.empty() || is_visible(name)) return;
    PlanScope* home = nullptr;
    for (const Written& w : written->second) {
      PlanScope* shared = common(w.scope, scope_);
      if (!home || shared->depth > home->depth) home = shared;
    }
    Variable* joint = nullptr;
    std::unordered_set<const Variable*> joined;
    for (Written& w : written->second) {
      if (common(w.scope, home) != home) continue;
      if (!joint) joint = w.variable;
      joined.insert(w.variable);
      w = {joint, home};
    }
    for (auto& [target, variable] : targets_) {
      if (joined.contains(variable)) variable = joint;
    }
    joint->home = home->suite;
    joint->is_memory = true;
    show(home, name, joint);
  }

  void read(const Expression* e) {
    if (!e) return;
    deep_call([&] {
      if (e->kind == ExpressionKind::name) return read_name(e->text);
      if (e->kind == ExpressionKind::foreign) return read_source(e->source);
      const std::vector<std::string_view> own = names_defined_in(*e);
      for (const std::string_view name : own) visible_[name].push_back(nullptr);
      for (const Expression* item : e->items) read(item);
      for (const std::string_view name : own) visible_[name].pop_back();
    });
  }

  /// Names that an expression defines for itself: the parameters of a lambda, and x in
  /// T.Let(body, where={x: value}).
  static std::vector<std::string_view> names_defined_in(const Expression& e) {
    if (e.kind == ExpressionKind::lambda) return e.names;
    const bool is_let = e.kind == ExpressionKind::call &&
                        e.items[0]->kind == ExpressionKind::attribute && e.items[0]->text == "Let";
    std::vector<std::string_view> names;
    if (!is_let) return names;
    const Expression* where = e.items.back();
    if (where->kind == ExpressionKind::keyword) where = where->items[0];
    if (where->kind != ExpressionKind::dict) return names;
    for (std::size_t i = 0; i < where->items.size(); i += 2) {
      if (where->items[i]->kind == ExpressionKind::name) names.push_back(where->items[i]->text);
    }
    return names;
  }

  /// Each word in a piece of source may be a name that it reads.
  void read_source(std::string_view source) {
    const auto is_part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || static_cast<unsigned char>(c) >= 0x80;
    };
    for (std::size_t i = 0; i < source.size();) {
      std::size_t end = i;
      while (end < source.size() && is_part(source[end])) ++end;
      if (end > i) read_name(source.substr(i, end - i));
      i = std::max(end, i + 1);
    }
  }

  void statements(const Suite& suite) {
    for (const Statement* s : suite.statements) deep_call([&] { statement(*s); });
  }
  void nested(const Suite& suite, const Statement* header = nullptr) {
    open(suite);
    if (header) {
      for (const Expression* target : header->targets) bind(*target);
    }
    statements(suite);
    close();
  }

  void statement(const Statement& s) {
    read(s.value);
    read(s.message);
    switch (s.kind) {
      case StatementKind::assign:
      case StatementKind::annotated:
        for (const Expression* target : s.targets) assign(*target);
        return;
      case StatementKind::augmented: read(s.targets[0]); return assign(*s.targets[0]);
      case StatementKind::for_:
      case StatementKind::with: return nested(s.body, &s);
      case StatementKind::while_: return nested(s.body);
      case StatementKind::if_: nested(s.body); return nested(s.else_body);
      default: return;
    }
  }

  std::unordered_map<const Expression*, Variable*>& targets_;
  std::unordered_map<std::string_view, Variable*>& parameters_;
  std::vector<std::unique_ptr<Variable>>& variables_;
  std::vector<std::unique_ptr<PlanScope>> scopes_;
  PlanScope* scope_ = nullptr;
  std::unordered_map<std::string_view, std::vector<Variable*>> visible_;
  std::unordered_map<std::string_view, std::vector<Written>> written_;
};

}  // namespace

VariablePlan::VariablePlan(const Statement& function) {
  Planner(targets_, parameters_, variables_).function(function);
}

const Variable* VariablePlan::find(const Expression& target) const {
  const auto found = targets_.find(&target);
  return found == targets_.end() ? nullptr : found->second;
}

bool VariablePlan::assigns(std::string_view name, const Suite& suite) const {
  return std::ranges::any_of(targets_, [&](const auto& entry) {
    return entry.first->text == name && entry.second->home == &suite;
  });
}

const Variable* VariablePlan::find_parameter(std::string_view name) const {
  const auto found = parameters_.find(name);
  return found == parameters_.end() || !found->second->is_memory ? nullptr : found->second;
}

}  // namespace loopsmith::parsing
