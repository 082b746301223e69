// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "loopsmith/support/error.h"

namespace loopsmith {

/// Handles that a primitive gives: `auto [io, ii] = split(sch, i, {infer, 4}).take<2>();`
template <class T>
struct Handles : std::vector<T> {
  using std::vector<T>::vector;

  template <std::size_t n>
  std::array<T, n> take() const {
    require(this->size() == n, "handles_are_that_many", hint("take as many as there are"),
            "take: {} handles, {} were asked for", this->size(), n);
    std::array<T, n> taken;
    for (std::size_t i = 0; i < n; ++i) taken[i] = (*this)[i];
    return taken;
  }
};

}  // namespace loopsmith
