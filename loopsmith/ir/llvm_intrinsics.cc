// SPDX-License-Identifier: Apache-2.0
// Names and operands: LLVM's IntrinsicsX86.td; what they compute: Intel's instruction set
// reference.
#include "loopsmith/ir/llvm_intrinsics.h"

#include <algorithm>
#include <iterator>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

constexpr std::string_view vnni = "+avx512vnni", short_vnni = "+avx512vnni,+avx512vl";
constexpr std::string_view bf16_dot = "+avx512bf16", short_bf16_dot = "+avx512bf16,+avx512vl";

constexpr DotIntrinsic known[] = {
    {"llvm.x86.avx512.vpdpbusd.512", i32.with_lanes(16), u8, i8, 4, true, vnni},
    {"llvm.x86.avx512.vpdpbusd.256", i32.with_lanes(8), u8, i8, 4, true, short_vnni, "+avxvnni"},
    {"llvm.x86.avx512.vpdpbusd.128", i32.with_lanes(4), u8, i8, 4, true, short_vnni, "+avxvnni"},
    {"llvm.x86.avx512.vpdpwssd.512", i32.with_lanes(16), i16, i16, 2, true, vnni},
    {"llvm.x86.avx512.vpdpwssd.256", i32.with_lanes(8), i16, i16, 2, true, short_vnni, "+avxvnni"},
    {"llvm.x86.avx512.vpdpwssd.128", i32.with_lanes(4), i16, i16, 2, true, short_vnni, "+avxvnni"},
    {"llvm.x86.avx512.pmaddw.d.512", i32.with_lanes(16), i16, i16, 2, false, "+avx512bw"},
    {"llvm.x86.avx2.pmadd.wd", i32.with_lanes(8), i16, i16, 2, false, "+avx2"},
    {"llvm.x86.sse2.pmadd.wd", i32.with_lanes(4), i16, i16, 2, false, "+sse2"},
    {"llvm.x86.avx512bf16.dpbf16ps.512", f32.with_lanes(16), bf16, bf16, 2, true, bf16_dot},
    {"llvm.x86.avx512bf16.dpbf16ps.256", f32.with_lanes(8), bf16, bf16, 2, true, short_bf16_dot},
    {"llvm.x86.avx512bf16.dpbf16ps.128", f32.with_lanes(4), bf16, bf16, 2, true, short_bf16_dot},
};

/// By the signs of the operands.
constexpr std::string_view of_threads = "+dp4a";
constexpr DotIntrinsic of_words[] = {
    {"dp4a", i32, i8, i8, 4, true, of_threads}, {"dp4a", i32, u8, u8, 4, true, of_threads},
    {"dp4a", i32, i8, u8, 4, true, of_threads}, {"dp4a", i32, u8, i8, 4, true, of_threads},
    {"dp4a", u32, u8, u8, 4, true, of_threads},
};

/// Four bytes, also as one number of 32 bits with the sign of each.
bool are_four(DataType dtype, DataType byte) {
  const bool is_word = dtype.is_integer() && dtype.is_scalar() && dtype.bits == 32;
  return dtype == byte.with_lanes(4) || (is_word && dtype.is_uint() == byte.is_uint());
}

/// The bits of `value` as `dtype`; null where there are more or fewer.
Expr with_type(DataType dtype, const Expr& value) {
  const DataType own = value.dtype();
  if (own == dtype) return value;
  if (own.is_handle() || own.bits * own.lanes != dtype.bits * dtype.lanes) return nullptr;
  return reinterpret(dtype, value);
}

}  // namespace

std::span<const DotIntrinsic> dot_intrinsics() {
  return known;
}

const DotIntrinsic* find_dot_intrinsic(const Call& call) {
  if (call.op == op("dp4a")) {
    const auto fits = [&](const DotIntrinsic& each) {
      return call.dtype == each.result && (call.args.size() == 2 || call.args.size() == 3) &&
             are_four(call.args[0].dtype(), each.a) && are_four(call.args[1].dtype(), each.b);
    };
    const auto* found = std::ranges::find_if(of_words, fits);
    return found == std::end(of_words) ? nullptr : found;
  }
  const bool is_call = call.op == op("call_llvm_intrin") || call.op == op("call_llvm_pure_intrin");
  const auto* name = is_call && !call.args.empty() ? call.args[0].as<StringImm>() : nullptr;
  if (!name) return nullptr;
  for (const DotIntrinsic& intrinsic : known) {
    if (intrinsic.name == name->value) return &intrinsic;
  }
  return nullptr;
}

std::size_t first_operand(const Call& call) {
  const auto* count = call.args.size() > 1 ? call.args[1].as<IntImm>() : nullptr;
  return count && count->dtype == u32 ? 2 : 1;
}

Expr meaning_of(const DotIntrinsic& intrinsic, const Call& call) {
  const int lanes = intrinsic.result.lanes, group = intrinsic.group;
  Expr a, b, sum;
  if (call.op == op("dp4a")) {
    a = call.args[0];
    b = call.args[1];
    sum = call.args.size() > 2 ? call.args[2] : int_imm(intrinsic.result, 0);
  } else {
    const std::size_t first = first_operand(call);
    if (call.args.size() != first + (intrinsic.accumulates ? 3 : 2)) return nullptr;
    a = call.args.end()[-2];
    b = call.args.end()[-1];
    if (intrinsic.accumulates) sum = call.args[first];
  }
  a = with_type(intrinsic.a.with_lanes(lanes * group), a);
  b = with_type(intrinsic.b.with_lanes(lanes * group), b);
  if (intrinsic.accumulates) sum = with_type(intrinsic.result, sum);
  if (!a.defined() || !b.defined() || (intrinsic.accumulates && !sum.defined())) return nullptr;
  const auto part = [&](const Expr& vector, int offset) {
    std::vector<Expr> indices;
    for (int lane = 0; lane < lanes; ++lane) indices.emplace_back(lane * group + offset);
    return cast(intrinsic.result, make(Shuffle{.vectors = {vector}, .indices = indices}));
  };
  for (int i = 0; i < group; ++i) {
    const Expr product = part(a, i) * part(b, i);
    sum = sum.defined() ? sum + product : product;
  }
  return with_type(call.dtype, sum);
}

}  // namespace loopsmith
