// SPDX-License-Identifier: Apache-2.0
// Loads and stores of elements and vectors of flat buffers.
#include <algorithm>
#include <numeric>
#include <optional>

#include "loopsmith/codegen/llvm/emitter.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::detail {
namespace {

/// Up to this stride, consecutive loads and a choice of lanes are faster than a gather.
constexpr std::int64_t most_shuffled_stride = 4;

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

const Expr& first_of(const Expr& indices) {
  if (const auto* ramp = indices.as<Ramp>()) return ramp->base;
  const auto* broadcast = indices.as<Broadcast>();
  return broadcast ? broadcast->value : indices;
}

}  // namespace

/// One index for a buffer of any number of axes, row-major.
Expr flat_index(const Buffer& buffer, const std::vector<Expr>& indices) {
  Expr flat = indices.empty() ? Expr(0) : indices[0];
  for (std::size_t i = 1; i < indices.size(); ++i) flat = flat * buffer.shape[i] + indices[i];
  return flat;
}

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

llvm::Value* Emitter::element_address(const Access& access, const Index& index, bool in_bounds) {
  const int bytes = access.element.bytes();
  llvm::Type* unit = ir_.getIntNTy(static_cast<unsigned>(bytes) * 8);
  llvm::Value* offset = index.value;
  if ((bytes & (bytes - 1)) != 0) {  // LLVM's own size of it is larger.
    unit = ir_.getInt8Ty();
    offset = ir_.CreateMul(offset, int_like(offset, bytes));
  }
  return in_bounds ? ir_.CreateInBoundsGEP(unit, access.base, offset)
                   : ir_.CreateGEP(unit, access.base, offset);
}

llvm::Align Emitter::alignment_of(const Access& access, const Index& index) const {
  const std::int64_t step = index.multiple * access.element.bytes();
  const std::int64_t common = std::gcd(access.alignment, step);
  return llvm::Align(static_cast<std::uint64_t>(common & -common));
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
  constexpr std::int64_t fewest_bytes = 16, bytes_of_line = 64;
  if (module_.x86_vector_bits == 0) return false;
  const std::int64_t bytes =
      static_cast<std::int64_t>(module_.module.getDataLayout().getTypeStoreSize(stored->getType()));
  const std::int64_t needed = std::min(bytes & -bytes, bytes_of_line);
  if (needed < fewest_bytes) return false;
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
/// nothing is read beyond it, and a choice of lanes.
llvm::Value* Emitter::load_strided(const Access& access, const Index& start, std::int64_t stride,
                                   int lanes) {
  const std::int64_t last = stride * (lanes - 1);
  llvm::Value* result = nullptr;
  for (std::int64_t part = 0; part < stride; ++part) {
    const std::int64_t offset = part + 1 < stride ? part * lanes : last + 1 - lanes;
    const Index index{ir_.CreateAdd(start.value, int64(offset)), 63,
                      std::gcd(start.multiple, offset)};
    llvm::Value* loaded = load_contiguous(access, index, lanes, nullptr);
    if (!result) {
      result = lanes_of(loaded, constant_lanes(lanes, [&](int lane) {
                          return stride * lane < lanes ? stride * lane : -1;
                        }));
      continue;
    }
    result = ir_.CreateShuffleVector(
        result, loaded, constant_lanes(lanes, [&](int lane) {
          const std::int64_t position = stride * lane - offset;
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
  const int lanes = predicate.dtype().lanes * group;
  if (group == 1) return mask;
  if (predicate.dtype().is_scalar()) return broadcast(mask, lanes);
  return lanes_of(mask, constant_lanes(lanes, [&](int lane) { return lane / group; }));
}

llvm::Value* Emitter::load(const BufferLoad& load) {
  const Access from = access(load.buffer);
  const Expr indices = flat_index(*load.buffer, load.indices);
  const int group = load.buffer->dtype.lanes;
  const int lanes = indices.dtype().lanes;
  if (is_packed(from.element)) return load_each(load);

  const std::optional<std::int64_t> stride = lanes == 1 ? 1 : constant_stride(indices);
  const bool is_masked = load.predicate.defined() && !is_const_int(load.predicate, 1);
  if (lanes * group == 1 && is_masked) return load_if(load);
  const auto start = [&] { return grouped(index(first_of(indices)), group); };
  if (stride == 1) {
    return load_contiguous(from, start(), lanes * group, mask_of(load.predicate, group));
  }
  if (group == 1 && !is_masked) {
    if (stride == 0) return broadcast(load_contiguous(from, start(), 1, nullptr), lanes);
    if (stride == -1) {
      const Index last = start();
      const Index first{ir_.CreateAdd(last.value, int64(1 - lanes))};
      return ir_.CreateVectorReverse(load_contiguous(from, first, lanes, nullptr));
    }
    if (stride && *stride > 1 && *stride <= most_shuffled_stride) {
      return load_strided(from, start(), *stride, lanes);
    }
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
    const Index start = grouped(index(first_of(indices)), group);
    return store_contiguous(to, start, stored, mask_of(store.predicate, group));
  }
  if (group == 1 && !is_masked && stride == -1) {
    const Index first{ir_.CreateAdd(index(first_of(indices)).value, int64(1 - lanes))};
    return store_contiguous(to, first, ir_.CreateVectorReverse(stored), nullptr);
  }
  // In the order of the lanes: where two write one element, the later one stays.
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
    store_contiguous(access(store.buffer), index(flat_index(*store.buffer, store.indices)), value,
                     nullptr);
  });
  ir_.CreateBr(end);
  ir_.SetInsertPoint(end);
}

Index Emitter::grouped(const Index& index, int group) {
  if (group == 1) return index;
  return {ir_.CreateMul(index.value, int64(group)), 63, index.multiple * group};
}

/// An integer as 64 bits, sums and products computed there; see Index.
Index Emitter::index(const Expr& expr) {
  const DataType dtype = expr.dtype();
  if (const auto* imm = expr.as<IntImm>()) {
    const int bits = 64 - __builtin_clzll(static_cast<std::uint64_t>(std::abs(imm->value)) | 1);
    return {int64(imm->value), bits, imm->value};
  }
  if (const auto* var = expr.as<Var>()) {
    const auto found = variables_.find(var);
    if (found != variables_.end() && found->second.index.value) return found->second.index;
  }
  if (dtype.is_index()) {
    const auto combine = [&](const Expr& a, const Expr& b, llvm::Instruction::BinaryOps operation) {
      const Index x = deep_call([&] { return index(a); });
      const Index y = deep_call([&] { return index(b); });
      const bool is_product = operation == llvm::Instruction::Mul;
      const int bits = is_product ? x.bits + y.bits : std::max(x.bits, y.bits) + 1;
      llvm::Value* made = ir_.CreateBinOp(operation, x.value, y.value);
      if (auto* instruction = llvm::dyn_cast<llvm::BinaryOperator>(made);
          instruction && bits < 63) {
        instruction->setHasNoSignedWrap();
      }
      std::int64_t multiple = std::gcd(x.multiple, y.multiple);
      if (is_product && __builtin_mul_overflow(x.multiple, y.multiple, &multiple)) multiple = 1;
      return Index{made, std::min(bits, 63), multiple};
    };
    if (const auto* node = expr.as<Add>()) return combine(node->a, node->b, llvm::Instruction::Add);
    if (const auto* node = expr.as<Sub>()) return combine(node->a, node->b, llvm::Instruction::Sub);
    if (const auto* node = expr.as<Mul>()) return combine(node->a, node->b, llvm::Instruction::Mul);
    if (const auto* node = expr.as<Cast>();
        node && node->value.dtype().is_index() && node->value.dtype().bits <= dtype.bits) {
      return index(node->value);
    }
  }
  llvm::Value* narrow = value(expr);
  return {ir_.CreateIntCast(narrow, ir_.getInt64Ty(), dtype.is_int()),
          std::min<int>(dtype.bits, 63)};
}

llvm::Value* Emitter::address_of(const Call& call, bool in_bounds) {
  const auto* load = call.args[0].as<BufferLoad>();
  require(load && load->dtype.lanes == load->buffer->dtype.lanes, ErrorKind::type_mismatch,
          "address_of_element", hint("write address_of(A[i])"), call.span,
          "address_of: the argument is not one element of a buffer");
  const int group = load->buffer->dtype.lanes;
  const Index place = index(flat_index(*load->buffer, load->indices));
  return element_address(access(load->buffer), grouped(place, group), in_bounds);
}

/// tvm_access_ptr(type, data, offset, extent, mask): the address of data[offset].
llvm::Value* Emitter::access_pointer(const Call& call) {
  const DataType element = call.args[0].dtype();
  const Access from{.base = value(call.args[1]), .element = element.element()};
  return element_address(from, grouped(index(call.args[2]), element.lanes), true);
}

}  // namespace loopsmith::detail
