// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/random_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "loopsmith/schedule/testing/draw.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::schedule_testing {
namespace {

/// How long something is: a number, or a symbol.
struct Size {
  int value = 1;
  std::string symbol = {};  ///< Empty: the number.

  std::string text() const { return symbol.empty() ? std::to_string(value) : symbol; }
};

struct DrawnTensor {
  std::string name;
  std::string type;
  std::vector<Size> shape;
  bool is_local = false;
  bool is_written = false;
};

/// An expression of loop variables or axes, with the least and the largest value that it has.
struct Index {
  std::string text;
  int low = 0;
  int high = 0;
  std::string symbol = {};  ///< Not empty: it runs to this size, and `high` is unknown.
  std::string range;        ///< Of a loop, as it is written.

  bool fits(const Size& size) const {
    if (!symbol.empty() || !size.symbol.empty()) return symbol == size.symbol && low >= 0;
    return low >= 0 && high < size.value;
  }
};

enum class AxisKind { spatial, reduction };
struct Axis {
  Index value;       ///< What the body of the block reads.
  std::string name;  ///< Of the loop.
  AxisKind kind = AxisKind::spatial;
};

class ProgramWriter {
 public:
  ProgramWriter(std::uint64_t seed, IndexTypes types) : draw_(seed), types_(types), wide_(~seed) {}

  std::string write() {
    draw_sizes();
    type_ = draw_.weighted<const char*>(
        {{"float32", 9}, {"int32", 6}, {"uint32", 2}, {"int64", 1}, {"float64", 1}, {"int8", 1}});
    is_tame_ = draw_.chance(50);
    is_plain_ = is_tame_ && draw_.chance(50);
    const int inputs = draw_.between(1, 2);
    for (int i = 0; i < inputs; ++i) new_tensor(draw_shape(), false, true);
    statements_left_ = draw_.weighted<int>({{1, is_tame_ ? 1 : 3}, {2, 4}, {3, 3}, {4, 2}});
    if (draw_.chance(7)) write_view();
    while (statements_left_ > 0) {
      if (is_tame_ && last_written_ && draw_.chance(last_is_reduction_ ? 60 : 25)) {
        switch (draw_.between(0, 5)) {
          case 0:
          case 1: epilogue(); break;
          case 2:
          case 3: window(); break;
          default: scaling(); break;
        }
        continue;
      }
      is_tame_ ? stage() : nest(draw_.weighted<int>({{0, 1}, {1, 6}, {2, 8}, {3, 4}}));
    }
    return finished();
  }

 private:
  // ---- Sizes and tensors ----

  /// A size where loops end, or as a dimension: of 64 bits here and there.
  std::string extent(const Size& size) {
    const bool is_wide = types_ == IndexTypes::mixed && size.symbol.empty() && wide_.chance(60);
    return is_wide ? fmt::format("T.int64({})", size.text()) : size.text();
  }

  void draw_sizes() {
    const int count = draw_.between(2, 3);
    for (int i = 0; i < count; ++i) {
      sizes_.push_back({draw_.weighted<int>(
          {{0, 1}, {1, 4}, {2, 7}, {3, 12}, {4, 16}, {5, 10}, {6, 12}, {7, 8}})});
    }
    if (draw_.chance(8)) {
      sizes_.push_back({draw_.between(1, 6), "n"});
      has_symbol_ = true;
    }
  }
  Size draw_size() { return draw_.of(sizes_); }
  std::vector<Size> draw_shape() {
    std::vector<Size> shape(draw_.weighted<std::size_t>({{1, 5}, {2, 8}, {3, 1}}));
    for (Size& size : shape) size = draw_size();
    return shape;
  }
  std::size_t new_tensor(std::vector<Size> shape, bool is_local, bool is_written) {
    const std::string name(1, static_cast<char>('A' + tensors_.size()));
    std::string type = type_;
    if (draw_.chance(6)) type = draw_.of<std::string>({"int32", "float32", "uint8", "int64"});
    tensors_.push_back({name, type, std::move(shape), is_local, is_written});
    return tensors_.size() - 1;
  }
  std::string text(const std::vector<Size>& shape) {
    std::string list;
    for (const Size& size : shape) list += extent(size) + ", ";
    if (shape.size() > 1) list.resize(list.size() - 2);
    if (shape.size() == 1) list.resize(list.size() - 1);
    return "(" + list + ")";
  }

  /// Another name for the memory of a tensor, which starts later in it.
  void write_view() {
    const DrawnTensor& base = tensors_[0];
    int count = 1;
    for (const Size& size : base.shape) {
      if (!size.symbol.empty()) return;
      count *= size.value;
    }
    if (count < 2) return;
    const int offset = draw_.between(0, std::min(2, count - 1));
    DrawnTensor view{"V", base.type, {{count - offset}}, true, true};
    if (view.shape[0].value % 2 == 0 && draw_.chance(50)) {
      view.shape = {{view.shape[0].value / 2}, {2}};
    }
    views_ = fmt::format("    V = T.decl_buffer({}, \"{}\", data={}.data, elem_offset={})\n",
                         text(view.shape), view.type, base.name, offset);
    view_ = tensors_.size();
    tensors_.push_back(std::move(view));
  }

  // ---- Lines ----

  void line(const std::string& text) {
    body_ += std::string(4 * static_cast<std::size_t>(indent_), ' ') + text + "\n";
  }

  std::string finished() {
    std::vector<std::string> parameters, matches, allocations;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const DrawnTensor& tensor = tensors_[t];
      if (t == view_) continue;
      const bool is_open =
          std::ranges::any_of(tensor.shape, [](const Size& one) { return !one.symbol.empty(); });
      const std::string shape = text(tensor.shape);
      if (tensor.is_local) {
        allocations.push_back(
            fmt::format("    {} = T.alloc_buffer({}, \"{}\")\n", tensor.name, shape, tensor.type));
      } else if (is_open) {
        parameters.push_back("p" + tensor.name + ": T.handle");
        matches.push_back(fmt::format("    {0} = T.match_buffer(p{0}, {1}, \"{2}\")\n", tensor.name,
                                      shape, tensor.type));
      } else {
        parameters.push_back(
            fmt::format("{}: T.Buffer({}, \"{}\")", tensor.name, shape, tensor.type));
      }
    }
    if (has_symbol_) {
      parameters.push_back(types_ == IndexTypes::mixed ? "n: T.int64" : "n: T.int32");
    }
    return fmt::format("@T.prim_func\ndef main({}):\n{}{}{}{}", fmt::join(parameters, ", "),
                       fmt::join(matches, ""), fmt::join(allocations, ""), views_, body_);
  }

  // ---- Loops ----

  /// Plain loops over all of the tensor that was written last, and sometimes one more, around one
  /// block: how most people write.
  void stage() {
    std::vector<Size> extents;
    const std::size_t from =
        last_written_ && draw_.chance(80) ? *last_written_ : draw_.any() % tensors_.size();
    for (const Size& size : tensors_[from].shape) extents.push_back(size);
    if (extents.empty() || (extents.size() < 3 && draw_.chance(35))) extents.push_back(draw_size());
    draw_.shuffle_sometimes(extents, 15);
    const int outside = indent_;
    const bool has_other_start = !is_plain_ && draw_.chance(6);
    for (const Size& size : extents) {
      const std::string name = fmt::format("i{}", names_++);
      Index index{name, 0, size.value - 1, size.symbol};
      if (has_other_start && size.symbol.empty() && size.value > 1) {
        index.low = 1;
        line(fmt::format("for {} in range(1, {}):", name, extent(size)));
      } else {
        line(fmt::format("for {} in range({}):", name, extent(size)));
      }
      index.range = index.low == 0 ? size.text() : "1, " + size.text();
      index.high = std::max(index.high, 0);
      ++indent_;
      loops_.push_back(index);
    }
    leaf();
    if (statements_left_ > 0 && !is_plain_ && draw_.chance(12)) leaf();
    indent_ = outside;
    loops_.clear();
  }

  /// What combines each element of the tensor that was written last with another one.
  void epilogue() {
    const DrawnTensor read = tensors_[*last_written_];
    pointwise(read.shape, [&](const std::vector<Index>& axes) {
      std::vector<std::string> indices;
      for (const Index& axis : axes) indices.push_back(axis.text);
      const std::string first = indices.empty()
                                    ? read.name + "[()]"
                                    : fmt::format("{}[{}]", read.name, fmt::join(indices, ", "));
      const std::string second = load(axes, read.type);
      return draw_.chance(75) ? fmt::format("{} + {}", first, second)
                              : fmt::format("T.max({}, {})", first, second);
    });
  }

  /// What the intrinsic does for which steps tensorize.
  void scaling() {
    const DrawnTensor read = tensors_[*last_written_];
    if (read.shape.empty()) return epilogue();
    pointwise(read.shape, [&](const std::vector<Index>& axes) {
      std::vector<std::string> indices;
      for (const Index& axis : axes) indices.push_back(axis.text);
      return fmt::format("{}[{}] * {} + {}", read.name, fmt::join(indices, ", "),
                         literal(read.type, 2), literal(read.type, 1));
    });
  }

  /// What reads neighbours in the tensor that was written last.
  void window() {
    const DrawnTensor read = tensors_[*last_written_];
    std::vector<Size> shape = read.shape;
    std::vector<std::size_t> wide;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d].symbol.empty() && shape[d].value >= 2) wide.push_back(d);
    }
    if (wide.empty()) return epilogue();
    const std::size_t dimension = draw_.of(wide);
    const int width = draw_.between(1, std::min(2, shape[dimension].value - 1));
    shape[dimension].value -= width;
    pointwise(shape, [&](const std::vector<Index>& axes) {
      std::string sum;
      for (int shift = 0; shift <= width; ++shift) {
        std::vector<std::string> indices;
        for (std::size_t d = 0; d < axes.size(); ++d) {
          const bool moves = d == dimension && shift > 0;
          indices.push_back(moves ? fmt::format("{} + {}", axes[d].text, shift) : axes[d].text);
        }
        sum +=
            fmt::format("{}{}[{}]", shift == 0 ? "" : " + ", read.name, fmt::join(indices, ", "));
      }
      return sum;
    });
  }

  /// A block that stores what `value` gives for its axes into a new tensor of that shape.
  void pointwise(const std::vector<Size>& shape,
                 const std::function<std::string(const std::vector<Index>&)>& value) {
    --statements_left_;
    const int outside = indent_;
    std::vector<Index> loops, axes;
    for (const Size& size : shape) {
      const std::string name = fmt::format("i{}", names_++);
      loops.push_back({name, 0, std::max(size.value - 1, 0), size.symbol});
      axes.push_back({"v" + name, 0, std::max(size.value - 1, 0), size.symbol});
      line(fmt::format("for {} in range({}):", name, extent(size)));
      ++indent_;
    }
    line(fmt::format("with T.block(\"b{}\"):", blocks_++));
    ++indent_;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      line(
          fmt::format("{} = T.axis.spatial({}, {})", axes[i].text, shape[i].text(), loops[i].text));
    }
    const std::string& type = tensors_[*last_written_].type;
    const std::string stored = value(axes);
    std::vector<Size> same_shape = shape;
    if (shape.empty()) same_shape.push_back({1});
    const std::size_t tensor = tensors_.size();
    tensors_.push_back({std::string(1, static_cast<char>('A' + tensor)), type, same_shape,
                        draw_.chance(50), true});
    std::vector<std::string> indices;
    for (const Index& axis : axes) indices.push_back(axis.text);
    if (indices.empty()) indices.push_back("0");
    line(fmt::format("{}[{}] = {}", tensors_[tensor].name, fmt::join(indices, ", "), stored));
    last_written_ = tensor;
    last_is_reduction_ = false;
    indent_ = outside;
  }

  /// Loops around what `leaf` writes, with more beside it here and there.
  void nest(int levels) {
    if (levels == 0 || loops_.size() >= 4) return leaf();
    const std::size_t known = loops_.size();
    open_loop();
    const int outside = indent_;
    if (draw_.chance(1)) jump();
    if (statements_left_ > 1 && draw_.chance(12)) leaf();
    bool is_conditional = false;
    if (draw_.chance(8)) {
      line("if " + condition(loops_, false) + ":");
      ++indent_;
      is_conditional = true;
    }
    if (draw_.chance(4)) {
      nested_block(levels);
    } else {
      nest(levels - 1);
    }
    if (is_conditional) {
      indent_ = outside;
      if (statements_left_ > 0 && draw_.chance(20)) {
        line("else:");
        ++indent_;
        leaf();
        indent_ = outside;
      }
    }
    while (statements_left_ > 0 && draw_.chance(35)) nest(draw_.between(0, levels - 1));
    if (draw_.chance(1)) jump();
    indent_ = outside - 1;
    loops_.resize(known);
  }

  /// Leaves the iteration, the loop or the program in one iteration, late ones more often.
  void jump() {
    const Index& loop = loops_.back();
    const bool is_late = draw_.chance(60);
    const int value = is_late ? loop.high : draw_.between(loop.low, std::max(loop.low, loop.high));
    line(fmt::format("if {} == {}:", loop.text, value));
    line(draw_.weighted<const char*>({{"    break", 2}, {"    continue", 2}, {"    return", 1}}));
  }

  void open_loop() {
    const std::string name = fmt::format("i{}", names_++);
    const Size size = draw_size();
    Index index{name, 0, size.value - 1, size.symbol};
    std::string range = extent(size);
    if (size.symbol.empty()) {
      // Others, whose bounds the variable of this one may be read in.
      const bool has_outer = !loops_.empty() && loops_.back().symbol.empty();
      switch (draw_.weighted<int>({{0, 60}, {1, 5}, {2, 4}, {3, 3}, {4, 3}, {5, 3}, {6, 3}})) {
        case 1:
          index.low = draw_.between(1, 2);
          range = fmt::format("{}, {}", index.low, size.value);
          break;
        case 2: range = fmt::format("{}, {}, 2", draw_.between(0, 1), size.value); break;
        case 3: range = fmt::format("{}, -1, -1", size.value - 1); break;
        case 4:
          if (!has_outer) break;
          range = loops_.back().text + " + 1";
          index.high = loops_.back().high;
          break;
        case 5:
          if (!has_outer) break;
          range = fmt::format("{}, {}", loops_.back().text, size.value);
          index.low = loops_.back().low;
          break;
        case 6:
          range = "1";
          index.high = 0;
          break;
        default: break;
      }
      index.high = std::max(index.high, index.low);
    }
    index.range = range;
    line(fmt::format("for {} in range({}):", name, range));
    ++indent_;
    loops_.push_back(index);
  }

  /// A block around all that follows in the nest, in which its axes stand for the loops.
  void nested_block(int levels) {
    const std::vector<Index> outside = loops_;
    const int indent = indent_;
    line(fmt::format("with T.block(\"b{}\"):", blocks_++));
    ++indent_;
    for (Index& loop : loops_) {
      const std::string axis = "v" + loop.text;
      line(fmt::format("{} = T.axis.spatial({}, {})", axis, domain(loop), loop.text));
      loop.text = axis;
    }
    nest(levels - 1);
    indent_ = indent;
    loops_ = outside;
  }

  static std::string domain(const Index& loop) {
    if (!loop.symbol.empty()) return loop.symbol;
    return loop.low == 0 ? std::to_string(loop.high + 1)
                         : fmt::format("({}, {})", loop.low, loop.high + 1);
  }

  /// That of an axis: of a reduction also what its loop says, which may be nothing.
  std::string domain_of(const Axis& axis) {
    const auto loop = std::ranges::find(loops_, axis.name, &Index::text);
    const bool may_be_loop = axis.kind != AxisKind::spatial && loop != loops_.end() &&
                             std::ranges::count(loop->range, ',') <= 1;
    if (!may_be_loop || loop->range.empty() || draw_.chance(50)) return domain(axis.value);
    const std::size_t comma = loop->range.find(',');
    return comma == std::string::npos ? loop->range : fmt::format("({})", loop->range);
  }

  // ---- Expressions ----

  std::string condition(const std::vector<Index>& loops, bool keeps_least) {
    if (loops.empty()) return "True";
    const Index& a = draw_.of(loops);
    const Index& b = draw_.of(loops);
    const int middle = draw_.between(a.low, std::max(a.high, a.low));
    if (keeps_least) {
      return draw_.chance(70) ? fmt::format("{} <= {}", a.text, middle)
                              : fmt::format("{} + {} <= {}", a.text, b.text, a.low + b.high + 1);
    }
    switch (draw_.between(0, 6)) {
      case 0: return fmt::format("{} < {}", a.text, middle + 1);
      case 1: return fmt::format("{} >= {}", a.text, middle);
      case 2: return fmt::format("{} != {}", a.text, middle);
      case 3: return fmt::format("{} % 2 == {}", a.text, draw_.between(0, 1));
      case 4: return fmt::format("{} <= {}", a.text, b.text);
      case 5: return fmt::format("{} + {} < {}", a.text, b.text, middle + b.high);
      default: return fmt::format("{} >= 1 and {} < {}", a.text, b.text, b.high);
    }
  }

  /// An index into a dimension; nullopt where none was found that stays in bounds.
  std::optional<Index> index_for(const Size& size, const std::vector<Index>& from) {
    if (from.empty()) {
      if (size.symbol.empty() && size.value > 0) return constant_index(size);
      return {};
    }
    if (draw_.chance(is_plain_ ? 98 : is_tame_ ? 85 : 25)) {
      std::vector<Index> whole;
      for (const Index& one : from) {
        if (one.fits(size) && (!one.symbol.empty() || one.high + 1 == size.value)) {
          whole.push_back(one);
        }
      }
      if (!whole.empty()) return draw_.of(whole);
    }
    for (int attempt = 0; attempt < 8; ++attempt) {
      const Index& a = draw_.of(from);
      if (!a.symbol.empty()) {
        if (a.fits(size)) return a;
        continue;
      }
      const Index candidate = changed(a, draw_.of(from), size);
      if (candidate.fits(size)) return candidate;
    }
    if (!size.symbol.empty()) return {};
    const Index& a = draw_.of(from);
    if (size.value > 0 && a.symbol.empty() && a.low >= 0 && draw_.chance(50)) {
      return Index{fmt::format("{} % {}", a.text, size.value), 0, size.value - 1};
    }
    return constant_index(size);
  }
  /// An index that is read from a parameter.
  std::optional<Index> gathered_index(const Size& size, const std::vector<Index>& from) {
    const auto is_source = [](const DrawnTensor& one) {
      return one.type == "int32" && !one.is_local && one.shape.size() == 1;
    };
    const auto source = std::ranges::find_if(tensors_, is_source);
    if (source == tensors_.end() || size.value == 0) return index_for(size, from);
    const auto place = index_for(source->shape[0], from);
    if (!place) return {};
    return Index{fmt::format("{}[{}] % {}", source->name, place->text, size.value), 0,
                 size.value - 1};
  }
  std::optional<Index> constant_index(const Size& size) {
    if (size.value <= 0) return {};
    const int value = draw_.between(0, size.value - 1);
    return Index{std::to_string(value), value, value};
  }
  Index changed(const Index& a, const Index& b, const Size& size) {
    if (!b.symbol.empty()) return a;
    const int shift = draw_.between(1, 2);
    switch (draw_.weighted<int>(
        {{0, 60}, {1, 5}, {2, 5}, {3, 7}, {4, 3}, {5, 2}, {6, 3}, {7, 4}, {8, 3}})) {
      case 1: return {fmt::format("{} + {}", a.text, shift), a.low + shift, a.high + shift};
      case 2: return {fmt::format("{} - {}", a.text, shift), a.low - shift, a.high - shift};
      case 3: {
        const int last = size.value - 1;
        return {fmt::format("{} - {}", last, a.text), last - a.high, last - a.low};
      }
      case 4: return {fmt::format("{} // 2", a.text), a.low / 2, a.high / 2};
      case 5: return {fmt::format("{} % 2", a.text), 0, 1};
      case 6: return {fmt::format("{} * 2", a.text), a.low * 2, a.high * 2};
      case 7: return {fmt::format("{} + {}", a.text, b.text), a.low + b.low, a.high + b.high};
      case 8: {
        const int width = b.high + 1;
        return {fmt::format("{} * {} + {}", a.text, width, b.text), a.low * width + b.low,
                a.high * width + b.high};
      }
      default: return a;
    }
  }

  std::optional<std::string> indices_for(const DrawnTensor& tensor,
                                         const std::vector<Index>& from) {
    if (tensor.shape.empty()) return "()";
    std::vector<std::string> indices;
    for (const Size& size : tensor.shape) {
      const bool is_gathered = !is_tame_ && size.symbol.empty() && draw_.chance(3);
      const auto index = is_gathered ? gathered_index(size, from) : index_for(size, from);
      if (!index) return {};
      indices.push_back(index->text);
    }
    return fmt::format("{}", fmt::join(indices, ", "));
  }

  std::string literal(const std::string& type, int value) {
    return fmt::format("T.{}({})", type, value);
  }
  std::string converted(const std::string& from, const std::string& to, std::string value) {
    return from == to ? value : fmt::format("T.Cast(\"{}\", {})", to, value);
  }

  /// A load as a value of `type`; a literal where nothing can be loaded.
  std::string load(const std::vector<Index>& from, const std::string& type) {
    std::vector<std::size_t> readable;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (tensors_[t].is_written || !tensors_[t].is_local) readable.push_back(t);
    }
    for (int attempt = 0; attempt < 4; ++attempt) {
      const bool is_last = last_written_ && draw_.chance(is_plain_ ? 75 : is_tame_ ? 60 : 45);
      const DrawnTensor& tensor = tensors_[is_last ? *last_written_ : draw_.of(readable)];
      const auto indices = indices_for(tensor, from);
      if (!indices) continue;
      std::string value =
          converted(tensor.type, type, fmt::format("{}[{}]", tensor.name, *indices));
      if (draw_.chance(6) && !from.empty()) {
        value = fmt::format("T.if_then_else({}, {}, {})", condition(from, false), value,
                            literal(type, draw_.between(0, 1)));
      }
      return value;
    }
    return literal(type, draw_.between(0, 3));
  }

  std::string value(const std::vector<Index>& from, const std::string& type) {
    const std::string a = load(from, type);
    const bool is_float = type.starts_with("float");
    switch (draw_.weighted<int>({{0, 6},
                                 {1, 6},
                                 {2, 5},
                                 {3, 4},
                                 {4, 2},
                                 {5, 1},
                                 {6, 2},
                                 {7, 1},
                                 {8, 1},
                                 {9, 1},
                                 {10, 2}})) {
      case 1: return fmt::format("{} + {}", a, literal(type, draw_.between(1, 3)));
      case 2: return fmt::format("{} + {}", a, load(from, type));
      case 3: return fmt::format("{} * {}", a, literal(type, draw_.between(2, 3)));
      case 4: return fmt::format("{} - {}", a, load(from, type));
      case 5: return fmt::format("T.max({}, {})", a, load(from, type));
      case 6: return is_float ? fmt::format("{} * {}", a, load(from, type)) : a;
      case 7:
        if (from.empty()) return a;
        return fmt::format("{} + T.Cast(\"{}\", {})", a, type, draw_.of(from).text);
      case 8: return is_float ? fmt::format("T.exp({})", a) : a;
      case 9: return fmt::format("{} * {} + {}", a, literal(type, 2), literal(type, 1));
      case 10:
        if (from.empty()) return a;
        return fmt::format("T.if_then_else({}, {}, {})", condition(from, false), a,
                           literal(type, 0));
      default: return a;
    }
  }

  // ---- Statements ----

  /// A store, mostly in a block.
  void leaf() {
    --statements_left_;
    const int indent = indent_;
    if (loops_.empty() || (!is_plain_ && draw_.chance(is_tame_ ? 4 : 18))) {
      opaque_store();
    } else {
      block();
    }
    indent_ = indent;
  }

  void opaque_store() {
    if (draw_.chance(6) && !loops_.empty()) {
      // What is known only when it runs.
      line(fmt::format("if {} < {}:", load(loops_, type_), literal(type_, 2)));
      ++indent_;
    } else if (draw_.chance(12) && !loops_.empty()) {
      line("if " + condition(loops_, false) + ":");
      ++indent_;
    }
    store(loops_, loops_);
  }

  void block() {
    std::vector<Axis> axes = draw_axes();
    line(fmt::format("with T.block(\"b{}\"):", blocks_++));
    ++indent_;
    const int inside = indent_;
    const std::size_t head = body_.size();
    std::vector<Index> values, spatial;
    for (Axis& axis : axes) {
      axis.value.range.clear();  // Blocks inside see the axis alone.
      values.push_back(axis.value);
      if (axis.kind == AxisKind::spatial) spatial.push_back(axis.value);
    }
    const bool reduces = spatial.size() < axes.size();
    const bool has_condition = !is_plain_ && draw_.chance(is_tame_ ? 4 : 12);
    bool has_init = false;
    if (reduces && draw_.chance(75)) {
      has_init = true;
      reduction(spatial, values);
    } else if (reduces) {
      accumulation(spatial, values);
    } else {
      if (draw_.chance(is_tame_ ? 3 : 12)) {
        line("if " + condition(values, false) + ":");
        ++indent_;
      }
      store(spatial, values);
      if (draw_.chance(6)) store(spatial, values);
    }
    // What it says of itself comes first.
    const std::string rest = body_.substr(head);
    body_.resize(head);
    indent_ = inside;
    for (const Axis& axis : axes) {
      line(fmt::format("{} = T.axis.{}({}, {})", axis.value.text,
                       axis.kind == AxisKind::spatial ? "spatial" : "reduce", domain_of(axis),
                       axis.name));
    }
    if (has_condition)
      line(fmt::format("T.where({})", condition(loops_, has_init && draw_.chance(70))));
    body_ += rest;
  }
  /// Axes for the loops around, each spatial or of a reduction.
  std::vector<Axis> draw_axes() {
    std::vector<Axis> axes;
    const bool reduces = draw_.chance(40);
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      const Index& loop = loops_[i];
      if (loops_.size() > 1 && draw_.chance(4)) continue;
      Axis axis{loop, loop.text};
      axis.value.text = "v" + loop.text;
      axis.kind = reduces && draw_.chance(45) ? AxisKind::reduction : AxisKind::spatial;
      const bool is_number = loop.symbol.empty();
      if (is_number && draw_.chance(5)) {
        axis.name = fmt::format("{} - {}", loop.low + loop.high, loop.text);
      } else if (is_number && i + 1 < loops_.size() && loops_[i + 1].symbol.empty() &&
                 loop.low == 0 && loops_[i + 1].low == 0 && draw_.chance(5)) {
        const Index& inner = loops_[++i];
        axis.name = fmt::format("{} * {} + {}", loop.text, inner.high + 1, inner.text);
        axis.value.high = (loop.high + 1) * (inner.high + 1) - 1;
      }
      axes.push_back(axis);
    }
    return axes;
  }

  /// Which tensor is written, by which of the indices: a new one whose shape is theirs, or another.
  struct Target {
    std::size_t tensor;
    std::string access;
  };
  Target target(const std::vector<Index>& by, bool uses_all, bool is_read = false) {
    if (tensors_.size() < 7 && draw_.chance(is_plain_ ? 100 : is_tame_ ? 85 : 55))
      return new_target(by, uses_all, is_read);
    for (int attempt = 0; attempt < 4; ++attempt) {
      const std::size_t tensor = draw_.any() % tensors_.size();
      if (is_read && tensors_[tensor].is_local && !tensors_[tensor].is_written) continue;
      const auto indices = indices_for(tensors_[tensor], by);
      if (indices) return {tensor, fmt::format("{}[{}]", tensors_[tensor].name, *indices)};
    }
    return new_target(by, uses_all, is_read);
  }
  Target new_target(std::vector<Index> by, bool uses_all, bool is_read) {
    draw_.shuffle_sometimes(by, 25);
    if (!uses_all && draw_.chance(15) && !by.empty()) by.pop_back();
    if (by.size() > 3) by.resize(3);
    std::vector<Size> shape;
    std::vector<std::string> indices;
    const bool is_open =
        std::ranges::any_of(by, [](const Index& one) { return !one.symbol.empty(); });
    for (const Index& one : by) {
      shape.push_back({one.high + 1, one.symbol});
      indices.push_back(one.text);
    }
    if (by.size() == 1 && !is_open && draw_.chance(4)) {
      shape.push_back(shape[0]);
      indices.push_back(indices[0]);
    }
    const bool is_local = !is_read && draw_.chance(is_plain_ ? 85 : is_tame_ ? 75 : 60);
    if (shape.empty() && !is_local) shape.push_back({1}), indices.push_back("0");
    const std::size_t tensor = new_tensor(std::move(shape), is_local, false);
    return {tensor,
            fmt::format("{}[{}]", tensors_[tensor].name,
                        indices.empty() ? "()" : fmt::format("{}", fmt::join(indices, ", ")))};
  }
  void was_written(const Target& target) {
    tensors_[target.tensor].is_written = true;
    last_written_ = target.tensor;
    last_is_reduction_ = false;
  }

  void store(const std::vector<Index>& by, const std::vector<Index>& from) {
    const Target target = this->target(by, false);
    const std::string& type = tensors_[target.tensor].type;
    const bool updates = tensors_[target.tensor].is_written && draw_.chance(25);
    std::string stored = value(from, type);
    if (updates) stored = combined(type, target.access, stored);
    line(fmt::format("{} = {}", target.access, stored));
    was_written(target);
  }

  std::string combined(const std::string& type, const std::string& old, const std::string& by) {
    if (draw_.chance(12)) return fmt::format("T.max({}, {})", old, by);
    if (draw_.chance(8)) return fmt::format("T.min({}, {})", old, by);
    if (draw_.chance(5) && type.starts_with("float")) return fmt::format("{} * ({})", old, by);
    return fmt::format("{} + {}", old, draw_.chance(70) ? by : "(" + by + ")");
  }

  void reduction(const std::vector<Index>& spatial, const std::vector<Index>& from) {
    const Target target = this->target(spatial, true);
    const std::string type = tensors_[target.tensor].type;
    line("with T.init():");
    const bool is_plain = draw_.chance(80);
    line(fmt::format(
        "    {} = {}", target.access,
        is_plain ? literal(type, draw_.weighted<int>({{0, 8}, {1, 2}})) : load(spatial, type)));
    line(fmt::format("{} = {}", target.access, combined(type, target.access, value(from, type))));
    was_written(target);
    last_is_reduction_ = tensors_[target.tensor].is_local;
  }

  void accumulation(const std::vector<Index>& spatial, const std::vector<Index>& from) {
    const Target target = this->target(spatial, true, true);
    const std::string type = tensors_[target.tensor].type;
    line(fmt::format("{} = {}", target.access, combined(type, target.access, value(from, type))));
    was_written(target);
  }

  Draw draw_;
  IndexTypes types_;
  Draw wide_;  ///< Apart, so that a seed gives the same program in all types.
  std::vector<Size> sizes_;
  bool has_symbol_ = false;
  std::string type_;
  bool is_tame_ = false;   ///< Stages after each other, mostly over whole tensors.
  bool is_plain_ = false;  ///< And each makes a tensor of its own.
  std::vector<DrawnTensor> tensors_;
  std::size_t view_ = ~std::size_t{0};
  std::optional<std::size_t> last_written_;
  bool last_is_reduction_ = false;
  std::vector<Index> loops_;
  int statements_left_ = 0;
  int names_ = 0;
  int blocks_ = 0;
  int indent_ = 1;
  std::string views_;
  std::string body_;
};

}  // namespace

std::string random_script(std::uint64_t seed, IndexTypes types) {
  return ProgramWriter(seed, types).write();
}

Ptr<PrimFunc> random_program(std::uint64_t seed, IndexTypes types) {
  return parse_function(random_script(seed, types));
}

}  // namespace loopsmith::schedule_testing
