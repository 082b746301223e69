// SPDX-License-Identifier: Apache-2.0
// nanobind answers a call that no signature takes with the text of all signatures. Ours names the
// argument: each of its functions is called through one of the functions below, which cost a call
// that succeeds a jump, and have Python make the error of one that does not.
#include <array>
#include <cstdint>
#include <string_view>

#include "bindings/bindings.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// The ways in which nanobind calls its functions: a handful.
std::array<vectorcallfunc, 6> dispatchers{};

/// True when no signature took the arguments.
bool is_refusal(const nb::python_error& error) {
  if (!error.type().is(PyExc_TypeError)) return false;
  const nb::str text(error.value());
  return std::string_view(text.c_str()).find("(): incompatible function arguments. ") !=
         std::string_view::npos;
}

/// Replaces the error that is set, where it is that of a refused call.
void explain(PyObject* function, PyObject* const* values, std::size_t count, PyObject* names) {
  nb::python_error error;
  if (!is_refusal(error)) return error.restore();
  try {
    nb::list positional;
    for (std::size_t i = 0; i < count; ++i) positional.append(nb::handle(values[i]));
    nb::dict named;
    for (std::size_t i = 0; names && i < nb::len(names); ++i) {
      named[nb::handle(names)[i]] = nb::handle(values[count + i]);
    }
    nb::module_::import_("loopsmith.argument_errors")
        .attr("explain")(nb::handle(function), nb::tuple(positional), named);
  } catch (nb::python_error& better) {
    better.restore();
  }
}

template <std::size_t dispatcher>
PyObject* call(PyObject* function, PyObject* const* values, std::size_t count_and_flags,
               PyObject* names) {
  PyObject* result = dispatchers[dispatcher](function, values, count_and_flags, names);
  if (!result) [[unlikely]] {
    // Python has the first bit for a flag, nanobind the next.
    explain(function, values, count_and_flags & (SIZE_MAX >> 2U), names);
  }
  return result;
}

constexpr std::array<vectorcallfunc, dispatchers.size()> calls = {call<0>, call<1>, call<2>,
                                                                  call<3>, call<4>, call<5>};

/// Has a function of nanobind's called through one of ours.
void wrap(nb::handle function) {
  const std::string_view type = Py_TYPE(function.ptr())->tp_name;
  if (type != "nanobind.nb_func" && type != "nanobind.nb_method") return;
  const Py_ssize_t offset = Py_TYPE(function.ptr())->tp_vectorcall_offset;
  auto& entry =
      *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function.ptr()) + offset);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (entry == calls[i]) return;
    if (!dispatchers[i]) dispatchers[i] = entry;
    if (entry != dispatchers[i]) continue;
    entry = calls[i];
    return;
  }
  check(false, "name_mistakes", "nanobind has more dispatchers than are provided for");
}

}  // namespace

void name_mistakes(nb::module_& m) {
  for (nb::handle member : nb::list(m.attr("__dict__").attr("values")())) {
    wrap(member);
    if (!PyType_Check(member.ptr())) continue;
    for (nb::handle inner : nb::list(member.attr("__dict__").attr("values")())) {
      wrap(inner);
      if (Py_TYPE(inner.ptr()) == &PyProperty_Type) wrap(inner.attr("fget"));
    }
  }
}

}  // namespace loopsmith::python
