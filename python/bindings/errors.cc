// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/support/error.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>
#include <string>

#include "bindings/bindings.h"
#include "bindings/errors.h"
#include "bindings/python_calls.h"
#include "loopsmith/schedule/refusal.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

constexpr std::array kinds = {
    ErrorKind::user,   ErrorKind::type_mismatch, ErrorKind::bounds,
    ErrorKind::format, ErrorKind::script,        ErrorKind::schedule,
    ErrorKind::lower,  ErrorKind::call,          ErrorKind::interp,
};

nb::object error_class(std::string_view name) {
  return nb::module_::import_("loopsmith.errors").attr(nb::str(name.data(), name.size()));
}

nb::object span_as_dict(const Span& span) {
  if (!span.known()) return nb::none();
  nb::dict fields;
  fields["source"] = source_name(span.source);
  fields["line"] = span.line;
  fields["column"] = span.column;
  fields["length"] = span.length;
  fields["step"] = span.step;
  return fields;
}

void set_error(std::string_view class_name, const std::string& text, const nb::dict& fields) {
  nb::object error = error_class(class_name)(text);
  for (auto [name, value] : fields) nb::setattr(error, name, value);
  PyErr_SetObject(error.type().ptr(), error.ptr());
}

nb::dict fields_of(const UserError& error) {
  nb::dict fields;
  fields["code"] = error.code();
  fields["problem"] = error.problem();
  fields["hint"] = error.hint();
  fields["span"] = span_as_dict(error.span());
  return fields;
}

nb::dict iteration_as_dict(const Witness::Iteration& iteration) {
  nb::dict loops;
  for (const auto& [name, value] : iteration.loops) loops[name.c_str()] = value;
  nb::dict fields;
  fields["loops"] = loops;
  fields["writes"] = iteration.writes;
  return fields;
}

nb::object witness_as_dict(const std::optional<Witness>& witness) {
  if (!witness) return nb::none();
  nb::dict fields;
  fields["first"] = iteration_as_dict(witness->first);
  fields["second"] = iteration_as_dict(witness->second);
  fields["buffer"] = witness->buffer;
  fields["element"] = nb::cast(witness->element);
  fields["text"] = witness->text();
  return fields;
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const RaisedError& error) {
    nb::python_error(error.raised()).restore();
  } catch (const ScheduleError& error) {
    nb::dict fields = fields_of(error);
    fields["primitive"] = error.primitive();
    fields["subjects"] = nb::cast(error.subjects());
    fields["witness"] = witness_as_dict(error.refusal().witness);
    if (const auto& change = error.refusal().change) {
      fields["question"] = std::string(name_of(change->question));
      fields["is_known"] = change->is_known;
    }
    fields["_report"] = nb::cast(error);
    set_error(to_string(error.kind()), error.problem(), fields);
  } catch (const UserError& error) {
    set_error(to_string(error.kind()), error.what(), fields_of(error));
  } catch (const InternalError& error) {
    nb::dict fields;
    fields["problem"] = nb::str(error.what());
    set_error("InternalError", error.what(), fields);
  }
}

ErrorKind kind_by_name(std::string_view name) {
  for (const ErrorKind kind : kinds) {
    if (to_string(kind) == name) return kind;
  }
  check(false, "fail", "no kind of error is called {}", name);
  return ErrorKind::user;
}

}  // namespace

std::optional<ErrorKind> kind_of(const nb::python_error& error) {
  for (const ErrorKind kind : kinds) {
    if (kind != ErrorKind::user && error.matches(error_class(to_string(kind)))) return kind;
  }
  if (error.matches(error_class("UserError"))) return ErrorKind::user;
  return {};
}

void set_python_error(const std::exception_ptr& thrown) {
  try {
    translate(thrown, nullptr);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void bind_errors(nb::module_& m) {
  nb::register_exception_translator(translate);
  nb::class_<ScheduleError>(m, "RefusalReport", "What is made of a refusal when it is asked for.")
      .def("text", [](const ScheduleError& self) { return std::string(self.what()); })
      .def("fixes", [](const ScheduleError& self) { return self.fixes(); })
      .def("picture", [](const ScheduleError& self) { return self.picture(); });

  m.def(
      "fail",
      [](const std::string& kind, const std::string& code, const std::string& problem,
         const std::string& advice, const std::string& source, std::uint32_t line,
         std::uint16_t column, std::uint16_t length) {
        const Span span{source.empty() ? 0 : source_id(source), line, column, length};
        fail(kind_by_name(kind), code, hint(advice), span, "{}", problem);
      },
      nb::arg("kind"), nb::arg("code"), nb::arg("problem"), nb::arg("hint") = "",
      nb::arg("source") = "", nb::arg("line") = 0, nb::arg("column") = 0, nb::arg("length") = 0,
      nb::sig("def fail(kind: str, code: str, problem: str, hint: str = '', source: str = '', "
              "line: int = 0, column: int = 0, length: int = 0) -> typing.NoReturn"),
      "Raise the error class named `kind`, with the text that C++ would give it.");
}

}  // namespace loopsmith::python
