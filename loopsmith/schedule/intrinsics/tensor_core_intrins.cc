// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/intrinsics/tensor_core_intrins.h"

#include <fmt/format.h>
#include <deque>
#include <string>

#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace {

struct Type {
  std::string_view name;
  DataType dtype;
};
constexpr Type half{"f16", f16}, brain{"bf16", bf16}, byte{"s8", i8};
constexpr Type single{"f32", f32}, word{"s32", i32}, rounded{"tf32", f32};

/// Which operands of a product are stored by their columns.
struct Sides {
  bool left = false, right = false;

  std::string_view suffix() const {
    if (left) return right ? "_trans_both" : "_trans_left";
    return right ? "_trans" : "";
  }
};

class Table {
 public:
  Table() {
    for (const Type& type : {half, brain, byte, rounded}) {
      for (const bool is_right : {false, true}) {
        for (const bool is_transposed : {false, true}) {
          for (const char* scope : {"shared", "shared.dyn"}) {
            add_load(type, is_right, is_transposed, scope);
          }
        }
      }
    }
    for (const Type& type : {single, half, word}) {
      add_fill(type);
      for (const char* scope : {"shared", "shared.dyn", "global"}) add_store(type, scope);
    }
    for (const Sides& transposed : {Sides{}, {.right = true}, {.left = true}, {true, true}}) {
      add_product(half, single, transposed);
      add_product(half, half, transposed);
      add_product(brain, single, transposed);
      add_product(byte, word, transposed);
      add_product(rounded, single, transposed);
      for (const int columns : {64, 128, 256}) {
        add_warpgroup_product(half, single, columns, transposed);
        add_warpgroup_product(brain, single, columns, transposed);
      }
    }
  }

  std::vector<BuiltinIntrin> rows;

 private:
  /// Keeps the text.
  std::string_view kept(std::string text) { return texts_.emplace_back(std::move(text)); }

  /// Both do `store` for each element; the implementation is marked.
  void add(std::string name, const std::string& parameters, const std::string& regions,
           const std::string& axes, const std::string& store, const std::string& mark,
           const std::string& extents) {
    const std::string head = fmt::format(
        "@T.prim_func\ndef intrinsic({}):\n    with T.block(\"root\"):\n{}", parameters, regions);
    const bool is_product = axes.size() > 2;
    const std::string loops =
        fmt::format("for i, j{} in T.grid({}):", is_product ? ", k" : "", extents);
    std::string desc =
        head + fmt::format("        {}\n            with T.block(\"tile\"):\n", loops);
    desc += fmt::format("                i_, j_{} = T.axis.remap(\"{}\", [i, j{}])\n",
                        is_product ? ", k_" : "", axes, is_product ? ", k" : "");
    desc += "                " + store + "\n";
    std::string impl = head;
    impl += fmt::format("        with T.attr(0, \"warp_instruction\", \"{}\"):\n", mark);
    impl += fmt::format("            for i_, j_{} in T.grid({}):\n                {}\n",
                        is_product ? ", k_" : "", extents, store);
    rows.push_back({kept(std::move(name)), kept(std::move(desc)), kept(std::move(impl))});
  }

  static std::string tile(std::string_view name, const Type& type, std::string_view scope,
                          int rows = 16, int columns = 16) {
    return fmt::format("{}: T.Buffer(({}, {}), \"{}\", scope=\"{}\")", name, rows, columns,
                       to_string(type.dtype), scope);
  }

  static std::string suffix(std::string_view scope) {
    return scope == "shared.dyn" ? "shared_dyn" : std::string(scope);
  }

  void add_copy(std::string name, const std::string& from, const std::string& into,
                const std::string& mark) {
    add(std::move(name), from + ", " + into,
        "        T.reads(S[0:16, 0:16])\n        T.writes(D[0:16, 0:16])\n", "SS",
        "D[i_, j_] = S[i_, j_]", mark, "16, 16");
  }

  void add_load(const Type& type, bool is_right, bool is_transposed, std::string_view scope) {
    add_copy(fmt::format("wmma_load_16x16x16_{}_{}{}_{}", type.name, is_right ? 'b' : 'a',
                         is_transposed ? "_trans" : "", suffix(scope)),
             tile("S", type, scope), tile("D", type, is_right ? "wmma.matrix_b" : "wmma.matrix_a"),
             is_transposed ? "load_trans" : "load");
  }

  void add_store(const Type& type, std::string_view scope) {
    add_copy(fmt::format("wmma_store_16x16x16_{}_{}", type.name, suffix(scope)),
             tile("S", type, "wmma.accumulator"), tile("D", type, scope), "store");
  }

  void add_fill(const Type& type) {
    add(fmt::format("wmma_fill_16x16x16_{}", type.name), tile("D", type, "wmma.accumulator"),
        "        T.reads()\n        T.writes(D[0:16, 0:16])\n", "SS",
        fmt::format("D[i_, j_] = T.cast(0, \"{}\")", to_string(type.dtype)), "fill", "16, 16");
  }

  /// `C[i, j] = C[i, j] + A * B`, whose operands may be stored by their columns.
  static std::string sum_of_products(const Type& type, const Type& sum, const Sides& transposed) {
    const auto widened = [&](const std::string& value) {
      return type.dtype == sum.dtype
                 ? value
                 : fmt::format("T.cast({}, \"{}\")", value, to_string(sum.dtype));
    };
    return fmt::format("C[i_, j_] = C[i_, j_] + {} * {}",
                       widened(transposed.left ? "A[k_, i_]" : "A[i_, k_]"),
                       widened(transposed.right ? "B[j_, k_]" : "B[k_, j_]"));
  }

  void add_product(const Type& type, const Type& sum, const Sides& transposed) {
    add(fmt::format("wmma_sync_16x16x16_{0}{0}{1}{2}", type.name, sum.name, transposed.suffix()),
        tile("A", type, "wmma.matrix_a") + ", " + tile("B", type, "wmma.matrix_b") + ", " +
            tile("C", sum, "wmma.accumulator"),
        "        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])\n"
        "        T.writes(C[0:16, 0:16])\n",
        "SSR", sum_of_products(type, sum, transposed), "mma", "16, 16, 16");
  }

  /// What a warp does of a product of four: 16 rows of the results, from operands in shared memory.
  void add_warpgroup_product(const Type& type, const Type& sum, int columns,
                             const Sides& transposed) {
    constexpr int rows = 16, steps = 64;
    const auto operand = [&](std::string_view name, int across, bool has_steps_last) {
      return tile(name, type, "shared.dyn", has_steps_last ? across : steps,
                  has_steps_last ? steps : across);
    };
    const auto region = [&](std::string_view name, int across, bool has_steps_last) {
      return has_steps_last ? fmt::format("{}[0:{}, 0:{}]", name, across, steps)
                            : fmt::format("{}[0:{}, 0:{}]", name, steps, across);
    };
    const std::string results = fmt::format("C[0:{}, 0:{}]", rows, columns);
    add(fmt::format("wgmma_sync_16x{0}x{1}_{2}{2}{3}{4}", columns, steps, type.name, sum.name,
                    transposed.suffix()),
        operand("A", rows, !transposed.left) + ", " + operand("B", columns, transposed.right) +
            ", " + tile("C", sum, "wmma.accumulator", rows, columns),
        fmt::format("        T.reads({0}, {1}, {2})\n        T.writes({0})\n", results,
                    region("A", rows, !transposed.left), region("B", columns, transposed.right)),
        "SSR", sum_of_products(type, sum, transposed), "wgmma",
        fmt::format("{}, {}, {}", rows, columns, steps));
  }

  std::deque<std::string> texts_;
};

}  // namespace

const std::vector<BuiltinIntrin>& tensor_core_intrins() {
  static const auto* table = new Table;
  return table->rows;
}

}  // namespace loopsmith
