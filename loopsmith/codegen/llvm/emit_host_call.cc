// SPDX-License-Identifier: Apache-2.0
// Packed calls: of functions of the host, by their names, through the context.
#include "loopsmith/codegen/host_call.h"

#include <algorithm>

#include "loopsmith/codegen/llvm/emitter.h"
#include "loopsmith/codegen/signature.h"

namespace loopsmith::detail {

/// `base[offset] = value`, the offset in bytes.
void Emitter::store_field(llvm::Value* base, std::size_t offset, llvm::Value* value) {
  ir_.CreateStore(value, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), base, offset));
}

/// Memory of the function's stack for `count` objects of `size` bytes, aligned like a pointer.
llvm::Value* Emitter::stack_objects(std::size_t count, std::size_t size) {
  return stack_memory(llvm::ArrayType::get(ir_.getInt64Ty(), count * size / sizeof(std::int64_t)));
}

llvm::Value* Emitter::stored_sizes(const std::vector<Expr>& sizes) {
  if (sizes.empty()) return llvm::Constant::getNullValue(context_->getType());
  llvm::Value* memory = stack_objects(sizes.size(), sizeof(std::int64_t));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    store_field(memory, i * sizeof(std::int64_t), index(sizes[i]).value);
  }
  return memory;
}

/// A DLTensor on the stack.
llvm::Value* Emitter::stored_tensor(const PackedArray& array) {
  const DLDataType dtype = to_dlpack(array.element);
  llvm::Value* tensor = stack_objects(1, sizeof(DLTensor));
  llvm::Value* data = ir_.CreateGEP(storage_type(module_.context, array.element), value(array.data),
                                    index(array.offset).value);
  const auto set = [&](std::size_t offset, llvm::Value* value) {
    store_field(tensor, offset, value);
  };
  const auto number = [&](int value) { return ir_.getInt32(static_cast<std::uint32_t>(value)); };
  set(offsetof(DLTensor, data), data);
  set(offsetof(DLTensor, device) + offsetof(DLDevice, device_type), number(kDLCPU));
  set(offsetof(DLTensor, device) + offsetof(DLDevice, device_id), number(0));
  set(offsetof(DLTensor, ndim), number(static_cast<int>(array.shape.size())));
  set(offsetof(DLTensor, dtype) + offsetof(DLDataType, code), ir_.getInt8(dtype.code));
  set(offsetof(DLTensor, dtype) + offsetof(DLDataType, bits), ir_.getInt8(dtype.bits));
  set(offsetof(DLTensor, dtype) + offsetof(DLDataType, lanes), ir_.getInt16(dtype.lanes));
  set(offsetof(DLTensor, shape), stored_sizes(array.shape));
  set(offsetof(DLTensor, strides), stored_sizes(array.strides));
  set(offsetof(DLTensor, byte_offset), int64(0));
  return tensor;
}

llvm::Value* Emitter::host_value(const HostOperand& operand) {
  switch (operand.kind) {
    case LS_TENSOR: return stored_tensor(*operand.array);
    case LS_FLOAT: return cast(operand.value.dtype(), f64, value(operand.value));
    case LS_TEXT:
    case LS_HANDLE: return value(operand.value);
    default: return cast(operand.value.dtype(), i64, value(operand.value));
  }
}

llvm::Value* Emitter::call_host(const Call& call, ls_kind taken_as) {
  const HostCallSite site = host_call_site(call, "llvm");
  const std::size_t count = site.operands.size();
  llvm::Value* arguments = stack_objects(std::max<std::size_t>(count, 1), sizeof(ls_argument));
  const auto number = [&](std::size_t value) {
    return ir_.getInt32(static_cast<std::uint32_t>(value));
  };
  for (std::size_t i = 0; i < count; ++i) {
    const HostOperand& operand = site.operands[i];
    const std::size_t at = i * sizeof(ls_argument);
    store_field(arguments, at + offsetof(ls_argument, value), host_value(operand));
    store_field(arguments, at + offsetof(ls_argument, kind), number(operand.kind));
    store_field(arguments, at + offsetof(ls_argument, read_only), number(operand.is_read_only));
  }
  llvm::Value* result = stack_objects(1, sizeof(ls_argument));
  store_field(result, offsetof(ls_argument, kind), number(taken_as));
  llvm::Type* pointer = context_->getType();
  llvm::Value* function = context_field(pointer, offsetof(ls_context, call_host));
  llvm::Value* data = context_field(pointer, offsetof(ls_context, call_host_data));
  llvm::Constant* name = module_.text(site.name);
  auto* signature = llvm::FunctionType::get(
      ir_.getInt32Ty(), {pointer, pointer, pointer, ir_.getInt32Ty(), pointer}, false);
  llvm::Value* status =
      ir_.CreateCall(signature, function, {data, name, arguments, number(count), result});
  leave_unless(ir_.CreateICmpEQ(status, number(LS_OK)), LS_HOST_FUNCTION, -1, -1, int64(0),
               ir_.CreateSExt(status, ir_.getInt64Ty()), name);
  return ir_.CreateTrunc(ir_.CreateLoad(ir_.getInt64Ty(), result), type(call.dtype));
}

}  // namespace loopsmith::detail
