// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/distances.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace loopsmith::dependence {
namespace {

/// Sweeps over the equations at most this often; each only narrows, so stopping early is sound.
constexpr int max_sweeps = 4;

constexpr std::int64_t infinite = Interval::pos_inf;

bool is_infinite(std::int64_t value) {
  return value == infinite || value == -infinite;
}

std::int64_t add_ends(std::int64_t a, std::int64_t b, std::int64_t if_infinite) {
  std::int64_t result = 0;
  if (is_infinite(a) || is_infinite(b) || __builtin_add_overflow(a, b, &result)) return if_infinite;
  return result < -infinite ? if_infinite : result;
}

/// factor * range, its ends infinite where 64 bits do not suffice.
Interval scaled(const Interval& range, std::int64_t factor) {
  const auto end = [&](std::int64_t value, std::int64_t if_infinite) {
    std::int64_t result = 0;
    if (is_infinite(value) || __builtin_mul_overflow(value, factor, &result)) return if_infinite;
    return result < -infinite ? if_infinite : result;
  };
  if (factor >= 0) return {end(range.min_value, -infinite), end(range.max_value, infinite)};
  return {end(range.max_value, -infinite), end(range.min_value, infinite)};
}

/// What a column of the system stands for.
enum class Part : std::uint8_t {
  source,    ///< The symbol in the instance of the source.
  sink,      ///< The symbol in the instance of the sink.
  distance,  ///< Sink minus source.
};

struct Column {
  Symbol symbol;
  Part part;
};

struct Entry {
  int column;
  std::int64_t coefficient;
};

/// low <= the sum of the entries <= high.
struct Row {
  int first = 0;
  int count = 0;
  Interval range;
};

/// The distance of the larger of two forms, and theirs.
struct Maximum {
  int column;
  std::vector<Entry> first, second;
};

/// The equations of a pair of accesses, and what they say of the distances.
class System {
 public:
  explicit System(const Program& program) : program_(program) {}

  /// Sets up the pair. False when no two instances access the same element.
  bool build(const Access& a, const Access& b) {
    if (are_at_other_constants(a, b)) return false;
    columns_.clear();
    entries_.clear();
    rows_.clear();
    maxima_.clear();
    ranges_.clear();
    const auto& left = program_.statements[static_cast<std::size_t>(a.statement)];
    depth_ = program_.common_depth(a.statement, b.statement);
    common_.assign(left.loops.begin(), left.loops.begin() + depth_);
    for (const int loop : common_) {
      const Symbol iterator = program_.loops[static_cast<std::size_t>(loop)].iterator;
      const Interval range = symbol(iterator).range;
      add_column({iterator, Part::distance}, arith::subtract(range, range));
    }
    if (are_comparable(a, b)) {
      for (std::size_t i = 0; i < a.index.size(); ++i) {
        if (a.index[i] && b.index[i] && !add_equation(*a.index[i], *b.index[i])) return false;
      }
    }
    for (const int loop : common_) add_bounds(loop);
    return propagate();
  }

  int depth() const { return depth_; }
  Interval distance(int level) const { return ranges_[static_cast<std::size_t>(level)]; }
  std::vector<Interval>& ranges() { return ranges_; }

  /// The ranges after the distance of `level` was narrowed; false when nothing is left.
  bool narrow(int level, const Interval& range) {
    Interval& distance = ranges_[static_cast<std::size_t>(level)];
    distance = {std::max(distance.min_value, range.min_value),
                std::min(distance.max_value, range.max_value)};
    return distance.min_value <= distance.max_value && propagate();
  }

 private:
  const SymbolInfo& symbol(Symbol symbol) const {
    return program_.symbols[static_cast<std::size_t>(symbol)];
  }

  /// True when some index of both is a number: statements beside each other are told apart at once.
  bool are_at_other_constants(const Access& a, const Access& b) const {
    if (!are_comparable(a, b)) return false;
    for (std::size_t i = 0; i < a.index.size(); ++i) {
      if (a.index[i] && b.index[i] && a.index[i]->is_constant() && b.index[i]->is_constant() &&
          a.index[i]->constant != b.index[i]->constant) {
        return true;
      }
    }
    return false;
  }

  int add_column(Column column, const Interval& range) {
    columns_.push_back(column);
    ranges_.push_back(range);
    return static_cast<int>(columns_.size()) - 1;
  }

  bool is_common_loop(Symbol iterator) const {
    return std::any_of(common_.begin(), common_.end(), [&](int loop) {
      return program_.loops[static_cast<std::size_t>(loop)].iterator == iterator;
    });
  }

  /// True when the distance of the symbol is a column, so that its sink is source + distance.
  bool is_common(Symbol which) const {
    const SymbolInfo& info = symbol(which);
    if (info.kind == SymbolKind::iterator) return is_common_loop(which);
    if (info.kind != SymbolKind::quotient && info.kind != SymbolKind::maximum) {
      return info.kind == SymbolKind::parameter;
    }
    const auto is_made_of_common = [&](const Linear& form) {
      return std::all_of(form.terms.begin(), form.terms.end(),
                         [&](const Term& term) { return is_common(term.symbol); });
    };
    return is_made_of_common(info.dividend) && is_made_of_common(info.other);
  }

  /// The column, made with the equations that define it when it is new.
  int column(Symbol which, Part part) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].symbol == which && columns_[i].part == part) return static_cast<int>(i);
    }
    const SymbolInfo& info = symbol(which);
    const Interval range =
        part == Part::distance ? arith::subtract(info.range, info.range) : info.range;
    const int result = add_column({which, part}, range);
    if (info.kind == SymbolKind::maximum) add_maximum(result, part, info);
    if (info.kind != SymbolKind::quotient) return result;
    // dividend - divisor * quotient is from 0 to divisor - 1; so is the sink's, and the difference
    // of the two is between the difference of these ends.
    std::vector<Entry> row{{result, -info.divisor}};
    for (const Term& term : info.dividend.terms) add_term(term, part, row);
    const std::int64_t most = info.divisor - 1;
    const std::int64_t constant = part == Part::distance ? 0 : info.dividend.constant;
    const Interval rest = part == Part::distance ? Interval{-most, most} : Interval{0, most};
    add_row(row, arith::subtract(rest, arith::point(constant)));
    return result;
  }

  /// The column is the larger of two forms, or the distance of two such.
  void add_maximum(int column, Part part, const SymbolInfo& info) {
    Maximum maximum{column, {}, {}};
    for (const bool is_first : {true, false}) {
      std::vector<Entry>& terms = is_first ? maximum.first : maximum.second;
      const Linear& form = is_first ? info.dividend : info.other;
      for (const Term& term : form.terms) add_term(term, part, terms);
      if (part == Part::distance) continue;
      std::vector<Entry> row{{column, -1}};
      row.insert(row.end(), terms.begin(), terms.end());
      add_row(row, arith::subtract({-infinite, 0}, arith::point(form.constant)));
    }
    if (part == Part::distance) maxima_.push_back(std::move(maximum));
  }

  /// Appends coefficient * symbol in the instance of `part`.
  void add_term(const Term& term, Part part, std::vector<Entry>& row) {
    if (symbol(term.symbol).kind == SymbolKind::parameter) {
      if (part != Part::distance)
        row.push_back({column(term.symbol, Part::source), term.coefficient});
      return;
    }
    if (part == Part::sink && is_common(term.symbol)) {
      row.push_back({column(term.symbol, Part::source), term.coefficient});
      part = Part::distance;
    }
    row.push_back({column(term.symbol, part), term.coefficient});
  }

  void add_row(std::vector<Entry>& row, const Interval& range) {
    std::sort(row.begin(), row.end(),
              [](const Entry& a, const Entry& b) { return a.column < b.column; });
    Row result{static_cast<int>(entries_.size()), 0, range};
    for (std::size_t i = 0; i < row.size();) {
      std::int64_t coefficient = 0;
      const int column = row[i].column;
      for (; i < row.size() && row[i].column == column; ++i) {
        if (__builtin_add_overflow(coefficient, row[i].coefficient, &coefficient)) {
          entries_.resize(static_cast<std::size_t>(result.first));
          return;
        }
      }
      if (coefficient == INT64_MIN) {
        entries_.resize(static_cast<std::size_t>(result.first));
        return;
      }
      if (coefficient != 0) entries_.push_back({column, coefficient});
    }
    result.count = static_cast<int>(entries_.size()) - result.first;
    rows_.push_back(result);
  }

  /// The sink's form is the source's. False when it never is.
  bool add_equation(const Linear& source, const Linear& sink) {
    std::int64_t constant = 0;
    if (__builtin_sub_overflow(source.constant, sink.constant, &constant)) return true;
    if (source.is_constant() && sink.is_constant()) return constant == 0;
    std::vector<Entry> row;
    for (const Term& term : sink.terms) add_term(term, Part::sink, row);
    for (const Term& term : source.terms) {
      if (term.coefficient == INT64_MIN) return true;
      add_term({term.symbol, -term.coefficient}, Part::source, row);
    }
    add_row(row, {constant, constant});
    return true;
  }

  /// A loop of the nest whose extent depends on others: iterator < extent, on both sides.
  void add_bounds(int which) {
    const Loop& loop = program_.loops[static_cast<std::size_t>(which)];
    for (const Linear& extent : loop.extents) {
      const bool has_iterators = std::any_of(
          extent.terms.begin(), extent.terms.end(),
          [&](const Term& term) { return symbol(term.symbol).kind == SymbolKind::iterator; });
      if (!has_iterators) continue;
      for (const Part part : {Part::source, Part::sink}) {
        std::vector<Entry> row;
        add_term({loop.iterator, -1}, part, row);
        for (const Term& term : extent.terms) add_term(term, part, row);
        add_row(row, arith::subtract({1, infinite}, arith::point(extent.constant)));
      }
    }
  }

  /// Narrows the ranges by each row. False when one of them has no solution.
  bool propagate() {
    for (int sweep = 0; sweep < max_sweeps; ++sweep) {
      bool changed = false;
      for (const Row& row : rows_) {
        if (!narrow_by(row, changed)) return false;
      }
      for (const Maximum& maximum : maxima_) {
        if (!narrow_by(maximum, changed)) return false;
      }
      if (!changed) break;
    }
    return true;
  }

  /// The larger of two numbers changes by no more than both, and no less.
  bool narrow_by(const Maximum& maximum, bool& changed) {
    const Interval first = values_of(maximum.first), second = values_of(maximum.second);
    Interval& range = ranges_[static_cast<std::size_t>(maximum.column)];
    const Interval narrowed{std::max(range.min_value, std::min(first.min_value, second.min_value)),
                            std::min(range.max_value, std::max(first.max_value, second.max_value))};
    changed = changed || !(narrowed == range);
    range = narrowed;
    return narrowed.min_value <= narrowed.max_value;
  }

  Interval values_of(const std::vector<Entry>& terms) const {
    Interval sum{0, 0};
    for (const Entry& entry : terms) {
      const Interval part =
          scaled(ranges_[static_cast<std::size_t>(entry.column)], entry.coefficient);
      sum = {add_ends(sum.min_value, part.min_value, -infinite),
             add_ends(sum.max_value, part.max_value, infinite)};
    }
    return sum;
  }

  bool narrow_by(const Row& row, bool& changed) {
    const Entry* const begin = entries_.data() + row.first;
    const Entry* const end = begin + row.count;
    // Of the sums of all finite ends, and how many are infinite.
    std::int64_t low = 0, high = 0, common_factor = 0;
    int open_low = 0, open_high = 0;
    for (const Entry* entry = begin; entry != end; ++entry) {
      const Interval part =
          scaled(ranges_[static_cast<std::size_t>(entry->column)], entry->coefficient);
      const std::int64_t next_low = add_ends(low, part.min_value, -infinite);
      const std::int64_t next_high = add_ends(high, part.max_value, infinite);
      next_low == -infinite ? void(++open_low) : void(low = next_low);
      next_high == infinite ? void(++open_high) : void(high = next_high);
      common_factor = std::gcd(common_factor, entry->coefficient);
    }
    if (row.count == 0) return row.range.min_value <= 0 && row.range.max_value >= 0;
    if (row.range.min_value == row.range.max_value && row.range.min_value % common_factor != 0) {
      return false;
    }
    if (open_low == 0 && low > row.range.max_value) return false;
    if (open_high == 0 && high < row.range.min_value) return false;
    if (open_low > 1 && open_high > 1) return true;

    for (const Entry* entry = begin; entry != end; ++entry) {
      Interval& range = ranges_[static_cast<std::size_t>(entry->column)];
      const Interval part = scaled(range, entry->coefficient);
      // What the others leave: row - (sum of all - this one).
      const auto others = [&](std::int64_t total, int open, std::int64_t own, bool own_open) {
        if (open - (own_open ? 1 : 0) > 0) return infinite;
        return own_open ? total : add_ends(total, own == -infinite ? infinite : -own, infinite);
      };
      const std::int64_t others_low =
          others(low, open_low, part.min_value, part.min_value == -infinite);
      const std::int64_t others_high =
          others(high, open_high, part.max_value, part.max_value == infinite);
      const std::int64_t least = others_high == infinite
                                     ? -infinite
                                     : add_ends(row.range.min_value, -others_high, -infinite);
      const std::int64_t most =
          others_low == infinite ? infinite : add_ends(row.range.max_value, -others_low, infinite);
      Interval narrowed = range;
      const std::int64_t factor = entry->coefficient;
      const std::int64_t size = factor < 0 ? -factor : factor;
      const std::int64_t lower = factor > 0 ? least : (most == infinite ? -infinite : -most);
      const std::int64_t upper = factor > 0 ? most : (least == -infinite ? infinite : -least);
      if (lower != -infinite) {
        narrowed.min_value = std::max(narrowed.min_value, ceil_quotient(lower, size));
      }
      if (upper != infinite) {
        narrowed.max_value = std::min(narrowed.max_value, floor_quotient(upper, size));
      }
      if (narrowed == range) continue;
      if (narrowed.min_value > narrowed.max_value) return false;
      // The sums stay those of the wider range, which is sound.
      range = narrowed;
      changed = true;
    }
    return true;
  }

  const Program& program_;
  int depth_ = 0;
  std::vector<int> common_;
  std::vector<Column> columns_;
  std::vector<Interval> ranges_;  ///< Of the columns; the distances of the common loops first.
  std::vector<Entry> entries_;
  std::vector<Row> rows_;
  std::vector<Maximum> maxima_;
};

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program), system_(program) {}

  std::vector<Dependence> run() {
    const int count = static_cast<int>(program_.accesses.size());
    // By memory, so that a large program costs its pairs within each buffer only.
    std::unordered_map<const Object*, std::vector<int>> by_memory;
    std::vector<int> anywhere;
    for (int i = 0; i < count; ++i) {
      const Access& access = at(i);
      if (access.memory.defined()) {
        std::vector<int>& earlier = by_memory[access.memory.get()];
        for (const int other : earlier) add_pair(other, i);
        for (const int other : anywhere) add_pair(other, i);
        earlier.push_back(i);
      } else {
        for (int other = 0; other < i; ++other) add_pair(other, i);
        anywhere.push_back(i);
      }
      add_pair(i, i);
    }
    return std::move(result_);
  }

 private:
  const Access& at(int access) const { return program_.accesses[static_cast<std::size_t>(access)]; }

  void add_pair(int a, int b) {
    if ((!at(a).writes && !at(b).writes) || !system_.build(at(a), at(b))) return;
    const int private_depth = std::max(at(a).private_depth, at(b).private_depth);
    std::vector<Interval>& ranges = system_.ranges();
    for (int level = 0; level < system_.depth(); ++level) {
      const std::vector<Interval> before = ranges;
      const Interval distance = system_.distance(level);
      if (level >= private_depth) {
        if (distance.max_value > 0 && system_.narrow(level, {1, infinite})) add(a, b, level);
        ranges = before;
        if (a != b && distance.min_value < 0 && system_.narrow(level, {-infinite, -1})) {
          add(b, a, level);
        }
        ranges = before;
      }
      if (!system_.narrow(level, {0, 0})) return;
    }
    if (at(a).statement != at(b).statement) add(a, b, system_.depth());
  }

  void add(int source, int sink, int level) {
    Dependence dependence{source,
                          sink,
                          level,
                          is_reduction_pair(at(source), at(sink)),
                          at(source).is_init != at(sink).is_init,
                          {}};
    const bool is_backward = source > sink;
    for (int i = 0; i < system_.depth(); ++i) {
      const Interval range = system_.distance(i);
      dependence.distances.push_back(is_backward ? Interval{-range.max_value, -range.min_value}
                                                 : range);
    }
    result_.push_back(std::move(dependence));
  }

  const Program& program_;
  System system_;
  std::vector<Dependence> result_;
};

}  // namespace

bool is_reduction_pair(const Access& a, const Access& b) {
  if (a.update == Update::none || a.update != b.update || !a.buffer.same_as(b.buffer)) return false;
  return a.update != Update::declared || a.reduction == b.reduction;
}

bool are_comparable(const Access& a, const Access& b) {
  return !a.whole && !b.whole && a.buffer && a.buffer.same_as(b.buffer) &&
         a.index.size() == b.index.size();
}

std::vector<Dependence> find_dependences(const Program& program) {
  return Finder(program).run();
}

}  // namespace loopsmith::dependence
