// SPDX-License-Identifier: Apache-2.0
// What single node classes have beside their fields, and how annotations look in Python.
#include "bindings/ir_detail.h"
#include "loopsmith/ir/buffer_address.h"
#include "loopsmith/ir/declare_buffers.h"
#include "loopsmith/ir/extent.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/specialize.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

/// The function with all of `attrs`; a null value takes the attribute away.
Ptr<PrimFunc> with_attrs(const NodeHandle& self, const std::string& key, nb::handle value) {
  const auto func = Ptr<PrimFunc>::from(self.ref);
  if (value.is_none()) return with_attr(func, key, Ref());
  const Ref attribute = to_attribute(value);
  require(attribute.defined(), ErrorKind::type_mismatch, "attribute_is_a_node",
          hint("pass a number, a text, a node, or a list or dict of these"), {},
          "with_attr: the value of {} is a {}", key, type_name_of(value));
  return with_attr(func, key, attribute);
}

/// One attribute with its value, or a dict of them alone.
Ptr<PrimFunc> with_attribute(const NodeHandle& self, nb::handle key, nb::handle value) {
  const bool has_value = value.ptr() != Py_Ellipsis;
  if (nb::isinstance<nb::dict>(key) && !has_value) {
    auto func = Ptr<PrimFunc>::from(self.ref);
    for (const auto& [name, given] : to_attributes(key)) func = with_attr(func, name, given);
    return func;
  }
  if (!nb::isinstance<nb::str>(key)) throw nb::next_overload();
  require(has_value, ErrorKind::type_mismatch, "argument_has_type", hint("it takes (key, value)"),
          {}, "with_attr: the argument value is missing");
  return with_attrs(self, nb::cast<std::string>(key), value);
}

nb::object function_of(const IRModule& module, std::string_view name) {
  const auto func = module.find(name);
  if (!func) throw nb::key_error(std::string(name).c_str());
  return to_python(func);
}

const IRModule& module_of(const NodeHandle& self) {
  return *self.ref.as<IRModule>();
}

/// Indices, each an expression or a slice; a vector where a slice has a step.
struct Subscript {
  std::vector<Expr> indices;
  std::vector<Ptr<Range>> region;
  bool is_region = false;
};

void add_slice(Subscript& subscript, const Buffer& buffer, nb::handle slice) {
  const Expr& extent = buffer.shape[subscript.indices.size()];
  const auto bound = [&](const char* name, const Expr& default_value) {
    const nb::object value = slice.attr(name);
    return value.is_none() ? default_value : to_expr(value, extent.dtype());
  };
  const Expr start = bound("start", zero_of(extent.dtype()));
  const Expr stop = bound("stop", extent);
  const nb::object step = slice.attr("step");
  const Expr count = extent_between(start, stop);
  subscript.region.push_back(range(start, count));
  if (step.is_none()) {
    subscript.is_region = true;
    subscript.indices.push_back(start);
    return;
  }
  const Expr stride = to_expr(step, start.dtype());
  const Expr lanes = extent_between(start, stop, stride);
  require(as_int(lanes), ErrorKind::type_mismatch, "vector_has_constant_lanes",
          hint("give the slice constant bounds"), {},
          "buffer {}: a slice with a step has {} lanes, not a constant", buffer.name, lanes);
  subscript.indices.push_back(make(Ramp{.base = start, .stride = stride, .lanes = *as_int(lanes)}));
}

Subscript subscript_of(const Buffer& buffer, nb::handle key) {
  const nb::tuple items =
      nb::isinstance<nb::tuple>(key) ? nb::borrow<nb::tuple>(key) : nb::make_tuple(key);
  require(items.size() == buffer.shape.size(), ErrorKind::type_mismatch, "one_index_a_dimension",
          hint("give one index for each dimension"), {},
          "buffer {} has {} dimensions, {} indices were given", buffer.name, buffer.shape.size(),
          items.size());
  Subscript subscript;
  for (nb::handle item : items) {
    if (nb::isinstance<nb::slice>(item)) {
      add_slice(subscript, buffer, item);
      continue;
    }
    const Expr index = to_expr(item, buffer.shape[subscript.indices.size()].dtype());
    require(index.defined() && index.dtype().is_integer(), ErrorKind::type_mismatch,
            "index_is_integer", hint("index with expressions, numbers and slices"), {},
            "buffer {} cannot be indexed with a {}", buffer.name, type_name_of(item));
    subscript.indices.push_back(index);
    subscript.region.push_back(range(index, int_imm(index.dtype().element(), 1)));
  }
  return subscript;
}

nb::object element(const NodeHandle& self, nb::handle key) {
  const auto buffer = Ptr<Buffer>::from(self.ref);
  Subscript subscript = subscript_of(*buffer, key);
  if (!subscript.is_region) return to_python(load(buffer, std::move(subscript.indices)));
  return to_python(make(BufferRegion{.buffer = buffer, .region = std::move(subscript.region)}));
}

}  // namespace

void extend(nb::class_<Handle<PrimFunc>>& type) {
  type.def("with_attr", with_attribute, nb::arg("key"), nb::arg("value") = nb::ellipsis(),
           nb::sig("def with_attr(self, key: str | dict[str, typing.Any], value: typing.Any = ...)"
                   " -> PrimFunc"),
           "The function with an attribute more, or another value of it; of a dict, with each.");
  type.def(
      "without_attr",
      [](const NodeHandle& self, const std::string& key) {
        return with_attrs(self, key, nb::none());
      },
      nb::arg("key"), "The function without an attribute.");
  type.def(
      "with_body",
      [](const NodeHandle& self, const Stmt& body) {
        return declare_buffers(with_body(Ptr<PrimFunc>::from(self.ref), body));
      },
      nb::arg("body"), "The function with another body.");
  type.def(
      "specialize",
      [](const NodeHandle& self, const nb::dict& values) {
        std::vector<ParameterValue> given;
        for (const auto& [key, value] : values) {
          const auto param = Ptr<Var>::from(node_of(key));
          require(param.defined(), ErrorKind::type_mismatch, "parameter_exists",
                  hint("take one of its `params`"), {}, "specialize: a {} is no parameter",
                  type_name_of(key));
          const Ref node = node_of(value);
          given.emplace_back(param, node.defined() ? node : Ref(to_expr(value)));
        }
        return specialize(Ptr<PrimFunc>::from(self.ref), given);
      },
      nb::arg("values"),
      nb::sig("def specialize(self, values: dict[Var, ExprLike | Buffer]) -> PrimFunc"),
      "The function for some values of its parameters: a number, or a buffer with the sizes.");
  type.def_prop_ro(
      "name", [](const NodeHandle& self) { return self.ref.as<PrimFunc>()->name(); },
      "Its `global_symbol`, or `main`.");
  type.def_prop_ro(
      "buffer_map",
      [](const NodeHandle& self) {
        const auto* func = self.ref.as<PrimFunc>();
        nb::dict map;
        for (std::size_t i = 0; i < func->params.size(); ++i) {
          if (func->buffer_map[i]) map[to_python(func->params[i])] = to_python(func->buffer_map[i]);
        }
        return map;
      },
      nb::for_getter(nb::sig("def buffer_map(self) -> dict[Var, Buffer]")),
      "The buffers, by parameter.");
}

void extend(nb::class_<Handle<IRModule>>& type) {
  type.def(
      "__getitem__",
      [](const NodeHandle& self, const std::string& name) {
        return function_of(module_of(self), name);
      },
      nb::sig("def __getitem__(self, name: str) -> PrimFunc"));
  type.def(
      "__getitem__",
      [](const NodeHandle& self, const Ptr<GlobalVar>& name) {
        return function_of(module_of(self), name->name_hint);
      },
      nb::sig("def __getitem__(self, name: GlobalVar) -> PrimFunc"));
  type.def(
      "become",
      [](NodeHandle& self, const NodeHandle& other) {
        module_of(other);
        self.become(other.ref);
      },
      nb::arg("other"),
      "Let this name of a module mean another one. Nodes stay as they are; so do other names.",
      nb::sig("def become(self, other: IRModule) -> None"));
  type.def(
      "items",
      [](const NodeHandle& self) {
        nb::list pairs;
        const IRModule& module = module_of(self);
        for (std::size_t i = 0; i < module.names.size(); ++i) {
          pairs.append(nb::make_tuple(to_python(module.names[i]), to_python(module.functions[i])));
        }
        return pairs;
      },
      nb::sig("def items(self) -> list[tuple[GlobalVar, PrimFunc]]"),
      "Its functions, each with its name.");
  type.def("__contains__", [](const NodeHandle& self, const std::string& name) {
    return module_of(self).find(name).defined();
  });
  type.def("__len__", [](const NodeHandle& self) { return module_of(self).functions.size(); });
}

void extend(nb::class_<Handle<IntImm>>& type) {
  type.def_prop_ro(
      "value",
      [](const NodeHandle& self) -> nb::object {
        const auto* constant = self.ref.as<IntImm>();
        if (constant->dtype != u64) return nb::int_(constant->value);
        return nb::int_(static_cast<std::uint64_t>(constant->value));
      },
      nb::for_getter(nb::sig("def value(self) -> int")), "The number; of uint64, up to 2**64 - 1.");
}

void extend(nb::class_<Handle<Buffer>>& type) {
  type.def(
      "__getitem__", element, nb::arg("indices"),
      nb::sig("def __getitem__(self, indices: typing.Any, /) -> typing.Any"),
      "An element; with slices, a region; with slices that have a step, a vector of elements.");
  type.def(
      "offset_of",
      [](const NodeHandle& self, const std::vector<Expr>& indices) {
        return offset_of(*self.ref.as<Buffer>(), indices);
      },
      nb::arg("indices"), "How far from its pointer an element lies, in elements.");
  type.def(
      "get_flattened_buffer",
      [](const NodeHandle& self) { return flattened_buffer(Ptr<Buffer>::from(self.ref)); },
      "A buffer over the same memory with one dimension, or one for each group of dimensions that "
      "its axis separators leave together.");
  type.def(
      "access_ptr",
      [](const NodeHandle& self, nb::handle mask, const std::string&, int lanes, nb::handle offset,
         nb::handle extent) {
        PointerUse use{.mask = nb::isinstance<nb::str>(mask)
                                   ? pointer_mask(nb::cast<std::string>(mask))
                                   : nb::cast<int>(mask),
                       .lanes = lanes};
        if (!offset.is_none()) use.offset = to_expr(offset);
        if (!extent.is_none()) use.extent = to_expr(extent);
        return access_ptr(Ptr<Buffer>::from(self.ref), use);
      },
      nb::arg("access_mask"), nb::arg("ptr_type") = "handle", nb::arg("content_lanes") = 1,
      nb::arg("offset") = nb::none(), nb::arg("extent") = nb::none(),
      nb::sig("def access_ptr(self, access_mask: int | str, ptr_type: str = 'handle', "
              "content_lanes: int = 1, offset: ExprLike | None = None, extent: ExprLike | None = "
              "None) -> Expr"),
      "A pointer to its elements, for calls. `access_mask`: \"r\", \"w\" or \"rw\", what the call "
      "does with them; `offset` and `extent`: which, in elements.");
  type.def(
      "scope", [](const NodeHandle& self) { return std::string(self.ref.as<Buffer>()->scope()); },
      "Where it lives: `global`, `shared`, `local`, ...");
}

namespace {

/// One level of a value that may contain itself.
struct Level {
  Level() {
    if (Py_EnterRecursiveCall(" in an attribute") != 0) throw nb::python_error();
  }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  ~Level() { Py_LeaveRecursiveCall(); }
};

}  // namespace

Ref to_attribute(nb::handle value) {
  const Level level;
  if (nb::isinstance<nb::dict>(value)) return make(Dict{.items = to_attributes(value)});
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    std::vector<Ref> items;
    for (nb::handle item : value) items.push_back(to_attribute(item));
    return make(List{.items = std::move(items)});
  }
  const Ref node = node_of(value);
  return node.defined() ? node : Ref(to_expr(value));
}

nb::object from_attribute(const Ref& value) {
  if (const auto* text = value.as<StringImm>()) return nb::cast(text->value);
  if (const auto* imm = value.as<IntImm>(); imm && imm->dtype.is_bool()) {
    return nb::bool_(imm->value != 0);
  }
  if (const auto* imm = value.as<IntImm>(); imm && imm->dtype == i32) return nb::int_(imm->value);
  if (const auto* dict = value.as<Dict>()) return from_attributes(dict->items);
  if (const auto* list = value.as<List>()) {
    nb::list items;
    for (const Ref& item : list->items) items.append(from_attribute(item));
    return items;
  }
  return to_python(value);
}

Attrs to_attributes(nb::handle mapping) {
  Attrs attrs;
  for (const auto& [key, value] : nb::borrow<nb::dict>(mapping)) {
    const char* const name = PyUnicode_Check(key.ptr()) ? PyUnicode_AsUTF8(key.ptr()) : nullptr;
    PyErr_Clear();
    require(name, ErrorKind::type_mismatch, "attribute_has_name", hint("name it by a str"), {},
            "an attribute is named by a {}", type_name_of(key));
    const Ref node = to_attribute(value);
    require(node.defined(), ErrorKind::type_mismatch, "attribute_is_value",
            hint("use bool, int, float, str, list, dict or a node"), {},
            "the attribute '{}' has a value of another type", name);
    attrs = attrs.with(name, node);
  }
  return attrs;
}

nb::dict from_attributes(const Attrs& attrs) {
  nb::dict mapping;
  for (const auto& [key, value] : attrs) mapping[key.c_str()] = from_attribute(value);
  return mapping;
}

}  // namespace loopsmith::python
