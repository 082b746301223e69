// SPDX-License-Identifier: Apache-2.0
// The functions behind loopsmith.te. Each takes the span of the line that calls it.
#include "loopsmith/te/te.h"

#include <nanobind/stl/optional.h>

#include "bindings/bindings.h"
#include "bindings/caller.h"
#include "bindings/te.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

std::vector<te::Tensor> tensors_of(const std::vector<Ptr<Tensor>>& nodes) {
  return {nodes.begin(), nodes.end()};
}

/// `function(indices)` of Python as what C++ calls.
te::ComputeFunction compute_function(const nb::callable& function, const std::string& name) {
  return [function, what = "compute " + name](const std::vector<Expr>& indices) {
    return values_of(function(nb::cast(indices)), what);
  };
}

te::ComputeOptions options_of(std::string tag, nb::handle attrs,
                              std::vector<std::string> axes = {}) {
  return {.tag = std::move(tag), .attrs = to_attributes(attrs), .axes = std::move(axes)};
}

void bind_operations(nb::module_& m) {
  m.def(
      "te_placeholder",
      [](std::vector<Expr> shape, DataType dtype, std::string name) {
        const SpanScope scope(caller_span());
        return Ptr<Tensor>(te::placeholder(std::move(shape), dtype, std::move(name)));
      },
      nb::arg("shape"), nb::arg("dtype"), nb::arg("name"));
  m.def(
      "te_compute",
      [](std::vector<Expr> shape, const nb::callable& function, const std::string& name,
         std::string tag, nb::dict attrs, std::vector<std::string> axes) {
        const SpanScope scope(caller_span());
        return nodes_of(te::compute_outputs(std::move(shape), compute_function(function, name),
                                            name,
                                            options_of(std::move(tag), attrs, std::move(axes))));
      },
      nb::arg("shape"), nb::arg("function"), nb::arg("name"), nb::arg("tag"), nb::arg("attrs"),
      nb::arg("axes"));
  m.def(
      "te_scan",
      [](const std::vector<Ptr<Tensor>>& init, const std::vector<Ptr<Tensor>>& update,
         const std::vector<Ptr<Tensor>>& state, const std::vector<Ptr<Tensor>>& inputs,
         std::string name, std::string tag, nb::dict attrs) {
        const SpanScope scope(caller_span());
        return nodes_of(te::scan(tensors_of(init), tensors_of(update), tensors_of(state),
                                 tensors_of(inputs), std::move(name),
                                 options_of(std::move(tag), attrs)));
      },
      nb::arg("init"), nb::arg("update"), nb::arg("state"), nb::arg("inputs"), nb::arg("name"),
      nb::arg("tag"), nb::arg("attrs"));
  m.def(
      "te_extern_op",
      [](const std::vector<std::vector<Expr>>& shapes, const std::vector<DataType>& dtypes,
         const std::vector<Ptr<Tensor>>& inputs, const nb::callable& function, std::string name,
         const std::vector<Ptr<Buffer>>& in_buffers, const std::vector<Ptr<Buffer>>& out_buffers,
         std::string tag, nb::dict attrs) {
        const SpanScope scope(caller_span());
        const te::ExternFunction body = [&](const auto& ins, const auto& outs) -> Stmt {
          const nb::object result = function(nb::cast(ins), nb::cast(outs));
          const Ref node = node_of(result);
          if (Stmt stmt = Stmt::from(node)) return stmt;
          const Expr expr = Expr::from(node);
          return expr.defined() ? Stmt(make(Evaluate{.value = expr})) : Stmt();
        };
        return nodes_of(te::extern_op(shapes, dtypes, tensors_of(inputs), body, std::move(name),
                                      {.tag = std::move(tag),
                                       .attrs = to_attributes(attrs),
                                       .in_buffers = in_buffers,
                                       .out_buffers = out_buffers}));
      },
      nb::arg("shapes"), nb::arg("dtypes"), nb::arg("inputs"), nb::arg("function"), nb::arg("name"),
      nb::arg("in_buffers"), nb::arg("out_buffers"), nb::arg("tag"), nb::arg("attrs"));
  m.def(
      "te_extern_primfunc",
      [](const std::vector<Ptr<Tensor>>& inputs, const Ptr<PrimFunc>& func, std::string name,
         std::string tag, nb::dict attrs) {
        const SpanScope scope(caller_span());
        return nodes_of(te::extern_primfunc(tensors_of(inputs), func, std::move(name),
                                            {.tag = std::move(tag),
                                             .attrs = to_attributes(attrs),
                                             .in_buffers = {},
                                             .out_buffers = {}}));
      },
      nb::arg("inputs"), nb::arg("func"), nb::arg("name"), nb::arg("tag"), nb::arg("attrs"));
  m.def(
      "te_create_prim_func",
      [](const std::vector<Ref>& args, const std::optional<DataType>& index_dtype) {
        return te::create_prim_func(args, {.index_dtype = index_dtype.value_or(void_type)});
      },
      nb::arg("args"), nb::arg("index_dtype").none());
  m.def(
      "te_gradient",
      [](const Ptr<Tensor>& output, const std::vector<Ptr<Tensor>>& inputs,
         const std::optional<Ptr<Tensor>>& head) {
        const SpanScope scope(caller_span());
        return nodes_of(te::gradient(output, tensors_of(inputs), head.value_or(nullptr)));
      },
      nb::arg("output"), nb::arg("inputs"), nb::arg("head").none());
}

void bind_axes(nb::module_& m) {
  m.def(
      "te_var",
      [](std::string name, DataType dtype) {
        const SpanScope scope(caller_span());
        return var(std::move(name), dtype);
      },
      nb::arg("name"), nb::arg("dtype"));
  m.def(
      "te_size_var",
      [](std::string name, DataType dtype) {
        const SpanScope scope(caller_span());
        return size_var(std::move(name), dtype);
      },
      nb::arg("name"), nb::arg("dtype"));
  m.def(
      "te_reduce_axis",
      [](const Expr& begin, const Expr& end, std::string name) {
        const SpanScope scope(caller_span());
        return Ptr<IterVar>(te::reduce_axis(begin, end, std::move(name)));
      },
      nb::arg("begin"), nb::arg("end"), nb::arg("name"));
  m.def(
      "te_thread_axis",
      [](const std::optional<Ptr<Range>>& given, std::string tag, std::string name) {
        const Ptr<Range> domain = given.value_or(nullptr);
        const SpanScope scope(caller_span());
        const DataType type = domain ? domain->extent.dtype() : i32;
        return make(IterVar{.dom = domain,
                            .var = var(std::move(name), type),
                            .iter_type = IterType::thread_index,
                            .thread_tag = std::move(tag)});
      },
      nb::arg("domain").none(), nb::arg("tag"), nb::arg("name"));
}

te::Reducer python_reducer(std::string name, const nb::callable& combine,
                           const nb::callable& identity, std::string lhs, std::string rhs) {
  const std::string what = "reducer " + name;
  const auto types_of = [](const std::vector<Expr>& exprs) {
    std::vector<DataType> types;
    for (const Expr& expr : exprs) types.push_back(expr.dtype());
    return types;
  };
  return te::Reducer(
      std::move(name),
      [combine, what, types_of](const std::vector<Expr>& x, const std::vector<Expr>& y) {
        return values_of(combine(nb::cast(x), nb::cast(y)), what, types_of(x));
      },
      [identity, what](const std::vector<DataType>& types) {
        return values_of(identity(nb::cast(types)), what, types);
      },
      std::move(lhs), std::move(rhs));
}

void bind_reducers(nb::module_& m) {
  nb::class_<te::Reducer>(m, "TeReducer", "Combines values, or tuples of values.")
      .def(
          "reduce",
          [](const te::Reducer& self, nb::handle source, const std::vector<Ptr<IterVar>>& axes,
             nb::handle where, nb::handle init) {
            const SpanScope scope(caller_span());
            te::ReduceOptions options;
            std::vector<Expr> values = values_of(source, self.name());
            std::vector<DataType> types;
            for (const Expr& value : values) types.push_back(value.dtype());
            if (!where.is_none()) options.where = value_of(where, self.name(), boolean);
            if (!init.is_none()) options.init = values_of(init, self.name(), types);
            return self(std::move(values), te::Axes({axes.begin(), axes.end()}),
                        std::move(options));
          },
          nb::arg("source"), nb::arg("axes"), nb::arg("where").none(), nb::arg("init").none())
      .def(
          "fold",
          [](const te::Reducer& self, nb::handle values) {
            const SpanScope scope(caller_span());
            std::vector<Expr> plain = values_of(values, self.name());
            // Numbers take the type of the first expression.
            std::size_t i = 0;
            for (nb::handle value : values) {
              if (node_of(value).defined()) {
                const std::vector<DataType> like(plain.size(), plain[i].dtype().element());
                return self.fold(values_of(values, self.name(), like));
              }
              ++i;
            }
            return self.fold(std::move(plain));
          },
          nb::arg("values"));
  m.def("te_reducer", python_reducer, nb::arg("name"), nb::arg("combine"), nb::arg("identity"),
        nb::arg("lhs"), nb::arg("rhs"));
  m.def("te_sum_reducer", te::sum_reducer);
  m.def("te_prod_reducer", te::prod_reducer);
  m.def("te_min_reducer", te::min_reducer);
  m.def("te_max_reducer", te::max_reducer);
}

}  // namespace

void bind_te(nb::module_& m) {
  bind_tensor_slice(m);
  bind_operations(m);
  bind_axes(m);
  bind_reducers(m);
}

}  // namespace loopsmith::python
