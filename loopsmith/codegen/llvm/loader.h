// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace loopsmith {

/// An object file made executable in this process. C symbols that it calls are looked up in the
/// process. GDB and perf are told of it; see registered_code.h.
class LoadedObject {
 public:
  /// `loops`: by the lines of the object's table of lines, the name of the loop that a line is in.
  explicit LoadedObject(std::span<const char> object, const std::vector<std::string>& loops = {});
  ~LoadedObject();
  LoadedObject(LoadedObject&&) noexcept;
  LoadedObject& operator=(LoadedObject&&) noexcept;

  /// What it calls and the process does not have.
  const std::vector<std::string>& missing() const;

  /// The address of a symbol of the object; null when it has none of that name. Throws a UserError
  /// where something is missing.
  void* find(const std::string& symbol) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

/// True when an environment variable asks for the names of loaded code, for perf.
bool wants_names_for_perf();

}  // namespace loopsmith
