// SPDX-License-Identifier: Apache-2.0
// What is asked of whole nodes: whether two are equal, one is well formed, and their JSON.
#include "bindings/bindings.h"
#include "bindings/interpreter_lock.h"
#include "bindings/ir.h"
#include "bindings/ir_detail.h"
#include "loopsmith/ir/json.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/well_formed.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

void bind_json(nb::module_& m) {
  m.def(
      "to_json",
      [](const Ref& node, bool spans) {
        const Unlocked unlocked;
        return to_json(node, {.spans = spans});
      },
      nb::arg("node"), nb::kw_only(), nb::arg("spans"));
  m.def(
      "from_json",
      [](const std::string& text) {
        const Unlocked unlocked;
        return from_json(text);
      },
      nb::arg("text"), nb::sig("def from_json(text: str) -> typing.Any"));
  m.def("json_schema", json_schema, "What `to_json` writes, as a JSON Schema.");
}

}  // namespace

void bind_structural(nb::module_& m) {
  const auto map_free = nb::arg("map_free_vars") = false;
  m.def(
      "structural_equal",
      [](const Ref& a, const Ref& b, bool free) { return structural_equal(a, b, free); },
      nb::arg("a"), nb::arg("b"), map_free,
      "True when two nodes differ at most by the names of what they define.");
  m.def(
      "structural_hash", [](const Ref& node) { return to_string(structural_hash(node)); },
      nb::arg("node"), "128 bits, as hexadecimal digits; the same in each process and release.");
  m.def(
      "require_structural_equal",
      [](const Ref& a, const Ref& b, bool free) { require_structural_equal(a, b, free); },
      nb::arg("a"), nb::arg("b"), map_free,
      "Raise a UserError that shows the first difference, unless both are equal.");
  m.def(
      "verify_well_formed", [](const Ptr<PrimFunc>& func) { verify_well_formed(func); },
      nb::arg("func"), "Raise a UserError that shows what is wrong with a function or module.");
  m.def(
      "verify_well_formed", [](const Ptr<IRModule>& module) { verify_well_formed(module); },
      nb::arg("func"));
  m.def(
      "is_well_formed", [](const Ptr<PrimFunc>& func) { return is_well_formed(func); },
      nb::arg("func"), "True when `verify_well_formed` finds nothing.");
  m.def(
      "is_well_formed", [](const Ptr<IRModule>& module) { return is_well_formed(module); },
      nb::arg("func"));
  m.def(
      "difference_path",
      [](const Ref& a, const Ref& b, bool free) -> nb::object {
        const auto difference = first_difference(a, b, free);
        return difference ? nb::object(nb::cast(difference->path)) : nb::none();
      },
      nb::arg("a"), nb::arg("b"), map_free,
      nb::sig("def difference_path(a: Node, b: Node, map_free_vars: bool = False) -> str | None"),
      "The way from two nodes to where they differ first, `body.seq[1].value`; None when they are "
      "equal.");
  m.def(
      "first_difference",
      [](const Ref& a, const Ref& b, bool free) -> nb::object {
        const auto difference = first_difference(a, b, free);
        return difference ? nb::object(nb::cast(difference->text())) : nb::none();
      },
      nb::arg("a"), nb::arg("b"), map_free,
      nb::sig("def first_difference(a: Node, b: Node, map_free_vars: bool = False) -> str | None"),
      "Where two nodes differ first, with a picture of both sides; None when they are equal.");
  bind_json(m);
}

}  // namespace loopsmith::python
