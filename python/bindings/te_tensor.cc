// SPDX-License-Identifier: Apache-2.0
// What tensors and operations can do in Python.
#include <nanobind/operators.h>

#include "bindings/caller.h"
#include "bindings/ir_detail.h"
#include "bindings/te.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/te.h"

namespace nb = nanobind;

namespace loopsmith::python {

std::vector<Ptr<Tensor>> nodes_of(const std::vector<te::Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

Expr value_of(nb::handle value, std::string_view what, DataType like) {
  const te::Tensor tensor(Ptr<Tensor>::from(node_of(value)));
  Expr expr = tensor.defined() && tensor.ndim() == 0 ? Expr(tensor) : to_expr(value, like);
  require(expr.defined(), ErrorKind::type_mismatch, "value_is_expression",
          hint("give an expression or a number"), current_span, "{}: a value is a {}, not a number",
          what, type_name_of(value));
  return expr;
}

std::vector<Expr> values_of(nb::handle values, std::string_view what,
                            const std::vector<DataType>& like) {
  std::vector<Expr> exprs;
  for (nb::handle value : values) {
    const DataType type = exprs.size() < like.size() ? like[exprs.size()] : void_type;
    exprs.push_back(value_of(value, what, type));
  }
  return exprs;
}

namespace {

te::Tensor tensor_of(const NodeHandle& self) {
  return Ptr<Tensor>::from(self.ref);
}
/// The tensor behind a Python object; null if it is none.
te::Tensor tensor_of(nb::handle value) {
  return Ptr<Tensor>::from(node_of(value));
}

/// `T[i]` of a tensor of more dimensions: it waits for the other indices.
struct TensorSlice {
  te::Tensor tensor;
  std::vector<Expr> indices;
};

nb::object element_or_slice(const te::Tensor& tensor, std::vector<Expr> indices, nb::handle index) {
  const SpanScope scope(caller_span());
  if (nb::isinstance<nb::tuple>(index)) {
    for (nb::handle part : index) indices.push_back(value_of(part, "index"));
  } else {
    indices.push_back(value_of(index, "index"));
  }
  if (indices.size() < tensor.ndim()) return nb::cast(TensorSlice{tensor, std::move(indices)});
  return nb::cast(tensor.at(std::move(indices)));
}

bool is_constant(const Expr& expr) {
  return expr.is<IntImm>() || expr.is<FloatImm>();
}

using Element = Expr (*)(const Expr& a, const Expr& b);

/// `fn` of two operands of which one is a tensor: a tensor; a number, where the tensor has no
/// dimensions and the other is an expression, so that it can be used inside a compute.
nb::object combine(nb::handle left, nb::handle right, Element fn, const char* name) {
  const SpanScope scope(caller_span());
  const te::Tensor a = tensor_of(left);
  const te::Tensor b = tensor_of(right);
  if (a.defined() && b.defined()) return nb::cast(Ptr<Tensor>(te::broadcast(a, b, fn, name)));
  const te::Tensor& tensor = a.defined() ? a : b;
  const Expr number = to_expr(a.defined() ? right : left, tensor.dtype());
  if (!number.defined()) return nb::borrow(Py_NotImplemented);
  if (tensor.ndim() == 0 && !is_constant(number)) {
    return nb::cast(a.defined() ? fn(tensor, number) : fn(number, tensor));
  }
  const auto element = [&](const Expr& x) { return a.defined() ? fn(x, number) : fn(number, x); };
  return nb::cast(Ptr<Tensor>(te::element_wise(tensor, element, name)));
}

/// An operator: `a + b` is `__add__` of a, else `__radd__` of b, and makes a `T_add`.
struct Operator {
  const char* name;
  const char* label;
  Element fn;
};
constexpr Operator operators[] = {
    {"add", "T_add", [](const Expr& a, const Expr& b) { return a + b; }},
    {"sub", "T_subtract", [](const Expr& a, const Expr& b) { return a - b; }},
    {"mul", "T_multiply", [](const Expr& a, const Expr& b) { return a * b; }},
    {"truediv", "T_divide", [](const Expr& a, const Expr& b) { return a / b; }},
    {"floordiv", "T_floor_divide", [](const Expr& a, const Expr& b) { return floordiv(a, b); }},
    {"mod", "T_mod", [](const Expr& a, const Expr& b) { return floormod(a, b); }},
};

/// Defines `__name__` and `__rname__` by `forth(self, other)` and `back(self, other)`.
template <class Class, class Forth, class Back>
void def_operator(Class& type, const char* name, Forth forth, Back back) {
  for (const bool is_reflected : {false, true}) {
    const std::string full = fmt::format("__{}{}__", is_reflected ? "r" : "", name);
    const char* sig = kept(fmt::format("def {}(self, other: typing.Any, /) -> typing.Any", full));
    if (is_reflected) {
      type.def(kept(full), back, nb::is_operator(), nb::sig(sig));
    } else {
      type.def(kept(full), forth, nb::is_operator(), nb::sig(sig));
    }
  }
}

std::string text_of(const te::Tensor& tensor) {
  std::string shape;
  for (const Expr& extent : tensor.shape()) {
    shape += (shape.empty() ? "" : ", ") + to_string(extent);
  }
  return fmt::format("Tensor(shape=[{}], op.name={})", shape, te::name_of(tensor->op));
}

nb::object equal(const NodeHandle& self, nb::handle other) {
  const te::Tensor left = tensor_of(self);
  const te::Tensor right = tensor_of(other);
  if (!right.defined()) return nb::borrow(Py_NotImplemented);
  require(left.ndim() > 0 || right.ndim() > 0, ErrorKind::format, "comparison_is_clear",
          hint("compare their values with a() == b(), themselves with a.same_as(b)"), caller_span(),
          "comparing {} and {}, which have no dimensions, is ambiguous", left.name(), right.name());
  return nb::bool_(left == right);
}

/// What each operation can tell.
template <class T>
void extend_operation(nb::class_<Handle<T>>& type) {
  type.def_prop_ro(
      "num_outputs", [](const NodeHandle& self) { return te::output_count(self.ref); },
      "How many tensors it makes.");
  type.def_prop_ro(
      "input_tensors", [](const NodeHandle& self) { return nodes_of(te::input_tensors(self.ref)); },
      "The tensors that it reads.");
  type.def(
      "output",
      [](const NodeHandle& self, std::size_t index) {
        return Ptr<Tensor>(te::output(self.ref, index));
      },
      nb::arg("index"), "One of the tensors that it makes.");
}

}  // namespace

bool is_slice(nb::handle index) {
  return PySlice_Check(index.ptr()) || index.is(nb::ellipsis());
}

/// Whether an index, or one of several, is a slice as NumPy has it.
bool has_slices(nb::handle index) {
  if (!PyTuple_Check(index.ptr())) return is_slice(index);
  for (nb::handle each : nb::borrow<nb::tuple>(index)) {
    if (is_slice(each)) return true;
  }
  return false;
}

/// `A.T`, `A.sum(axis)`: what NumPy's arrays have, as tensor expressions of loopsmith.te.nn.
void def_reshaping(nb::class_<Handle<Tensor>>& type) {
  const auto operators = [] { return nb::module_::import_("loopsmith.te.nn"); };
  type.def_prop_ro(
      "T", [operators](nb::handle self) { return operators().attr("transpose")(self); },
      nb::for_getter(nb::sig("def T(self) -> Tensor")), "The tensor with its dimensions reversed.");
  type.def(
      "transpose",
      [operators](nb::handle self, const nb::args& axes) {
        if (axes.empty()) return operators().attr("transpose")(self);
        return operators().attr("transpose")(self, nb::borrow(axes));
      },
      nb::sig("def transpose(self, *axes: int) -> Tensor"),
      "The tensor with its dimensions in this order; reversed, without.");
  type.def(
      "reshape",
      [operators](nb::handle self, const nb::args& shape) {
        const bool is_list = shape.size() == 1 && !PyLong_Check(nb::handle(shape[0]).ptr());
        return operators().attr("reshape")(self,
                                           is_list ? nb::object(shape[0]) : nb::borrow(shape));
      },
      nb::sig("def reshape(self, *shape: typing.Any) -> Tensor"),
      "The elements in row-major order in another shape.");
  constexpr const char* reductions[] = {"sum", "max", "min", "mean", "prod"};
  for (const char* name : reductions) {
    const std::string method = name;
    type.def(
        name,
        [operators, method](nb::handle self, nb::handle axis, bool keepdims) {
          return operators().attr(method.c_str())(self, axis, keepdims);
        },
        nb::arg("axis") = nb::none(), nb::arg("keepdims") = false,
        nb::sig(kept("def " + method +
                     "(self, axis: int | typing.Sequence[int] | None = None, keepdims: bool = "
                     "False) -> Tensor")),
        "Reduces the dimensions `axis`; all of them, without.");
  }
}

void extend(nb::class_<Handle<Tensor>>& type) {
  type.def(
      "__call__",
      [](const NodeHandle& self, const nb::args& indices) {
        const SpanScope scope(caller_span());
        return tensor_of(self).at(values_of(indices, "index"));
      },
      nb::sig("def __call__(self, *indices: ExprLike) -> Expr"),
      "The element at the indices, one for each dimension.");
  type.def(
      "__getitem__",
      [](nb::handle self, nb::handle index) -> nb::object {
        if (has_slices(index)) {
          return nb::module_::import_("loopsmith.te.nn").attr("sliced")(self, index);
        }
        return element_or_slice(tensor_of(*nb::inst_ptr<Handle<Tensor>>(self)), {}, index);
      },
      nb::sig("def __getitem__(self, index: typing.Any, /) -> typing.Any"),
      "The element at the indices; with fewer of them, a slice that takes the others.");
  def_reshaping(type);
  type.def("__repr__", [](const NodeHandle& self) { return text_of(tensor_of(self)); });
  type.def("__str__", [](const NodeHandle& self) { return text_of(tensor_of(self)); });
  type.def("__eq__", equal, nb::is_operator(),
           nb::sig("def __eq__(self, other: object, /) -> bool"));
  type.def("__hash__", [](const NodeHandle& self) {
    const te::Tensor tensor = tensor_of(self);
    return (reinterpret_cast<std::uintptr_t>(tensor->op.get()) >> 4) +
           static_cast<std::uintptr_t>(tensor->value_index);
  });
  type.def_prop_ro(
      "name", [](const NodeHandle& self) { return tensor_of(self).name(); },
      "The name of its operation; followed by `.v1` if that has several outputs.");
  type.def_prop_ro(
      "ndim", [](const NodeHandle& self) { return tensor_of(self).ndim(); },
      "How many dimensions it has.");
  type.def_prop_ro(
      "axis",
      [](const NodeHandle& self) {
        const Ref& op = tensor_of(self)->op;
        if (const auto* compute = op.as<ComputeOp>()) return compute->axis;
        const auto* external = op.as<ExternOp>();
        return external ? external->axis : std::vector<Ptr<IterVar>>();
      },
      "The axes of the compute that makes it; the loops of an extern's statement.");
  for (const auto& [name, label, fn] : operators) {
    def_operator(
        type, name,
        [fn, label](nb::handle self, nb::handle other) { return combine(self, other, fn, label); },
        [fn, label](nb::handle self, nb::handle other) { return combine(other, self, fn, label); });
  }
  type.def("__neg__", [](const NodeHandle& self) {
    const SpanScope scope(caller_span());
    return Ptr<Tensor>(-tensor_of(self));
  });
  type.def(
      "astype",
      [](const NodeHandle& self, DataType dtype) {
        const SpanScope scope(caller_span());
        return Ptr<Tensor>(te::cast(dtype, tensor_of(self)));
      },
      nb::arg("dtype"), "A tensor of the elements converted to another type.");
  // NumPy's scalars leave operators with tensors to us.
  type.attr("__array_ufunc__") = nb::none();
}

void extend(nb::class_<Handle<PlaceholderOp>>& type) {
  extend_operation(type);
}
void extend(nb::class_<Handle<ScanOp>>& type) {
  extend_operation(type);
}
void extend(nb::class_<Handle<ExternOp>>& type) {
  extend_operation(type);
}
void extend(nb::class_<Handle<ComputeOp>>& type) {
  extend_operation(type);
  type.def_prop_ro(
      "reduce_axis", [](const NodeHandle& self) { return self.ref.as<ComputeOp>()->reduce_axis(); },
      "The axes of the reduction on top of its body.");
}

void bind_tensor_slice(nb::module_& m) {
  nb::class_<TensorSlice> slice(m, "TensorSlice", "A tensor with the first of its indices.");
  slice.def(
      "__getitem__",
      [](const TensorSlice& self, nb::handle index) {
        return element_or_slice(self.tensor, self.indices, index);
      },
      nb::sig("def __getitem__(self, index: typing.Any, /) -> typing.Any"));
  // Used as a value, it lacks indices, and says so.
  const auto refuse = [](const TensorSlice& self, nb::handle) {
    const SpanScope scope(caller_span());
    return self.tensor.at(self.indices);
  };
  for (const Operator& op : operators) def_operator(slice, op.name, refuse, refuse);
}

}  // namespace loopsmith::python
