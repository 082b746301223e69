// SPDX-License-Identifier: Apache-2.0
// The script language: names that Python resolves, and the words of `T` and `I` as objects.
#include <nanobind/stl/string.h>

#include <unordered_map>

#include "bindings/bindings.h"
#include "bindings/ir.h"
#include "bindings/ir_detail.h"
#include "bindings/script_values.h"
#include "loopsmith/script/builder.h"
#include "loopsmith/script/lowering.h"
#include "loopsmith/script/other_words.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/script/words.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

using parsing::Frame;
using parsing::ScriptBuilder;
using parsing::Word;

/// Resolves by two functions of Python: `lookup(name)`, which raises KeyError for what it does not
/// know, and `evaluate(source, locals)`.
class PythonResolver : public Resolver {
 public:
  PythonResolver(nb::object lookup, nb::object evaluate)
      : lookup_(std::move(lookup)), evaluate_(std::move(evaluate)) {}

  std::optional<ScriptValue> name(std::string_view name) override {
    const std::string key(name);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    std::optional<ScriptValue> value;
    try {
      value = to_value(lookup_(key));
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_KeyError)) refuse(error);
    }
    return known_.emplace(key, std::move(value)).first->second;
  }

  ScriptValue evaluate(std::string_view source, const Locals& locals) override {
    nb::dict names;
    for (const auto& [name, value] : locals) names[name.c_str()] = from_value(value);
    try {
      return to_value(evaluate_(std::string(source), names));
    } catch (nb::python_error& error) {
      refuse(error);
    }
  }

 private:
  /// What Python raised, as an error at the place in the script.
  [[noreturn]] static void refuse(nb::python_error& error) {
    const nb::object problem = nb::getattr(error.value(), "problem", nb::none());
    const std::string text =
        nb::isinstance<nb::str>(problem)
            ? nb::cast<std::string>(problem)
            : fmt::format("{}: {}", nb::cast<std::string>(error.type().attr("__name__")),
                          nb::cast<std::string>(nb::str(error.value())));
    const nb::object advice = nb::getattr(error.value(), "hint", nb::none());
    const std::string what_to_do =
        nb::isinstance<nb::str>(advice) ? nb::cast<std::string>(advice) : std::string();
    fail(ErrorKind::script, "python_raises",
         hint(what_to_do.empty() ? "see what Python says" : what_to_do), current_span, "{}", text);
  }

  nb::object lookup_;
  nb::object evaluate_;
  std::unordered_map<std::string, std::optional<ScriptValue>> known_;
};

/// A builder, with what it asks Python for.
struct BuilderObject {
  BuilderObject()
      : resolver(nb::module_::import_("loopsmith.script.source").attr("no_names"),
                 nb::module_::import_("loopsmith.script.source").attr("evaluate_plainly")),
        builder(&resolver) {}

  PythonResolver resolver;
  ScriptBuilder builder;
};

/// What a part of the language gives outside of a script: `T.float32(1)`, `T.exp(x)`.
nb::object call_outside(const ScriptValue& function, const nb::args& args,
                        const nb::kwargs& kwargs) {
  std::vector<ScriptValue> positional = script_values(args);
  std::vector<std::pair<std::string, ScriptValue>> named;
  for (const auto& [key, value] : kwargs) {
    named.emplace_back(nb::cast<std::string>(key), to_value(value));
  }
  const nb::object script = nb::module_::import_("loopsmith.script.source");
  PythonResolver resolver(script.attr("no_names"), script.attr("evaluate_plainly"));
  return from_value(
      parsing::call_outside(function, std::move(positional), std::move(named), &resolver));
}

nb::list words_of(const std::string& space) {
  nb::list names;
  for (const Word* word : parsing::all_words()) {
    if (word->space == space) names.append(nb::cast(WordObject{word}));
  }
  return names;
}

nb::list parse_script(const std::string& text, const std::string& name, std::uint32_t line,
                      const std::string& source_text, bool is_private, bool adds_root,
                      bool check_well_formed, const nb::object& lookup,
                      const nb::object& evaluate) {
  PythonResolver resolver(lookup, evaluate);
  nb::list made;
  for (const auto& [defined, node] : parse_all(text, {.name = name,
                                                      .line = line,
                                                      .source_text = source_text,
                                                      .is_private = is_private,
                                                      .adds_root = adds_root,
                                                      .check_well_formed = check_well_formed,
                                                      .resolver = &resolver})) {
    made.append(nb::make_tuple(defined, node));
  }
  return made;
}

MacroObject parse_script_macro(const std::string& text, const std::string& name, std::uint32_t line,
                               const std::string& source_text, bool hygienic,
                               const nb::object& lookup, const nb::object& evaluate) {
  return {parse_macro(text, {.name = name, .line = line, .source_text = source_text},
                      hygienic ? std::make_shared<PythonResolver>(lookup, evaluate) : nullptr,
                      hygienic)};
}

/// Builders, and the frames that `with` enters.
void bind_builder(nb::module_& m) {
  nb::class_<FrameObject>(m, "ScriptFrame", "A scope of a builder, for `with`.")
      .def(
          "__enter__",
          [](const FrameObject& self) {
            return from_value(ScriptBuilder::current("with").enter(self.frame));
          },
          nb::sig("def __enter__(self) -> typing.Any"))
      .def(
          "__exit__",
          [](const FrameObject& self, nb::handle type, nb::handle, nb::handle) {
            ScriptBuilder::current("with").leave(self.frame, !type.is_none());
          },
          nb::arg("type").none(), nb::arg("error").none(), nb::arg("traceback").none(),
          nb::sig("def __exit__(self, type: object, error: object, traceback: object) -> None"));
  nb::class_<BuilderObject>(m, "ScriptBuilder", "Builds programs by calls of words.")
      .def(nb::init<>())
      .def("open", [](BuilderObject& self) { self.builder.open(); })
      .def("close", [](BuilderObject& self) { self.builder.close(); })
      .def(
          "result", [](BuilderObject& self) { return to_python(self.builder.result()); },
          nb::sig("def result(self) -> typing.Any"))
      .def(
          "name",
          [](BuilderObject& self, const std::string& name, nb::handle value) {
            self.builder.name(name, node_of(value));
          },
          nb::arg("name"), nb::arg("value"));
  m.def(
      "script_function_frame",
      [](bool is_private) {
        return from_value(ScriptBuilder::current("T.prim_func").function_frame(is_private));
      },
      nb::arg("is_private"), nb::sig("def script_function_frame(is_private: bool) -> ScriptFrame"));
  m.def(
      "script_module_frame",
      [] { return from_value(ScriptBuilder::current("I.ir_module").module_frame()); },
      nb::sig("def script_module_frame() -> ScriptFrame"));
  m.def(
      "script_declare_function",
      [](const std::string& name, const Ptr<PrimFunc>& signature) {
        return from_value(
            ScriptBuilder::current("I.decl_function").declare_function(name, signature));
      },
      nb::arg("name"), nb::arg("signature"),
      nb::sig("def script_declare_function(name: str, signature: PrimFunc) -> GlobalVar"));
  m.def(
      "script_define_function",
      [](const std::string& name, const Ptr<PrimFunc>& func) {
        ScriptBuilder::current("I.def_function").define_function(name, func);
      },
      nb::arg("name"), nb::arg("func"),
      nb::sig("def script_define_function(name: str, func: PrimFunc) -> None"));
  m.def(
      "script_argument",
      [](const std::string& name, nb::handle type) {
        return from_value(ScriptBuilder::current("T.arg").argument(name, to_value(type)));
      },
      nb::arg("name"), nb::arg("type"),
      nb::sig("def script_argument(name: str, type: typing.Any) -> typing.Any"));
  m.def(
      "script_function_name",
      [](const std::string& name) {
        ScriptBuilder::current("T.func_name").set_function_name(name);
      },
      nb::arg("name"));
  m.def(
      "script_return_type",
      [](DataType type) { ScriptBuilder::current("T.func_ret").set_return_type(type); },
      nb::arg("dtype"));
  m.def(
      "script_name",
      [](const std::string& name, nb::handle value) {
        ScriptBuilder::current("IRBuilder.name").name(name, node_of(value));
      },
      nb::arg("name"), nb::arg("value"));
}

nb::object text_of(std::string_view text) {
  return nb::str(text.data(), text.size());
}

}  // namespace

void extend(nb::class_<Handle<GlobalVar>>& type) {
  type.def(
      "__call__",
      [](const NodeHandle& self, const nb::args& args) {
        return call_outside(ScriptValue::node(self.ref), args, {});
      },
      nb::sig("def __call__(self, *args: ExprLike | Buffer) -> Expr"),
      "A call of the function, in a module that is built.");
}

void bind_script(nb::module_& m) {
  nb::class_<WordObject>(m, "ScriptWord", "A function of the script language: `T.exp`.")
      .def(
          "__call__",
          [](const WordObject& self, nb::args args, nb::kwargs kwargs) {
            // Python runs the body of a class that is read as a module: that says nothing.
            if (self.word->space == "I") return nb::object(nb::none());
            return call_outside(ScriptValue::Data(self.word), args, kwargs);
          },
          nb::sig("def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any"))
      .def(
          "__getitem__",
          [](const WordObject& self, nb::handle index) {
            const nb::tuple items = nb::isinstance<nb::tuple>(index) ? nb::borrow<nb::tuple>(index)
                                                                     : nb::make_tuple(index);
            return call_outside(ScriptValue::Data(self.word), nb::borrow<nb::args>(items),
                                nb::borrow<nb::kwargs>(nb::dict()));
          },
          nb::sig("def __getitem__(self, index: typing.Any, /) -> typing.Any"))
      .def_prop_ro(
          "name", [](const WordObject& self) { return text_of(self.word->name); },
          nb::for_getter(nb::sig("def name(self) -> str")))
      .def_prop_ro(
          "doc", [](const WordObject& self) { return text_of(self.word->doc); },
          nb::for_getter(nb::sig("def doc(self) -> str")))
      .def_prop_ro(
          "parameters", [](const WordObject& self) { return text_of(self.word->parameters); },
          nb::for_getter(nb::sig("def parameters(self) -> str")))
      .def_prop_ro(
          "result", [](const WordObject& self) { return text_of(self.word->result); },
          nb::for_getter(nb::sig("def result(self) -> str")))
      .def("__repr__", [](const WordObject& self) {
        return fmt::format("<{}.{}({})>", self.word->space, self.word->name, self.word->parameters);
      });
  nb::class_<TypeObject>(m, "ScriptType",
                         "A type of the script language: `T.float32`; called, a value of it.")
      .def(
          "__init__", [](TypeObject* self, DataType dtype) { new (self) TypeObject{dtype}; },
          nb::arg("dtype"))
      .def(
          "__call__",
          [](const TypeObject& self, nb::args args, nb::kwargs kwargs) {
            return call_outside(ScriptValue::Data(self.type), args, kwargs);
          },
          nb::sig("def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any"))
      .def("__str__", [](const TypeObject& self) { return to_string(self.type); })
      .def("__repr__", [](const TypeObject& self) { return "T." + to_string(self.type); });
  nb::class_<SpaceObject>(m, "ScriptSpace", "A part of the script language: `T.axis`.")
      .def(nb::init<std::string>(), nb::arg("name"))
      .def("__getattr__", [](const SpaceObject& self, const std::string& name) {
        const Word* word = parsing::find_word(self.name, name);
        if (!word) throw nb::attribute_error(name.c_str());
        return WordObject{word};
      });
  nb::class_<MacroObject>(m, "ScriptMacro", "Lines that are inlined where they are called.")
      .def_prop_ro("hygienic", [](const MacroObject& self) { return self.definition->is_hygienic; })
      .def(
          "__get__",
          [](nb::handle self, nb::handle instance, nb::handle) -> nb::object {
            if (instance.is_none()) return nb::borrow(self);
            const auto& macro = nb::cast<MacroObject&>(self);
            return nb::cast(MacroObject{method_of(macro.definition, to_value(instance))});
          },
          nb::arg("instance").none(), nb::arg("owner").none() = nb::none(),
          nb::sig("def __get__(self, instance: object, owner: object = None) -> typing.Any"),
          "As an attribute of an object, a method: the object is its first argument.");
  bind_builder(m);
  m.def(
      "script_hint", [](const std::string& word) { return std::string(hint_for_other_word(word)); },
      nb::arg("word"), "What to write in the place of a word of another system; empty: not known.");
  m.def("script_words", words_of, nb::arg("space"),
        nb::sig("def script_words(space: str) -> list[ScriptWord]"));
  m.def("script_parse", parse_script, nb::arg("text"), nb::arg("name"), nb::arg("line"),
        nb::arg("source_text"), nb::arg("is_private"), nb::arg("adds_root"),
        nb::arg("check_well_formed"), nb::arg("lookup"), nb::arg("evaluate"),
        nb::sig("def script_parse(text: str, name: str, line: int, source_text: str, is_private: "
                "bool, adds_root: bool, check_well_formed: bool, lookup: typing.Callable[[str], "
                "typing.Any], "
                "evaluate: typing.Callable[[str, dict[str, typing.Any]], typing.Any]) -> "
                "list[tuple[str, typing.Any]]"));
  m.def("script_macro", parse_script_macro, nb::arg("text"), nb::arg("name"), nb::arg("line"),
        nb::arg("source_text"), nb::arg("hygienic"), nb::arg("lookup"), nb::arg("evaluate"),
        nb::sig("def script_macro(text: str, name: str, line: int, source_text: str, hygienic: "
                "bool, lookup: typing.Callable[[str], typing.Any], evaluate: "
                "typing.Callable[[str, dict[str, typing.Any]], typing.Any]) -> ScriptMacro"));
}

}  // namespace loopsmith::python
