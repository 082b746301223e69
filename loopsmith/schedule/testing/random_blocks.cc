// SPDX-License-Identifier: Apache-2.0
// Stores, in blocks mostly, and reductions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "loopsmith/schedule/testing/program_writer.h"

namespace loopsmith::schedule_testing {

void ProgramWriter::leaf() {
  --statements_left_;
  const int indent = indent_;
  if (loops_.empty() || (!is_plain_ && draw_.chance(is_tame_ ? 4 : 18))) {
    opaque_store();
  } else {
    block();
  }
  indent_ = indent;
}

void ProgramWriter::opaque_store() {
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

void ProgramWriter::block() {
  std::vector<Axis> axes = draw_axes();
  line(fmt::format("with T.block(\"b{}\"):", blocks_++));
  ++indent_;
  const int inside = indent_;
  const std::size_t head = body_.size();
  std::vector<Index> values, spatial;
  for (Axis& axis : axes) {
    if (!axis.is_loop) axis.value.range.clear();  // Blocks inside see the axis alone.
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
    if (axis.is_loop) continue;
    line(fmt::format("{} = T.axis.{}({}, {})", axis.value.text,
                     axis.kind == AxisKind::spatial ? "spatial" : "reduce", domain_of(axis),
                     axis.name));
  }
  if (has_condition) line(fmt::format("T.where({})", predicate(has_init)));
  body_ += rest;
}

std::string ProgramWriter::predicate(bool has_init) {
  if (draw_.chance(8)) return fmt::format("{} < {}", load(loops_, type_), literal(type_, 2));
  return condition(loops_, has_init && draw_.chance(70));
}

std::vector<Axis> ProgramWriter::draw_axes() {
  std::vector<Axis> axes;
  if (!is_plain_ && draw_.chance(5)) {
    for (const Index& loop : loops_) axes.push_back({.value = loop, .is_loop = true});
    return axes;
  }
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
    } else if (is_number && loop.low == 0 && !is_tame_ && draw_.chance(2)) {
      const auto gathered = gathered_index({loop.high + 1}, loops_);
      if (gathered) axis.name = gathered->text;
    }
    axes.push_back(axis);
  }
  return axes;
}

ProgramWriter::Target ProgramWriter::target(const std::vector<Index>& by, bool uses_all,
                                            bool is_read) {
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

ProgramWriter::Target ProgramWriter::new_target(std::vector<Index> by, bool uses_all,
                                                bool is_read) {
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

void ProgramWriter::was_written(const Target& target) {
  tensors_[target.tensor].is_written = true;
  last_written_ = target.tensor;
  last_is_reduction_ = false;
}

void ProgramWriter::store(const std::vector<Index>& by, const std::vector<Index>& from) {
  const Target target = this->target(by, false);
  const std::string& type = tensors_[target.tensor].type;
  const bool updates = tensors_[target.tensor].is_written && draw_.chance(25);
  std::string stored = value(from, type);
  if (updates) stored = combined(type, target.access, stored);
  line(fmt::format("{} = {}", target.access, stored));
  was_written(target);
}

std::string ProgramWriter::combined(const std::string& type, const std::string& old,
                                    const std::string& by) {
  if (draw_.chance(12)) return fmt::format("T.max({}, {})", old, by);
  if (draw_.chance(8)) return fmt::format("T.min({}, {})", old, by);
  if (draw_.chance(5) && type.starts_with("float")) return fmt::format("{} * ({})", old, by);
  return fmt::format("{} + {}", old, draw_.chance(70) ? by : "(" + by + ")");
}

void ProgramWriter::reduction(const std::vector<Index>& spatial, const std::vector<Index>& from) {
  const Target target = this->target(spatial, true);
  const std::string type = tensors_[target.tensor].type;
  line("with T.init():");
  // What the init leaves as it was is read by the body.
  const bool is_partial = !is_plain_ && !spatial.empty() && draw_.chance(is_tame_ ? 2 : 6);
  if (is_partial) line(fmt::format("    if {}:", condition(spatial, false)));
  const bool is_plain = draw_.chance(80);
  line(fmt::format(
      "{}{} = {}", is_partial ? "        " : "    ", target.access,
      is_plain ? literal(type, draw_.weighted<int>({{0, 8}, {1, 2}})) : load(spatial, type)));
  line(fmt::format("{} = {}", target.access, combined(type, target.access, value(from, type))));
  was_written(target);
  last_is_reduction_ = tensors_[target.tensor].is_local;
  // An output beside it that the init does not start.
  if (!is_plain_ && draw_.chance(is_tame_ ? 1 : 4)) accumulation(spatial, from);
}

void ProgramWriter::accumulation(const std::vector<Index>& spatial,
                                 const std::vector<Index>& from) {
  const Target target = this->target(spatial, true, true);
  const std::string type = tensors_[target.tensor].type;
  line(fmt::format("{} = {}", target.access, combined(type, target.access, value(from, type))));
  was_written(target);
}

}  // namespace loopsmith::schedule_testing
