// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "loopsmith/schedule/argument.h"

namespace loopsmith {

/// A condition on the sizes of the function.
struct SizeCondition {
  Expr value;
};

inline Argument to_argument(const SizeCondition& condition) {
  return Argument(Ref(condition.value));
}

template <>
inline std::string python_type<SizeCondition>() {
  return "Expr | bool";
}

}  // namespace loopsmith
