// SPDX-License-Identifier: Apache-2.0
// Variables of a function: counters in indices, what is kept for a while, extremes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loopsmith/schedule/testing/program_writer.h"

namespace loopsmith::schedule_testing {

void ProgramWriter::declare_scalars() {
  has_scalars_ = types_ == IndexTypes::int32 && scalars_.chance(12);
  if (!has_scalars_) return;
  line(fmt::format("s = T.int32({})", scalars_.between(0, 3)));
  line(fmt::format("x = T.{}({})", tensors_[0].type, scalars_.between(0, 3)));
}

std::string ProgramWriter::element_by_scalars(const DrawnTensor& tensor) {
  std::vector<std::string> indices;
  for (const Size& size : tensor.shape) {
    const std::string& sum =
        loops_.empty() || scalars_.chance(30) ? "s" : "s + " + loops_.back().text;
    indices.push_back(size.value > 0 ? fmt::format("({}) % {}", sum, size.value) : "0");
  }
  return fmt::format("{}[{}]", tensor.name, fmt::join(indices, ", "));
}

void ProgramWriter::search_by_scalars(const DrawnTensor& tensor) {
  const std::string name = fmt::format("i{}", names_++);
  std::vector<std::string> indices;
  for (const Size& size : tensor.shape) {
    const int start = scalars_.between(0, 2);
    indices.push_back(size.value > 0 ? fmt::format("({} + {}) % {}", name, start, size.value)
                                     : "0");
  }
  const std::string element = fmt::format("{}[{}]", tensor.name, fmt::join(indices, ", "));
  const bool is_extreme = scalars_.chance(60);
  const char* order = scalars_.of<const char*>({">", "<", ">=", "<="});
  line(fmt::format("for {} in range({}):", name,
                   scalars_.of<const char*>({"4", "2, 5", "5, -1, -1", "0"})));
  line(fmt::format("    if {} {} {}:", element, order,
                   is_extreme ? "x" : literal(tensor.type, scalars_.between(0, 3))));
  if (is_extreme || scalars_.chance(30)) line(fmt::format("        x = {}", element));
  line(fmt::format("        s = {} + {}", name, scalars_.between(0, 2)));
}

void ProgramWriter::use_scalars() {
  if (!has_scalars_ || tensors_[0].shape.empty() || !scalars_.chance(60)) return;
  const std::string element = element_by_scalars(tensors_[0]);
  const std::string& type = tensors_[0].type;
  const std::string loop = loops_.empty() ? "2" : loops_.back().text;
  switch (scalars_.between(0, 10)) {
    case 0: return line(fmt::format("s = s + {}", scalars_.between(1, 3)));
    case 1: return line(fmt::format("s = {}", loop));
    case 2: return line(fmt::format("s = {}", scalars_.between(0, 2)));
    case 3: return line(fmt::format("x = {}", element));
    case 4: return line(fmt::format("x = x + {}", element));
    case 5: return line(fmt::format("x = T.max(x, {})", element));
    case 6: {
      const char* order = scalars_.of<const char*>({">", "<", ">=", "<="});
      line(fmt::format("if {} {} x:", element, order));
      return line(fmt::format("    x = {}", element));
    }
    case 7: return line(fmt::format("{} = x", element));
    case 8:
    case 9: return search_by_scalars(tensors_[0]);
    default: return line(fmt::format("{0} = {0} + {1}", element, literal(type, 1)));
  }
}

}  // namespace loopsmith::schedule_testing
