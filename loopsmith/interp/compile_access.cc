// SPDX-License-Identifier: Apache-2.0
// Buffers: where they are, and accesses to them.
#include <algorithm>

#include "loopsmith/interp/access.h"
#include "loopsmith/interp/arith.h"
#include "loopsmith/interp/compiler.h"
#include "loopsmith/interp/control.h"
#include "loopsmith/interp/vectors.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp::detail {
namespace {

/// How a store accumulates, as accesses keep it: no kind of a node.
std::uint16_t kind_of_combiner(Combiner combiner) {
  return static_cast<std::uint16_t>(0x8000 + static_cast<int>(combiner));
}

}  // namespace

BufferPlace Compiler::place_of(const Ptr<Buffer>& buffer) {
  const auto found = buffers_.find(buffer.get());
  if (found != buffers_.end()) return found->second;
  // A buffer without a declaration: a view of a pointer, all the same.
  const auto pointer = values_.find(buffer->data.get());
  if (pointer == values_.end()) {
    fail(ErrorKind::interp, "buffer_has_memory", hint("allocate it, or make it a parameter"), span_,
         "buffer {} has no memory", buffer->name);
  }
  return measure(buffer, pointer->second.reg);
}

/// The sizes of a buffer on the pointer `data`, as they are now.
BufferPlace Compiler::measure(const Ptr<Buffer>& buffer, Register data) {
  BufferPlace place{.data = data};
  const auto size = [&](const Expr& e, std::string_view what) {
    if (e.is<Var>() && !values_.contains(e.get())) {
      fail(ErrorKind::interp, "variable_is_defined", hint("pass it as a parameter"), span_,
           "buffer {}: its {} {} has no value", buffer->name, what, e.as<Var>()->name);
    }
    return scalar(e);
  };
  for (const Expr& extent : buffer->shape) place.shape.push_back(size(extent, "extent"));
  for (const Expr& stride : buffer->strides) place.strides.push_back(size(stride, "stride"));
  if (buffer->elem_offset.defined() && !is_const_int(buffer->elem_offset, 0)) {
    place.offset = size(buffer->elem_offset, "offset");
  }
  return place;
}

/// From here to the end of the scope, `buffer` is at `place`.
void Compiler::define_buffer(const Ptr<Buffer>& buffer, BufferPlace place) {
  buffers_[buffer.get()] = std::move(place);
  defined_.push_back(buffer.get());
}

/// Whether ring mode knows nothing of an integer but that equal ones are equal.
bool Compiler::is_hash(const Ref& ref) const {
  if (hashed_.contains(ref.get())) return true;
  const auto* cast = ref.as<Cast>();
  const auto* call = ref.as<Call>();
  const DataType type = cast ? cast->dtype : call ? call->dtype : void_type;
  if (!type.is_integer() || type.is_bool()) return false;
  return cast ? cast->value.dtype().is_float() : is_host_hash(*call);
}

/// In ring mode an integer that came from a floating-point value says nothing about it.
void Compiler::refuse_hashed_index(const Expr& index) {
  if (!is_ring()) return;
  pre_order_visit(index, [&](const Ref& ref) {
    if (is_hash(ref)) {
      fail(ErrorKind::interp, "index_is_exact",
           hint("run it in typed mode, which knows the number"), span_,
           "an index is made from a floating-point number, which ring mode does not know");
    }
    return !ref.is<BufferLoad>();
  });
}

/// Whether an access is to what the block around reduces into: not to another element that it
/// reads.
bool Compiler::is_reduced(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) const {
  if (!reduction_buffers_.contains(buffer.get())) return false;
  bool is_stored = false;
  for (const BufferStore* store : block_stores_) {
    if (!store->buffer.same_as(buffer)) continue;
    if (are_same_indices(store->indices, indices)) return true;
    is_stored = true;
  }
  return !is_stored;
}

Access& Compiler::new_access(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices,
                             const Expr& predicate, const Object& node, bool is_store) {
  const DataType element = buffer->dtype.element();
  if (element.bits == 0 || element.is_handle()) {
    unsupported(node, fmt::format("elements of {}", to_string(element)));
  }
  Access access{.buffer = buffer,
                .element = element,
                .element_bits = stored_bits(element),
                .group = buffer->dtype.lanes,
                .is_store = is_store,
                .is_shared = is_shared_by_threads(memory_scope(*buffer)),
                .span = node.span.known() ? node.span : span_};
  if (access.element_bits < 8 && 8 % access.element_bits != 0) {
    unsupported(node, fmt::format("elements of {}, which do not fill bytes", to_string(element)));
  }
  const BufferPlace place = place_of(buffer);
  access.data = place.data;
  access.offset = place.offset;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    refuse_hashed_index(indices[d]);
    const Value index = expr(indices[d]);
    access.dims.push_back(
        {index.reg, place.shape[d], place.strides.empty() ? no_register : place.strides[d]});
    if (indices[d].dtype().is_vector()) {
      access.index_lanes = indices[d].dtype().lanes;
      access.index_stride = index.stride;
    }
  }
  if (predicate.defined() && !is_const_int(predicate, 1)) {
    access.mask = expr(predicate);
    if (predicate.dtype().is_scalar()) access.mask.stride = 0;
  }
  access.statement = statement_;
  access.is_reduction = is_reduced(buffer, indices);
  code_.accesses.push_back(std::move(access));
  Access& kept = code_.accesses.back();
  kept.site = static_cast<std::uint32_t>(session_.library.sites.size());
  session_.library.sites.push_back(&kept);
  return kept;
}

Value Compiler::load(const BufferLoad& load) {
  Access& access = new_access(load.buffer, load.indices, load.predicate, load, false);
  if (accumulator_ && is_old_value(*accumulator_, load)) access.accumulates = accumulates_;
  Instr instr{.access = &access};
  if (assumption_exits_) {
    instr.run = skip_unwritten_handler();
    assumption_exits_->push_back(emit(instr));
  }
  return operation(load_handler(access, options_), load.dtype, load.dtype, {}, instr);
}

void Compiler::store(const BufferStore& store) {
  const auto* undefined = store.value.as<Call>();
  const bool forgets = undefined && undefined->op == op("undef");
  const auto accumulation = accumulation_of(store);
  accumulator_ = accumulation ? &store : nullptr;
  accumulates_ = accumulation ? kind_of_combiner(accumulation->combiner) : 0;
  const Value value = forgets ? Value{} : expr(store.value);
  Access& access = new_access(store.buffer, store.indices, store.predicate, store, true);
  if (accumulator_) access.accumulates = accumulates_;
  accumulator_ = nullptr;
  Instr instr{.run = forgets ? forget_handler() : store_handler(access, options_),
              .a = value.reg,
              .type = store.buffer->dtype,
              .sa = value.stride};
  instr.access = &access;
  emit(instr);
}

Register Compiler::allocate(const Ptr<Var>& pointer, DataType element, Register count,
                            std::string_view name, MemoryScope scope, bool may_be_private) {
  const bool is_of_threads = is_shared_by_threads(scope);
  const bool is_own = scope == MemoryScope::local || is_fragment(scope);
  code_.allocation_sites.push_back(
      {.name = std::string(name),
       .element = element,
       .is_per_thread = has_threads_ && !region_ && is_own,
       .is_per_warp = is_fragment(scope),
       .is_shared = region_ && is_of_threads,
       .may_be_private = may_be_private && !is_of_threads,
       .may_be_of_blocks = may_be_private && (is_of_threads || is_own)});
  Instr instr{.run = allocate_handler(), .d = fresh(2), .a = count, .b = code_.allocations++};
  instr.data = &code_.allocation_sites.back();
  emit(instr);
  define(pointer, {instr.d});
  return instr.d;
}

/// Memory of a buffer's own, as large as its strides want it.
void Compiler::allocate_buffer(const Ptr<Buffer>& buffer) {
  Expr count = int_imm(i64, 1);
  if (buffer->strides.empty()) {
    for (const Expr& extent : buffer->shape) count = count * cast(i64, extent);
  } else {
    for (std::size_t d = 0; d < buffer->shape.size(); ++d) {
      count =
          count + (cast(i64, buffer->shape[d]) - int_imm(i64, 1)) * cast(i64, buffer->strides[d]);
    }
  }
  const Register data =
      allocate(buffer->data, buffer->dtype, scalar(count), buffer->name, memory_scope(*buffer),
               /*may_be_private=*/true);
  define_buffer(buffer, measure(buffer, data));
}

/// The pointer to the first element of a view.
Register Compiler::moved_pointer(const BufferPlace& place, const Buffer& view) {
  if (place.offset == no_register) return place.data;
  Instr instr{.number = stored_bits(view.dtype.element()) * view.dtype.lanes};
  return operation(move_pointer_handler(), i64.with_lanes(2), i64, {{place.data}, {place.offset}},
                   instr)
      .reg;
}

/// Makes a view: its memory and strides are those of its source, its symbols take their values
/// from the region.
void Compiler::match(const MatchBufferRegion& view) {
  const Ptr<Buffer>& target = view.buffer;
  const BufferPlace source = place_of(view.source->buffer);
  const std::size_t rank = target->shape.size();
  const auto& region = view.source->region;
  if (rank > region.size()) unsupported(view, "a view with more dimensions than its source");
  const std::size_t skip = region.size() - rank;
  // A view that is made again takes values anew; what is defined around it keeps its own.
  const auto take_anew = [&](const Expr& symbol) {
    if (!symbol.defined() || !symbol.is<Var>()) return;
    if (values_.contains(symbol.get()) && !of_views_.contains(symbol.get())) return;
    of_views_.insert(symbol.get());
    values_.erase(symbol.get());
  };
  for (std::size_t d = 0; d < rank; ++d) {
    take_anew(target->shape[d]);
    if (!target->strides.empty()) take_anew(target->strides[d]);
  }
  take_anew(target->elem_offset);

  std::vector<Register> strides = source.strides;
  if (strides.empty()) {
    strides.assign(region.size(), integer(1));
    for (std::size_t d = region.size(); d-- > 1;) {
      strides[d - 1] = operation(binary_handler(kind_of<Mul>, i64, options_), i64, i64,
                                 {{source.shape[d]}, {strides[d]}})
                           .reg;
    }
  }
  BufferPlace place{.data = source.data, .offset = source.offset};
  for (std::size_t d = 0; d < region.size(); ++d) {
    const Value step = operation(binary_handler(kind_of<Mul>, i64, options_), i64, i64,
                                 {expr(region[d]->min), {strides[d]}});
    place.offset = place.offset == no_register
                       ? step.reg
                       : operation(binary_handler(kind_of<Add>, i64, options_), i64, i64,
                                   {{place.offset}, step})
                             .reg;
  }
  for (std::size_t d = 0; d < rank; ++d) {
    const Register extent = scalar(region[d + skip]->extent);
    bind_or_check(target->shape[d], extent, target->name, "extent");
    if (!target->strides.empty()) {
      bind_or_check(target->strides[d], strides[d + skip], target->name, "stride");
    }
    place.shape.push_back(extent);
    place.strides.push_back(strides[d + skip]);
  }
  if (target->elem_offset.defined()) {
    bind_or_check(target->elem_offset, place.offset, target->name, "offset");
  }
  define(target->data,
         {target->elem_offset.defined() ? source.data : moved_pointer(place, *target)});
  define_buffer(target, std::move(place));
}

}  // namespace loopsmith::interp::detail
