// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>
#include <variant>

#include "loopsmith/support/user_error.h"

namespace loopsmith {

/// A value, or why there is none: what may fail where a caller has another way to go on, so that
/// nothing is thrown and caught. As `std::expected` of C++23.
template <class T>
class Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(UserError error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  const T& operator*() const { return *std::get_if<0>(&state_); }
  T& operator*() { return *std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  T* operator->() { return std::get_if<0>(&state_); }
  const UserError& error() const { return *std::get_if<1>(&state_); }

  /// The value; throws the error where there is none.
  const T& value() const& {
    if (!*this) raise();
    return **this;
  }
  T value() && {
    if (!*this) raise();
    return std::move(**this);
  }

 private:
  [[noreturn]] void raise() const {
    const UserError& why = error();
    throw UserError(why.kind(), why.code(), why.problem(), why.hint(), why.span());
  }

  std::variant<T, UserError> state_;
};

}  // namespace loopsmith
