// SPDX-License-Identifier: Apache-2.0
// Elements of fewer than 8 bits, which share bytes; the first is in the lowest bits.
#include "loopsmith/codegen/llvm/emitter.h"

namespace loopsmith::detail {

/// The byte that holds element `index`, and the place of its lowest bit there.
std::pair<llvm::Value*, llvm::Value*> Emitter::packed_place(const Access& access,
                                                            llvm::Value* index) {
  const std::int64_t per_byte = 8 / access.element.bits;
  llvm::Value* byte =
      ir_.CreateAShr(index, int64(__builtin_ctzll(static_cast<std::uint64_t>(per_byte))));
  llvm::Value* within = ir_.CreateTrunc(ir_.CreateAnd(index, int64(per_byte - 1)), ir_.getInt8Ty());
  llvm::Value* place = ir_.CreateMul(within, ir_.getInt8(access.element.bits));
  return {ir_.CreateInBoundsGEP(ir_.getInt8Ty(), access.base, byte), place};
}

llvm::Value* Emitter::load_packed(const Access& access, llvm::Value* index) {
  const auto [address, place] = packed_place(access, index);
  llvm::LoadInst* byte = ir_.CreateAlignedLoad(ir_.getInt8Ty(), address, llvm::Align(1));
  aliasing_.mark(*byte, access.pointer);
  return ir_.CreateTrunc(ir_.CreateLShr(byte, place), type(access.element));
}

void Emitter::store_packed(const Access& access, llvm::Value* index, llvm::Value* value) {
  const auto [address, place] = packed_place(access, index);
  llvm::LoadInst* byte = ir_.CreateAlignedLoad(ir_.getInt8Ty(), address, llvm::Align(1));
  aliasing_.mark(*byte, access.pointer);
  llvm::Value* bits = ir_.CreateShl(ir_.CreateZExt(value, ir_.getInt8Ty()), place);
  llvm::Value* field = ir_.CreateShl(ir_.getInt8((1U << access.element.bits) - 1), place);
  llvm::Value* changed = ir_.CreateOr(ir_.CreateAnd(byte, ir_.CreateNot(field)), bits);
  aliasing_.mark(*ir_.CreateAlignedStore(changed, address, llvm::Align(1)), access.pointer);
}

/// Calls `visit` for each element of an access, under its lane of the mask; gives what it gave, 0
/// where the mask is false.
std::vector<llvm::Value*> Emitter::for_each_element(
    const Expr& indices, const Expr& predicate, int group,
    const std::function<llvm::Value*(llvm::Value* index, std::size_t element)>& visit) {
  llvm::Value* all = value(indices);
  llvm::Value* mask = mask_of(predicate, 1);
  const auto lanes = static_cast<std::size_t>(indices.dtype().lanes);
  const auto lane_of = [&](llvm::Value* vector, std::size_t lane) {
    return lanes == 1 ? vector : ir_.CreateExtractElement(vector, lane);
  };
  std::vector<llvm::Value*> results;
  for (std::size_t element = 0; element < lanes * static_cast<std::size_t>(group); ++element) {
    const std::size_t lane = element / static_cast<std::size_t>(group);
    const auto part = static_cast<std::int64_t>(element % static_cast<std::size_t>(group));
    llvm::Value* first =
        ir_.CreateIntCast(lane_of(all, lane), ir_.getInt64Ty(), indices.dtype().is_int());
    llvm::Value* index = ir_.CreateAdd(ir_.CreateMul(first, int64(group)), int64(part));
    if (!mask) {
      results.push_back(visit(index, element));
      continue;
    }
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    llvm::BasicBlock* yes = new_block("lane");
    llvm::BasicBlock* end = new_block("next_lane");
    ir_.CreateCondBr(lane_of(mask, lane), yes, end);
    ir_.SetInsertPoint(yes);
    llvm::Value* result = visit(index, element);
    ir_.CreateBr(end);
    ir_.SetInsertPoint(end);
    if (!result) continue;
    llvm::PHINode* phi = ir_.CreatePHI(result->getType(), 2);
    phi->addIncoming(result, yes);
    phi->addIncoming(llvm::Constant::getNullValue(result->getType()), before);
    results.push_back(phi);
  }
  return results;
}

llvm::Value* Emitter::load_each(const BufferLoad& load) {
  const Access from = access(load.buffer);
  const std::vector<llvm::Value*> elements =
      for_each_element(load.indices[0], load.predicate, load.buffer->dtype.lanes,
                       [&](llvm::Value* index, std::size_t) { return load_packed(from, index); });
  return load.dtype.is_scalar() ? elements[0] : join(elements);
}

void Emitter::store_each(const BufferStore& store, llvm::Value* value) {
  const Access to = access(store.buffer);
  const bool is_vector = store.value.dtype().is_vector();
  for_each_element(
      flat_index(*store.buffer, store.indices), store.predicate, store.buffer->dtype.lanes,
      [&](llvm::Value* index, std::size_t element) -> llvm::Value* {
        store_packed(to, index, is_vector ? ir_.CreateExtractElement(value, element) : value);
        return nullptr;
      });
}

}  // namespace loopsmith::detail
