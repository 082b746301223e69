// SPDX-License-Identifier: Apache-2.0
// What compilers of devices have made, on disk.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace loopsmith {

/// Compiled kernels by what they were made of: source, architecture, compiler. Any number of
/// processes may use one folder: files are written whole or not at all, and what a file holds is
/// compared with what is asked for. A folder that cannot be written keeps nothing.
class KernelCache {
 public:
  /// Keeps files in `folder`; nothing where that is empty.
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}
  /// In the folder that LOOPSMITH_KERNEL_CACHE names, else in the user's cache; an empty value
  /// keeps nothing.
  static KernelCache of_user();

  /// What was kept for that origin.
  std::optional<std::string> find(std::string_view origin) const;
  void keep(std::string_view origin, std::string_view code) const;

 private:
  std::string file_of(std::string_view origin) const;

  std::string folder_;
};

}  // namespace loopsmith
