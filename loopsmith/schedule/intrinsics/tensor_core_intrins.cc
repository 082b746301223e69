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
constexpr Type single{"f32", f32}, word{"s32", i32};

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
    for (const Type& type : {half, brain, byte}) {
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
    }
  }

  std::vector<BuiltinIntrin> rows;

 private:
  /// Keeps the text.
  std::string_view kept(std::string text) { return texts_.emplace_back(std::move(text)); }

  /// Both do `store` for each element; the implementation is marked.
  void add(std::string name, const std::string& parameters, const std::string& regions,
           const std::string& axes, const std::string& store, const std::string& mark) {
    const std::string head = fmt::format(
        "@T.prim_func\ndef intrinsic({}):\n    with T.block(\"root\"):\n{}", parameters, regions);
    const bool is_product = axes.size() > 2;
    const std::string loops =
        is_product ? "for i, j, k in T.grid(16, 16, 16):" : "for i, j in T.grid(16, 16):";
    std::string desc =
        head + fmt::format("        {}\n            with T.block(\"tile\"):\n", loops);
    desc += fmt::format("                i_, j_{} = T.axis.remap(\"{}\", [i, j{}])\n",
                        is_product ? ", k_" : "", axes, is_product ? ", k" : "");
    desc += "                " + store + "\n";
    std::string impl = head;
    impl += fmt::format("        with T.attr(0, \"warp_instruction\", \"{}\"):\n", mark);
    impl += fmt::format("            for i_, j_{} in T.grid(16, 16{}):\n                {}\n",
                        is_product ? ", k_" : "", is_product ? ", 16" : "", store);
    rows.push_back({kept(std::move(name)), kept(std::move(desc)), kept(std::move(impl))});
  }

  static std::string tile(std::string_view name, const Type& type, std::string_view scope) {
    return fmt::format("{}: T.Buffer((16, 16), \"{}\", scope=\"{}\")", name, to_string(type.dtype),
                       scope);
  }

  static std::string suffix(std::string_view scope) {
    return scope == "shared.dyn" ? "shared_dyn" : std::string(scope);
  }

  void add_copy(std::string name, const std::string& from, const std::string& into,
                const std::string& mark) {
    add(std::move(name), from + ", " + into,
        "        T.reads(S[0:16, 0:16])\n        T.writes(D[0:16, 0:16])\n", "SS",
        "D[i_, j_] = S[i_, j_]", mark);
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
        fmt::format("D[i_, j_] = T.cast(0, \"{}\")", to_string(type.dtype)), "fill");
  }

  void add_product(const Type& type, const Type& sum, const Sides& transposed) {
    const auto widened = [&](const std::string& value) {
      return type.dtype == sum.dtype
                 ? value
                 : fmt::format("T.cast({}, \"{}\")", value, to_string(sum.dtype));
    };
    add(fmt::format("wmma_sync_16x16x16_{0}{0}{1}{2}", type.name, sum.name, transposed.suffix()),
        tile("A", type, "wmma.matrix_a") + ", " + tile("B", type, "wmma.matrix_b") + ", " +
            tile("C", sum, "wmma.accumulator"),
        "        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])\n"
        "        T.writes(C[0:16, 0:16])\n",
        "SSR",
        fmt::format("C[i_, j_] = C[i_, j_] + {} * {}",
                    widened(transposed.left ? "A[k_, i_]" : "A[i_, k_]"),
                    widened(transposed.right ? "B[j_, k_]" : "B[k_, j_]")),
        "mma");
  }

  std::deque<std::string> texts_;
};

}  // namespace

const std::vector<BuiltinIntrin>& tensor_core_intrins() {
  static const auto* table = new Table;
  return table->rows;
}

}  // namespace loopsmith
