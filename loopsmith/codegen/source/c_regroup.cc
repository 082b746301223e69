// SPDX-License-Identifier: Apache-2.0
// The bits of a vector as lanes of another width. C has arrays and memcpy for that, which compilers
// make into loads of words and vectors.
#include <algorithm>

#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/c_writer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

/// An array of C has its lanes side by side.
bool fills_bytes(DataType dtype) {
  return dtype.is_float() || (has_c_width(dtype.element()) && !dtype.is_bool());
}

bool changes_lanes(const Ref& node) {
  const auto* call = node.as<Call>();
  return call && call->op == op("reinterpret") && call->args[0].dtype().lanes != call->dtype.lanes;
}

/// Whether what stands inside is not always evaluated.
bool has_choice(const Ref& node) {
  const auto* call = node.as<Call>();
  const auto* load = node.as<BufferLoad>();
  return node.is<Select>() || node.is<And>() || node.is<Or>() ||
         (call && call->op == op("if_then_else")) || (load && load->predicate.defined());
}

}  // namespace

/// A pointer to the lanes of a value, one after the other.
std::string CWriter::bytes_of(const Expr& value) {
  const DataType dtype = value.dtype();
  const auto* load = value.as<BufferLoad>();
  const auto* ramp = load && load->indices.size() == 1 ? load->indices[0].as<Ramp>() : nullptr;
  const bool is_dense = ramp && is_const_int(ramp->stride, 1) && !load->predicate.defined() &&
                        load->buffer->dtype.is_scalar();
  if (is_dense) {
    const Place from = place(load->buffer, {ramp->base}, {});
    return fmt::format("&{}[{}]", from.memory, from.index.text);
  }
  if (dtype.is_vector()) return materialize(value);
  const std::string name = new_name("t");
  const CText text = this->value(value);
  line(fmt::format("const {} {} = {};", c_type(dtype), name, text.text));
  return "&" + name;
}

/// The name of an array that has the lanes of a `reinterpret`.
std::string CWriter::regrouped(const Call& call) {
  const DataType from = call.args[0].dtype(), to = call.dtype;
  require(fills_bytes(from) && fills_bytes(to), ErrorKind::lower, "lanes_fill_bytes",
          hint("build for llvm"), call.span,
          "reinterpret: {} as {} regroups lanes that do not fill bytes, which target c cannot",
          to_string(from), to_string(to));
  const std::pair<const Object*, std::string> key{&call, "all"};
  if (const auto known = known_.find(key); known != known_.end()) return known->second.text;
  const auto* source = call.args[0].as<BufferLoad>();
  const Ramp* ramp = source && module_.dialect.is_device
                         ? neighbours(*source->buffer, source->indices, source->predicate)
                         : nullptr;
  const std::string bytes = ramp ? address_of_first(source->buffer, *ramp) : bytes_of(call.args[0]);
  const std::string name = new_name("v");
  line(fmt::format("{} {}[{}];", c_type(to.element()), name, to.lanes));
  if (ramp) {
    copy_neighbours(name, bytes, *ramp, from.element());
  } else {
    line(fmt::format("memcpy({}, {}, sizeof {});", name, bytes, name));
  }
  known_[key] = {.text = name};
  return name;
}

void CWriter::regroup_inside(const Expr& root) {
  pre_order_visit(root, [&](const Ref& node) {
    const auto is_known = [&](const Ptr<Var>& var) { return is_bound(var); };
    if (changes_lanes(node) && std::ranges::all_of(free_variables(node), is_known)) {
      regrouped(*node.as<Call>());
      return false;
    }
    return !has_choice(node) && !node.is<Let>();
  });
}

}  // namespace loopsmith::detail
