// SPDX-License-Identifier: Apache-2.0
// The stages of schedules of tensor expressions.
#include <nanobind/operators.h>

#include <algorithm>

#include "bindings/caller.h"
#include "bindings/ir.h"
#include "bindings/ir_detail.h"
#include "bindings/te.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/decisions.h"
#include "loopsmith/te/schedule.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

using Axis = Ptr<IterVar>;

std::vector<Axis> axis_nodes(const std::vector<te::IterVar>& axes) {
  return {axes.begin(), axes.end()};
}

/// Axes one after another, or in lists.
std::vector<te::IterVar> axes_of(std::string_view call, const nb::args& args) {
  std::vector<te::IterVar> axes;
  const auto add = [&](nb::handle value) {
    const auto axis = Ptr<IterVar>::from(node_of(value));
    require(axis.defined(), ErrorKind::type_mismatch, "axis_is_given",
            hint("give axes of the stage"), current_span, "{}: an argument is a {}, not an axis",
            call, type_name_of(value));
    axes.emplace_back(axis);
  };
  for (nb::handle arg : args) {
    if (nb::isinstance<nb::list>(arg) || nb::isinstance<nb::tuple>(arg)) {
      for (nb::handle item : nb::borrow<nb::sequence>(arg)) add(item);
    } else {
      add(arg);
    }
  }
  return axes;
}

/// A number, or an expression of sizes; null for None.
Expr factor_of(std::string_view what, nb::handle value) {
  if (value.is_none()) return {};
  const Expr factor = to_expr(value);
  require(factor.defined(), ErrorKind::type_mismatch, "factor_is_integer",
          hint("give a number, or an integer expression of sizes"), current_span,
          "{} is a {}, not an integer", what, type_name_of(value));
  return factor;
}

/// A method that takes an axis and gives nothing.
template <te::Stage& (te::Stage::*method)(const te::IterVar&)>
void on_axis(te::Stage& self, const Axis& axis) {
  const SpanScope scope(caller_span());
  (self.*method)(axis);
}

void bind_loops(nb::class_<te::Stage>& stage) {
  stage.def(
      "split",
      [](te::Stage& self, const Axis& parent, nb::object factor, nb::object nparts,
         bool disable_predication) {
        const SpanScope scope(caller_span());
        const auto made = self.split(parent, {.factor = factor_of("split: factor", factor),
                                              .nparts = factor_of("split: nparts", nparts),
                                              .disable_predication = disable_predication});
        return nb::make_tuple(Axis(made[0]), Axis(made[1]));
      },
      nb::arg("parent"), nb::arg("factor").none() = nb::none(),
      nb::arg("nparts").none() = nb::none(), nb::arg("disable_predication") = false,
      nb::sig("def split(self, parent: IterVar, factor: ExprLike | None = None, nparts: ExprLike | "
              "None = None, disable_predication: bool = False) -> tuple[IterVar, IterVar]"),
      R"(Return the axes ``outer`` and ``inner`` in the place of one.

Parameters
----------
parent
    A loop of the stage, of its output or of its reduction.
factor
    The extent of the inner axis: a number, or an integer expression of sizes and of variables that
    are arguments; where that may be less than 1, the axis has ``max(factor, 1)`` iterations.
nparts
    The extent of the outer axis, instead of ``factor``.
disable_predication
    Leaves out the guard where the extent does not divide; what runs beyond it is then your responsibility.

Raises
------
ScheduleError
    For an axis that is no loop of the stage, and unless exactly one extent of 1 or more is given.)");
  stage.def(
      "tile",
      [](te::Stage& self, const Axis& x, const Axis& y, nb::handle x_factor, nb::handle y_factor) {
        const SpanScope scope(caller_span());
        const auto made = self.tile(x, y, factor_of("tile: x_factor", x_factor),
                                    factor_of("tile: y_factor", y_factor));
        return nb::make_tuple(Axis(made[0]), Axis(made[1]), Axis(made[2]), Axis(made[3]));
      },
      nb::arg("x_parent"), nb::arg("y_parent"), nb::arg("x_factor"), nb::arg("y_factor"),
      nb::sig("def tile(self, x_parent: IterVar, y_parent: IterVar, x_factor: ExprLike, y_factor: "
              "ExprLike) -> tuple[IterVar, IterVar, IterVar, IterVar]"),
      "Split two axes, and put the inner ones inside: x.outer, y.outer, x.inner, y.inner.");
  stage.def(
      "fuse",
      [](te::Stage& self, const nb::args& axes) {
        const SpanScope scope(caller_span());
        return Axis(self.fuse(axes_of("fuse", axes)));
      },
      nb::sig("def fuse(self, *axes: IterVar | typing.Sequence[IterVar]) -> IterVar"),
      "Return one axis in the place of neighbours; without any, a new outermost one of extent 1.");
  stage.def(
      "reorder",
      [](te::Stage& self, const nb::args& axes) {
        const SpanScope scope(caller_span());
        self.reorder(axes_of("reorder", axes));
      },
      nb::sig("def reorder(self, *axes: IterVar | typing.Sequence[IterVar]) -> None"),
      "Put the axes, in this order, into the places that they have.");
}

void bind_kinds(nb::class_<te::Stage>& stage) {
  stage.def(
      "prefetch",
      [](te::Stage& self, const Ptr<Tensor>& tensor, const Axis& axis, const Expr& offset) {
        const SpanScope scope(caller_span());
        self.prefetch(tensor, axis, offset);
      },
      nb::arg("tensor"), nb::arg("var"), nb::arg("offset"),
      "Ask in each iteration of an axis for the elements of a tensor that are read ``offset`` "
      "iterations later.");
  stage.def("vectorize", on_axis<&te::Stage::vectorize>, nb::arg("var"),
            "Run the iterations of an axis in the lanes of vectors.");
  stage.def("unroll", on_axis<&te::Stage::unroll>, nb::arg("var"),
            "Write out the iterations of an axis one after another.");
  stage.def("parallel", on_axis<&te::Stage::parallel>, nb::arg("var"),
            "Run the iterations of an axis on several threads.");
  stage.def(
      "bind",
      [](te::Stage& self, const Axis& axis, const Axis& thread) {
        const SpanScope scope(caller_span());
        self.bind(axis, thread);
      },
      nb::arg("ivar"), nb::arg("thread_ivar"),
      "Run the iterations of an axis on the threads of a ``te.thread_axis``.");
  stage.def(
      "pragma",
      [](te::Stage& self, const Axis& axis, const std::string& type, nb::handle value) {
        const SpanScope scope(caller_span());
        self.pragma(axis, type, value.is_none() ? Ref() : to_attribute(value));
      },
      nb::arg("var"), nb::arg("pragma_type"), nb::arg("pragma_value").none() = nb::none(),
      nb::sig("def pragma(self, var: IterVar, pragma_type: str, pragma_value: typing.Any = None) "
              "-> None"),
      "Leave a note for lowering on an axis, as ``auto_unroll_max_step``; ``unroll`` and "
      "``vectorize`` are the methods of that name.");
}

/// What a function for an intrinsic gave as one statement; null for None.
Stmt statement_of(std::string_view name, nb::handle value) {
  if (value.is_none()) return {};
  const Ref node = node_of(value);
  if (Stmt stmt = Stmt::from(node)) return stmt;
  const Expr expr = Expr::from(node);
  require(expr.defined(), ErrorKind::type_mismatch, "intrin_gives_statements",
          hint("return a statement, a call, or (body, reduce_init, reduce_update)"), current_span,
          "decl_tensor_intrin {}: a {} is no statement", name, type_name_of(value));
  return make(Evaluate{.value = expr});
}

te::TensorIntrinDecl declared(const Ref& op, const nb::callable& fcompute, const std::string& name,
                              std::vector<Ptr<Buffer>> ins, std::vector<Ptr<Buffer>> outs,
                              std::vector<Ptr<Var>> numbers) {
  const SpanScope scope(caller_span());
  te::TensorIntrinDecl intrin{.name = name,
                              .op = op,
                              .in_buffers = std::move(ins),
                              .out_buffers = std::move(outs),
                              .scalar_params = std::move(numbers)};
  const nb::object in = nb::cast(intrin.in_buffers);
  const nb::object out = nb::cast(intrin.out_buffers);
  const nb::object given = intrin.scalar_params.empty()
                               ? nb::object(fcompute(in, out))
                               : nb::object(fcompute(in, out, nb::cast(intrin.scalar_params)));
  if (nb::isinstance<nb::tuple>(given) || nb::isinstance<nb::list>(given)) {
    const nb::list parts(given);
    Stmt* const places[] = {&intrin.body, &intrin.reduce_init, &intrin.reduce_update};
    require(parts.size() <= std::size(places), ErrorKind::format, "intrin_has_three_parts",
            hint("return (body, reduce_init, reduce_update)"), current_span,
            "decl_tensor_intrin {}: {} statements are given", name, parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) *places[i] = statement_of(name, parts[i]);
  } else {
    intrin.body = statement_of(name, given);
  }
  te::require_intrin(intrin);
  return intrin;
}

void bind_intrins(nb::module_& m, nb::class_<te::Stage>& stage) {
  nb::class_<te::TensorIntrinDecl>(m, "TeTensorIntrin", "What computes a tile in one go.")
      .def_ro("name", &te::TensorIntrinDecl::name, "Its name in traces and errors.")
      .def_ro("op", &te::TensorIntrinDecl::op, "What it computes.")
      .def_ro("in_buffers", &te::TensorIntrinDecl::in_buffers, "One for each tensor that it reads.")
      .def_ro("out_buffers", &te::TensorIntrinDecl::out_buffers,
              "One for each tensor that it makes.")
      .def_ro("scalar_params", &te::TensorIntrinDecl::scalar_params, "The numbers that it takes.")
      .def_ro("body", &te::TensorIntrinDecl::body, "The statement that computes all of it.")
      .def_ro("reduce_init", &te::TensorIntrinDecl::reduce_init,
              "The statement that stores what a reduction starts from.")
      .def_ro("reduce_update", &te::TensorIntrinDecl::reduce_update,
              "The statement that combines with what was stored.");
  m.def("te_tensor_intrin", declared, nb::arg("op"), nb::arg("fcompute"), nb::arg("name"),
        nb::arg("ins"), nb::arg("outs"), nb::arg("numbers"),
        nb::sig("def te_tensor_intrin(op: Node, fcompute: typing.Callable[..., typing.Any], name: "
                "str, ins: typing.Sequence[Buffer], outs: typing.Sequence[Buffer], numbers: "
                "typing.Sequence[Var]) -> TeTensorIntrin"));
  stage.def(
      "tensorize",
      [](te::Stage& self, const Axis& axis, const te::TensorIntrinDecl& intrin) {
        const SpanScope scope(caller_span());
        self.tensorize(axis, intrin);
      },
      nb::arg("var"), nb::arg("tensor_intrin"),
      "Let an intrinsic of ``te.decl_tensor_intrin`` compute what is inside an axis.");
}

void bind_places(nb::class_<te::Stage>& stage) {
  stage.def(
      "compute_at",
      [](te::Stage& self, const te::Stage& parent, const Axis& scope_axis) {
        const SpanScope scope(caller_span());
        self.compute_at(parent, scope_axis);
      },
      nb::arg("parent"), nb::arg("scope"),
      "Compute the stage in each iteration of an axis of another, as far as it is needed there.");
  stage.def(
      "compute_inline",
      [](te::Stage& self) {
        const SpanScope scope(caller_span());
        self.compute_inline();
      },
      "Compute the elements of the stage where they are read.");
  stage.def(
      "compute_root", [](te::Stage& self) { self.compute_root(); },
      "Compute the stage before all that reads it.");
}

/// The map that a function of so many indices makes, and which of its indices start an axis of the
/// flattened buffer.
std::pair<Ptr<IndexMap>, std::vector<std::int64_t>> layout_of(const te::Stage& self,
                                                              const nb::callable& function) {
  const std::size_t count = self.data().is_group() ? 0 : te::output(self.op(), 0).ndim();
  const nb::module_ layouts = nb::module_::import_("loopsmith.te.layouts");
  const nb::tuple made(layouts.attr("separated_map")(function, count));
  std::vector<std::int64_t> separators;
  for (nb::handle each : nb::list(made[1])) separators.push_back(nb::cast<std::int64_t>(each));
  return {Ptr<IndexMap>::from(node_of(made[0])), std::move(separators)};
}

void bind_memory(nb::class_<te::Stage>& stage) {
  stage.def(
      "set_scope",
      [](te::Stage& self, const std::string& scope) {
        const SpanScope span(caller_span());
        self.set_scope(scope);
      },
      nb::arg("scope"), "Keep the results in other memory: ``shared``, ``local``, ...");
  stage.def(
      "storage_align",
      [](te::Stage& self, const Axis& axis, std::int64_t factor, std::int64_t offset) {
        const SpanScope span(caller_span());
        self.storage_align(axis, factor, offset);
      },
      nb::arg("axis"), nb::arg("factor"), nb::arg("offset"),
      "Let the stride of a dimension be ``offset`` more than a multiple of ``factor``.");
  stage.def(
      "double_buffer",
      [](te::Stage& self) {
        const SpanScope span(caller_span());
        self.double_buffer();
      },
      "Keep two copies of the results, of which one is filled while the other is read.");
  stage.def(
      "rolling_buffer",
      [](te::Stage& self) {
        const SpanScope span(caller_span());
        self.rolling_buffer();
      },
      "Keep what the next iteration of the loops around needs again.");
  stage.def(
      "set_store_predicate",
      [](te::Stage& self, const Expr& predicate) {
        const SpanScope span(caller_span());
        self.set_store_predicate(predicate);
      },
      nb::arg("predicate"), "Store only where a condition holds; results may not change by it.");
  stage.def(
      "env_threads",
      [](te::Stage& self, nb::args threads) {
        const SpanScope span(caller_span());
        self.env_threads(axes_of("env_threads", threads));
      },
      nb::sig("def env_threads(self, *threads: IterVar | typing.Sequence[IterVar]) -> None"),
      "Name the threads that all steps of a scan share.");
  stage.def(
      "set_layout",
      [](te::Stage& self, const nb::callable& mapping) {
        const SpanScope span(caller_span());
        const auto [map, separators] = layout_of(self, mapping);
        self.set_layout(map, separators);
      },
      nb::arg("mapping"),
      nb::sig("def set_layout(self, mapping: typing.Callable[..., typing.Any]) -> None"),
      "Keep element (i, j, ...) at the indices that ``mapping(i, j, ...)`` gives; the order of "
      "computation stays.");
  stage.def(
      "transform_layout",
      [](te::Stage& self, const nb::callable& mapping) -> std::optional<std::vector<Axis>> {
        const SpanScope span(caller_span());
        const auto [map, separators] = layout_of(self, mapping);
        const auto made = self.transform_layout(map, separators);
        if (made.empty()) return {};
        return axis_nodes(made);
      },
      nb::arg("mapping"),
      nb::sig("def transform_layout(self, mapping: typing.Callable[..., typing.Any]) -> "
              "list[IterVar] | None"),
      "Keep element (i, j, ...) at the indices that ``mapping(i, j, ...)`` gives, and compute in "
      "that order: return the new axes, or None where the operation has none. Where "
      "``te.AXIS_SEPARATOR`` stands among the indices, another axis of the flattened buffer "
      "starts.");
}

/// The stage of a number; None for none.
nb::object stage_or_none(const te::Stage& self, te::StageId id) {
  if (id == te::no_stage) return nb::none();
  return nb::cast(te::Stage(self.schedule(), id));
}

void bind_decisions(nb::class_<te::Stage>& stage) {
  const auto def = [&](const char* name, auto get, const char* doc) {
    stage.def_prop_ro(name, get, doc);
  };
  def("op", [](const te::Stage& self) { return self.data().op; }, "The operation, as it is now.");
  def(
      "origin_op", [](const te::Stage& self) { return self.data().origin_op; },
      "The operation as it was when the stage was made.");
  def(
      "all_iter_vars", [](const te::Stage& self) { return axis_nodes(self.data().all_iter_vars); },
      "The axes that it has or had.");
  def(
      "leaf_iter_vars",
      [](const te::Stage& self) { return axis_nodes(self.data().leaf_iter_vars); },
      "The axes that are loops now, outermost first.");
  def(
      "is_output", [](const te::Stage& self) { return self.data().is_output; },
      "Whether the schedule was made for its results.");
  def(
      "scope", [](const te::Stage& self) { return self.data().scope; },
      "The memory of its results; empty: it follows from the threads around it.");
  def(
      "attach_type",
      [](const te::Stage& self) { return static_cast<int>(self.data().attach_type); },
      "Where it is computed: 1 before all else or with its group, 2 inline, 4 in a loop.");
  stage.def_prop_ro(
      "attach_ivar",
      [](const te::Stage& self) -> std::optional<Axis> {
        if (!self.data().attach_ivar.defined()) return {};
        return Axis(self.data().attach_ivar);
      },
      "The axis in whose iterations it is computed.");
  stage.def_prop_ro(
      "attach_stage",
      [](const te::Stage& self) { return stage_or_none(self, self.data().attach_stage); },
      nb::sig("def attach_stage(self) -> TeStage | None"), "The stage of that axis.");
  stage.def_prop_ro(
      "group", [](const te::Stage& self) { return stage_or_none(self, self.data().group); },
      nb::sig("def group(self) -> TeStage | None"), "The group to which it belongs.");
  stage.def_prop_ro(
      "num_child_stages",
      [](const te::Stage& self) {
        const auto& stages = self.schedule()->stages;
        return std::ranges::count_if(
            stages, [&](const te::StageData& one) { return one.group == self.id(); });
      },
      "How many stages, and groups, stand in the group.");
  stage.def("__repr__", [](const te::Stage& self) {
    return fmt::format("te.Stage({})", te::name_of(self.data()));
  });
  stage.def(
      "__eq__",
      [](const te::Stage& self, nb::handle other) {
        if (!nb::isinstance<te::Stage>(other)) return false;
        const auto* stage = nb::inst_ptr<te::Stage>(other);
        return self.schedule() == stage->schedule() && self.id() == stage->id();
      },
      nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  stage.def("__hash__", [](const te::Stage& self) {
    return (reinterpret_cast<std::uintptr_t>(self.schedule().get()) >> 4) + self.id();
  });
}

}  // namespace

void bind_te_stage(nb::module_& m) {
  nb::class_<te::Stage> stage(m, "TeStage", "The decisions about one operation.");
  bind_intrins(m, stage);
  bind_loops(stage);
  bind_kinds(stage);
  bind_places(stage);
  bind_memory(stage);
  bind_decisions(stage);
}

}  // namespace loopsmith::python
