// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/step_addresses.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>

#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace loopsmith::detail {
namespace {

/// So many registers are given to pointers of one loop.
constexpr std::size_t max_pointers = 6;
constexpr int deepest_sum = 8;

/// The variable of a loop that counts by 1.
llvm::PHINode* counter_of(const llvm::Loop& loop) {
  for (llvm::PHINode& phi : loop.getHeader()->phis()) {
    if (!phi.getType()->isIntegerTy(64)) continue;
    const auto* next =
        llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(loop.getLoopLatch()));
    if (!next || next->getOpcode() != llvm::Instruction::Add || next->getOperand(0) != &phi) {
      continue;
    }
    const auto* one = llvm::dyn_cast<llvm::ConstantInt>(next->getOperand(1));
    if (one && one->isOne()) return &phi;
  }
  return nullptr;
}

class AddressStepper {
 public:
  AddressStepper(const llvm::Loop& loop, llvm::PHINode& counter)
      : loop_(loop),
        counter_(counter),
        layout_(counter.getModule()->getDataLayout()),
        before_(loop.getLoopPreheader()->getTerminator()) {}

  void run() {
    // From the last to the first: an address may be part of a later one.
    const std::vector<llvm::GetElementPtrInst*> all = addresses();
    for (auto address = all.rbegin(); address != all.rend(); ++address) {
      if (!(*address)->use_empty()) step(**address);
    }
  }

 private:
  std::int64_t element_bytes(const llvm::GetElementPtrInst& address) const {
    return static_cast<std::int64_t>(
        layout_.getTypeAllocSize(address.getSourceElementType()).getFixedValue());
  }

  /// By how much an integer or a pointer, in bytes, grows in an iteration; nullopt when that is not
  /// a constant.
  std::optional<std::int64_t> growth(llvm::Value* value, int depth = 0) const;
  /// The value where the counter is `start`, computed before the loop.
  llvm::Value* at(llvm::Value* value, llvm::Value* start);
  std::vector<llvm::GetElementPtrInst*> addresses() const;
  void step(llvm::GetElementPtrInst& address);

  const llvm::Loop& loop_;
  llvm::PHINode& counter_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> before_;
  std::size_t pointers_ = 0;
  /// Addresses that were made, by pointer, index and size of an element.
  std::map<std::tuple<llvm::Value*, llvm::Value*, std::int64_t>, llvm::Value*> made_;
};

std::optional<std::int64_t> AddressStepper::growth(llvm::Value* value, int depth) const {
  if (value == &counter_) return 1;
  if (loop_.isLoopInvariant(value)) return 0;
  if (depth == deepest_sum) return std::nullopt;
  const auto combine = [&](llvm::Value* a, llvm::Value* b,
                           std::int64_t factor) -> std::optional<std::int64_t> {
    const auto x = growth(a, depth + 1), y = growth(b, depth + 1);
    std::int64_t sum = 0;
    if (!x || !y || __builtin_mul_overflow(*y, factor, &sum) ||
        __builtin_add_overflow(*x, sum, &sum)) {
      return std::nullopt;
    }
    return sum;
  };
  if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(value)) {
    if (address->getNumIndices() != 1 || !address->getOperand(1)->getType()->isIntegerTy(64)) {
      return std::nullopt;
    }
    return combine(address->getOperand(0), address->getOperand(1), element_bytes(*address));
  }
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (!operation || !operation->getType()->isIntegerTy(64)) return std::nullopt;
  llvm::Value *a = operation->getOperand(0), *b = operation->getOperand(1);
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(b);
  llvm::Value* zero = llvm::ConstantInt::get(b->getType(), 0);
  switch (operation->getOpcode()) {
    case llvm::Instruction::Add: return combine(a, b, 1);
    case llvm::Instruction::Sub: return combine(a, b, -1);
    case llvm::Instruction::Or:
      if (!llvm::cast<llvm::PossiblyDisjointInst>(operation)->isDisjoint()) return std::nullopt;
      return combine(a, b, 1);
    case llvm::Instruction::Mul:
      if (!constant) return std::nullopt;
      return combine(zero, a, constant->getSExtValue());
    case llvm::Instruction::Shl:
      if (!constant || constant->getZExtValue() > 31) return std::nullopt;
      return combine(zero, a, std::int64_t{1} << constant->getZExtValue());
    default: return std::nullopt;
  }
}

llvm::Value* AddressStepper::at(llvm::Value* value, llvm::Value* start) {
  if (value == &counter_) return start;
  if (loop_.isLoopInvariant(value)) return value;
  auto* operation = llvm::cast<llvm::Instruction>(value);
  llvm::Value* a = at(operation->getOperand(0), start);
  llvm::Value* b = at(operation->getOperand(1), start);
  if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(operation)) {
    return before_.CreateGEP(address->getSourceElementType(), a, b);
  }
  const auto is_zero = [](llvm::Value* part) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(part);
    return constant && constant->isZero();
  };
  switch (operation->getOpcode()) {
    case llvm::Instruction::Sub: return before_.CreateSub(a, b);
    case llvm::Instruction::Mul: return before_.CreateMul(a, b);
    case llvm::Instruction::Shl: return before_.CreateShl(a, b);
    default: return is_zero(b) ? a : is_zero(a) ? b : before_.CreateAdd(a, b);
  }
}

/// What is computed in the loop and grows by a constant.
std::vector<llvm::GetElementPtrInst*> AddressStepper::addresses() const {
  std::vector<llvm::GetElementPtrInst*> found;
  for (llvm::BasicBlock* block : loop_.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
      // Constants are added by the instructions that use the address.
      if (!address || !address->getType()->isPointerTy() ||
          loop_.isLoopInvariant(address->getOperand(1))) {
        continue;
      }
      const auto growth = this->growth(address);
      if (growth && *growth != 0) found.push_back(address);
    }
  }
  return found;
}

void AddressStepper::step(llvm::GetElementPtrInst& address) {
  llvm::Value *base = address.getOperand(0), *index = address.getOperand(1);
  const std::int64_t bytes = *growth(&address);
  const bool is_scale = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  if (is_scale && index == &counter_ && loop_.isLoopInvariant(base)) return;

  llvm::Value*& made = made_[{base, index, element_bytes(address)}];
  if (!made && is_scale) {
    llvm::Value* start = at(&address, before_.getInt64(0));
    llvm::IRBuilder<> first(&*loop_.getHeader()->getFirstInsertionPt());
    made = first.CreateGEP(first.getIntNTy(static_cast<unsigned>(bytes) * 8), start, &counter_);
  } else if (!made) {
    if (pointers_ == max_pointers) return;
    ++pointers_;
    llvm::BasicBlock* latch = loop_.getLoopLatch();
    llvm::BasicBlock* outside = loop_.getLoopPreheader();
    llvm::Value* start = at(&address, counter_.getIncomingValueForBlock(outside));
    llvm::IRBuilder<> header(&counter_);
    llvm::PHINode* pointer = header.CreatePHI(address.getType(), 2);
    llvm::IRBuilder<> end(latch->getTerminator());
    pointer->addIncoming(start, outside);
    pointer->addIncoming(end.CreatePtrAdd(pointer, end.getInt64(static_cast<std::uint64_t>(bytes))),
                         latch);
    made = pointer;
  }
  address.replaceAllUsesWith(made);
  address.eraseFromParent();
  llvm::RecursivelyDeleteTriviallyDeadInstructions(index);
}

}  // namespace

void step_addresses(const llvm::LoopInfo& loops) {
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() || !loop->getLoopPreheader() || !loop->getLoopLatch()) continue;
    llvm::PHINode* counter = counter_of(*loop);
    if (counter) AddressStepper(*loop, *counter).run();
  }
}

}  // namespace loopsmith::detail
