// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/intrinsics/dot_intrins.h"

#include <fmt/format.h>
#include <deque>
#include <string>

#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace {

/// What an intrinsic multiplies and sums.
struct DotOperands {
  DataType a, b, sum;
  int depth;
};
constexpr DotOperands unsigned_by_signed{u8, i8, i32, 4}, both_signed{i8, i8, i32, 4},
    signed_by_unsigned{i8, u8, i32, 4}, brain_floats{bf16, bf16, f32, 2};

/// -128, or 128 without a sign, in each byte of 32 bits.
constexpr int top_bits = -0x7F7F7F80;

class DotTable {
 public:
  DotTable() {
    for (const int lanes : {16, 8}) {
      add("u8i8_vnni", unsigned_by_signed, lanes);
      add("i8i8_vnni", both_signed, lanes);
      add("i8u8_vnni", signed_by_unsigned, lanes);
      add("bf16bf16_avx512bf16", brain_floats, lanes);
    }
  }

  std::vector<BuiltinIntrin> rows;

 private:
  /// Keeps the text.
  std::string_view kept(std::string text) { return texts_.emplace_back(std::move(text)); }

  static std::string head(const DotOperands& operands, int lanes) {
    const auto& [a, b, sum, depth] = operands;
    return fmt::format(
        "@T.prim_func\ndef intrinsic(A: T.Buffer(({0},), \"{2}\"), B: T.Buffer(({5},), "
        "\"{3}\"), C: T.Buffer(({1},), \"{4}\")):\n"
        "    with T.block(\"root\"):\n"
        "        T.reads(C[0:{1}], A[0:{0}], B[0:{5}])\n"
        "        T.writes(C[0:{1}])\n",
        depth, lanes, to_string(a), to_string(b), to_string(sum), lanes * depth);
  }

  static std::string meaning(const DotOperands& operands, int lanes) {
    return fmt::format(
        "        for i, k in T.grid({1}, {0}):\n"
        "            with T.block(\"update\"):\n"
        "                vi, vk = T.axis.remap(\"SR\", [i, k])\n"
        "                C[vi] = C[vi] + T.cast(A[vk], \"{2}\") * T.cast(B[vi * {0} + vk], "
        "\"{2}\")\n",
        operands.depth, lanes, to_string(operands.sum));
  }

  static std::string instruction(const DotOperands& operands, int lanes, const std::string& sums,
                                 const std::string& left, const std::string& right) {
    return fmt::format(
        "T.call_llvm_pure_intrin(\"{}x{}\", \"llvm.x86.{}.{}\", T.uint32(3), {}, {}, {})",
        to_string(operands.sum), lanes,
        operands.sum == f32 ? "avx512bf16.dpbf16ps" : "avx512.vpdpbusd", lanes * 32, sums, left,
        right);
  }

  static std::string done(const DotOperands& operands, int lanes) {
    const auto& [a, b, sum, depth] = operands;
    const std::string sums = fmt::format("C.vload([0], \"{}x{}\")", to_string(sum), lanes);
    const std::string row = fmt::format("A.vload([0], \"{}x{}\")", to_string(a), depth);
    const std::string rows = fmt::format("B.vload([0], \"{}x{}\")", to_string(b), lanes * depth);
    if (sum == f32) {
      std::string places;
      for (int i = 0; i < lanes; ++i) places += "0, 1, ";
      return instruction(operands, lanes, sums, fmt::format("T.Shuffle([{}], [{}])", row, places),
                         rows);
    }
    const auto all = [&](const std::string& value) {
      return fmt::format("T.Broadcast({}, {})", value, lanes);
    };
    const std::string word = fmt::format("T.reinterpret(\"int32\", {})", row);
    if (a.is_uint()) return instruction(operands, lanes, sums, all(word), rows);
    if (b.is_uint()) return instruction(operands, lanes, sums, rows, all(word));
    const std::string top = fmt::format("T.int32({})", top_bits);
    const std::string moved = all(fmt::format("T.bitwise_xor({}, {})", word, top));
    return instruction(operands, lanes, sums, moved, rows) + " - " +
           instruction(operands, lanes, all("0"), all(top), rows);
  }

  void add(std::string_view suffix, const DotOperands& operands, int lanes) {
    const std::string start = head(operands, lanes);
    rows.push_back(
        {kept(fmt::format("dot_{}x{}_{}", lanes, operands.depth, suffix)),
         kept(start + meaning(operands, lanes)),
         kept(start + fmt::format("        C[0:{}] = {}\n", lanes, done(operands, lanes)))});
  }

  std::deque<std::string> texts_;
};

}  // namespace

const std::vector<BuiltinIntrin>& dot_intrins() {
  static const auto* table = new DotTable;
  return table->rows;
}

}  // namespace loopsmith
