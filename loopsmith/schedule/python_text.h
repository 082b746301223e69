// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "loopsmith/schedule/argument.h"

namespace loopsmith {

/// How a handle is called.
using HandleName = std::function<std::string(const Argument& handle)>;

/// An argument as Python writes it. Nodes that are no annotations are read by `from_json`.
std::string python_text(const Argument& argument, const HandleName& name);
/// A text in quotes, as Python and JSON write it.
std::string quoted_text(const std::string& text);

}  // namespace loopsmith
