// SPDX-License-Identifier: Apache-2.0
// Between what methods of a schedule take and give, and the arguments of primitives.
#pragma once
#include <string>
#include <type_traits>
#include <utility>

#include "loopsmith/driver/schedule_arguments.h"

namespace loopsmith::tir {

/// A value of a parameter, as primitives take it.
template <class T>
Argument value_of(const T& given) {
  if constexpr (std::is_base_of_v<HandleArgument, T>) {
    return given.value();
  } else if constexpr (requires { given.has_value(); }) {
    return given ? value_of(*given) : Argument();
  } else if constexpr (requires(T list) { list.push_back(list.front()), list.reserve(1); } &&
                       !std::is_same_v<T, std::string>) {
    Argument::List list;
    for (const auto& item : given) list.push_back(value_of(item));
    return Argument(std::move(list));
  } else {
    return to_argument(given);
  }
}

/// The handles of a list that a primitive gives.
template <class T>
Handles<T> handles_in(const Argument& list) {
  Handles<T> handles;
  for (const Argument& item : *list.as<Argument::List>()) handles.push_back(*item.as<T>());
  return handles;
}

}  // namespace loopsmith::tir
