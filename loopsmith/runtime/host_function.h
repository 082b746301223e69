// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "loopsmith/runtime/c_abi.h"

namespace loopsmith {

/// A call of a function of the host by a program, compiled or interpreted.
struct HostCall {
  std::string_view name;
  /// Numbers, texts and tensors; they are lent for the time of the call.
  std::span<const ls_argument> arguments;
  ls_kind result = LS_INT;  ///< What the program takes its result as.
};

/// Stands for a function that a program calls by its name. What it returns is a number of the kind
/// that the call asks for. All memory that it is given and may write counts as written afterwards.
using HostFunction = std::function<ls_value(const HostCall&)>;

/// Functions by their names.
using HostFunctions = std::map<std::string, HostFunction, std::less<>>;

/// Calls what `functions` has under the name of a call; an error that names what it has not.
HostFunction by_name(HostFunctions functions);

/// Calls one of the functions that every host has; false where there is none of that name. `print`
/// writes its arguments to the standard output, as Python's does.
bool call_built_in(const HostCall& call);

}  // namespace loopsmith
