// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// The functions of a module, ready to be lowered one by one.
struct LinkedFunctions {
  std::vector<Ptr<PrimFunc>> entries;  ///< Those that a host calls.
  /// Those that others call, callees first. Their parameters are numbers and pointers: a tensor is
  /// its data, and what its shape says by variables are parameters at the end.
  std::vector<Ptr<PrimFunc>> helpers;
};

/// Finds the function of each call, and gives it a statement of its own:
///
///     C[i] = A[i] + cls.f(B.data, x)    =>    f = cls.f(B.data, x, n)     (B: n elements)
///                                             C[i] = A[i] + f
///
/// Calls run before the rest of their statement, and only where their value is asked for. A
/// function that gives a value, and that others call, is no entry. Names are those of the
/// attribute `global_symbol`. Throws a UserError for calls that fit no function, and for functions
/// that call themselves.
LinkedFunctions link_calls(const std::vector<Ptr<PrimFunc>>& functions);

}  // namespace loopsmith
