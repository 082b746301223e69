// SPDX-License-Identifier: Apache-2.0
// Arguments as traces and Python give them, read for a schedule.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/schedule/argument.h"
#include "loopsmith/schedule/loop_value.h"
#include "loopsmith/schedule/schedule.h"
#include "loopsmith/schedule/size_condition.h"
#include "loopsmith/schedule/split_factor.h"

namespace loopsmith {

/// Turns arguments into values of primitives' parameters, for one schedule. Names stand for the
/// blocks and loops that have them.
class ArgumentReader {
 public:
  explicit ArgumentReader(const Schedule& schedule) : schedule_(schedule) {}

  bool read(const Argument& argument, bool& to);
  bool read(const Argument& argument, std::int64_t& to);
  bool read(const Argument& argument, double& to);
  bool read(const Argument& argument, std::string& to);
  bool read(const Argument& argument, LoopRV& to);
  bool read(const Argument& argument, ComputeLocation& to) { return read(argument, to.loop); }
  bool read(const Argument& argument, BlockRV& to);
  bool read(const Argument& argument, ExprRV& to);
  bool read(const Argument& argument, Factor& to);
  bool read(const Argument& argument, SplitFactor& to);
  bool read(const Argument& argument, LoopValue& to);
  bool read(const Argument& argument, SizeCondition& to);
  bool read(const Argument& argument, BlockOrLoop& to);
  bool read(const Argument& argument, BufferSelector& to);
  bool read(const Argument& argument, Annotation& to);
  bool read(const Argument& argument, Ptr<IndexMap>& to);
  template <class T>
  bool read(const Argument& argument, std::optional<T>& to) {
    return argument.is_none() ? (to.reset(), true) : read(argument, to.emplace());
  }
  template <class T>
  bool read(const Argument& argument, std::vector<T>& to) {
    to.clear();
    if (const auto* list = argument.as<Argument::List>()) {
      to.reserve(list->size());
      for (const Argument& item : *list) {
        T value{};
        if (!read(item, value)) return false;
        to.push_back(std::move(value));
      }
      return true;
    }
    // A single value stands for a list of one.
    T value{};
    if (argument.is_none() || !read(argument, value)) return false;
    to.push_back(std::move(value));
    return true;
  }

  /// The handles that were looked up by a name, with it.
  const std::vector<std::pair<std::string, BlockOrLoop>>& named() const { return named_; }

 private:
  const Schedule& schedule_;
  std::vector<std::pair<std::string, BlockOrLoop>> named_;
};

}  // namespace loopsmith
