// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/fragments.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/fragment_layout.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/tensor_core_calls.h"
#include "loopsmith/transform/thread_axes.h"
#include "loopsmith/transform/warp_instruction.h"

namespace loopsmith {
namespace {

/// Whether rows and columns have changed places.
enum class Orientation : std::uint8_t { as_is, transposed };

/// How a fragment is laid out, as far as something asks for it.
struct Demand {
  FragmentUse use;
  Orientation orientation;
  DataType dtype;

  FragmentLayout at(const Expr& t, const Expr& r) const {
    return fragment_layout(use, dtype, orientation == Orientation::transposed, t, r);
  }
  Expr number_of(const Expr& row, const Expr& column) const {
    return element_number(use, dtype, orientation == Orientation::transposed, row, column);
  }
};

/// The kernel of one launch.
class RegisterAllocator {
 public:
  explicit RegisterAllocator(const Launch& launch) {
    for (const Ptr<For>& loop : launch.threads) {
      if (thread_axis_of(*loop) != ThreadAxis::thread_x) continue;
      thread_ = loop->loop_var;
      analyzer_.bind(thread_, range(int_imm(thread_->dtype, 0), loop->extent));
      is_warp_ = is_const_int(loop->extent, threads_of_warp);
    }
    std::int64_t warps = 1;
    for (const ThreadAxis axis : {ThreadAxis::thread_y, ThreadAxis::thread_z}) {
      const auto found = std::ranges::find_if(
          launch.threads, [&](const Ptr<For>& each) { return thread_axis_of(*each) == axis; });
      if (found == launch.threads.end()) continue;
      const For& loop = **found;
      warp_ = warp_ + cast(i32, loop.loop_var) * static_cast<int>(warps);
      analyzer_.bind(loop.loop_var, range(int_imm(loop.loop_var->dtype, 0), loop.extent));
      if (const std::int64_t* extent = as_int(loop.extent)) warps *= *extent;
    }
  }

  Stmt run(const Stmt& body) {
    Rewriter rewrite;
    rewrite.on<Allocate>([&](const Allocate& node) -> Stmt {
      if (is_fragment(memory_scope(*node.buffer_var))) return rewrite(in_registers(node));
      return rewrite.children(node);
    });
    rewrite.on<AttrStmt>([&](const AttrStmt& node) -> Stmt {
      if (node.attr_key != warp_instruction) return rewrite.children(node);
      return instruction(instruction_of(node), node);
    });
    // Bounds of loops are known where their bodies are.
    rewrite.on<For>([&](const For& loop) -> Stmt {
      analyzer_.bind(loop.loop_var, range(loop.min, loop.extent));
      return rewrite.children(loop);
    });
    rewrite.on<BufferLoad>(
        [&](const BufferLoad& node) -> Expr { return rewrite.children(*held_element(node)); });
    rewrite.on<BufferStore>(
        [&](const BufferStore& node) -> Stmt { return rewrite.children(*held_element(node)); });
    return rewrite(body);
  }

 private:
  /// An access outside of instructions: to an element of the registers of the thread that names it.
  template <class Access>
  Ptr<Access> held_element(const Access& access) {
    const Buffer& tile = *access.buffer;
    if (!is_fragment(memory_scope(tile))) return Ptr<Access>(&access);
    const std::size_t column = access.indices.size() - 1, row = column - 1;
    for (const Demand& each : demands_for(tile)) {
      const Expr number =
          analyzer_.simplify(each.number_of(access.indices[row], access.indices[column]));
      if (!is_warp_ || !is_held(each.at(cast(number.dtype(), thread_), number), access.indices))
        continue;
      demand(tile, each, access.span);
      Access own = access;
      own.buffer = registers_.at(&tile);
      for (const std::size_t d : {row, column}) {
        own.indices[d] = analyzer_.simplify(floordiv(own.indices[d], 16));
      }
      own.indices.push_back(number);
      return make(std::move(own));
    }
    fail(ErrorKind::lower, "fragment_is_used_by_instructions",
         hint("tensorize what uses it by wmma_load_..., wmma_fill_..., wmma_sync_... or "
              "wmma_store_..., or let thread 4 a + b of 32 along x use elements of row a + 8 i and "
              "column 2 b + 8 j + (0 or 1) of the results"),
         access.span,
         "buffer {} is in {}, whose elements lie in many threads, and is used outside of "
         "tensor intrinsics by threads that do not hold them",
         tile.name, tile.scope());
  }

  bool is_held(const FragmentLayout& place, const std::vector<Expr>& indices) {
    const std::size_t last = indices.size() - 1;
    return analyzer_.can_prove_equal(floormod(indices[last - 1], 16), place.row) &&
           analyzer_.can_prove_equal(floormod(indices[last], 16), place.column);
  }

  /// The allocation of an array of each thread, and what it takes the place of.
  Stmt in_registers(const Allocate& allocate) {
    const auto* decl = allocate.body.as<DeclBuffer>();
    check(decl, "fragments_in_registers", "a fragment has no buffer");
    const Buffer& tile = *decl->buffer;
    const std::size_t rank = tile.shape.size();
    Buffer made{.data = pointer_var(tile.data->name, tile.dtype, "local"), .dtype = tile.dtype};
    made.name = tile.name;
    for (std::size_t d = 0; d < rank; ++d) {
      const bool is_of_tile = d + 2 >= rank;
      const Expr size = analyzer_.simplify(tile.shape[d]);
      const std::int64_t* extent = as_int(size);
      require(rank >= 2 && (!is_of_tile || extent), ErrorKind::lower, "fragments_are_counted",
              hint("split the loops by 16, and cache what is inside"), allocate.span,
              "buffer {} in {} is no constant number of tiles of 16 x 16", tile.name, tile.scope());
      // Of the last tiles a part may be used alone.
      made.shape.push_back(
          is_of_tile ? int_imm(tile.shape[d].dtype(), (*extent + fragment_size - 1) / fragment_size)
                     : tile.shape[d]);
    }
    made.shape.push_back(int_imm(made.shape.back().dtype(), elements_of_thread));
    const Ptr<Buffer> registers = make(std::move(made));
    registers_[decl->buffer.get()] = registers;
    Allocate copy = allocate;
    copy.buffer_var = registers->data;
    copy.extents = registers->shape;
    copy.body = make(DeclBuffer{.buffer = registers, .body = decl->body});
    return make(std::move(copy));
  }

  Stmt instruction(const std::string& name, const AttrStmt& mark) {
    const MarkedStore marked = marked_store(mark.body);
    // Launches have as many along x as what was shared out among lanes.
    check(thread_ && is_warp_, "fragments_in_registers", "{} runs on no warp", name);
    require_known(marked.store && marked.loops.size() == (is_product(name) ? 2 : 1), mark);
    for (const Ptr<For>& loop : marked.loops) {
      analyzer_.bind(loop->loop_var, range(loop->min, loop->extent));
    }
    if (name == "wgmma") return warpgroup_product(marked, mark);
    return is_product(name) ? product(marked, mark) : copy_of_tile(marked, mark);
  }

  // ---- Copies ----

  /// `load`, `store`, `fill`: each thread does its own elements.
  Stmt copy_of_tile(const MarkedStore& marked, const AttrStmt& mark) {
    const BufferStore& store = *marked.store;
    const Ptr<Var>& r = marked.loops[0]->loop_var;
    BufferStore made = store;
    const auto* source = store.value.as<BufferLoad>();
    if (is_fragment(memory_scope(*store.buffer))) {
      made.indices = own_elements(*store.buffer, store.indices, r, mark);
      made.buffer = registers_.at(store.buffer.get());
      if (source) {
        if (const Stmt loaded = load_rows(made, *source, *store.buffer, r)) return loaded;
      }
    } else if (source && is_fragment(memory_scope(*source->buffer))) {
      BufferLoad own = *source;
      own.indices = own_elements(*source->buffer, source->indices, r, mark);
      own.buffer = registers_.at(source->buffer.get());
      made.value = make(std::move(own));
    }
    For loop = *marked.loops[0];
    loop.kind = ForKind::unrolled;
    loop.body = make(std::move(made));
    return make(std::move(loop));
  }

  /// The index of a thread's array for element `r`, of the tile that starts at the first element.
  std::vector<Expr> own_elements(const Buffer& tile, const std::vector<Expr>& indices,
                                 const Ptr<Var>& r, const AttrStmt& mark) {
    for (const Demand& each : demands_for(tile)) {
      if (!lies_as(each, indices, r)) continue;
      demand(tile, each, mark.span);
      return element(indices, r, Expr(r));
    }
    refuse_layout(tile, mark.span);
  }

  /// The layouts that instructions know for tiles of a scope.
  static std::vector<Demand> demands_for(const Buffer& tile) {
    const FragmentUse use = use_of(tile);
    std::vector<Demand> demands = {{use, Orientation::as_is, tile.dtype}};
    if (use != FragmentUse::results) demands.push_back({use, Orientation::transposed, tile.dtype});
    return demands;
  }

  /// The indices with values for the variables of the loops around the element.
  std::vector<Expr> at(const std::vector<Expr>& indices, const Substitution& values) {
    std::vector<Expr> found;
    for (const Expr& index : indices)
      found.push_back(analyzer_.simplify(substitute(index, values)));
    return found;
  }
  Substitution first(const Ptr<Var>& r) const {
    return {{thread_, int_imm(thread_->dtype, 0)}, {r, int_imm(r->dtype, 0)}};
  }

  bool lies_as(const Demand& demand, const std::vector<Expr>& indices, const Ptr<Var>& r) {
    const FragmentLayout layout = demand.at(cast(i32, thread_), cast(i32, r));
    const std::vector<Expr> start = at(indices, first(r));
    const std::size_t rank = indices.size();
    const auto is_at = [&](std::size_t d, const Expr& wanted) {
      return analyzer_.can_prove_equal(indices[d], start[d] + cast(start[d].dtype(), wanted)) &&
             analyzer_.can_prove(floormod(start[d], 16) == 0);
    };
    return is_at(rank - 2, layout.row) && is_at(rank - 1, layout.column);
  }

  /// The index of an array of a thread: whose tile, and which element of it.
  std::vector<Expr> element(const std::vector<Expr>& indices, const Ptr<Var>& r,
                            const Expr& number) {
    std::vector<Expr> made = at(indices, first(r));
    for (std::size_t d = made.size() - 2; d < made.size(); ++d) {
      made[d] = analyzer_.simplify(floordiv(made[d], 16));
    }
    made.push_back(cast(made.back().dtype(), number));
    return made;
  }

  void demand(const Buffer& tile, const Demand& wanted, const Span& span) {
    const auto [known, is_new] = layouts_.try_emplace(&tile, wanted.orientation);
    if (!is_new && known->second != wanted.orientation) refuse_layout(tile, span);
  }

  [[noreturn]] static void refuse_layout(const Buffer& tile, const Span& span) {
    fail(ErrorKind::lower, "fragment_has_one_layout",
         hint("load and multiply it by intrinsics of one kind, both with _trans or both without"),
         span, "elements of buffer {} in {} lie in other threads than an instruction asks for",
         tile.name, tile.scope());
  }

  /// `ptx_ldmatrix`: lanes say where rows of 16 bytes begin, and each gets its elements. Null where
  /// rows are not known to be whole and aligned.
  Stmt load_rows(const BufferStore& into, const BufferLoad& source, const Buffer& tile,
                 const Ptr<Var>& r) {
    const Orientation orientation = layouts_.at(&tile);
    const int bytes = tile.dtype.bytes();
    const bool is_right = memory_scope(tile) == MemoryScope::matrix_b;
    // Neighbours in memory are steps of the sum, or the instruction transposes elements of 16 bits.
    const bool has_steps_last = is_right == (orientation == Orientation::transposed);
    if (!is_shared(memory_scope(*source.buffer)) || (bytes != 2 && !has_steps_last)) return {};
    // A fragment of bytes are two matrices, of 16 bits four, of 32 bits eight: two instructions.
    const int matrices = std::min(2 * bytes, 4);
    std::vector<Stmt> loads;
    for (int from = 0; from < 2 * bytes; from += matrices) {
      loads.push_back(load_matrices(into, source, r, {from, matrices, !has_steps_last}));
      if (!loads.back()) return {};
    }
    return seq(std::move(loads));
  }

  struct MatrixLoad {
    int from, count;  ///< The number of the first matrix, and how many there are.
    bool is_transposed;
  };

  Stmt load_matrices(const BufferStore& into, const BufferLoad& source, const Ptr<Var>& r,
                     const MatrixLoad& wanted) {
    const DataType element = source.buffer->dtype, type = thread_->dtype;
    const std::int64_t in_row = 16 / element.bytes(), together = neighbours_of_thread(element);
    // Matrix m of 8 rows is asked for by lanes 8 m to 8 m + 7. The first of its elements is number
    // `together * m` of the thread that holds the first of the row.
    const Expr lane = wanted.count == 4 ? Expr(thread_) : floormod(thread_, wanted.count * 8);
    const Expr matrix = floordiv(lane, 8) + wanted.from;
    const auto number = [&](const Expr& inside) {
      return cast(r->dtype, matrix * static_cast<int>(together) + inside);
    };
    // The elements of row `lane % 8` of the matrix, from the first.
    const auto place = [&](std::int64_t column) -> Expr {
      Substitution values;
      if (wanted.is_transposed) {
        // The row is a step of the sum, its elements belong to eight groups of threads.
        values = {{thread_, int_imm(type, column * 4) + floordiv(floormod(lane, 8), 2)},
                  {r, number(floormod(lane, 2))}};
      } else {
        values = {{thread_, floormod(lane, 8) * 4 + int_imm(type, column / together)},
                  {r, number(int_imm(type, column % together))}};
      }
      return offset_in(*source.buffer, at(source.indices, values));
    };
    const Expr start = analyzer_.simplify(place(0));
    for (std::int64_t column = 1; column < in_row; ++column) {
      if (!analyzer_.can_prove_equal(place(column), start + int_imm(start.dtype(), column)))
        return {};
    }
    if (!analyzer_.can_prove(floormod(start, int_imm(start.dtype(), in_row)) == 0)) return {};
    Substitution row_start;
    if (wanted.is_transposed) {
      row_start = {{thread_, floordiv(floormod(lane, 8), 2)}, {r, number(floormod(lane, 2))}};
    } else {
      row_start = {{thread_, floormod(lane, 8) * 4}, {r, number(int_imm(type, 0))}};
    }
    BufferLoad from = source;
    from.indices = at(source.indices, row_start);
    std::vector<Expr> own = into.indices;
    own.back() = int_imm(own.back().dtype(), wanted.from * together);
    const Expr target = call(op("address_of"), {load(into.buffer, own)});
    const Expr row = call(op("address_of"), {make(std::move(from))});
    return matrix_load(into.buffer->dtype, wanted.count, wanted.is_transposed, target, row);
  }

  static Expr offset_in(const Buffer& buffer, const std::vector<Expr>& indices) {
    const std::vector<Expr> strides = strides_of(buffer);
    Expr offset = buffer.elem_offset.defined() ? buffer.elem_offset : int_imm(i32, 0);
    for (std::size_t d = 0; d < indices.size(); ++d) {
      offset = cast(indices[d].dtype(), offset) + indices[d] * cast(indices[d].dtype(), strides[d]);
    }
    return offset;
  }

  // ---- Products ----

  /// `mma`: a tile of 16 columns is two of 8, one after the other.
  Stmt product(const MarkedStore& marked, const AttrStmt& mark) {
    const BufferStore& store = *marked.store;
    const Ptr<Var>& r = marked.loops[0]->loop_var;
    const Ptr<Var>& k = marked.loops[1]->loop_var;
    const BufferLoad* operands[2] = {};
    pre_order_visit(store.value, [&](const Ref& ref) {
      const auto* found = ref.as<BufferLoad>();
      if (found && use_of(*found->buffer) == FragmentUse::left) operands[0] = found;
      if (found && use_of(*found->buffer) == FragmentUse::right) operands[1] = found;
      return true;
    });
    require(operands[0] && operands[1] && memory_scope(*store.buffer) == MemoryScope::accumulator,
            ErrorKind::lower, "product_is_of_fragments", hint("cache its operands in fragments"),
            mark.span,
            "mma multiplies tiles in wmma.matrix_a and wmma.matrix_b into "
            "wmma.accumulator");
    own_elements(*store.buffer, store.indices, r, mark);
    const std::vector<Expr> results = element(store.indices, r, int_imm(i32, 0));
    std::vector<Expr> of_operand[2];
    for (int side = 0; side < 2; ++side) {
      const BufferLoad& load = *operands[side];
      const std::size_t last = load.indices.size() - 1;
      Substitution start = first(r);
      start[k] = int_imm(k->dtype, 0);
      const std::vector<Expr> from = at(load.indices, start);
      // Which of its two indices counts the steps of the sum.
      const auto counts_steps = [&](std::size_t d) {
        return analyzer_.can_prove_equal(load.indices[d], from[d] + cast(from[d].dtype(), k));
      };
      const bool is_last = counts_steps(last);
      if (!is_last && !counts_steps(last - 1)) refuse_layout(*load.buffer, mark.span);
      const bool is_transposed = is_last == (side == 1);
      demand(*load.buffer,
             {side == 0 ? FragmentUse::left : FragmentUse::right,
              is_transposed ? Orientation::transposed : Orientation::as_is, load.buffer->dtype},
             mark.span);
      of_operand[side] = from;
      for (std::size_t d = last - 1; d <= last; ++d) {
        of_operand[side][d] = analyzer_.simplify(floordiv(from[d], 16));
      }
      of_operand[side].push_back(int_imm(from[last].dtype(), 0));
    }
    const DataType type = operands[0]->buffer->dtype, sum = store.buffer->dtype;
    // Of 32 bits an instruction takes 8 steps of the sum.
    const std::int64_t parts = type.bits == 32 ? 2 : 1;
    std::vector<Stmt> products;
    for (std::int64_t half = 0; half < 2; ++half) {
      for (std::int64_t part = 0; part < parts; ++part) {
        const auto address = [&](const Buffer& tile, std::vector<Expr> indices,
                                 std::int64_t number) {
          indices.back() = int_imm(indices.back().dtype(), number);
          return call(op("address_of"), {load(registers_.at(&tile), indices)});
        };
        products.push_back(matrix_product(
            {.shape = parts == 2 ? "m16n8k8" : "m16n8k16", .operands = type, .results = sum},
            address(*operands[0]->buffer, of_operand[0], part * 4),
            address(*operands[1]->buffer, of_operand[1], half * 4 + part * 2),
            address(*store.buffer, results, half * 4)));
      }
    }
    return seq(std::move(products));
  }

  /// `wgmma`: four warps multiply 64 rows, each has 16 of the results. Operands lie in shared
  /// memory as `swizzle_operands` says.
  Stmt warpgroup_product(const MarkedStore& marked, const AttrStmt& mark) {
    const BufferStore& store = *marked.store;
    const Ptr<Var>& r = marked.loops[0]->loop_var;
    const Ptr<Var>& k = marked.loops[1]->loop_var;
    const BufferLoad* operands[2] = {};
    pre_order_visit(store.value, [&](const Ref& ref) {
      const auto* found = ref.as<BufferLoad>();
      if (found && is_shared(memory_scope(*found->buffer))) {
        operands[is_same_in_next_row(*found, r) ? 1 : 0] = found;
      }
      return true;
    });
    require(operands[0] && operands[1] && memory_scope(*store.buffer) == MemoryScope::accumulator,
            ErrorKind::lower, "product_is_of_shared_tiles",
            hint("cache its operands in shared.dyn"), mark.span,
            "wgmma multiplies tiles in shared.dyn into wmma.accumulator");
    own_elements(*store.buffer, store.indices, r, mark);
    Expr addresses[2];
    bool has_steps_last[2];
    for (int side = 0; side < 2; ++side) {
      const BufferLoad& load = *operands[side];
      const std::size_t last = load.indices.size() - 1;
      Substitution start = first(r);
      start[k] = int_imm(k->dtype, 0);
      BufferLoad from = load;
      from.indices = at(load.indices, start);
      has_steps_last[side] = analyzer_.can_prove_equal(
          load.indices[last], from.indices[last] + cast(from.indices[last].dtype(), k));
      if (side == 0) {
        Expr& row = from.indices[has_steps_last[0] ? last - 1 : last];
        row = first_of_four_warps(row, mark);
      }
      addresses[side] = call(op("address_of"), {make(std::move(from))});
    }
    const Expr results =
        call(op("address_of"),
             {load(registers_.at(store.buffer.get()), element(store.indices, r, int_imm(i32, 0)))});
    const DataType type = operands[0]->buffer->dtype, sum = store.buffer->dtype;
    const std::string shape = fmt::format("m64n{}k{}", *as_int(marked.loops[0]->extent) * 2,
                                          *as_int(marked.loops[1]->extent));
    return matrix_product({.shape = shape,
                           .operands = type,
                           .results = sum,
                           .left_is_row_major = has_steps_last[0],
                           .right_is_column_major = has_steps_last[1]},
                          addresses[0], addresses[1], results);
  }

  /// True of the right operand: thread 4 has the first element of the second row of the results.
  bool is_same_in_next_row(const BufferLoad& load, const Ptr<Var>& r) {
    const Substitution next = {{thread_, int_imm(thread_->dtype, 4)}, {r, int_imm(r->dtype, 0)}};
    const std::vector<Expr> of_first = at(load.indices, first(r)), of_next = at(load.indices, next);
    return std::ranges::equal(of_first, of_next, [&](const Expr& a, const Expr& b) {
      return analyzer_.can_prove_equal(a, b);
    });
  }

  /// The row at which the first of four warps begins, of that where this one does.
  Expr first_of_four_warps(const Expr& row, const AttrStmt& mark) {
    const Expr number = cast(i32, floordiv(row, 16));
    require(analyzer_.can_prove(floormod(number - warp_, 4) == 0), ErrorKind::lower,
            "warps_have_rows_in_turn",
            hint("bind the loop over the 16 rows of each warp to threadIdx.y or threadIdx.z, and "
                 "no other loop to the other"),
            mark.span,
            "wgmma: four warps one after another need rows of the left operand one after another");
    return analyzer_.simplify(floordiv(row, 64) * 64);
  }

  Ptr<Var> thread_;
  Expr warp_ = int_imm(i32, 0);  ///< The number of a warp in its block.
  bool is_warp_ = false;
  Analyzer analyzer_;
  std::unordered_map<const Object*, Ptr<Buffer>> registers_;  ///< By the buffer of tiles.
  std::unordered_map<const Object*, Orientation> layouts_;
};

}  // namespace

Ptr<PrimFunc> fragments_in_registers(const Ptr<PrimFunc>& func) {
  if (!has_fragments(func->body)) return func;
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Stmt stmt(&loop);
    if (!is_launch_loop(stmt)) return rewrite.children(loop);
    Launch launch = launch_of(stmt);
    launch.body = RegisterAllocator(launch).run(launch.body);
    return launch_stmt(launch);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
