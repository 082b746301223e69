// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/overlap_check.h"

#include <unordered_set>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// The memory that a body uses, and what of it that body may write.
struct UsedMemory {
  std::unordered_set<const Object*> used, written;

  explicit UsedMemory(const Stmt& body) {
    pre_order_visit(body, [&](const Ref& ref) {
      const auto* store = ref.as<BufferStore>();
      const auto* load = ref.as<BufferLoad>();
      if (store) written.insert(store->buffer->data.get());
      if (load) used.insert(load->buffer->data.get());
      if (const auto* call = ref.as<Call>()) add_given(*call);
      const auto* let = ref.as<LetStmt>();
      if (let && let->var->dtype.is_handle()) written.insert(let->value.get());
      return true;
    });
    used.insert(written.begin(), written.end());
  }

 private:
  /// What is handed out may be written.
  void add_given(const Call& call) {
    for (const Expr& arg : call.args) {
      const auto* load = arg.as<BufferLoad>();
      if (load && call.op == op("address_of")) written.insert(load->buffer->data.get());
      if (arg.is<Var>() && arg.dtype().is_handle()) written.insert(arg.get());
    }
  }
};

/// Addresses of bytes, the last one not included.
struct Bytes {
  Expr begin, end;
};

Bytes bytes_of(const Ptr<Buffer>& buffer) {
  const auto wide = [](std::int64_t value) { return int_imm(i64, value); };
  std::vector<Expr> first;
  for (const Expr& extent : buffer->shape) first.push_back(zero_of(extent.dtype()));
  const Expr element = call(op("address_of"), {load(buffer, first)});
  const Expr begin = call(i64, op("reinterpret"), {element});
  const std::int64_t bits = std::int64_t{buffer->dtype.bits} * buffer->dtype.lanes;
  const auto bytes = [&](const Expr& count) {
    return bits % 8 == 0 ? count * wide(bits / 8) : ceildiv(count * wide(bits), wide(8));
  };
  if (buffer->strides.empty()) {
    Expr count = wide(1);
    for (const Expr& extent : buffer->shape) count = count * cast(i64, extent);
    return {begin, begin + bytes(count)};
  }
  Expr low = wide(0), high = wide(1);
  for (std::size_t d = 0; d < buffer->shape.size(); ++d) {
    const Expr last = (cast(i64, buffer->shape[d]) - wide(1)) * cast(i64, buffer->strides[d]);
    low = low + min(last, wide(0));
    high = high + max(last, wide(0));
  }
  return {begin + bytes(low), begin + bytes(high)};
}

}  // namespace

Stmt with_overlap_check(const PrimFunc& func, const Stmt& scheduled) {
  if (func.attrs.get_int("tir.noalias", 0) != 0) return scheduled;
  const UsedMemory memory(func.body);
  Expr are_apart;  // A bit: to join that of many pairs takes no branches.
  for (std::size_t i = 0; i < func.buffer_map.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const Ptr<Buffer>&a = func.buffer_map[i], &b = func.buffer_map[k];
      if (!a || !b || a->data.same_as(b->data)) continue;
      const Object *first = a->data.get(), *second = b->data.get();
      const bool is_written = memory.written.contains(first) || memory.written.contains(second);
      if (!is_written || !memory.used.contains(first) || !memory.used.contains(second)) continue;
      const Bytes x = bytes_of(a), y = bytes_of(b);
      const Expr is_apart =
          call(i32, op("bitwise_or"), {cast(i32, x.end <= y.begin), cast(i32, y.end <= x.begin)});
      are_apart =
          are_apart.defined() ? call(i32, op("bitwise_and"), {are_apart, is_apart}) : is_apart;
    }
  }
  if (!are_apart.defined()) return scheduled;
  const Stmt apart = make(AttrStmt{.attr_key = "tir.noalias", .value = true, .body = scheduled});
  return make(IfThenElse{.condition = are_apart != int_imm(i32, 0),
                         .then_case = apart,
                         .else_case = clone_with(func.body, {})});
}

}  // namespace loopsmith
