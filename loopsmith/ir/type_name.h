// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include "loopsmith/ir/data_type.h"

namespace loopsmith {

/// A type in the text of an error: it becomes text only where the error is raised. Each node that
/// is made is checked, and to name its type cost more than the check.
struct TypeName {
  explicit TypeName(DataType type) : type(type) {}
  DataType type;
};

}  // namespace loopsmith

template <>
struct fmt::formatter<loopsmith::TypeName> : fmt::formatter<std::string> {
  auto format(const loopsmith::TypeName& name, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(to_string(name.type), context);
  }
};
