// SPDX-License-Identifier: Apache-2.0
// Objects of isl with an owner. Private to this folder.
#pragma once
#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>

#include <utility>

namespace loopsmith::dependence {

/// An isl object that is freed with its holder. isl's functions take (`take()`) or keep (`get()`).
template <class T, T* (*copy_of)(T*), T* (*free_it)(T*)>
class Held {
 public:
  Held() = default;
  explicit Held(T* object) : object_(object) {}
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Held() {
    if (object_) free_it(object_);
  }

  T* get() const { return object_; }
  T* copy() const { return copy_of(object_); }
  T* take() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};
using ParameterSpace = Held<isl_space, isl_space_copy, isl_space_free>;
using Aff = Held<isl_aff, isl_aff_copy, isl_aff_free>;
using Set = Held<isl_set, isl_set_copy, isl_set_free>;
using Map = Held<isl_map, isl_map_copy, isl_map_free>;

}  // namespace loopsmith::dependence
