// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/swizzle_operands.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

/// Rows of 128 bytes, of which eight take turns.
constexpr std::int64_t columns_of_row = 64, columns_of_part = 8, rows_in_turn = 8;
constexpr std::int64_t bytes_in_turn = 1024;

class OperandSwizzler {
 public:
  explicit OperandSwizzler(const std::vector<Ptr<Buffer>>& operands) {
    for (const Ptr<Buffer>& operand : operands) {
      if (!tiles_.contains(operand.get())) tiles_[operand.get()] = swizzled(*operand);
      memory_.insert(operand->data.get());
    }
  }

  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func) {
    Rewriter rewrite;
    rewrite.on<For>([&](const For& loop) -> Stmt {
      analyzer_.bind(loop.loop_var, range(loop.min, loop.extent));
      return rewrite.children(loop);
    });
    rewrite.on<Allocate>([&](const Allocate& node) -> Stmt {
      Allocate copy = *rewrite.children(node);
      if (!memory_.contains(node.buffer_var.get())) return make(std::move(copy));
      copy.annotations = copy.annotations.with(pool_alignment_key, int_imm(i64, bytes_in_turn));
      return make(std::move(copy));
    });
    rewrite.on<DeclBuffer>([&](const DeclBuffer& node) -> Stmt {
      DeclBuffer copy = *rewrite.children(node);
      if (const auto found = tiles_.find(node.buffer.get()); found != tiles_.end()) {
        copy.buffer = found->second;
      }
      return make(std::move(copy));
    });
    rewrite.on<BufferLoad>(
        [&](const BufferLoad& node) -> Expr { return moved(*rewrite.children(node)); });
    rewrite.on<BufferStore>(
        [&](const BufferStore& node) -> Stmt { return moved(*rewrite.children(node)); });
    return rewrite.body_of(func);
  }

 private:
  static Ptr<Buffer> swizzled(const Buffer& tile) {
    const std::size_t rank = tile.shape.size();
    const std::int64_t* rows = rank < 2 ? nullptr : as_int(tile.shape[rank - 2]);
    const std::int64_t* columns = rank < 2 ? nullptr : as_int(tile.shape[rank - 1]);
    require(
        rows && columns && *rows % rows_in_turn == 0 && *columns % columns_of_row == 0 &&
            tile.strides.empty() && tile.dtype.bits == 16,
        ErrorKind::lower, "operand_tiles_are_whole",
        hint("cache rows of 64 elements, or of a multiple, without gaps between rows"), {},
        "buffer {} in {} is no tile that warps multiply from: 8 rows of 64 elements of 16 bits, "
        "or a multiple, without gaps",
        tile.name, tile.scope());
    Buffer made = tile;
    const DataType type = tile.shape.back().dtype();
    made.shape.resize(rank - 2);
    made.shape.insert(made.shape.end(), {int_imm(type, *columns / columns_of_row),
                                         int_imm(type, *rows), int_imm(type, columns_of_row)});
    return make(std::move(made));
  }

  std::vector<Expr> swizzled_indices(const std::vector<Expr>& indices) {
    const Expr& row = indices[indices.size() - 2];
    const Expr& column = indices.back();
    const auto number = [&](std::int64_t value) { return int_imm(column.dtype(), value); };
    const Expr part = analyzer_.simplify(
        floordiv(floormod(column, number(columns_of_row)), number(columns_of_part)));
    const Expr turn =
        analyzer_.simplify(cast(column.dtype(), floormod(row, int_imm(row.dtype(), rows_in_turn))));
    const Expr place =
        is_const_int(turn, 0) ? part : call(part.dtype(), op("bitwise_xor"), {part, turn});
    std::vector<Expr> made(indices.begin(), indices.end() - 2);
    made.push_back(analyzer_.simplify(floordiv(column, number(columns_of_row))));
    made.push_back(row);
    made.push_back(analyzer_.simplify(place * number(columns_of_part) +
                                      floormod(column, number(columns_of_part))));
    return made;
  }

  Expr moved(BufferLoad load) {
    const auto found = tiles_.find(load.buffer.get());
    if (found == tiles_.end()) return make(std::move(load));
    load.indices = swizzled_indices(load.indices);
    load.buffer = found->second;
    return make(std::move(load));
  }
  Stmt moved(BufferStore store) {
    const auto found = tiles_.find(store.buffer.get());
    if (found == tiles_.end()) return make(std::move(store));
    store.indices = swizzled_indices(store.indices);
    store.buffer = found->second;
    return make(std::move(store));
  }

  Analyzer analyzer_;
  std::unordered_map<const Object*, Ptr<Buffer>> tiles_;  ///< By the buffer whose place they take.
  std::unordered_set<const Object*> memory_;
};

}  // namespace

Ptr<PrimFunc> swizzle_operands(const Ptr<PrimFunc>& func) {
  const std::vector<Ptr<Buffer>> operands = operands_of_warpgroups(func->body);
  return operands.empty() ? func : OperandSwizzler(operands).run(func);
}

}  // namespace loopsmith
