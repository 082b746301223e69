// SPDX-License-Identifier: Apache-2.0
// Inputs drawn at random for a function: elements of the field, or in typed mode small whole
// numbers, whose sums and products most types hold exactly. Private to the floor.
#pragma once
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "loopsmith/interp/interp.h"
#include "loopsmith/ir/function.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/runtime/argument.h"

namespace loopsmith::interp {

/// A tensor that owns its elements.
struct DrawnTensor {
  std::string name;
  DataType element;
  std::vector<std::int64_t> shape, strides;
  std::vector<std::byte> bytes;
  DLTensor tensor{};
};

/// Arguments for one run.
struct Inputs {
  std::deque<DrawnTensor> tensors;
  std::vector<CallArgument> arguments;
  std::string sizes;  ///< `n = 3, m = 7`; empty where all are constants.
  Mode mode = Mode::ring;

  /// The same values, for another run. Tensors that `is_shared` names by their parameters are those
  /// of this object, which must outlive the copy.
  Inputs copy(const std::vector<bool>& is_shared = {}) const;
};

/// Draws inputs for the parameters of a function.
class InputDrawer {
 public:
  /// `largest_size`: of symbolic sizes, which are at least 1, or 0 where the largest is 3 or less;
  /// `largest_int`: of integers that might overflow.
  InputDrawer(const PrimFunc& func, std::uint64_t seed, std::int64_t largest_size,
              std::int64_t largest_int, Mode mode = Mode::ring);

  /// Nothing where sizes follow from each other in ways that cannot be drawn, or get too large;
  /// `reason` says why.
  std::optional<Inputs> draw(std::string& reason);

 private:
  std::int64_t between(std::int64_t low, std::int64_t high);
  std::optional<std::int64_t> value_of(const Expr& size);
  void fill(DrawnTensor& tensor, const Buffer& buffer, std::int64_t smallest);

  const PrimFunc& func_;
  std::mt19937_64 random_;
  std::int64_t largest_size_;
  std::int64_t largest_int_;
  Mode mode_;
  Substitution symbols_;
  std::unordered_set<const Object*> index_buffers_;  ///< That indices or extents are read from.
};

/// True when a size of a parameter, or a scalar parameter, is not a constant.
bool has_open_sizes(const PrimFunc& func);

}  // namespace loopsmith::interp
