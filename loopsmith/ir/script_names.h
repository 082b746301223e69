// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/ref.h"

namespace loopsmith::detail {

/// The names that a script gives to variables and buffers: legal, and unique in their scope.
class ScriptNames {
 public:
  ScriptNames();

  /// A name for `node` that looks like `wanted`.
  const std::string& define(const Object* node, std::string_view wanted);
  /// Lets `text`, an expression like `A.data`, stand for `node`.
  void alias(const Object* node, std::string text) { texts_[node] = std::move(text); }
  /// What stands for `node`; nullptr before it is defined.
  const std::string* find(const Object* node) const;

  /// Names defined between the two are free again after `close`.
  void open() { scopes_.push_back(taken_.size()); }
  void close();

 private:
  struct Taken {
    std::string name;
    std::string base;
    int suffix_before;
  };

  std::unordered_map<const Object*, std::string> texts_;
  std::unordered_map<std::string, int> suffixes_;  ///< The last one given, by name in use.
  std::vector<Taken> taken_;
  std::vector<std::size_t> scopes_;
};

/// `wanted` as an identifier of scripts: other characters become `_`. Those beyond ASCII stay.
std::string legal_name(std::string_view wanted);
/// True for a word that means something in a script, and can name nothing in it.
bool is_reserved_name(std::string_view name);

}  // namespace loopsmith::detail
