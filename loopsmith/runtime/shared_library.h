// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "loopsmith/support/error.h"

namespace loopsmith {

/// The library that an environment variable names, before those of the system.
inline std::vector<std::string> library_names(const char* variable,
                                              std::vector<std::string> names) {
  if (const char* chosen = std::getenv(variable)) names.insert(names.begin(), chosen);
  return names;
}

/// A library that is opened while the program runs, and stays open.
class DriverLibrary {
 public:
  /// The first of these names that can be opened; `hint_text` says how to get one.
  DriverLibrary(std::span<const std::string> names, std::string what, std::string hint_text)
      : what_(std::move(what)), hint_(std::move(hint_text)) {
    std::string problem = "no name was given";
    for (const std::string& name : names) {
      handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_) return;
      const char* text = ::dlerror();
      problem = text ? text : "unknown error";
    }
    fail(ErrorKind::call, "driver_is_there", hint(hint_), {}, "{} cannot be opened: {}", what_,
         problem);
  }

  /// A function by its name, as a pointer of that type.
  template <class Function>
  void find(Function*& function, const char* name) const {
    find_if_there(function, name);
    require(function != nullptr, ErrorKind::call, "driver_has_function", hint(hint_), {},
            "{} has no function {}", what_, name);
  }

  /// The same; null where there is none.
  template <class Function>
  void find_if_there(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  std::string what_, hint_;
  void* handle_ = nullptr;
};

}  // namespace loopsmith
