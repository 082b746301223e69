// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/transpose_in_registers.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loop_digits.h"

namespace loopsmith {
namespace {

/// Fewer rows than this are no gain.
constexpr std::int64_t min_lanes = 4;
/// Of more rows, shuffles take longer than loads one by one.
constexpr std::int64_t max_interleaved = 7;
/// Within so many bits of a vector, processors exchange any lanes at once.
constexpr int exchange_bits = 128;

/// Lanes chosen from two vectors: those of `a` are counted first.
Expr chosen(const Expr& a, const Expr& b, const std::vector<int>& lanes) {
  std::vector<Expr> indices(lanes.begin(), lanes.end());
  return make(Shuffle{.vectors = {a, b}, .indices = std::move(indices)});
}

/// Vectors of as many lanes as there are of them, of which lanes and numbers are exchanged, a bit
/// of the number at a time. Each round takes pairs of vectors whose numbers differ in that bit.
///
/// A low bit is exchanged by taking lanes of both in turn: within a piece of `exchange_bits`, the
/// highest bit of the lane becomes the bit of the number, and that of the number the lowest of the
/// lane. After all low bits, the highest first, each is in its place. The bits above are exchanged
/// one by one. See Eklundh, "A fast computer method for matrix transposing" (1972).
class Network {
 public:
  explicit Network(std::vector<Expr> rows)
      : vectors_(std::move(rows)), size_(static_cast<int>(vectors_.size())) {}

  /// The definitions of all vectors on the way, in order.
  std::vector<std::pair<Ptr<Var>, Expr>> definitions;

  std::vector<Expr> run() {
    for (Expr& vector : vectors_) vector = defined(vector);
    const int piece = std::min(size_, exchange_bits / vectors_[0].dtype().bits);
    for (int bit = piece / 2; bit >= 1; bit /= 2) {
      round(bit, [&](int lane, bool is_second) {
        const int half = (lane % piece) / 2 + (is_second ? piece / 2 : 0);
        return lane / piece * piece + half + (lane % 2 == 0 ? 0 : size_);
      });
    }
    for (int bit = piece; bit < size_; bit *= 2) {
      round(bit, [&](int lane, bool is_second) {
        const bool from_second = (lane & bit) != 0;
        return from_second == is_second ? lane + (from_second ? size_ : 0)
                                        : (lane ^ bit) + (from_second ? size_ : 0);
      });
    }
    return vectors_;
  }

 private:
  template <class LaneOf>
  void round(int bit, LaneOf lane_of) {
    for (int first = 0; first < size_; ++first) {
      if ((first & bit) != 0) continue;
      std::vector<int> low, high;
      for (int lane = 0; lane < size_; ++lane) {
        low.push_back(lane_of(lane, false));
        high.push_back(lane_of(lane, true));
      }
      Expr& a = at(first);
      Expr& b = at(first + bit);
      const Expr lower = defined(chosen(a, b, low));
      b = defined(chosen(a, b, high));
      a = lower;
    }
  }
  Expr& at(int number) { return vectors_[static_cast<std::size_t>(number)]; }
  Expr defined(const Expr& value) {
    const Ptr<Var> name = var("lanes", value.dtype());
    definitions.emplace_back(name, value);
    return name;
  }

  std::vector<Expr> vectors_;
  int size_;
};

/// By how much an index grows from one value of a variable to the next, free of it; null where that
/// is not seen. An index does not overflow, so a wider one grows alike.
Expr slope_of(const Expr& index, const Ptr<Var>& variable) {
  const DataType type = index.dtype();
  if (!uses_variable(index, variable)) return int_imm(type, 0);
  if (index.same_as(variable)) return int_imm(type, 1);
  const auto both = [&](const auto& node, auto&& join) -> Expr {
    const Expr a = slope_of(node.a, variable), b = slope_of(node.b, variable);
    return a.defined() && b.defined() ? join(a, b) : Expr();
  };
  if (const auto* sum = index.as<Add>()) return both(*sum, std::plus<Expr>());
  if (const auto* difference = index.as<Sub>()) return both(*difference, std::minus<Expr>());
  if (const auto* product = index.as<Mul>()) {
    const bool is_first = uses_variable(product->a, variable);
    const Expr& factor = is_first ? product->b : product->a;
    const Expr slope = slope_of(is_first ? product->a : product->b, variable);
    return slope.defined() && !uses_variable(factor, variable) ? slope * factor : Expr();
  }
  const auto* wider = index.as<Cast>();
  if (!wider || !wider->value.dtype().is_index() || wider->value.dtype().bits > type.bits) {
    return nullptr;
  }
  const Expr slope = slope_of(wider->value, variable);
  return slope.defined() ? cast(type, slope) : slope;
}

/// A load that moves by one along the outer loop and by `stride` along the inner one.
struct CrossedLoad {
  Ptr<Buffer> buffer;
  Expr index;
  Expr start;  ///< The index in the first iterations.
  Expr stride;
  Ptr<Buffer> tile;
};

/// Loops over `rows` x `columns` lanes around a body that runs under a condition.
class Tile {
 public:
  Tile(const For& outer, int vector_bits) : outer_(outer), vector_bits_(vector_bits) {}

  /// The loops with what they load transposed; null where there is nothing to gain.
  Stmt run() {
    if (!find_loops() || !find_loads()) return nullptr;
    const Expr whole = Analyzer().simplify(conjunction(holds_in_all_));
    if (is_const_int(whole, 1)) return transposed();
    const Stmt parts = in_quarters();
    if (is_const_int(whole, 0) && !parts) return nullptr;
    const Expr some = Analyzer().simplify(conjunction(holds_in_some_));
    const Stmt rest = guarded(some, parts ? parts : Stmt(Ptr<For>(&outer_)));
    if (is_const_int(whole, 0)) return rest;
    // One copy of all this is enough.
    return make(AttrStmt{.attr_key = "pragma_loop_partition_hint",
                         .value = 0,
                         .body = make(IfThenElse{
                             .condition = whole, .then_case = transposed(), .else_case = rest})});
  }

 private:
  bool find_loops() {
    const Stmt inside = under_conditions(outer_.body);
    const auto* inner = inside.as<For>();
    if (!inner || inner->kind != ForKind::vectorized) return false;
    inner_ = inner;
    body_ = written_ = under_conditions(inner->body);
    const std::int64_t *rows = as_int(inner->extent), *columns = as_int(outer_.extent);
    if (!rows || !columns || !is_const_int(inner->step, 1) || !is_const_int(outer_.step, 1) ||
        uses_variable(inner->min, outer_.loop_var)) {
      return false;
    }
    rows_ = *rows;
    columns_ = *columns;
    return stores_alone(body_) && std::ranges::all_of(conditions_, [&](const Expr& condition) {
             return relax(condition);
           });
  }

  /// What stands inside of branches without another case, whose conditions are noted.
  Stmt under_conditions(Stmt stmt) {
    while (const auto* branch = stmt.as<IfThenElse>()) {
      if (branch->else_case) return stmt;
      for (const Expr& each : arith::conjuncts(branch->condition)) conditions_.push_back(each);
      stmt = branch->then_case;
    }
    return stmt;
  }

  static bool stores_alone(const Stmt& stmt) {
    if (const auto* sequence = stmt.as<SeqStmt>()) {
      return std::ranges::all_of(sequence->seq,
                                 [](const Stmt& each) { return stores_alone(each); });
    }
    const auto* store = stmt.as<BufferStore>();
    return store && !store->predicate.defined() && is_pure(store->value);
  }

  /// Notes the condition in the iterations in which it is the hardest and the easiest to fulfil;
  /// false where they are not known.
  bool relax(const Expr& condition) {
    Substitution hardest, easiest;
    if (!find_ends(condition, hardest, easiest)) return false;
    holds_in_all_.push_back(substitute(condition, hardest));
    holds_in_some_.push_back(substitute(condition, easiest));
    return true;
  }

  /// Where the condition is the hardest and the easiest to fulfil; false where that is not known.
  bool find_ends(const Expr& condition, Substitution& hardest, Substitution& easiest) const {
    if (!is_timeless(condition)) return false;
    const auto comparison = arith::comparison_of(condition);
    for (const For* loop : {&outer_, inner_}) {
      if (!uses_variable(condition, loop->loop_var)) continue;
      const Expr slope = comparison && !comparison->is_equality
                             ? slope_of(comparison->left - comparison->right, loop->loop_var)
                             : Expr();
      const std::int64_t* by = slope.defined() ? as_int(slope) : nullptr;
      if (!by) return false;
      const Expr last = loop->min + (loop->extent - int_imm(loop->extent.dtype(), 1));
      hardest[loop->loop_var] = *by > 0 ? last : loop->min;
      easiest[loop->loop_var] = *by > 0 ? loop->min : last;
    }
    return true;
  }

  bool moves(const Expr& index) const {
    return uses_variable(index, outer_.loop_var) || uses_variable(index, inner_->loop_var);
  }

  /// The index without minima with what does not move, and what holds where those change nothing;
  /// null where that is not known.
  Expr without_clamps(const Expr& index, std::vector<Expr>& holds) const {
    bool all_known = true;
    Rewriter rewrite;
    rewrite.on<Min>([&](const Min& node) -> Expr {
      const bool is_first = moves(node.a);
      if (is_first == moves(node.b)) return rewrite.children(node);
      const Expr& moving = is_first ? node.a : node.b;
      const Expr condition = moving <= (is_first ? node.b : node.a);
      Substitution hardest, easiest;
      all_known = all_known && find_ends(condition, hardest, easiest);
      holds.push_back(substitute(condition, hardest));
      return moving;
    });
    const Expr plain = rewrite(index);
    return all_known ? plain : Expr();
  }

  bool find_loads() {
    std::vector<const Object*> stored;
    pre_order_visit(body_, [&](const Ref& ref) {
      if (const auto* store = ref.as<BufferStore>()) stored.push_back(store->buffer->data.get());
      return !is_expr(*ref.get());
    });
    const auto is_stored = [&](const BufferLoad& node) {
      return std::ranges::count(stored, node.buffer->data.get()) != 0;
    };
    pre_order_visit(body_, [&](const Ref& ref) {
      const auto* node = ref.as<BufferLoad>();
      reads_results_ = reads_results_ || (node && is_stored(*node));
      return true;
    });
    Rewriter rewrite;
    // What a choice guards may not be there.
    rewrite.on<Call>([&](const Call& node) -> Expr {
      if (node.op != op("if_then_else")) return rewrite.children(node);
      Call copy = node;
      copy.args[0] = rewrite(node.args[0]);
      return make(std::move(copy));
    });
    rewrite.on<BufferLoad>([&](const BufferLoad& node) -> Expr {
      if (is_stored(node) || node.predicate.defined() || node.indices.size() != 1) {
        return rewrite.children(node);
      }
      const Ptr<Buffer> tile = tile_of(node);
      return tile ? loopsmith::load(tile, {position()}) : Expr(rewrite.children(node));
    });
    body_ = rewrite(body_);
    return !loads_.empty();
  }

  /// The tile that the load is from, if it goes across memory along the inner loop.
  Ptr<Buffer> tile_of(const BufferLoad& node) {
    const Expr& index = node.indices[0];
    for (const CrossedLoad& known : loads_) {
      if (known.buffer.same_as(node.buffer) && structural_equal(known.index, index)) {
        return known.tile;
      }
    }
    const DataType element = node.buffer->dtype;
    if (!is_timeless(index) || element.lanes != 1 || element.bits < 8 || element.is_bool() ||
        (lanes_of(element) < min_lanes && !interleave())) {
      return nullptr;
    }
    std::vector<Expr> holds;
    const Expr plain = without_clamps(index, holds);
    if (!plain.defined()) return nullptr;
    const Expr along = slope_of(plain, outer_.loop_var);
    const Expr across = slope_of(plain, inner_->loop_var);
    const auto is = [](const Expr& slope, std::int64_t value) {
      return !slope.defined() || is_const_int(slope, value);
    };
    if (!along.defined() || !is(along, 1) || is(across, 0) || is(across, 1) ||
        uses_variable(across, outer_.loop_var)) {
      return nullptr;
    }
    const Expr start =
        substitute(plain, {{outer_.loop_var, outer_.min}, {inner_->loop_var, inner_->min}});
    std::ranges::move(holds, std::back_inserter(holds_in_all_));
    const Ptr<Buffer> tile = decl_buffer({int_imm(i32, rows_ * columns_)}, element,
                                         node.buffer->name + "_tile", "local");
    loads_.push_back({node.buffer, index, start, across, tile});
    return tile;
  }

  /// As many lanes as a square of the tile has.
  std::int64_t lanes_of(DataType element) const {
    const std::int64_t common = std::gcd(rows_, columns_);
    return std::min<std::int64_t>(common & -common, vector_bits_ / element.bits);
  }

  /// Where the element of an iteration lies in its tile.
  Expr position() const {
    const Expr column = outer_.loop_var - outer_.min, row = inner_->loop_var - inner_->min;
    return column * int_imm(column.dtype(), rows_) + row;
  }

  /// Loads the squares of a tile, whose lanes are exchanged with their rows.
  void fill(const CrossedLoad& each, std::vector<std::pair<Ptr<Var>, Expr>>& definitions,
            std::vector<Stmt>& parts) const {
    const auto lanes = static_cast<int>(lanes_of(each.tile->dtype));
    const DataType type = each.index.dtype();
    const auto line = [&](const Expr& first) -> Expr {
      return make(Ramp{.base = first, .stride = int_imm(first.dtype(), 1), .lanes = lanes});
    };
    for (std::int64_t row = 0; row < rows_; row += lanes) {
      for (std::int64_t column = 0; column < columns_; column += lanes) {
        std::vector<Expr> loaded;
        for (std::int64_t ahead = 0; ahead < lanes; ++ahead) {
          const Expr first = each.start + cast(type, each.stride) * int_imm(type, row + ahead) +
                             int_imm(type, column);
          loaded.push_back(loopsmith::load(each.buffer, {line(Analyzer().simplify(first))}));
        }
        Network network(std::move(loaded));
        const std::vector<Expr> turned = network.run();
        std::ranges::move(network.definitions, std::back_inserter(definitions));
        for (std::int64_t ahead = 0; ahead < lanes; ++ahead) {
          const Expr first = int_imm(i32, (column + ahead) * rows_ + row);
          parts.push_back(store(each.tile, turned[static_cast<std::size_t>(ahead)], {line(first)}));
        }
      }
    }
  }

  /// Whether a vector holds the tile.
  bool is_one_vector() const {
    const auto* copy = written_.as<BufferStore>();
    return copy && rows_ * columns_ * copy->buffer->dtype.bits <= vector_bits_;
  }

  /// Whether the loops copy a few rows, each in a vector, into neighbours: one element of each row,
  /// then the next ones.
  bool interleave() const {
    const auto* copy = written_.as<BufferStore>();
    const auto* source = copy ? copy->value.as<BufferLoad>() : nullptr;
    if (!source || copy->indices.size() != 1) return false;
    const bool are_few =
        rows_ <= max_interleaved && columns_ * source->buffer->dtype.bits <= vector_bits_;
    if (!are_few && !is_one_vector()) return false;
    const Expr along = slope_of(copy->indices[0], outer_.loop_var);
    const Expr next = slope_of(copy->indices[0], inner_->loop_var);
    return along.defined() && next.defined() && is_const_int(next, 1) && is_const_int(along, rows_);
  }

  /// All elements as one vector, or as many as there are rows.
  Stmt interleaved() const {
    const auto& copy = *written_.as<BufferStore>();
    const CrossedLoad& from = loads_[0];
    const auto line = [](const Expr& first, std::int64_t lanes) -> Expr {
      return make(Ramp{.base = Analyzer().simplify(first),
                       .stride = int_imm(first.dtype(), 1),
                       .lanes = static_cast<int>(lanes)});
    };
    const DataType type = from.index.dtype();
    std::vector<std::pair<Ptr<Var>, Expr>> definitions;
    std::vector<Expr> lines;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const Expr first = from.start + cast(type, from.stride) * int_imm(type, row);
      const Expr loaded = loopsmith::load(from.buffer, {line(first, columns_)});
      lines.push_back(var("lanes", loaded.dtype()));
      definitions.emplace_back(Ptr<Var>::from(lines.back()), loaded);
    }
    const std::int64_t all = rows_ * columns_;
    const std::int64_t lanes = is_one_vector() ? all : columns_;
    const Expr start = substitute(copy.indices[0],
                                  {{outer_.loop_var, outer_.min}, {inner_->loop_var, inner_->min}});
    std::vector<Stmt> stores;
    for (std::int64_t done = 0; done < all; done += lanes) {
      std::vector<Expr> places;
      for (std::int64_t at = done; at < done + lanes; ++at) {
        places.push_back(int_imm(i32, at % rows_ * columns_ + at / rows_));
      }
      stores.push_back(store(copy.buffer,
                             make(Shuffle{.vectors = lines, .indices = std::move(places)}),
                             {line(start + int_imm(start.dtype(), done), lanes)}));
    }
    return with_definitions(definitions, seq(std::move(stores)));
  }

  static Stmt with_definitions(const std::vector<std::pair<Ptr<Var>, Expr>>& definitions,
                               Stmt body) {
    for (auto each = definitions.rbegin(); each != definitions.rend(); ++each) {
      body = make(LetStmt{.value = each->second, .var = each->first, .body = std::move(body)});
    }
    return body;
  }

  Stmt transposed() const {
    const bool has_squares = lanes_of(loads_[0].tile->dtype) >= min_lanes;
    if (interleave() && (!has_squares || is_one_vector())) return interleaved();
    std::vector<std::pair<Ptr<Var>, Expr>> definitions;
    std::vector<Stmt> parts;
    for (const CrossedLoad& each : loads_) fill(each, definitions, parts);
    parts.push_back(loops());
    Stmt result = with_definitions(definitions, seq(std::move(parts)));
    for (const CrossedLoad& each : loads_) {
      result = make(DeclBuffer{.buffer = each.tile, .body = std::move(result)});
      result = make(Allocate{.dtype = each.tile->dtype,
                             .extents = each.tile->shape,
                             .condition = true,
                             .buffer_var = each.tile->data,
                             .body = std::move(result)});
    }
    return result;
  }

  /// The loops over what is computed from tiles: each with variables of its own.
  Stmt loops() const {
    For inner = *inner_;
    inner.body = body_;
    For outer = outer_;
    outer.kind = ForKind::unrolled;
    outer.body = make(std::move(inner));
    return clone_with(make(std::move(outer)), {});
  }

  /// Two by two tiles of half the size, of which more may be whole; null where those are no gain,
  /// or where it matters which element is computed first.
  Stmt in_quarters() const {
    const std::int64_t common = std::gcd(rows_, columns_);
    if (reads_results_ || !written_.is<BufferStore>() || (common & -common) < 2 * min_lanes)
      return nullptr;
    const auto half = [](const For& loop, const Ptr<Var>& number, Stmt body) {
      For part = loop;
      part.extent = int_imm(loop.extent.dtype(), *as_int(loop.extent) / 2);
      part.min = loop.min + number * part.extent;
      part.body = std::move(body);
      return make(std::move(part));
    };
    const Ptr<Var> column = var(outer_.loop_var->name + "_h", outer_.loop_var->dtype);
    const Ptr<Var> row = var(inner_->loop_var->name + "_h", inner_->loop_var->dtype);
    const Stmt inner = half(*inner_, row, guarded(conjunction(conditions_), written_));
    const Stmt quarter = clone_with(half(outer_, column, inner), {});
    const Stmt tile = Tile(*quarter.as<For>(), vector_bits_).run();
    const auto twice = [](const Ptr<Var>& number, const Stmt& body) {
      return for_loop(number, int_imm(number->dtype, 0), int_imm(number->dtype, 2), body);
    };
    return twice(column, twice(row, tile ? tile : quarter));
  }

  const For& outer_;
  const For* inner_ = nullptr;
  int vector_bits_;
  Stmt written_;  ///< What the loops do.
  Stmt body_;     ///< The same, from tiles.
  bool reads_results_ = false;
  std::vector<Expr> conditions_;
  /// What the conditions come to for all iterations together; and where they may hold in one.
  std::vector<Expr> holds_in_all_, holds_in_some_;
  std::int64_t rows_ = 0, columns_ = 0;
  std::vector<CrossedLoad> loads_;
};

}  // namespace

Ptr<PrimFunc> transpose_in_registers(const Ptr<PrimFunc>& func, int vector_bits) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    if (loop.kind != ForKind::vectorized) return rewrite.children(loop);
    if (const Stmt tile = Tile(loop, vector_bits).run()) return tile;
    const Stmt digits = in_digits(loop, max_interleaved);
    const Stmt tile = digits ? Tile(*digits.as<For>(), vector_bits).run() : nullptr;
    return tile ? tile : Stmt(rewrite.children(loop));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
