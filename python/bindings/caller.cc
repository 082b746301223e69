// SPDX-License-Identifier: Apache-2.0
#include "bindings/caller.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <filesystem>
#include <unordered_map>

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// The folder of the package, with the separator.
const std::string& package_folder() {
  static const auto* folder = [] {
    const nb::object path = nb::module_::import_("loopsmith").attr("__file__");
    return new std::string(
        std::filesystem::path(nb::cast<std::string>(path)).parent_path().string() + "/");
  }();
  return *folder;
}

/// A file that has no text on the disk: the cells of notebooks are kept by `linecache`.
std::uint32_t register_source(const std::string& name) {
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored)) return source_id(name);
  const nb::object lines = nb::module_::import_("linecache").attr("getlines")(name);
  return source_id(name, nb::cast<std::string>(nb::str("").attr("join")(lines)));
}

std::uint32_t source_of(const std::string& name) {
  static auto* known = new std::unordered_map<std::string, std::uint32_t>;
  const auto [place, is_new] = known->emplace(name, 0);
  if (is_new) place->second = register_source(name);
  return place->second;
}

}  // namespace

Span caller_span() {
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid()) {
    auto* const raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const auto code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    const auto name = nb::cast<std::string>(code.attr("co_filename"));
    if (!name.starts_with(package_folder())) {
      return Span{.source = source_of(name),
                  .line = static_cast<std::uint32_t>(PyFrame_GetLineNumber(raw))};
    }
    frame = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  return {};
}

}  // namespace loopsmith::python
