// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/random_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "loopsmith/schedule/testing/program_writer.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::schedule_testing {

std::string ProgramWriter::write() {
  draw_sizes();
  type_ = draw_.weighted<const char*>(
      {{"float32", 9}, {"int32", 6}, {"uint32", 2}, {"int64", 1}, {"float64", 1}, {"int8", 1}});
  is_tame_ = draw_.chance(50);
  is_plain_ = is_tame_ && draw_.chance(50);
  const int inputs = draw_.between(1, 2);
  for (int i = 0; i < inputs; ++i) new_tensor(draw_shape(), false, true);
  statements_left_ = draw_.weighted<int>({{1, is_tame_ ? 1 : 3}, {2, 4}, {3, 3}, {4, 2}});
  if (draw_.chance(7)) write_view();
  declare_scalars();
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
    use_scalars();
    is_tame_ ? stage() : nest(draw_.weighted<int>({{0, 1}, {1, 6}, {2, 8}, {3, 4}}));
  }
  use_scalars();
  if (families_.chance(10)) write_family();
  return finished();
}

std::string ProgramWriter::extent(const Size& size) {
  const bool is_wide = types_ == IndexTypes::mixed && size.symbol.empty() && wide_.chance(60);
  return is_wide ? fmt::format("T.int64({})", size.text()) : size.text();
}

void ProgramWriter::draw_sizes() {
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

Size ProgramWriter::draw_size() {
  return draw_.of(sizes_);
}

std::vector<Size> ProgramWriter::draw_shape() {
  std::vector<Size> shape(draw_.weighted<std::size_t>({{1, 5}, {2, 8}, {3, 1}}));
  for (Size& size : shape) size = draw_size();
  return shape;
}

std::size_t ProgramWriter::new_tensor(std::vector<Size> shape, bool is_local, bool is_written) {
  const std::string name(1, static_cast<char>('A' + tensors_.size()));
  std::string type = type_;
  if (draw_.chance(6)) type = draw_.of<std::string>({"int32", "float32", "uint8", "int64"});
  tensors_.push_back({name, type, std::move(shape), is_local, is_written});
  return tensors_.size() - 1;
}

std::string ProgramWriter::text(const std::vector<Size>& shape) {
  std::string list;
  for (const Size& size : shape) list += extent(size) + ", ";
  if (shape.size() > 1) list.resize(list.size() - 2);
  if (shape.size() == 1) list.resize(list.size() - 1);
  return "(" + list + ")";
}

void ProgramWriter::write_view() {
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

void ProgramWriter::line(const std::string& text) {
  body_ += std::string(4 * static_cast<std::size_t>(indent_), ' ') + text + "\n";
}

std::string ProgramWriter::finished() {
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

std::string random_script(std::uint64_t seed, IndexTypes types) {
  return ProgramWriter(seed, types).write();
}

Ptr<PrimFunc> random_program(std::uint64_t seed, IndexTypes types) {
  return parse_function(random_script(seed, types));
}

}  // namespace loopsmith::schedule_testing
