// SPDX-License-Identifier: Apache-2.0
// The classes Function and Module. They are made by hand, not by nanobind, because a call that goes
// through the vectorcall protocol and reads arrays itself takes a fifth of the time.
#include "bindings/callable.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <structmember.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "bindings/arguments.h"
#include "bindings/bindings.h"
#include "bindings/host_functions.h"
#include "bindings/interpreter_lock.h"
#include "loopsmith/driver/export.h"
#include "loopsmith/runtime/profile.h"
#include "loopsmith/runtime/thread_pool.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

struct Callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  Module module;
  std::optional<Function> function;  ///< None of a module that has several and no `main`.
  PyObject* host_functions;          ///< What the module's programs call; null: nothing of Python.
};

PyTypeObject* function_type = nullptr;
PyTypeObject* module_type = nullptr;

Callable& self_of(nb::handle object) {
  return *reinterpret_cast<Callable*>(object.ptr());
}

/// What a method was called on; of any other class, an argument that does not fit.
Callable& owner_of(nb::handle object) {
  const PyTypeObject* type = Py_TYPE(object.ptr());
  if (type != function_type && type != module_type) throw nb::next_overload();
  return self_of(object);
}

/// The function that a call runs; of a module without one, the error that says so.
Function function_of(const Callable& self) {
  return self.function ? *self.function : self.module.entry();
}

void run(const Function& function, const Arguments& arguments) {
  // To give the lock away and take it back would cost more than a tiny call, and far more when
  // another thread takes it in between. Functions of Python need it, in whichever thread.
  if (arguments.are_tiny() && !function.signature().spec().calls_host)
    return function.call(arguments.list());
  const Unlocked unlocked;
  function.call(arguments.list());
}

/// A call that leaves out outputs, or names arguments: Python finds them, and calls again.
nb::object complete(PyObject* object, PyObject* const* values, std::size_t count, PyObject* names) {
  nb::list given;
  for (std::size_t i = 0; i < count; ++i) given.append(nb::borrow(values[i]));
  nb::dict named;
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
    named[nb::borrow(PyTuple_GET_ITEM(names, i))] =
        nb::borrow(values[count + static_cast<std::size_t>(i)]);
  }
  const nb::object callee = nb::borrow(object);
  return nb::module_::import_("loopsmith.calls").attr("complete")(callee, given, named);
}

PyObject* call(PyObject* object, PyObject* const* values, std::size_t count_and_flag,
               PyObject* names) noexcept {
  try {
    const Callable& self = self_of(object);
    if (!self.function) [[unlikely]]
      function_of(self);
    const Function& function = *self.function;
    const auto count =
        static_cast<std::size_t>(PyVectorcall_NARGS(static_cast<std::size_t>(count_and_flag)));
    const bool is_complete = count == function.signature().spec().parameters.size();
    if (names || !is_complete) [[unlikely]]
      return complete(object, values, count, names).release().ptr();
    const Arguments arguments(function.signature(), values, count);
    run(function, arguments);
    Py_RETURN_NONE;
  } catch (...) {
    set_python_error(std::current_exception());
    return nullptr;
  }
}

/// What a collector sees. There is no clear beside it: programs look functions up in the dict as
/// long as they may be called, and a cycle is broken where the dict is cleared.
int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self_of(object).host_functions);
  return 0;
}

void dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  PyTypeObject* type = Py_TYPE(object);
  Callable& self = self_of(object);
  Py_XDECREF(self.host_functions);
  self.function.~optional();
  self.module.~Module();
  type->tp_free(object);
  Py_DECREF(type);
}

nb::object make_callable(PyTypeObject* type, Module module, std::optional<Function> function) {
  nb::object object = nb::steal(type->tp_alloc(type, 0));
  if (!object.is_valid()) throw nb::python_error();
  Callable& self = self_of(object);
  self.vectorcall = call;
  self.host_functions = functions_of(module.options().call_host);
  Py_XINCREF(self.host_functions);
  new (&self.module) Module(std::move(module));
  new (&self.function) std::optional<Function>(std::move(function));
  return object;
}

PyTypeObject* make_type(nb::module_& m, const char* name, const char* qualified_name,
                        const char* doc) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, vectorcall), READONLY, nullptr}, {}};
  PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_members, members},
      {Py_tp_doc, const_cast<char*>(doc)},
      {0, nullptr},
  };
  PyType_Spec spec{qualified_name, sizeof(Callable), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC, slots};
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  auto* made = reinterpret_cast<PyTypeObject*>(type.ptr());
  made->tp_new = nullptr;  // they are given, not made
  nb::setattr(type, "__module__", m.attr("__name__"));
  m.attr(name) = type;
  return reinterpret_cast<PyTypeObject*>(type.release().ptr());
}

template <class Body, class... Extra>
void method(PyTypeObject* type, const char* name, const char* signature, const char* doc,
            Body&& body, const Extra&... extra) {
  const nb::handle scope(reinterpret_cast<PyObject*>(type));
  nb::cpp_function_def(std::forward<Body>(body), nb::scope(scope), nb::name(name), nb::is_method(),
                       nb::sig(signature), doc, extra...);
}

template <class Body>
void property(PyTypeObject* type, const char* name, const char* signature, const char* doc,
              Body&& body) {
  const nb::handle scope(reinterpret_cast<PyObject*>(type));
  const nb::object getter =
      nb::cpp_function(std::forward<Body>(body), nb::scope(scope), nb::is_method(), nb::is_getter(),
                       nb::sig(signature), doc);
  const nb::object made = nb::borrow(reinterpret_cast<PyObject*>(&PyProperty_Type))(
      getter, nb::none(), nb::none(), doc);
  nb::setattr(scope, name, made);
}

std::string parameter_text(const ParameterSpec& parameter) {
  if (parameter.kind != LS_TENSOR)
    return fmt::format("{}: {}", parameter.name, to_string(parameter.dtype));
  std::vector<std::string> extents;
  for (const ExtentRule& rule : parameter.shape) {
    switch (rule.kind) {
      case ExtentRule::Kind::constant: extents.push_back(std::to_string(rule.constant)); break;
      case ExtentRule::Kind::symbol: extents.push_back(rule.symbol); break;
      case ExtentRule::Kind::computed: extents.emplace_back("..."); break;
    }
  }
  return fmt::format("{}: {}[{}]", parameter.name, to_string(parameter.dtype),
                     fmt::join(extents, ", "));
}

std::string signature_text(const Function& function) {
  std::vector<std::string> parameters;
  for (const ParameterSpec& parameter : function.signature().spec().parameters) {
    parameters.push_back(parameter_text(parameter));
  }
  return fmt::format("{}({})", function.name(), fmt::join(parameters, ", "));
}

std::string module_text(const Module& module) {
  std::vector<std::string> functions;
  for (const std::string& name : module.names()) functions.push_back(signature_text(module[name]));
  return fmt::format("<loopsmith.Module {}>", fmt::join(functions, "; "));
}

/// A parameter as loopsmith.calls reads it: name, kind, element type, and of a tensor its sizes
/// (numbers, names of symbols, (terms, constant, divisor), None), whether it is an output; of an
/// integer, its symbol.
nb::tuple described(const ParameterSpec& parameter) {
  nb::list shape;
  for (const ExtentRule& rule : parameter.shape) {
    switch (rule.kind) {
      case ExtentRule::Kind::constant: shape.append(rule.constant); break;
      case ExtentRule::Kind::symbol: shape.append(rule.symbol); break;
      case ExtentRule::Kind::computed:
        shape.append(rule.size ? nb::object(nb::make_tuple(rule.size->terms, rule.size->constant,
                                                           rule.size->divisor))
                               : nb::none());
        break;
    }
  }
  constexpr const char* kinds[] = {"tensor", "int", "float", "bool", "handle"};
  const ls_kind order[] = {LS_TENSOR, LS_INT, LS_FLOAT, LS_BOOL, LS_HANDLE};
  const auto found = std::find(std::begin(order), std::end(order), parameter.kind);
  return nb::make_tuple(parameter.name, kinds[found - std::begin(order)],
                        to_string(parameter.dtype), nb::tuple(shape), parameter.is_output,
                        parameter.writable, parameter.symbol);
}

nb::list described(const Function& function) {
  nb::list list;
  for (const ParameterSpec& one : function.signature().spec().parameters) {
    list.append(described(one));
  }
  return list;
}

/// A call with these values, as many as they are: of a wrong number, the error that says so.
void call_with(const Function& function, const nb::list& values) {
  std::vector<PyObject*> pointers;
  for (nb::handle value : values) pointers.push_back(value.ptr());
  const Arguments arguments(function.signature(), pointers.data(), pointers.size());
  run(function, arguments);
}

Timing time(const Function& function, const nb::args& values, const TimingOptions& options) {
  std::vector<PyObject*> pointers;
  for (nb::handle value : values) pointers.push_back(value.ptr());
  const Arguments arguments(function.signature(), pointers.data(), pointers.size());
  const Unlocked unlocked;
  return function.time(arguments.list(), options);
}

constexpr const char* time_doc = R"(Measure how long a call takes.

Parameters
----------
*arrays
    The arguments of the call; what the function writes is written.
warmup
    How many samples are thrown away first.
repeat
    How many samples are taken.
number
    Calls in a sample; 0: as many as take a millisecond, or one when ``cold``.
cold
    Drop the arrays' data from all caches before each sample.

Returns
-------
Timing
    Seconds for one call: ``min``, ``median``, ``mean`` and all ``samples``.)";

void def_time(PyTypeObject* type) {
  method(
      type, "time",
      "def time(self, *arrays: object, warmup: int = 1, repeat: int = 5, number: int = 0, "
      "cold: bool = False) -> Timing",
      time_doc,
      [](nb::handle self, const nb::args& arrays, int warmup, int repeat, int number, bool cold) {
        return time(function_of(owner_of(self)), arrays,
                    {.warmup = warmup, .repeat = repeat, .number = number, .cold = cold});
      },
      nb::arg("arrays"), nb::kw_only(), nb::arg("warmup") = 1, nb::arg("repeat") = 5,
      nb::arg("number") = 0, nb::arg("cold") = false);
}

/// What inspect.signature gives, and editors and IPython show. A module without a function that a
/// call of it runs has no signature.
void def_signature(PyTypeObject* type) {
  property(type, "__signature__", "def __signature__(self) -> typing.Any",
           "What a call takes, as inspect has it.", [](nb::handle self) {
             owner_of(self);
             return nb::module_::import_("loopsmith.calls").attr("signature_of")(self);
           });
}

void bind_function(nb::module_& m) {
  function_type = make_type(m, "Function", "loopsmith._core.Function",
                            "A compiled function. Called with arrays and numbers in the order of "
                            "its parameters, it writes its results in place.");
  property(function_type, "name", "def name(self) -> str", "Its name.",
           [](nb::handle self) { return function_of(owner_of(self)).name(); });
  property(
      function_type, "parameters", "def parameters(self) -> list[str]",
      "What it takes: ``A: float32[n, 16]``, ``k: int64``, ...", [](nb::handle self) {
        std::vector<std::string> texts;
        for (const ParameterSpec& one : function_of(owner_of(self)).signature().spec().parameters) {
          texts.push_back(parameter_text(one));
        }
        return texts;
      });
  method(function_type, "__repr__", "def __repr__(self) -> str", "What it is and takes.",
         [](nb::handle self) {
           return fmt::format("<loopsmith.Function {}>",
                              signature_text(function_of(owner_of(self))));
         });
  property(
      function_type, "outputs", "def outputs(self) -> list[str]",
      "The parameters that a call may leave out, and then returns: written, and not read "
      "before.",
      [](nb::handle self) {
        std::vector<std::string> names;
        for (const ParameterSpec& one : function_of(owner_of(self)).signature().spec().parameters) {
          if (one.is_output) names.push_back(one.name);
        }
        return names;
      });
  def_signature(function_type);
  def_time(function_type);
}

/// The text of a path: a string, or what os.fsdecode takes.
std::string path_of(nb::handle path) {
  try {
    return nb::cast<std::string>(nb::module_::import_("os").attr("fsdecode")(path));
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_TypeError)) throw nb::next_overload();
    throw;
  }
}

void bind_module(nb::module_& m) {
  module_type = make_type(m, "Module", "loopsmith._core.Module",
                          "Compiled functions by name, with the threads that run them. Called "
                          "itself, it runs its only function, or the one named ``main``.");
  property(module_type, "names", "def names(self) -> list[str]", "The names of its functions.",
           [](nb::handle self) { return owner_of(self).module.names(); });
  property(module_type, "num_threads", "def num_threads(self) -> int",
           "How many threads run its parallel loops.",
           [](nb::handle self) { return owner_of(self).module.options().pool->num_threads(); });
  method(module_type, "__getitem__", "def __getitem__(self, name: str, /) -> Function",
         "Return one of its functions.", [](nb::handle self, const std::string& name) {
           const Module& module = owner_of(self).module;
           return make_callable(function_type, module, module[name]);
         });
  method(module_type, "__contains__", "def __contains__(self, name: str, /) -> bool",
         "Tell whether it has a function.", [](nb::handle self, const std::string& name) {
           return owner_of(self).module.contains(name);
         });
  method(module_type, "__len__", "def __len__(self) -> int", "How many functions it has.",
         [](nb::handle self) { return owner_of(self).module.names().size(); });
  method(module_type, "__repr__", "def __repr__(self) -> str", "What it is and takes.",
         [](nb::handle self) { return module_text(owner_of(self).module); });
  method(
      module_type, "with_threads",
      "def with_threads(self, num_threads: int, affinity: typing.Sequence[int] = ()) -> Module",
      "Return the same functions, run by ``num_threads`` threads of their own (0: one for each "
      "processor), on the processors ``affinity`` (none: any).",
      [](nb::handle self, int num_threads, std::vector<int> affinity) {
        return to_python(owner_of(self).module.with_threads(
            {.num_threads = num_threads, .affinity = std::move(affinity)}));
      },
      nb::arg("num_threads"), nb::arg("affinity") = std::vector<int>());
  method(module_type, "inspect", "def inspect(self) -> Sources",
         "Return the texts that it was made from, their lines related: ``source``, ``ir``, and "
         "``llvm`` and ``assembly``, or ``c``.",
         [](nb::handle self) {
           owner_of(self);
           return nb::module_::import_("loopsmith.inspection").attr("Sources")(self);
         });
  method(
      module_type, "source", "def source(self, name: str) -> str",
      "Return one of the texts that it was made from: ``tir``, ``llvm``, ``assembly``, ``c``.",
      [](nb::handle self, const std::string& name) { return owner_of(self).module.source(name); },
      nb::arg("name"));
  method(
      module_type, "export",
      "def export(self, path: str | os.PathLike[str], "
      "header: str | os.PathLike[str] | None = None) -> None",
      "Write the functions into a file that other programs link or load.\n\n"
      "The end of ``path`` says what it is: ``.so`` and ``.a`` have all that they need in them; "
      "``.o``, ``.s`` and ``.ll`` are linked with the file of ``export_runtime``; ``.c`` is for "
      "target c. ``header`` names a file of C declarations.",
      [](nb::handle self, nb::handle path, nb::handle header) {
        const Module& module = owner_of(self).module;
        const std::string file = path_of(path);
        const std::string declarations = header.is_none() ? "" : path_of(header);
        const Unlocked unlocked;
        export_module(module, file, declarations);
      },
      nb::arg("path"), nb::arg("header") = nb::none());
  method(module_type, "report", "def report(self) -> Report",
         "Tell for each loop what it does: operations, bytes, vectors, calls, guards, spills.",
         [](nb::handle self) {
           owner_of(self);
           return nb::module_::import_("loopsmith.report").attr("report")(self);
         });
  method(
      module_type, "profile", "def profile(self, reset: bool = False) -> Profile",
      "Tell what loops have taken in calls so far, of a module built with ``profile=True``: a "
      "table of runs, times and shares. With ``reset``, the next one counts from here.",
      [](nb::handle self, bool reset) {
        owner_of(self);
        return nb::module_::import_("loopsmith.profile").attr("profile_of")(self, reset);
      },
      nb::arg("reset") = false);
  method(module_type, "_repr_html_", "def _repr_html_(self) -> str", "What notebooks show.",
         [](nb::handle self) {
           owner_of(self);
           return nb::module_::import_("loopsmith.display").attr("module_html")(self);
         });
  method(module_type, "__reduce__", "def __reduce__(self) -> tuple[typing.Any, ...]",
         "Its code, exported, for pickle.", [](nb::handle self) {
           owner_of(self);
           return nb::module_::import_("loopsmith.driver").attr("reduced")(self);
         });
  def_signature(module_type);
  def_time(module_type);
}

}  // namespace

nb::object to_python(Module module) {
  std::optional<Function> entry;
  if (module.names().size() == 1 || module.contains("main")) entry = module.entry();
  return make_callable(module_type, std::move(module), std::move(entry));
}

const Module& module_of(nb::handle object) {
  if (Py_TYPE(object.ptr()) != module_type) throw nb::next_overload();
  return self_of(object).module;
}

void bind_callables(nb::module_& m) {
  m.def(
      "describe_parameters", [](nb::handle self) { return described(function_of(owner_of(self))); },
      nb::arg("function"),
      nb::sig("def describe_parameters(function: Function | Module) -> list[tuple[str, str, str, "
              "tuple[int | str | None, ...], bool, bool, str]]"),
      "For each parameter: name, kind, element type, sizes, whether it is an output, whether it is "
      "written, and the symbol whose value it is.");
  m.def(
      "call_with",
      [](nb::handle self, const nb::list& values) {
        call_with(function_of(owner_of(self)), values);
      },
      nb::arg("function"), nb::arg("values"),
      nb::sig("def call_with(function: Function | Module, values: list[typing.Any]) -> None"));
  m.def(
      "loop_counters",
      [](nb::handle self, bool reset) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> read;
        for (LoopCounters* each : function_of(owner_of(self)).loop_counters()) {
          read.emplace_back(each->runs, each->ticks);
          if (reset) *each = {};
        }
        return read;
      },
      nb::arg("function"), nb::arg("reset"),
      "The runs and ticks of each statement of a function that is timed, by its number.");
  m.def("ticks_per_second", ticks_per_second, "The rate of the clock that timed code reads.");
  bind_function(m);
  bind_module(m);
}

}  // namespace loopsmith::python
