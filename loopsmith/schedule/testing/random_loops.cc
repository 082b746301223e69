// SPDX-License-Identifier: Apache-2.0
// Loops, whole nests of them, and what follows a tensor that was written.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "loopsmith/schedule/testing/program_writer.h"

namespace loopsmith::schedule_testing {

void ProgramWriter::stage() {
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

void ProgramWriter::epilogue() {
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

void ProgramWriter::scaling() {
  const DrawnTensor read = tensors_[*last_written_];
  if (read.shape.empty()) return epilogue();
  pointwise(read.shape, [&](const std::vector<Index>& axes) {
    std::vector<std::string> indices;
    for (const Index& axis : axes) indices.push_back(axis.text);
    return fmt::format("{}[{}] * {} + {}", read.name, fmt::join(indices, ", "),
                       literal(read.type, 2), literal(read.type, 1));
  });
}

void ProgramWriter::window() {
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
      sum += fmt::format("{}{}[{}]", shift == 0 ? "" : " + ", read.name, fmt::join(indices, ", "));
    }
    return sum;
  });
}

void ProgramWriter::pointwise(const std::vector<Size>& shape,
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
    line(fmt::format("{} = T.axis.spatial({}, {})", axes[i].text, shape[i].text(), loops[i].text));
  }
  const std::string& type = tensors_[*last_written_].type;
  const std::string stored = value(axes);
  std::vector<Size> same_shape = shape;
  if (shape.empty()) same_shape.push_back({1});
  const std::size_t tensor = tensors_.size();
  tensors_.push_back(
      {std::string(1, static_cast<char>('A' + tensor)), type, same_shape, draw_.chance(50), true});
  std::vector<std::string> indices;
  for (const Index& axis : axes) indices.push_back(axis.text);
  if (indices.empty()) indices.push_back("0");
  line(fmt::format("{}[{}] = {}", tensors_[tensor].name, fmt::join(indices, ", "), stored));
  last_written_ = tensor;
  last_is_reduction_ = false;
  indent_ = outside;
}

void ProgramWriter::nest(int levels) {
  if (levels == 0 || loops_.size() >= 4) return leaf();
  const std::size_t known = loops_.size();
  open_loop();
  const int outside = indent_;
  if (draw_.chance(1)) jump();
  use_scalars();
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
  use_scalars();
  while (statements_left_ > 0 && draw_.chance(35)) nest(draw_.between(0, levels - 1));
  if (draw_.chance(1)) jump();
  indent_ = outside - 1;
  loops_.resize(known);
}

void ProgramWriter::jump() {
  const Index& loop = loops_.back();
  const bool is_late = draw_.chance(60);
  const int value = is_late ? loop.high : draw_.between(loop.low, std::max(loop.low, loop.high));
  line(fmt::format("if {} == {}:", loop.text, value));
  line(draw_.weighted<const char*>({{"    break", 2}, {"    continue", 2}, {"    return", 1}}));
}

void ProgramWriter::open_loop() {
  const std::string name = fmt::format("i{}", names_++);
  const Size size = draw_size();
  Index index{name, 0, size.value - 1, size.symbol};
  std::string range = extent(size);
  std::optional<Index> range_in_memory;
  if (size.symbol.empty()) {
    // Others, whose bounds the variable of this one may be read in.
    const bool has_outer = !loops_.empty() && loops_.back().symbol.empty();
    switch (
        draw_.weighted<int>({{0, 60}, {1, 5}, {2, 4}, {3, 3}, {4, 3}, {5, 3}, {6, 3}, {7, 1}})) {
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
      case 7:
        if (!is_tame_) range_in_memory = gathered_index(size, loops_);
        break;
      default: break;
    }
    index.high = std::max(index.high, index.low);
  }
  if (range_in_memory) {
    range = range_in_memory->text;
  } else {
    index.range = range;
  }
  line(fmt::format("for {} in range({}):", name, range));
  ++indent_;
  loops_.push_back(index);
}

void ProgramWriter::nested_block(int levels) {
  const std::vector<Index> outside = loops_;
  const int indent = indent_;
  line(fmt::format("with T.block(\"b{}\"):", blocks_++));
  ++indent_;
  for (Index& loop : loops_) {
    const std::string axis = "v" + loop.text;
    line(fmt::format("{} = T.axis.spatial({}, {})", axis, domain(loop), loop.text));
    loop.text = axis;
    loop.range.clear();  // It names loops outside of the block.
  }
  nest(levels - 1);
  indent_ = indent;
  loops_ = outside;
}

std::string ProgramWriter::domain(const Index& loop) {
  if (!loop.symbol.empty()) return loop.symbol;
  return loop.low == 0 ? std::to_string(loop.high + 1)
                       : fmt::format("({}, {})", loop.low, loop.high + 1);
}

std::string ProgramWriter::domain_of(const Axis& axis) {
  const auto loop = std::ranges::find(loops_, axis.name, &Index::text);
  const bool may_be_loop = axis.kind != AxisKind::spatial && loop != loops_.end() &&
                           std::ranges::count(loop->range, ',') <= 1;
  if (!may_be_loop || loop->range.empty() || draw_.chance(50)) return domain(axis.value);
  const std::size_t comma = loop->range.find(',');
  return comma == std::string::npos ? loop->range : fmt::format("({})", loop->range);
}

}  // namespace loopsmith::schedule_testing
