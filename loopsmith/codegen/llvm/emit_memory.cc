// SPDX-License-Identifier: Apache-2.0
// Loads and stores of elements and vectors of flat buffers; emit_index.cc has their addresses.
#include <algorithm>
#include <optional>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/codegen/llvm/emitter.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

/// Up to this stride, consecutive loads and a choice of lanes are faster than a gather.
constexpr std::int64_t max_shuffled_stride = 4;

std::vector<int> constant_lanes(int count, const std::function<std::int64_t(int)>& lane) {
  std::vector<int> lanes;
  for (int i = 0; i < count; ++i) lanes.push_back(static_cast<int>(lane(i)));
  return lanes;
}

/// The stride of indices that are a ramp with a constant stride, or all one.
std::optional<std::int64_t> constant_stride(const Expr& indices) {
  if (indices.is<Broadcast>()) return 0;
  const auto* ramp = indices.as<Ramp>();
  const std::int64_t* stride = ramp ? as_int(ramp->stride) : nullptr;
  return stride ? std::optional(*stride) : std::nullopt;
}

/// True when the processor loads vectors of such elements under a mask.
bool loads_by_mask(DataType element, int x86_vector_bits) {
  return x86_vector_bits >= 512 || (x86_vector_bits >= 256 && element.bits >= 32);
}

const Expr& first_of(const Expr& indices) {
  if (const auto* ramp = indices.as<Ramp>()) return ramp->base;
  const auto* broadcast = indices.as<Broadcast>();
  return broadcast ? broadcast->value : indices;
}

}  // namespace

Emitter::Access Emitter::access(const Ptr<Buffer>& buffer) {
  const DataType element = buffer->dtype.element();
  check(buffer->strides.empty(), "codegen", "buffer {} was not flattened", buffer->name);
  require(!is_packed(element) || 8 % element.bits == 0, ErrorKind::type_mismatch, "packed_bits",
          hint("store it as a type of 1, 2, 4 or 8 bits"), {},
          "buffer {}: elements of {} do not fill bytes", buffer->name, to_string(element));
  return {.base = variable(*buffer->data),
          .element = element,
          .pointer = buffer->data,
          .alignment = aliasing_.alignment(buffer->data, element),
          .is_non_temporal = non_temporal_.contains(buffer->data.get())};
}

llvm::Value* Emitter::from_storage(DataType dtype, llvm::Value* stored) {
  if (!dtype.is_integer()) return stored;
  if (dtype.is_bool()) return ir_.CreateICmpNE(stored, int_like(stored, 0));
  return ir_.CreateTrunc(stored, shaped_as(stored, type(dtype.element())));
}

llvm::Value* Emitter::to_storage(DataType dtype, llvm::Value* value) {
  if (!dtype.is_integer()) return value;
  llvm::Type* stored = shaped_as(value, storage_type(module_.context, dtype.element()));
  return ir_.CreateIntCast(value, stored, dtype.is_int());
}

llvm::Value* Emitter::load_contiguous(const Access& access, const Index& start, int lanes,
                                      llvm::Value* mask) {
  llvm::Type* stored = storage_type(module_.context, access.element);
  if (lanes > 1) stored = llvm::FixedVectorType::get(stored, static_cast<unsigned>(lanes));
  const llvm::Align alignment = alignment_of(access, start);
  llvm::Value* address = element_address(access, start, /*in_bounds=*/mask == nullptr);
  llvm::Instruction* made = nullptr;
  if (mask) {
    made = ir_.CreateMaskedLoad(stored, address, alignment, mask,
                                llvm::Constant::getNullValue(stored));
  } else {
    made = ir_.CreateAlignedLoad(stored, address, alignment);
  }
  aliasing_.mark(*made, access.pointer);
  return from_storage(access.element, made);
}

void Emitter::store_contiguous(const Access& access, const Index& start, llvm::Value* value,
                               llvm::Value* mask) {
  const llvm::Align alignment = alignment_of(access, start);
  llvm::Value* stored = to_storage(access.element, value);
  llvm::Value* address = element_address(access, start, /*in_bounds=*/mask == nullptr);
  if (mask) {
    aliasing_.mark(*ir_.CreateMaskedStore(stored, address, alignment, mask), access.pointer);
  } else if (!access.is_non_temporal || !store_past_caches(access, start, stored, address)) {
    aliasing_.mark(*ir_.CreateAlignedStore(stored, address, alignment), access.pointer);
  }
}

/// Stores without a place in the caches, where the address is found to be aligned at run time: a
/// vector that is stored in pieces would be slower. False: the elements are not of a size for it,
/// and nothing was stored.
bool Emitter::store_past_caches(const Access& access, const Index& start, llvm::Value* stored,
                                llvm::Value* address) {
  constexpr std::int64_t min_bytes = 16, bytes_of_line = 64;
  if (module_.x86_vector_bits == 0) return false;
  const std::int64_t bytes =
      static_cast<std::int64_t>(module_.module.getDataLayout().getTypeStoreSize(stored->getType()));
  const std::int64_t needed = std::min(bytes & -bytes, bytes_of_line);
  if (needed < min_bytes) return false;
  const auto store = [&](llvm::Align alignment, bool past_caches) {
    llvm::Instruction* made = ir_.CreateAlignedStore(stored, address, alignment);
    if (past_caches) {
      const auto one = llvm::ConstantAsMetadata::get(ir_.getInt32(1));
      made->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(module_.context, one));
    }
    aliasing_.mark(*made, access.pointer);
  };
  needs_fence_ = true;
  const llvm::Align known = alignment_of(access, start);
  const llvm::Align aligned(static_cast<std::uint64_t>(needed));
  if (known >= aligned) {
    store(known, true);
  } else {
    llvm::Value* place = ir_.CreatePtrToInt(address, ir_.getInt64Ty());
    llvm::Value* rest = ir_.CreateAnd(place, int64(needed - 1));
    in_either_case(
        ir_.CreateICmpEQ(rest, int64(0)), [&] { store(aligned, true); },
        [&] { store(known, false); });
  }
  return true;
}

/// Lanes a constant stride apart: `stride` overlapping loads that end at the last lane, so that
/// nothing is read beyond it, and a choice of lanes. They start at a multiple of the stride where
/// one is known, so that those of neighbours, as the members of a record, are the same but for the
/// last.
llvm::Value* Emitter::load_strided(const Access& access, const Index& start, std::int64_t stride,
                                   int lanes) {
  const std::int64_t first =
      start.multiple % stride == 0 ? arith::floor_remainder(start.ahead, stride) : 0;
  const std::int64_t last = first + stride * (lanes - 1);
  llvm::Value* result = nullptr;
  for (std::int64_t part = 0; part < stride; ++part) {
    const std::int64_t offset = part + 1 < stride ? part * lanes : last + 1 - lanes;
    Index index = start;
    index.ahead += offset - first;
    llvm::Value* loaded = load_contiguous(access, index, lanes, nullptr);
    if (!result) {
      result = lanes_of(loaded, constant_lanes(lanes, [&](int lane) {
                          const std::int64_t position = first + stride * lane;
                          return position < lanes ? position : -1;
                        }));
      continue;
    }
    result = ir_.CreateShuffleVector(
        result, loaded, constant_lanes(lanes, [&](int lane) {
          const std::int64_t position = first + stride * lane - offset;
          return position >= 0 && position < lanes ? lanes + position : std::int64_t{lane};
        }));
  }
  return result;
}

llvm::Value* Emitter::addresses(const Access& access, const Expr& indices, int group) {
  llvm::Value* lanes = value(indices);
  if (!indices.dtype().is_int() || indices.dtype().bits < 32) {
    lanes = ir_.CreateIntCast(lanes, shaped_as(lanes, ir_.getInt64Ty()), indices.dtype().is_int());
  }
  if (group > 1) {
    const int count = indices.dtype().lanes * group;
    lanes = lanes_of(lanes, constant_lanes(count, [&](int lane) { return lane / group; }));
    std::vector<llvm::Constant*> within;
    llvm::Type* scalar = lanes->getType()->getScalarType();
    for (int lane = 0; lane < count; ++lane) {
      within.push_back(llvm::ConstantInt::get(scalar, static_cast<std::uint64_t>(lane % group)));
    }
    lanes = ir_.CreateAdd(ir_.CreateMul(lanes, int_like(lanes, group)),
                          llvm::ConstantVector::get(within));
  }
  return element_address(access, {.value = lanes}, /*in_bounds=*/false);
}

llvm::Value* Emitter::mask_of(const Expr& predicate, int group) {
  if (!predicate.defined() || is_const_int(predicate, 1)) return nullptr;
  llvm::Value* mask = value(predicate);
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  if (constant && constant->isAllOnesValue()) return nullptr;
  const int lanes = predicate.dtype().lanes * group;
  if (group == 1) return mask;
  if (predicate.dtype().is_scalar()) return broadcast(mask, lanes);
  return lanes_of(mask, constant_lanes(lanes, [&](int lane) { return lane / group; }));
}

/// True when all lanes lie in memory on this function's stack: a mask would only keep LLVM from
/// seeing that the memory can be registers.
bool Emitter::is_whole_on_stack(const Buffer& buffer, const std::vector<Expr>& indices) {
  const auto* ramp = indices.size() == 1 ? indices[0].as<Ramp>() : nullptr;
  const std::int64_t* first = ramp ? as_int(ramp->base) : nullptr;
  const DataType element = buffer.dtype;
  if (!first || !is_const_int(ramp->stride, 1) || element.is_vector() || is_packed(element)) {
    return false;
  }
  const auto* memory = llvm::dyn_cast<llvm::AllocaInst>(variable(*buffer.data));
  const auto size = memory ? memory->getAllocationSize(module_.module.getDataLayout())
                           : std::optional<llvm::TypeSize>();
  const std::int64_t count =
      size ? static_cast<std::int64_t>(size->getFixedValue()) / element.bytes() : 0;
  return *first >= 0 && *first <= count - ramp->lanes;
}

llvm::Value* Emitter::load(const BufferLoad& load) {
  const Access from = access(load.buffer);
  const Expr indices = flat_index(*load.buffer, load.indices);
  const int group = load.buffer->dtype.lanes;
  const int lanes = indices.dtype().lanes;
  if (is_packed(from.element)) return load_each(load);

  const std::optional<std::int64_t> stride = lanes == 1 ? 1 : constant_stride(indices);
  const bool is_masked = load.predicate.defined() && !is_const_int(load.predicate, 1) &&
                         !is_whole_on_stack(*load.buffer, load.indices);
  if (lanes * group == 1 && is_masked) return load_if(load);
  const auto start = [&] { return grouped(place(first_of(indices)), group); };
  if (stride == 1) {
    return load_contiguous(from, start(), lanes * group,
                           is_masked ? mask_of(load.predicate, group) : nullptr);
  }
  if (group == 1 && !is_masked) {
    if (stride == 0) return broadcast(load_contiguous(from, start(), 1, nullptr), lanes);
    if (stride == -1) {
      Index first = start();
      first.ahead += 1 - lanes;
      return ir_.CreateVectorReverse(load_contiguous(from, first, lanes, nullptr));
    }
    if (stride && *stride > 1 && *stride <= max_shuffled_stride) {
      return load_strided(from, start(), *stride, lanes);
    }
  }
  if (group == 1 && stride == 0 && loads_by_mask(from.element, module_.x86_vector_bits)) {
    // One lane is loaded where any is wanted: a gather would load the element once for each.
    llvm::Value* mask = mask_of(load.predicate, group);
    if (!mask) return broadcast(load_contiguous(from, start(), 1, nullptr), lanes);
    llvm::Value* first = ir_.CreateInsertElement(llvm::Constant::getNullValue(mask->getType()),
                                                 ir_.CreateOrReduce(mask), std::uint64_t{0});
    llvm::Value* one = load_contiguous(from, start(), lanes, first);
    llvm::Value* all = lanes_of(one, std::vector<int>(static_cast<std::size_t>(lanes), 0));
    return ir_.CreateSelect(mask, all, llvm::Constant::getNullValue(all->getType()));
  }
  llvm::Type* stored = llvm::FixedVectorType::get(storage_type(module_.context, from.element),
                                                  static_cast<unsigned>(lanes * group));
  llvm::Instruction* made =
      ir_.CreateMaskedGather(stored, addresses(from, indices, group), alignment_of(from, {}),
                             mask_of(load.predicate, group), llvm::Constant::getNullValue(stored));
  aliasing_.mark(*made, from.pointer);
  return from_storage(from.element, made);
}

void Emitter::store(const BufferStore& store) {
  const Access to = access(store.buffer);
  const Expr indices = flat_index(*store.buffer, store.indices);
  const int group = store.buffer->dtype.lanes;
  const int lanes = indices.dtype().lanes;
  llvm::Value* stored = value(store.value);
  if (is_packed(to.element)) return store_each(store, stored);

  const std::optional<std::int64_t> stride = lanes == 1 ? 1 : constant_stride(indices);
  const bool is_masked = store.predicate.defined() && !is_const_int(store.predicate, 1);
  if (lanes * group == 1 && is_masked) return store_if(store, stored);
  if (stride == 1) {
    const Index start = grouped(place(first_of(indices)), group);
    llvm::Value* mask = mask_of(store.predicate, group);
    if (mask && is_whole_on_stack(*store.buffer, store.indices)) {
      llvm::Value* old = load_contiguous(to, start, lanes, nullptr);
      stored = ir_.CreateSelect(mask, stored, old);
      mask = nullptr;
    }
    return store_contiguous(to, start, stored, mask);
  }
  if (group == 1 && !is_masked && stride == -1) {
    Index first = place(first_of(indices));
    first.ahead += 1 - lanes;
    return store_contiguous(to, first, ir_.CreateVectorReverse(stored), nullptr);
  }
  // In the order of the lanes: where two write one element, the later one stays.
  const auto* ramp = indices.as<Ramp>();
  if (ramp && group == 1 && !is_masked) {
    // No processor scatters faster than it stores lane by lane.
    Access from_first = to;
    from_first.base = element_address(to, place(ramp->base), /*in_bounds=*/true);
    llvm::Value* distance = index(ramp->stride).value;
    for (int lane = 0; lane < lanes; ++lane) {
      llvm::Value* element = ir_.CreateExtractElement(stored, static_cast<std::uint64_t>(lane));
      const Index at{.value = ir_.CreateMul(distance, int64(lane))};
      store_contiguous(from_first, at, element, nullptr);
    }
    return;
  }
  llvm::Instruction* made =
      ir_.CreateMaskedScatter(to_storage(to.element, stored), addresses(to, indices, group),
                              alignment_of(to, {}), mask_of(store.predicate, group));
  aliasing_.mark(*made, to.pointer);
}

llvm::Value* Emitter::load_if(const BufferLoad& load) {
  return branch(load.predicate, make(BufferLoad{.buffer = load.buffer, .indices = load.indices}),
                zero_of(load.dtype));
}

void Emitter::store_if(const BufferStore& store, llvm::Value* value) {
  llvm::BasicBlock* yes = new_block("store");
  llvm::BasicBlock* end = new_block("end");
  branch_if(store.predicate, yes, end);
  ir_.SetInsertPoint(yes);
  in_branch([&] {
    store_contiguous(access(store.buffer), place(flat_index(*store.buffer, store.indices)), value,
                     nullptr);
  });
  ir_.CreateBr(end);
  ir_.SetInsertPoint(end);
}

}  // namespace loopsmith::detail
