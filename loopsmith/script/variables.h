// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "loopsmith/script/syntax.h"

namespace loopsmith::parsing {

/// What a name stands for that a function assigns: a value that never changes, or memory.
struct Variable {
  const Suite* home = nullptr;  ///< Where it is defined.
  bool is_memory = false;       ///< Assigned again, or read after the suite that assigned it.
};

/// The variables of a function, by the targets of its assignments.
class VariablePlan {
 public:
  /// Reads a function before it is lowered. A name that is assigned in a suite and visible there
  /// is one variable; one that is read after the suite that assigned it was left belongs to the
  /// suite around both.
  explicit VariablePlan(const Statement& function);

  /// The variable that `target`, a name that is assigned, belongs to; null if it is none.
  const Variable* find(const Expression& target) const;
  /// True when a variable of that name belongs to `suite`.
  bool assigns(std::string_view name, const Suite& suite) const;
  /// The variable that a parameter becomes because it is assigned; null if it is not.
  const Variable* find_parameter(std::string_view name) const;

 private:
  std::unordered_map<const Expression*, Variable*> targets_;
  std::unordered_map<std::string_view, Variable*> parameters_;
  std::vector<std::unique_ptr<Variable>> variables_;
};

}  // namespace loopsmith::parsing
