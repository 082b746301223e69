// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/intrinsics/dot_intrins.h"

#include <fmt/format.h>
#include <deque>
#include <string>

#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace {

/// What an intrinsic multiplies and sums: `groups` times as many products as the instruction does.
struct DotOperands {
  DataType a, b, sum;
  int depth;
  int groups = 1;
};
constexpr DotOperands unsigned_by_signed{u8, i8, i32, 4}, both_signed{i8, i8, i32, 4},
    both_signed_twice{i8, i8, i32, 4, 2}, signed_by_unsigned{i8, u8, i32, 4},
    brain_floats{bf16, bf16, f32, 2};

/// -128, or 128 without a sign, in each byte of 32 bits.
constexpr int top_bits = -0x7F7F7F80;

class DotTable {
 public:
  DotTable() {
    for (const int lanes : {16, 8}) {
      add("u8i8_vnni", unsigned_by_signed, lanes);
      add("i8i8_vnni", both_signed, lanes);
      add("i8i8_vnni", both_signed_twice, lanes);
      add("i8u8_vnni", signed_by_unsigned, lanes);
      add("bf16bf16_avx512bf16", brain_floats, lanes);
    }
    for (const char* scope : {"shared", "shared.dyn", "global"}) {
      for (const DataType a : {i8, u8}) {
        for (const DataType b : {i8, u8}) add_of_threads(a, b, i32, scope);
      }
      add_of_threads(u8, u8, u32, scope);
    }
  }

  std::vector<BuiltinIntrin> rows;

 private:
  /// Keeps the text.
  std::string_view kept(std::string text) { return texts_.emplace_back(std::move(text)); }

  static std::string head(const DotOperands& operands, int lanes) {
    const auto& [a, b, sum, depth, groups] = operands;
    const std::string lines = groups == 1 ? "" : fmt::format("{}, ", groups);
    const std::string all_lines = groups == 1 ? "" : fmt::format("0:{}, ", groups);
    return fmt::format(
        "@T.prim_func\ndef intrinsic(A: T.Buffer(({0},), \"{2}\"), B: T.Buffer(({6}{5},), "
        "\"{3}\"), C: T.Buffer(({1},), \"{4}\")):\n"
        "    with T.block(\"root\"):\n"
        "        T.reads(C[0:{1}], A[0:{0}], B[{7}0:{5}])\n"
        "        T.writes(C[0:{1}])\n",
        depth * groups, lanes, to_string(a), to_string(b), to_string(sum), lanes * depth, lines,
        all_lines);
  }

  static std::string meaning(const DotOperands& operands, int lanes) {
    const int depth = operands.depth;
    const std::string place = operands.groups == 1
                                  ? fmt::format("vi * {} + vk", depth)
                                  : fmt::format("vk // {0}, vi * {0} + vk % {0}", depth);
    return fmt::format(
        "        for i, k in T.grid({1}, {0}):\n"
        "            with T.block(\"update\"):\n"
        "                vi, vk = T.axis.remap(\"SR\", [i, k])\n"
        "                C[vi] = C[vi] + T.cast(A[vk], \"{2}\") * T.cast(B[{3}], \"{2}\")\n",
        depth * operands.groups, lanes, to_string(operands.sum), place);
  }

  static std::string instruction(const DotOperands& operands, int lanes, const std::string& sums,
                                 const std::string& left, const std::string& right) {
    return fmt::format(
        "T.call_llvm_pure_intrin(\"{}x{}\", \"llvm.x86.{}.{}\", T.uint32(3), {}, {}, {})",
        to_string(operands.sum), lanes,
        operands.sum == f32 ? "avx512bf16.dpbf16ps" : "avx512.vpdpbusd", lanes * 32, sums, left,
        right);
  }

  /// `sums` and the products of a group.
  static std::string added(const DotOperands& operands, int lanes, int group,
                           const std::string& sums) {
    const auto& [a, b, sum, depth, groups] = operands;
    const std::string row =
        fmt::format("A.vload([{}], \"{}x{}\")", group * depth, to_string(a), depth);
    if (sum == f32) {
      std::string places;
      for (int i = 0; i < lanes; ++i) places += "0, 1, ";
      return instruction(operands, lanes, sums, fmt::format("T.Shuffle([{}], [{}])", row, places),
                         line(operands, lanes, group));
    }
    const std::string word = fmt::format("T.reinterpret(\"int32\", {})", row);
    if (a.is_uint()) {
      return instruction(operands, lanes, sums, broadcast(word, lanes),
                         line(operands, lanes, group));
    }
    if (b.is_uint()) {
      return instruction(operands, lanes, sums, line(operands, lanes, group),
                         broadcast(word, lanes));
    }
    const std::string moved = fmt::format("T.bitwise_xor({}, T.int32({}))", word, top_bits);
    return instruction(operands, lanes, sums, broadcast(moved, lanes),
                       line(operands, lanes, group));
  }

  /// All lanes' elements of B in a group.
  static std::string line(const DotOperands& operands, int lanes, int group) {
    return fmt::format("B.vload([{}0], \"{}x{}\")",
                       operands.groups == 1 ? "" : fmt::format("{}, ", group),
                       to_string(operands.b), lanes * operands.depth);
  }

  static std::string broadcast(const std::string& value, int lanes) {
    return fmt::format("T.Broadcast({}, {})", value, lanes);
  }

  static std::string done(const DotOperands& operands, int lanes) {
    std::string sums = fmt::format("C.vload([0], \"{}x{}\")", to_string(operands.sum), lanes);
    std::string share = broadcast("0", lanes);  // Of 128 in each element of A.
    for (int group = 0; group < operands.groups; ++group) {
      sums = added(operands, lanes, group, sums);
      share = instruction(operands, lanes, share,
                          broadcast(fmt::format("T.int32({})", top_bits), lanes),
                          line(operands, lanes, group));
    }
    return operands.a == i8 && operands.b == i8 ? sums + " - " + share : sums;
  }

  void add(std::string_view suffix, const DotOperands& operands, int lanes) {
    const std::string start = head(operands, lanes);
    rows.push_back(
        {kept(fmt::format("dot_{}x{}_{}", lanes, operands.depth * operands.groups, suffix)),
         kept(start + meaning(operands, lanes)),
         kept(start + fmt::format("        C[0:{}] = {}\n", lanes, done(operands, lanes)))});
  }

  /// `dp4a` of GPUs: one result of a thread.
  void add_of_threads(DataType a, DataType b, DataType sum, const std::string& scope) {
    const auto letters = [](DataType type) {
      return fmt::format("{}{}", type.is_uint() ? 'u' : 's', type.bits);
    };
    const auto operand = [&](char name, DataType type) {
      return fmt::format("{}: T.Buffer((4,), \"{}\", scope=\"{}\")", name, to_string(type), scope);
    };
    const std::string start = fmt::format(
        "@T.prim_func\ndef intrinsic({}, {}, C: T.Buffer((1,), \"{}\", scope=\"local\")):\n"
        "    with T.block(\"root\"):\n"
        "        T.reads(C[0:1], A[0:4], B[0:4])\n"
        "        T.writes(C[0:1])\n",
        operand('A', a), operand('B', b), to_string(sum));
    const std::string suffix = scope == "shared"       ? ""
                               : scope == "shared.dyn" ? "_shared_dyn"
                                                       : "_global";
    rows.push_back(
        {kept(fmt::format("dp4a_{}{}{}{}", letters(a), letters(b), letters(sum), suffix)),
         kept(start + fmt::format("        for k in range(4):\n"
                                  "            with T.block(\"update\"):\n"
                                  "                vk = T.axis.reduce(4, k)\n"
                                  "                C[0] = C[0] + T.cast(A[vk], \"{0}\") * "
                                  "T.cast(B[vk], \"{0}\")\n",
                                  to_string(sum))),
         kept(start + fmt::format("        C[0] = T.dp4a(\"{}\", A.vload([0], \"{}x4\"), "
                                  "B.vload([0], \"{}x4\"), C[0])\n",
                                  to_string(sum), to_string(a), to_string(b)))});
  }

  std::deque<std::string> texts_;
};

}  // namespace

const std::vector<BuiltinIntrin>& dot_intrins() {
  static const auto* table = new DotTable;
  return table->rows;
}

}  // namespace loopsmith
