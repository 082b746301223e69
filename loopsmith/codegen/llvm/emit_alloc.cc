// SPDX-License-Identifier: Apache-2.0
// Memory of the function: small and constant on the stack, else from the context's allocator.
#include "loopsmith/codegen/host_memory.h"
#include "loopsmith/codegen/llvm/emitter.h"
#include "loopsmith/runtime/c_abi.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

std::int64_t bits_of_element(const Allocate& allocate) {
  return allocate.dtype.lanes * (allocate.dtype.is_bool() ? 8 : allocate.dtype.bits);
}

}  // namespace

/// In the entry block, so that a loop does not allocate it again and again.
llvm::AllocaInst* Emitter::stack_memory(llvm::Type* type) {
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  return entry.CreateAlloca(type);
}

void Emitter::allocate(const Allocate& allocate) {
  if (taken_.contains(&allocate)) return statement(allocate.body);
  if (const auto bytes = stack_bytes_of(allocate)) {
    stack_bytes_ += *bytes;
    auto* layout = llvm::ArrayType::get(ir_.getInt8Ty(), static_cast<std::uint64_t>(*bytes));
    llvm::AllocaInst* memory = stack_memory(layout);
    memory->setAlignment(llvm::Align(own_alignment));
    bind(allocate.buffer_var, memory);
    return statement(allocate.body);
  }
  take(allocate);
  statement(allocate.body);
  give_back_if_reached();
}

/// The bytes of memory that stands on the stack.
std::optional<std::int64_t> Emitter::stack_bytes_of(const Allocate& allocate) const {
  const auto bytes = constant_bytes(allocate, bits_of_element(allocate));
  return bytes && fits_on_stack(*bytes, stack_bytes_) ? bytes : std::nullopt;
}

/// Takes memory from the context, which is held from here on.
void Emitter::take(const Allocate& allocate) {
  const auto bytes = constant_bytes(allocate, bits_of_element(allocate));
  // One byte more than nothing: every allocation has an address.
  llvm::Value* size = bytes ? int64(*bytes + 1) : size_in_bytes(allocate);
  llvm::Value* memory = take_workspace(size);
  bind(allocate.buffer_var, memory);
  held_.push_back({memory, size});
}

/// Takes the memory that one iteration after another may have; gives the allocations.
std::vector<const Allocate*> Emitter::take_for_all_iterations(const For& loop) {
  std::vector<const Allocate*> all = allocations_of_all_iterations(loop);
  std::erase_if(all, [&](const Allocate* each) {
    return taken_.contains(each) || stack_bytes_of(*each).has_value();
  });
  for (const Allocate* each : all) {
    take(*each);
    taken_.insert(each);
  }
  return all;
}

/// The bytes that it takes; leaves the function where there are too many to count.
llvm::Value* Emitter::size_in_bytes(const Allocate& allocate) {
  llvm::Value* bits = int64(bits_of_element(allocate));
  llvm::Value* too_many = ir_.getFalse();
  for (const Expr& extent : allocate.extents) {
    llvm::Value* count = index(extent).value;
    llvm::Value* product =
        ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smul_with_overflow, bits, count);
    bits = ir_.CreateExtractValue(product, 0);
    too_many = ir_.CreateOr(too_many, ir_.CreateExtractValue(product, 1));
    too_many = ir_.CreateOr(too_many, ir_.CreateICmpSLT(count, int64(0)));
  }
  leave_unless(ir_.CreateNot(too_many), LS_OUT_OF_MEMORY, -1, -1, int64(INT64_MAX), int64(0),
               llvm::Constant::getNullValue(context_->getType()));
  return ir_.CreateAdd(ir_.CreateLShr(ir_.CreateAdd(bits, int64(7)), 3), int64(1));
}

llvm::Value* Emitter::context_field(llvm::Type* type, std::size_t offset) {
  llvm::Value* address = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), context_, offset);
  return ir_.CreateLoad(type, address);
}

llvm::Value* Emitter::take_workspace(llvm::Value* size) {
  llvm::Type* pointer = context_->getType();
  llvm::Value* take = context_field(pointer, offsetof(ls_context, allocate));
  llvm::Value* data = context_field(pointer, offsetof(ls_context, allocator_data));
  auto* signature =
      llvm::FunctionType::get(pointer, {pointer, ir_.getInt64Ty(), ir_.getInt64Ty()}, false);
  llvm::Value* memory = ir_.CreateCall(signature, take, {data, size, ir_.getInt64(own_alignment)});
  leave_unless(ir_.CreateIsNotNull(memory), LS_OUT_OF_MEMORY, -1, -1, size, int64(0),
               llvm::Constant::getNullValue(pointer));
  return memory;
}

void Emitter::give_back(const Held& held) {
  llvm::Type* pointer = context_->getType();
  llvm::Value* release = context_field(pointer, offsetof(ls_context, release));
  llvm::Value* data = context_field(pointer, offsetof(ls_context, allocator_data));
  auto* signature = llvm::FunctionType::get(
      ir_.getVoidTy(), {pointer, pointer, ir_.getInt64Ty(), ir_.getInt64Ty()}, false);
  ir_.CreateCall(signature, release, {data, held.memory, held.size, ir_.getInt64(own_alignment)});
}

/// What was taken after the first `count`, for jumps out of where it is visible.
void Emitter::release_to(std::size_t count) {
  for (std::size_t i = held_.size(); i > count; --i) give_back(held_[i - 1]);
}

/// At the end of an allocation's body.
void Emitter::give_back_if_reached() {
  if (!is_terminated()) give_back(held_.back());
  held_.pop_back();
}

void Emitter::allocate_constant(const AllocateConst& constant) {
  const DataType element = constant.dtype;
  require(element.is_scalar() && !is_packed(element), ErrorKind::lower, "constant_has_whole_bytes",
          hint("make it int8, or int32"), constant.span,
          "constant {}: memory of {} is not written into code", constant.buffer_var->name,
          to_string(element));
  llvm::Type* stored = storage_type(module_.context, element);
  std::vector<llvm::Constant*> elements;
  for (const Expr& each : constant.data) {
    auto* known = llvm::cast<llvm::Constant>(value(each));
    if (element.is_integer()) {
      const llvm::APInt bits = llvm::cast<llvm::ConstantInt>(known)->getValue();
      known = llvm::ConstantInt::get(stored, element.is_int()
                                                 ? bits.sext(stored->getIntegerBitWidth())
                                                 : bits.zext(stored->getIntegerBitWidth()));
    }
    elements.push_back(known);
  }
  auto* layout = llvm::ArrayType::get(stored, elements.size());
  auto* memory = new llvm::GlobalVariable(module_.module, layout, /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage,
                                          llvm::ConstantArray::get(layout, elements), "constant");
  memory->setAlignment(llvm::Align(own_alignment));
  bind(constant.buffer_var, memory);
  statement(constant.body);
}

}  // namespace loopsmith::detail
