// SPDX-License-Identifier: Apache-2.0
// Elements of buffers, and the memory that a function takes.
#include <algorithm>

#include "loopsmith/codegen/host_memory.h"
#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/c_writer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

std::int64_t bits_in_memory(DataType dtype) {
  const std::int64_t bits = dtype.is_bool()                 ? 8
                            : shares_bytes(dtype.element()) ? dtype.bits
                                                            : dtype.element().bytes() * 8;
  return bits * dtype.lanes;
}

}  // namespace

Expr c_flat_index(const Buffer& buffer, const std::vector<Expr>& indices) {
  Expr flat = indices.empty() ? Expr(0) : indices[0];
  for (std::size_t i = 1; i < indices.size(); ++i) flat = flat * buffer.shape[i] + indices[i];
  return flat;
}

CWriter::Place CWriter::place(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices,
                              const CLane& lane) {
  check(buffer->strides.empty(), "codegen", "buffer {} was not flattened", buffer->name);
  const DataType element = buffer->dtype.element();
  if (module_.dialect.is_device && (shares_bytes(element) || has_odd_bytes(element))) {
    refuse_on_device(*buffer, fmt::format("elements of {}", to_string(element)),
                     "store it as int8, or as int32");
  }
  require(!shares_bytes(element) || 8 % element.bits == 0, ErrorKind::type_mismatch, "packed_bits",
          hint("store it as a type of 1, 2, 4 or 8 bits"), {},
          "buffer {}: elements of {} do not fill bytes", buffer->name, to_string(element));
  const auto found = variables_.find(buffer->data.get());
  check(found != variables_.end(), "codegen", "buffer {} has no memory", buffer->name);
  const std::string type = c_memory_type(element);
  std::string memory = found->second.name;
  // Memory that is used as several types: C must know that they may be the same.
  const bool is_its_own =
      found->second.type == type + "*" || found->second.type == "const " + type + "*";
  if (!is_its_own && module_.dialect.is_device) {
    memory = fmt::format("(({}{}*){})", found->second.space, type, memory);
  } else if (!is_its_own) {
    memory = fmt::format("((ls_any_{}*){})", type, memory);
  }

  const Expr flat = c_flat_index(*buffer, indices);
  const int group = buffer->dtype.lanes;
  if (group == 1) return {memory, index(flat, lane)};
  // An index stands for a group of elements.
  CLane outer, within = lane;
  if (!flat.dtype().is_scalar()) {
    const bool is_constant = lane.text.find_first_not_of("0123456789") == std::string::npos;
    const auto split = [&](char sign) {
      const int at = is_constant ? std::stoi(lane.text) : 0;
      return is_constant ? std::to_string(sign == '/' ? at / group : at % group)
                         : fmt::format("({} {} {})", lane.text, sign, group);
    };
    outer = {split('/'), lane.lanes / group};
    within = {split('%'), group};
  }
  const CText first = index(flat, outer);
  return {memory,
          {.text = fmt::format("{} * {} + {}", first.in(CLevel::product), group, within.text),
           .level = CLevel::sum}};
}

CText CWriter::load_element(const Buffer& buffer, const Place& place) {
  const DataType element = buffer.dtype.element();
  CText text{.is_wide = element == i64, .depth = place.index.depth + 1};
  if (element.is_integer()) text.bound = arith::all_of(element);
  if (shares_bytes(element) || has_odd_bytes(element)) {
    text.text = fmt::format("{}({}, {})", module_.helpers.memory("load", element), place.memory,
                            place.index.text);
    return text;
  }
  text.text = fmt::format("{}[{}]", place.memory, place.index.text);
  if (element.is_bool()) {
    text.text += " != 0";
    text.level = CLevel::equal;
  } else if (element.is_integer() && !has_c_width(element)) {
    text.text = c_wrapped(element, text.text);
    text.level = CLevel::unary;
  }
  return text;
}

CText CWriter::load(const BufferLoad& load, const CLane& lane) {
  if (const auto at_once = loaded_.find(&load); at_once != loaded_.end()) {
    return load_element(*load.buffer, {at_once->second, {.text = lane.text}});
  }
  if (!load.predicate.defined() || is_const_int(load.predicate, 1)) {
    return load_element(*load.buffer, place(load.buffer, load.indices, lane));
  }
  // A predicate has a lane for each index.
  check(load.buffer->dtype.lanes == 1 || load.predicate.dtype().is_scalar(), "codegen",
        "a predicate over groups");
  const CText test = value(load.predicate, lane);
  CText element;
  const std::string before = captured(
      [&] { element = load_element(*load.buffer, place(load.buffer, load.indices, lane)); });
  if (before.empty()) {
    element.text = fmt::format("{} ? {} : 0", test.in(CLevel::either), element.in(CLevel::either));
    element.level = CLevel::choice;
    element.bound = arith::unite(element.bound, arith::point(0));
    return element;
  }
  const std::string name = new_name("t");
  line(fmt::format("{} {} = 0;", c_type(load.dtype.element()), name));
  line(fmt::format("if ({}) {{", test.text));
  out_ += before;
  ++indent_;
  line(fmt::format("{} = {};", name, element.text));
  --indent_;
  line("}");
  element.text = name;
  element.level = CLevel::atom;
  return element;
}

/// True when a vector's later lanes might read what its earlier ones have written.
bool CWriter::reads_what_it_writes(const BufferStore& store) const {
  bool found = false;
  pre_order_visit(store.value, [&](const Ref& node) {
    const auto* load = node.as<BufferLoad>();
    const bool is_same = load && load->buffer->data.same_as(store.buffer->data) &&
                         load->indices.size() == store.indices.size() &&
                         std::ranges::equal(load->indices, store.indices, StructuralEqual());
    found = found || (load && !is_same) || node.is<Call>();
    return true;
  });
  return found;
}

void CWriter::store_lane(const BufferStore& store, const CText& value, const CLane& lane) {
  const DataType element = store.buffer->dtype.element();
  const auto write = [&] {
    const Place to = place(store.buffer, store.indices, lane);
    if (shares_bytes(element) || has_odd_bytes(element)) {
      line(fmt::format("{}({}, {}, {});", module_.helpers.memory("store", element), to.memory,
                       to.index.text, value.text));
    } else {
      line(fmt::format("{}[{}] = {};", to.memory, to.index.text, value.text));
    }
  };
  if (!store.predicate.defined() || is_const_int(store.predicate, 1)) return write();
  block(fmt::format("if ({})", this->value(store.predicate, lane).text), write);
}

void CWriter::store(const BufferStore& store) {
  if (starts_copies_ && start_copy(store)) return;
  if (store.value.dtype().is_scalar()) return store_lane(store, value(store.value), {});
  if (!module_.dialect.is_device || !store_neighbours(store)) store_lanes(store);
}

void CWriter::store_lanes(const BufferStore& store) {
  const int lanes = store.value.dtype().lanes;
  const int group = store.buffer->dtype.lanes;
  check(group == 1 || !store.predicate.defined() || is_const_int(store.predicate, 1), "codegen",
        "a predicate over groups");
  std::vector<Expr> roots = store.indices;
  if (store.predicate.defined()) roots.push_back(store.predicate);
  std::string kept;
  if (reads_what_it_writes(store)) kept = materialize(store.value);
  if (kept.empty()) roots.push_back(store.value);
  for_each_lane(lanes, roots, [&](const CLane& lane) {
    const CText item = kept.empty() ? value(store.value, lane)
                                    : CText{.text = fmt::format("{}[{}]", kept, lane.text)};
    store_lane(store, item, lane);
  });
}

void CWriter::allocate(const Allocate& allocate) {
  if (module_.dialect.is_device) return allocate_on_device(allocate);
  if (taken_.contains(&allocate)) return statement(allocate.body);
  if (const auto bytes = stack_bytes_of(allocate)) {
    stack_bytes_ += *bytes;
    const DataType element = allocate.dtype.element();
    const std::string type = c_memory_type(element);
    const std::string name = new_name(allocate.buffer_var->name);
    bind(allocate.buffer_var, {name, handle_type, type + "*"});
    const std::int64_t size = type == "uint8_t" ? 1 : element.bytes();
    // C has no arrays of nothing.
    const std::int64_t count = std::max<std::int64_t>((*bytes + size - 1) / size, 1);
    line(fmt::format("LS_ALIGNED({}) {} {}[{}];", own_alignment, type, name, count));
    return statement(allocate.body);
  }
  take(allocate);
  statement(allocate.body);
  give_back();
}

std::optional<std::int64_t> CWriter::stack_bytes_of(const Allocate& allocate) const {
  const auto bytes = constant_bytes(allocate, bits_in_memory(allocate.dtype));
  return bytes && fits_on_stack(*bytes, stack_bytes_) ? bytes : std::nullopt;
}

/// Takes memory from the context, which is held from here on.
void CWriter::take(const Allocate& allocate) {
  const std::string type = c_memory_type(allocate.dtype.element());
  const std::string name = new_name(allocate.buffer_var->name);
  bind(allocate.buffer_var, {name, handle_type, type + "*"});
  const std::string size = new_name(name + "_size");
  line(fmt::format("int64_t {} = {};", size, bits_in_memory(allocate.dtype)));
  std::string too_many;
  for (const Expr& extent : allocate.extents) {
    const CText count = index(extent);
    too_many += fmt::format("{}{} < 0 || __builtin_mul_overflow({}, {}, &{})",
                            too_many.empty() ? "" : " || ", count.in(CLevel::compare), size,
                            count.text, size);
  }
  if (!too_many.empty()) {
    leave_if(too_many, "LS_OUT_OF_MEMORY, -1, -1, INT64_MAX, 0, NULL");
  }
  line(fmt::format("{0} = (int64_t)((uint64_t){0} / 8 + 1);", size));
  line(fmt::format("{0}* {1} = ({0}*)context->allocate(context->allocator_data, (size_t){2}, {3});",
                   type, name, size, own_alignment));
  leave_if(name + " == NULL", fmt::format("LS_OUT_OF_MEMORY, -1, -1, {}, 0, NULL", size));
  held_.push_back({name, size});
}

void CWriter::give_back() {
  release_to(held_.size() - 1);
  held_.pop_back();
}

/// The allocations that one iteration after another may have, of the context's memory.
std::vector<const Allocate*> CWriter::shared_by_iterations(const For& loop) const {
  if (module_.dialect.is_device) return {};
  std::vector<const Allocate*> all = allocations_of_all_iterations(loop);
  std::erase_if(all, [&](const Allocate* each) {
    return taken_.contains(each) || stack_bytes_of(*each).has_value();
  });
  return all;
}

void CWriter::release_to(std::size_t count) {
  for (std::size_t i = held_.size(); i > count; --i) {
    line(fmt::format("context->release(context->allocator_data, {}, (size_t){}, {});",
                     held_[i - 1].memory, held_[i - 1].size, own_alignment));
  }
}

void CWriter::allocate_constant(const AllocateConst& constant) {
  const DataType element = constant.dtype;
  require(element.is_scalar() && !shares_bytes(element) && !has_odd_bytes(element),
          ErrorKind::lower, "constant_has_whole_bytes", hint("make it int8, or int32"),
          constant.span, "constant {}: memory of {} is not written into code",
          constant.buffer_var->name, to_string(element));
  const std::string name = new_name(constant.buffer_var->name);
  std::string items;
  for (const Expr& each : constant.data) {
    items += fmt::format("{}{}", items.empty() ? "" : ", ", value(each).text);
  }
  const bool is_device = module_.dialect.is_device;
  line(fmt::format("{}const {} {}[{}] = {{{}}};",
                   is_device ? "" : fmt::format("LS_ALIGNED({}) static ", own_alignment),
                   c_memory_type(element), name, std::max<std::size_t>(constant.data.size(), 1),
                   items.empty() ? "0" : items));
  bind(constant.buffer_var, {name, handle_type, c_memory_type(element) + "*"});
  statement(constant.body);
}

}  // namespace loopsmith::detail
