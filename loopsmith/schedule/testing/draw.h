// SPDX-License-Identifier: Apache-2.0
// For tests only: random choices.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <utility>
#include <vector>

namespace loopsmith::schedule_testing {

/// Random choices that are the same for the same seed, on each machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::uint64_t any() { return random_(); }
  int between(int low, int high) {
    if (high <= low) return low;
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(0, 99) < percent; }

  /// One of them; there is at least one.
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[random_() % values.size()];
  }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  template <class T>
  T weighted(std::initializer_list<std::pair<T, int>> values) {
    int sum = 0;
    for (const auto& [value, weight] : values) sum += weight;
    int left = between(0, sum - 1);
    for (const auto& [value, weight] : values) {
      if (left < weight) return value;
      left -= weight;
    }
    return values.begin()->first;
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[random_() % i]);
    }
  }
  template <class T>
  void shuffle_sometimes(std::vector<T>& values, int percent) {
    if (chance(percent)) shuffle(values);
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace loopsmith::schedule_testing
