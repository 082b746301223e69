// SPDX-License-Identifier: Apache-2.0
// Indices, in 64 bits, and the addresses that they stand for.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "loopsmith/codegen/llvm/emitter.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

/// True for a distance that neither sums nor products with the size of an element overflow.
bool is_near(std::int64_t ahead) {
  return ahead >= INT32_MIN && ahead <= INT32_MAX;
}

}  // namespace

/// One index for a buffer of any number of axes, row-major.
Expr flat_index(const Buffer& buffer, const std::vector<Expr>& indices) {
  Expr flat = indices.empty() ? Expr(0) : indices[0];
  for (std::size_t i = 1; i < indices.size(); ++i) flat = flat * buffer.shape[i] + indices[i];
  return flat;
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
    if (found != variables_.end() && found->second.index.value) {
      return added_up(found->second.index);
    }
  }
  if (dtype.is_index()) {
    const auto combine = [&](const Expr& a, const Expr& b, llvm::Instruction::BinaryOps operation) {
      const Index x = deep_call([&] { return index(a); });
      const Index y = deep_call([&] { return index(b); });
      const bool is_product = operation == llvm::Instruction::Mul;
      if (is_const_int(b, is_product ? 1 : 0)) return x;
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

/// The same for an address: a constant that is added last stays apart, so that neighbours share all
/// else.
Index Emitter::place(const Expr& expr) {
  if (const auto* var = expr.as<Var>()) {
    const auto found = variables_.find(var);
    if (found != variables_.end() && found->second.index.value) return found->second.index;
  }
  const auto* sum = expr.as<Add>();
  const std::int64_t* ahead = sum && expr.dtype().is_index() ? as_int(sum->b) : nullptr;
  if (!ahead || !is_near(*ahead)) return index(expr);
  Index found = place(sum->a);
  if (!is_near(found.ahead + *ahead)) return index(expr);
  found.ahead += *ahead;
  return found;
}

Index Emitter::added_up(const Index& index) {
  if (index.ahead == 0) return index;
  const int bits = std::max(index.bits, 32) + 1;
  llvm::Value* sum = ir_.CreateAdd(index.value, int64(index.ahead), "", /*HasNUW=*/false,
                                   /*HasNSW=*/bits < 63);
  return {sum, std::min(bits, 63), std::gcd(index.multiple, index.ahead)};
}

Index Emitter::grouped(const Index& index, int group) {
  if (group == 1) return index;
  return {ir_.CreateMul(index.value, int64(group)), 63, index.multiple * group,
          index.ahead * group};
}

llvm::Value* Emitter::element_address(const Access& access, const Index& index, bool in_bounds) {
  const int bytes = access.element.bytes();
  llvm::Type* unit = ir_.getIntNTy(static_cast<unsigned>(bytes) * 8);
  llvm::Value* offset = index.value;
  if ((bytes & (bytes - 1)) != 0) {  // LLVM's own size of it is larger.
    unit = ir_.getInt8Ty();
    offset = ir_.CreateMul(offset, int_like(offset, bytes));
  }
  if (index.ahead == 0 && in_bounds) return ir_.CreateInBoundsGEP(unit, access.base, offset);
  llvm::Value* address = ir_.CreateGEP(unit, access.base, offset);
  return index.ahead == 0 ? address : ir_.CreatePtrAdd(address, int64(index.ahead * bytes));
}

llvm::Align Emitter::alignment_of(const Access& access, const Index& index) const {
  const std::int64_t bytes = access.element.bytes();
  const std::int64_t common =
      std::gcd(access.alignment, std::gcd(index.multiple * bytes, index.ahead * bytes));
  return llvm::Align(static_cast<std::uint64_t>(common & -common));
}

llvm::Value* Emitter::address_of(const Call& call, bool in_bounds) {
  const auto* load = call.args[0].as<BufferLoad>();
  require(load && load->dtype.lanes == load->buffer->dtype.lanes, ErrorKind::type_mismatch,
          "address_of_element", hint("write address_of(A[i])"), call.span,
          "address_of: the argument is not one element of a buffer");
  const int group = load->buffer->dtype.lanes;
  const Index start = this->place(flat_index(*load->buffer, load->indices));
  return element_address(access(load->buffer), grouped(start, group), in_bounds);
}

/// tvm_access_ptr(type, data, offset, extent, mask): the address of data[offset].
llvm::Value* Emitter::access_pointer(const Call& call) {
  const DataType element = call.args[0].dtype();
  const Access from{.base = value(call.args[1]), .element = element.element()};
  return element_address(from, grouped(place(call.args[2]), element.lanes), true);
}

}  // namespace loopsmith::detail
