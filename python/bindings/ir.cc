// SPDX-License-Identifier: Apache-2.0
// One Python class for each node type, made from the table of its fields.
#include "bindings/ir.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "bindings/bindings.h"
#include "bindings/ir_detail.h"
#include "loopsmith/ir/declare_buffers.h"
#include "loopsmith/ir/json.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/tensor.h"
#include "loopsmith/ir/vector_lanes.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {

namespace {

/// The Python objects that live, by node.
auto& live_objects() {
  static auto* objects = new std::unordered_map<const Object*, PyObject*>;
  return *objects;
}

}  // namespace

const char* kept(std::string text) {
  static auto* texts = new std::deque<std::string>;
  return texts->emplace_back(std::move(text)).c_str();
}

std::string type_name_of(nb::handle value) {
  return nb::cast<std::string>(nb::str(nb::handle(value.type()).attr("__name__")));
}

NodeHandle::NodeHandle(Ref node, PyObject* object) : ref(std::move(node)), self(object) {
  live_objects()[ref.get()] = self;
}

NodeHandle::~NodeHandle() {
  const auto place = live_objects().find(ref.get());
  if (place != live_objects().end() && place->second == self) live_objects().erase(place);
}

void NodeHandle::become(Ref node) {
  const auto place = live_objects().find(ref.get());
  if (place != live_objects().end() && place->second == self) live_objects().erase(place);
  ref = std::move(node);
  live_objects().try_emplace(ref.get(), self);
}

namespace {

struct NodeClass {
  PyTypeObject* type;
  void (*construct)(PyObject* self, Ref node);
};
std::array<NodeClass, node_count> node_classes{};
PyTypeObject* node_type = nullptr;

template <class T>
void construct(PyObject* self, Ref node) {
  new (nb::inst_ptr<void>(self)) Handle<T>(std::move(node), self);
  nb::inst_mark_ready(self);
}

// ---- Fields as Python values ----

/// A field of several nodes, read when asked.
struct FieldList {
  Ref owner;
  const FieldInfo* field;

  std::span<const Ref> items() const { return field->refs(*owner.get()); }
};

nb::object list_item(const FieldList& list, Py_ssize_t i) {
  const auto size = static_cast<Py_ssize_t>(list.items().size());
  if (i < 0) i += size;
  if (i < 0 || i >= size) throw nb::index_error("list index out of range");
  return to_python(list.items()[static_cast<std::size_t>(i)]);
}

nb::list list_copy(const FieldList& list) {
  nb::list copy;
  for (const Ref& ref : list.items()) copy.append(to_python(ref));
  return copy;
}

void bind_list(nb::module_& m) {
  nb::class_<FieldList>(m, "NodeList", "The nodes of a field: a list that cannot be changed.")
      .def("__len__", [](const FieldList& self) { return self.items().size(); })
      .def("__getitem__", list_item, nb::sig("def __getitem__(self, index: int) -> typing.Any"))
      .def(
          "__getitem__",
          [](const FieldList& self, const nb::slice& slice) {
            return nb::object(nb::steal(PyObject_GetItem(list_copy(self).ptr(), slice.ptr())));
          },
          nb::sig("def __getitem__(self, index: slice) -> list[typing.Any]"))
      .def(
          "__iter__", [](const FieldList& self) { return nb::iter(list_copy(self)); },
          nb::sig("def __iter__(self) -> typing.Iterator[typing.Any]"))
      .def(
          "__eq__",
          [](const FieldList& self, nb::handle other) -> nb::object {
            if (!nb::isinstance<nb::sequence>(other)) return nb::borrow(Py_NotImplemented);
            return nb::bool_(list_copy(self).equal(nb::list(nb::borrow<nb::sequence>(other))));
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const FieldList& self) { return nb::repr(list_copy(self)); });
}

nb::object text_to_python(std::string_view text) {
  return nb::str(text.data(), text.size());
}

nb::object field_value(const FieldInfo& field, const Ref& node) {
  const Object& object = *node.get();
  switch (field.type) {
    case FieldType::ref: return to_python(field.ref(object));
    case FieldType::refs: return nb::cast(FieldList{node, &field});
    case FieldType::attrs: return from_attributes(field.at<Attrs>(object));
    case FieldType::integer: return nb::int_(field.at<std::int64_t>(object));
    case FieldType::integers: return nb::cast(field.at<std::vector<std::int64_t>>(object));
    case FieldType::real: return nb::float_(field.at<double>(object));
    case FieldType::boolean: return nb::bool_(field.at<bool>(object));
    case FieldType::text: return text_to_python(field.at<std::string>(object));
    case FieldType::enumeration:
      return text_to_python(field.names[static_cast<std::size_t>(field.at<std::int32_t>(object))]);
    case FieldType::data_type: return nb::cast(field.at<DataType>(object));
    case FieldType::op: return text_to_python(field.at<Op>(object).name());
  }
  return nb::none();
}

[[noreturn]] void refuse(std::string_view node, const FieldInfo& field, nb::handle value) {
  fail(ErrorKind::type_mismatch, "field_has_type", hint("see the node's attributes"), {},
       "{}: the field '{}' cannot be a {}", node, field.name, type_name_of(value));
}

/// True when a node of that type may stand in a field for `target`.
bool fits(const Ref& ref, std::string_view target) {
  if (target == "Ref") return true;
  if (target == "Stmt") return Stmt::from(ref).defined();
  return node_info(*ref.get()).name == target;
}

Ref ref_from_python(std::string_view node, const FieldInfo& field, nb::handle value) {
  if (value.is_none()) return nullptr;
  Ref ref;
  if (field.target == "Expr") {
    ref = to_expr(value);
  } else if (field.target == "Ref") {
    ref = to_attribute(value);
  } else {
    ref = node_of(value);
    // An axis stands for its variable.
    if (const auto* axis = ref.as<IterVar>(); axis && field.target == "Var") ref = axis->var;
    if (ref.defined() && !fits(ref, field.target)) ref = nullptr;
  }
  if (!ref.defined()) refuse(node, field, value);
  return ref;
}

/// A count of lanes may be a multiple of `vscale`; a uint64 above INT64_MAX is stored by its bits.
std::int64_t integer_from_python(const Object& object, const FieldInfo& field, nb::handle value) {
  const std::string_view node = node_info(object).name;
  if (object.kind == kind_of<IntImm> && static_cast<const IntImm&>(object).dtype == u64) {
    return static_cast<std::int64_t>(nb::cast<std::uint64_t>(nb::int_(nb::borrow(value))));
  }
  if (field.name == std::string_view("lanes")) {
    const auto lanes = lanes_of(to_expr(value));
    if (!lanes) refuse(node, field, value);
    return *lanes;
  }
  return nb::cast<std::int64_t>(nb::int_(nb::borrow(value)));
}

void set_field(Object& object, const FieldInfo& field, nb::handle value) {
  const std::string_view node = node_info(object).name;
  try {
    switch (field.type) {
      case FieldType::ref: field.ref(object) = ref_from_python(node, field, value); return;
      case FieldType::refs: {
        auto& refs = field.at<std::vector<Ref>>(object);
        for (nb::handle item : value) refs.push_back(ref_from_python(node, field, item));
        return;
      }
      case FieldType::attrs: field.at<Attrs>(object) = to_attributes(value); return;
      case FieldType::integer:
        field.at<std::int64_t>(object) = integer_from_python(object, field, value);
        return;
      case FieldType::integers:
        field.at<std::vector<std::int64_t>>(object) = nb::cast<std::vector<std::int64_t>>(value);
        return;
      case FieldType::real: field.at<double>(object) = nb::cast<double>(value); return;
      case FieldType::boolean: field.at<bool>(object) = nb::cast<bool>(value); return;
      case FieldType::text: field.at<std::string>(object) = nb::cast<std::string>(value); return;
      case FieldType::data_type: field.at<DataType>(object) = nb::cast<DataType>(value); return;
      case FieldType::enumeration: {
        const auto name = nb::cast<std::string>(value);
        const auto place = std::ranges::find(field.names, name);
        if (place == field.names.end()) refuse(node, field, value);
        field.at<std::int32_t>(object) = static_cast<std::int32_t>(place - field.names.begin());
        return;
      }
      case FieldType::op: {
        const OpInfo* info = find_op(nb::cast<std::string>(value));
        if (!info) refuse(node, field, value);
        field.at<Op>(object) = op_of(info);
        return;
      }
    }
  } catch (const nb::cast_error&) {
    refuse(node, field, value);
  } catch (const nb::python_error&) {
    refuse(node, field, value);
  }
}

// ---- Constructors ----

/// The order of positional arguments, where it is not that of the fields.
struct Order {
  std::uint16_t kind;
  std::array<std::string_view, 3> first;
};
constexpr Order orders[] = {
    {kind_of<IntImm>, {"dtype"}},
    {kind_of<FloatImm>, {"dtype"}},
    {kind_of<Let>, {"var"}},
    {kind_of<LetStmt>, {"var"}},
    {kind_of<Allocate>, {"buffer_var", "dtype", "extents"}},
    {kind_of<AllocateConst>, {"buffer_var", "dtype", "extents"}},
};

std::vector<const FieldInfo*> positional_fields(std::uint16_t kind) {
  std::vector<const FieldInfo*> fields;
  for (const FieldInfo& field : node_info(kind).fields) fields.push_back(&field);
  for (const Order& order : orders) {
    if (order.kind != kind) continue;
    std::ranges::stable_sort(fields, {}, [&](const FieldInfo* field) {
      return std::ranges::find(order.first, field->name) - order.first.begin();
    });
  }
  return fields;
}

const FieldInfo* find_field(const std::vector<const FieldInfo*>& fields, std::string_view name) {
  const auto place = std::ranges::find(fields, name, [](const FieldInfo* f) { return f->name; });
  return place == fields.end() ? nullptr : *place;
}

/// What `make` does, with Python's arguments: first those without a name, then those with one.
Ref make_node(std::uint16_t kind, const nb::args& args, const nb::kwargs& kwargs) {
  const NodeInfo& info = node_info(kind);
  const auto fields = positional_fields(kind);
  require(args.size() <= fields.size(), ErrorKind::type_mismatch, "argument_count",
          hint("see the node's attributes"), {}, "{} has {} fields, {} were given", info.name,
          fields.size(), args.size());
  Object* object = info.create();
  const Ref holder(object);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is_none()) set_field(*object, *fields[i], args[i]);
  }
  for (const auto& [key, value] : kwargs) {
    const auto name = nb::cast<std::string>(key);
    const FieldInfo* field = find_field(fields, name);
    require(field, ErrorKind::type_mismatch, "field_is_known", hint("see the node's attributes"),
            {}, "{} has no field '{}'", info.name, name);
    if (!nb::handle(value).is_none()) set_field(*object, *field, value);
  }
  info.canonicalize(*object);
  if (const auto func = Ptr<PrimFunc>::from(holder)) return declare_buffers(func);
  return holder;
}

// ---- Classes ----

std::string type_of_field(std::string_view target, bool taken) {
  if (target == "Ref") return "typing.Any";
  if (target == "Expr" && taken) return "ExprLike";
  return std::string(target);
}

/// The type of a field in stubs: as it is given, or as a constructor takes it.
std::string field_type(const FieldInfo& field, bool taken) {
  switch (field.type) {
    case FieldType::ref: {
      const bool optional = field.role == Role::optional || field.role == Role::thread;
      return type_of_field(field.target, taken) + (optional ? " | None" : "");
    }
    case FieldType::refs:
      return fmt::format("collections.abc.Sequence[{}{}]", type_of_field(field.target, taken),
                         is_definition(field.role) && field.target == "Buffer" ? " | None" : "");
    case FieldType::attrs: return "collections.abc.Mapping[str, typing.Any]";
    case FieldType::integer: return "int";
    case FieldType::integers: return "collections.abc.Sequence[int]";
    case FieldType::real: return "float";
    case FieldType::boolean: return "bool";
    case FieldType::text:
    case FieldType::enumeration:
    case FieldType::data_type:
    case FieldType::op: return "str";
  }
  return "typing.Any";
}

std::string constructor_signature(std::uint16_t kind) {
  std::string text = "def __init__(self";
  for (const FieldInfo* field : positional_fields(kind)) {
    text += fmt::format(", {}: {} = ...", field->name, field_type(*field, true));
  }
  return text + ") -> None";
}

template <class T>
void bind_node(nb::module_& m, nb::handle base) {
  const NodeInfo& info = node_info(kind_of<T>);
  const char* const name = kept(std::string(info.name));
  // An axis can be computed with, as its variable can.
  auto type = std::is_same_v<T, IterVar>
                  ? nb::class_<Handle<T>>(m, name, base, nb::type_slots(operator_slots()))
                  : nb::class_<Handle<T>>(m, name, base);
  extend(type);
  type.def(
      "__init__",
      [](nb::handle self, nb::args args, nb::kwargs kwargs) {
        if (!nb::isinstance<Handle<T>>(self)) throw nb::next_overload();
        construct<T>(self.ptr(), make_node(kind_of<T>, args, kwargs));
      },
      nb::sig(kept(constructor_signature(kind_of<T>))));
  for (const FieldInfo& field : info.fields) {
    if (nb::hasattr(type, kept(std::string(field.name)))) continue;
    const std::string signature =
        fmt::format("def {}(self) -> {}", field.name, field_type(field, false));
    type.def_prop_ro(
        kept(std::string(field.name)),
        [&field](const NodeHandle& self) { return field_value(field, self.ref); },
        nb::for_getter(nb::sig(kept(signature))));
  }
  node_classes[kind_of<T>] = {reinterpret_cast<PyTypeObject*>(type.ptr()), construct<T>};
}

template <class... T>
void bind_nodes(nb::module_& m, nb::handle node, nb::handle expr, nb::handle stmt,
                loopsmith::NodeList<T...>) {
  (bind_node<T>(m, IsExprNode<T> ? expr : IsStmtNode<T> ? stmt : node), ...);
}

std::string script_of(const NodeHandle& self, const std::string& name, int indent_spaces,
                      bool print_line_numbers, int num_context_lines, bool print_spans,
                      const std::vector<Ref>& obj_to_underline, const nb::dict& obj_to_annotate) {
  ScriptOptions options{.name = name,
                        .indent = indent_spaces,
                        .line_numbers = print_line_numbers,
                        .spans = print_spans,
                        .underline = obj_to_underline,
                        .context_lines = num_context_lines};
  for (const auto& [node, text] : obj_to_annotate) {
    options.annotate.emplace_back(node_of(node), nb::cast<std::string>(text));
  }
  return script(self.ref, options);
}

nb::object span_of(const NodeHandle& self) {
  const Span& span = self.ref.span();
  if (!span.known()) return nb::none();
  return nb::make_tuple(source_name(span.source), span.line, span.column, span.length, span.step);
}

/// Calls `loopsmith.display.<function>(node, ...)`.
nb::object display(const char* function, nb::handle node, nb::handle argument) {
  return nb::module_::import_("loopsmith.display").attr(function)(node, argument);
}

/// Nodes pickle and copy by their text.
nb::tuple reduce(const NodeHandle& self) {
  const nb::object read = nb::module_::import_("loopsmith.ir").attr("from_json");
  return nb::make_tuple(read, nb::make_tuple(to_json(self.ref)));
}

nb::class_<NodeHandle> bind_base(nb::module_& m) {
  nb::class_<NodeHandle> node(m, "Node", nb::is_weak_referenceable(),
                              "A node of the IR. It never changes.");
  node.def(
      "same_as",
      [](const NodeHandle& self, const NodeHandle& other) { return self.ref.same_as(other.ref); },
      "True for one and the same node.");
  node.def("script", script_of, nb::arg("name") = "", nb::kw_only(), nb::arg("indent_spaces") = 4,
           nb::arg("print_line_numbers") = false, nb::arg("num_context_lines") = -1,
           nb::arg("print_spans") = false, nb::arg("obj_to_underline") = std::vector<Ref>(),
           nb::arg("obj_to_annotate") = nb::dict(),
           nb::sig("def script(self, name: str = '', *, indent_spaces: int = 4, "
                   "print_line_numbers: bool = False, num_context_lines: int = -1, "
                   "print_spans: bool = False, "
                   "obj_to_underline: collections.abc.Sequence[Node] = (), "
                   "obj_to_annotate: dict[Node, str] = {}) -> str"),
           "The node in the script language.");
  node.def(
      "show", [](nb::handle self, nb::handle style) { display("show", self, style); },
      nb::arg("style") = nb::none(), nb::sig("def show(self, style: str | None = None) -> None"),
      "Print the script in colour.");
  node.def(
      "_repr_html_", [](nb::handle self) { return display("html", self, nb::none()); },
      nb::sig("def _repr_html_(self) -> str"));
  node.def(
      "__reduce__", [](const NodeHandle& self) { return reduce(self); },
      nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  node.def("__str__", [](const NodeHandle& self) { return script(self.ref); });
  node.def("__repr__", [](const NodeHandle& self) { return to_string(self.ref); });
  node.def_prop_ro(
      "span", span_of,
      nb::for_getter(nb::sig("def span(self) -> tuple[str, int, int, int, int] | None")),
      "Where it comes from: (source, line, column, length, schedule step).");
  return node;
}

}  // namespace

nb::object to_python(const Ref& node) {
  if (!node.defined()) return nb::none();
  const auto place = live_objects().find(node.get());
  if (place != live_objects().end() && Py_REFCNT(place->second) > 0) {
    return nb::borrow(place->second);
  }
  const NodeClass& made = node_classes[node.get()->kind];
  nb::object object = nb::inst_alloc(reinterpret_cast<PyObject*>(made.type));
  made.construct(object.ptr(), node);
  return object;
}

Ref node_of(nb::handle value) {
  if (!PyObject_TypeCheck(value.ptr(), node_type)) return nullptr;
  return nb::inst_ptr<NodeHandle>(value)->ref;
}

void bind_ir(nb::module_& m) {
  bind_list(m);
  const auto node = bind_base(m);
  node_type = reinterpret_cast<PyTypeObject*>(node.ptr());
  const nb::object expr = bind_expr(m);
  const nb::class_<StmtHandle, NodeHandle> stmt(m, "Stmt", "A statement.");
  bind_nodes(m, node, expr, stmt, Nodes{});
  bind_functions(m);
  bind_structural(m);
}

}  // namespace loopsmith::python
