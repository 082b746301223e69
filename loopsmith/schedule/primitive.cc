// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitive_calls.h"

namespace loopsmith::detail {

void refuse_argument(std::string_view primitive, const ParameterInfo& parameter) {
  fail(ErrorKind::type_mismatch, "argument_has_type",
       hint(fmt::format("it takes {}", parameter.type)), {}, "{}: the argument {} has a wrong type",
       primitive, parameter.name);
}

void refuse_missing(std::string_view primitive, std::string_view parameter) {
  fail(ErrorKind::type_mismatch, "argument_is_given", hint("pass it"), {},
       "{}: the argument {} is missing", primitive, parameter);
}

}  // namespace loopsmith::detail
