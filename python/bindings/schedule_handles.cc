// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <type_traits>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/ir.h"
#include "bindings/schedule.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/schedule_error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// A handle of a trace, which has no statement or value: its kind and number.
template <class T>
std::string show_number(const PyHandle<T>& self) {
  const char* kind = std::is_same_v<T, LoopRV>    ? "LoopRV"
                     : std::is_same_v<T, BlockRV> ? "BlockRV"
                                                  : "ExprRV";
  return fmt::format("{}({})", kind, self.handle.index);
}

template <class T>
std::string show(const PyHandle<T>& self) {
  if (self.owner.is_none()) return show_number(self);
  const Schedule& schedule = self.schedule();
  if (const auto refusal = schedule.refuse(self.handle)) return explain(schedule, *refusal);
  return to_string(schedule.statement(schedule.node(self.handle)));
}

template <class T>
void bind_handle(nb::module_& m, const char* name, const char* doc) {
  nb::class_<PyHandle<T>>(m, name, doc)
      .def_prop_ro(
          "name",
          [](const PyHandle<T>& self) { return std::string(self.schedule().name(self.handle)); })
      .def("__str__", show<T>)
      .def("__repr__", show<T>)
      .def(
          "__eq__",
          [](const PyHandle<T>& self, nb::handle other) {
            return nb::isinstance<PyHandle<T>>(other) &&
                   nb::inst_ptr<PyHandle<T>>(other)->handle == self.handle;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const PyHandle<T>& self) { return std::hash<std::uint32_t>()(self.handle.index); });
}

/// Binds `a operation b`, from either side, as the step `calculate` of the schedule of `self`.
template <class Bound>
void bind_operator(Bound& bound, const char* name, const char* operation, bool is_reflected) {
  bound.def(
      name,
      [operation, is_reflected](const PyHandle<ExprRV>& self, nb::handle other) -> nb::object {
        const bool is_number = nb::isinstance<PyHandle<ExprRV>>(other) || PyLong_Check(other.ptr());
        if (!is_number) return nb::borrow(Py_NotImplemented);
        self.schedule();  // Refuses a handle of a trace.
        const nb::object own = nb::cast(self);
        const nb::object step = self.owner.attr("calculate");
        return is_reflected ? step(operation, other, own) : step(operation, own, other);
      },
      nb::arg("other"), nb::is_operator(),
      nb::sig(fmt::format("def {}(self, other: ExprRV | int, /) -> ExprRV", name).c_str()));
}

}  // namespace

void bind_handles(nb::module_& m) {
  bind_handle<LoopRV>(m, "LoopRV", "A loop of a schedule.");
  bind_handle<BlockRV>(m, "BlockRV", "A block of a schedule.");
  using Hole = PyHandle<ExprRV>;
  const auto value = [](const Hole& self) { return self.schedule().get(self.handle); };
  auto hole =
      nb::class_<Hole>(m, "ExprRV", "A number that a schedule has chosen, and may choose anew.");
  const auto show_value = [value](const Hole& self) {
    return self.owner.is_none() ? show_number(self) : std::to_string(value(self));
  };
  hole.def("__int__", value)
      .def("__index__", value)
      .def("__str__", show_value)
      .def("__repr__", show_value);
  constexpr std::pair<const char*, const char*> operators[] = {
      {"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"floordiv", "//"}, {"mod", "%"}};
  for (const auto& [name, operation] : operators) {
    bind_operator(hole, fmt::format("__{}__", name).c_str(), operation, false);
    bind_operator(hole, fmt::format("__r{}__", name).c_str(), operation, true);
  }
}

}  // namespace loopsmith::python
