// SPDX-License-Identifier: Apache-2.0
// Conditions, indices that stay in bounds, and values.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "loopsmith/schedule/testing/program_writer.h"

namespace loopsmith::schedule_testing {

std::string ProgramWriter::condition(const std::vector<Index>& loops, bool keeps_least) {
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
    case 4:
      // What holds always, the reader decides: its `if` is then none.
      return a.text == b.text ? fmt::format("{} != {}", a.text, middle)
                              : fmt::format("{} <= {}", a.text, b.text);
    case 5: return fmt::format("{} + {} < {}", a.text, b.text, middle + b.high);
    default: return fmt::format("{} >= 1 and {} < {}", a.text, b.text, b.high);
  }
}

std::optional<Index> ProgramWriter::index_for(const Size& size, const std::vector<Index>& from) {
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

std::optional<Index> ProgramWriter::gathered_index(const Size& size,
                                                   const std::vector<Index>& from) {
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

std::optional<Index> ProgramWriter::constant_index(const Size& size) {
  if (size.value <= 0) return {};
  const int value = draw_.between(0, size.value - 1);
  return Index{std::to_string(value), value, value};
}

Index ProgramWriter::changed(const Index& a, const Index& b, const Size& size) {
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

std::optional<std::string> ProgramWriter::indices_for(const DrawnTensor& tensor,
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

std::string ProgramWriter::literal(const std::string& type, int value) {
  return fmt::format("T.{}({})", type, value);
}

std::string ProgramWriter::converted(const std::string& from, const std::string& to,
                                     std::string value) {
  return from == to ? value : fmt::format("T.Cast(\"{}\", {})", to, value);
}

std::string ProgramWriter::load(const std::vector<Index>& from, const std::string& type) {
  std::vector<std::size_t> readable;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    if (tensors_[t].is_written || !tensors_[t].is_local) readable.push_back(t);
  }
  for (int attempt = 0; attempt < 4; ++attempt) {
    const bool is_last = last_written_ && draw_.chance(is_plain_ ? 75 : is_tame_ ? 60 : 45);
    const DrawnTensor& tensor = tensors_[is_last ? *last_written_ : draw_.of(readable)];
    const auto indices = indices_for(tensor, from);
    if (!indices) continue;
    std::string value = converted(tensor.type, type, fmt::format("{}[{}]", tensor.name, *indices));
    if (draw_.chance(6) && !from.empty()) {
      value = fmt::format("T.if_then_else({}, {}, {})", condition(from, false), value,
                          literal(type, draw_.between(0, 1)));
    }
    return value;
  }
  return literal(type, draw_.between(0, 3));
}

std::string ProgramWriter::value(const std::vector<Index>& from, const std::string& type) {
  const std::string a = load(from, type);
  const bool is_float = type.starts_with("float");
  switch (draw_.weighted<int>(
      {{0, 6}, {1, 6}, {2, 5}, {3, 4}, {4, 2}, {5, 1}, {6, 2}, {7, 1}, {8, 1}, {9, 1}, {10, 2}})) {
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
      return fmt::format("T.if_then_else({}, {}, {})", condition(from, false), a, literal(type, 0));
    default: return a;
  }
}

}  // namespace loopsmith::schedule_testing
