// SPDX-License-Identifier: Apache-2.0
#include "bindings/tensor_intrin.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/ir.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// The table that the module holds, for its importers.
TensorIntrinTable& table() {
  const nb::object held = nb::module_::import_("loopsmith._core").attr("tensor_intrins");
  return *nb::inst_ptr<TensorIntrinTable>(held);
}

}  // namespace

TensorIntrinSelector select_tensor_intrin(const std::string& name) {
  return table().select(name);
}

void bind_tensor_intrins(nb::module_& m) {
  nb::class_<TensorIntrinTable>(m, "TensorIntrinTable",
                                "Tensor intrinsics by name: built-in ones, and those that were "
                                "registered.")
      .def("names", &TensorIntrinTable::names, "Return all names, sorted.");
  m.attr("tensor_intrins") = TensorIntrinTable();

  const nb::object type = m.attr("TensorIntrin");
  nb::cpp_function_def(
      [](const std::string& name, const Ptr<PrimFunc>& desc, const Ptr<PrimFunc>& impl,
         bool override) { table().add(name, desc, impl, override); },
      nb::scope(type), nb::name("register"), nb::arg("name"), nb::arg("desc"), nb::arg("impl"),
      nb::arg("override") = false,
      nb::sig("def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> "
              "None"),
      R"(Let schedules tensorize with an intrinsic of one's own.

Parameters
----------
name
    What ``tensorize`` is given.
desc
    What it means: a nest of loops with one block, on buffers of constant shapes.
impl
    How it is done, on the same buffers.
override
    Takes the place of one of that name.

Raises
------
ScheduleError
    When the name is taken, or the two functions take different buffers.)");
  nb::cpp_function_def(
      [](const std::string& name, bool allow_missing) -> nb::object {
        const Ptr<TensorIntrin> found = table().find(name);
        require(found || allow_missing, ErrorKind::schedule, "name_is_known",
                hint("register it before; tensor_intrins.names() lists those there are"), {},
                "there is no tensor intrin {}", name);
        return found ? to_python(found) : nb::none();
      },
      nb::scope(type), nb::name("get"), nb::arg("name"), nb::arg("allow_missing") = false,
      nb::sig("def get(name: str, allow_missing: bool = False) -> TensorIntrin | None"),
      R"(Return the intrinsic of that name.

Raises
------
ScheduleError
    When there is none, unless ``allow_missing``: then None is returned.)");
}

}  // namespace loopsmith::python
