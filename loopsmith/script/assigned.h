// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <vector>

#include "loopsmith/ir/node.h"

namespace loopsmith::parsing {

/// The variables of loop bodies that certainly have a value where the script is read. Of what is
/// never reached, everything is certain.
class AssignedVariables {
 public:
  static AssignedVariables unreachable() {
    AssignedVariables all;
    all.is_reachable_ = false;
    return all;
  }
  bool contains(const Object* variable) const {
    return !is_reachable_ || std::ranges::find(variables_, variable) != variables_.end();
  }
  void add(const Object* variable) {
    if (!contains(variable)) variables_.push_back(variable);
  }
  /// Keeps what is certain on both ways to a place.
  void meet(const AssignedVariables& other) {
    if (!other.is_reachable_) return;
    if (!is_reachable_) {
      *this = other;
    } else {
      std::erase_if(variables_, [&](const Object* variable) { return !other.contains(variable); });
    }
  }

 private:
  bool is_reachable_ = true;
  std::vector<const Object*> variables_;
};

}  // namespace loopsmith::parsing
