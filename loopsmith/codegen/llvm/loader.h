// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>

namespace loopsmith {

/// An object file made executable in this process. C symbols that it calls are looked up in the
/// process.
class LoadedObject {
 public:
  /// Throws a UserError that names the symbols which are missing.
  explicit LoadedObject(std::span<const char> object);
  ~LoadedObject();
  LoadedObject(LoadedObject&&) noexcept;
  LoadedObject& operator=(LoadedObject&&) noexcept;

  /// The address of a symbol of the object; null when it has none of that name.
  void* find(const std::string& symbol) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace loopsmith
