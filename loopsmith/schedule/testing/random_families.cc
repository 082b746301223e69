// SPDX-License-Identifier: Apache-2.0
// What is no product: recurrences, sweeps, exchanges, indices and bounds that memory tells.
#include <fmt/format.h>

#include "loopsmith/schedule/testing/program_writer.h"

namespace loopsmith::schedule_testing {

std::string ProgramWriter::parameter(const std::string& type, std::vector<Size> shape) {
  const std::string name(1, static_cast<char>('A' + tensors_.size()));
  tensors_.push_back({name, type, std::move(shape), false, true});
  return name;
}

void ProgramWriter::write_family() {
  const int n = families_.between(2, 6), m = families_.between(2, 5);
  const std::string type = families_.of<const char*>({"float32", "int32", "int64"});
  const std::string i = fmt::format("i{}", names_++), j = fmt::format("i{}", names_++);
  switch (families_.between(0, 6)) {
    case 0: return recurrence(type, i, families_.of({n, n + 30}));
    case 1: return sweep(type, i, j, n, m);
    case 2: return scatter(type, i, n, m);
    case 3: {  // Rows whose bounds are read.
      const std::string starts = parameter("int32", {{n + 1}}), values = parameter(type, {{8}});
      const std::string sums = parameter(type, {{n}});
      line(fmt::format("for {} in range({}):", i, n));
      line(fmt::format("    for {0} in range({1}[{2}] % 4, {1}[{2}] % 4 + {1}[{2} + 1] % 5):", j,
                       starts, i));
      return line(fmt::format("        {0}[{1}] = {0}[{1}] + {2}[{3}]", sums, i, values, j));
    }
    case 4: {  // A transpose in place.
      const std::string matrix = parameter(type, {{n}, {n}});
      line(fmt::format("for {} in range({}):", i, n));
      line(fmt::format("    for {} in range({} + 1, {}):", j, i, n));
      line(fmt::format("        kept = {}[{}, {}]", matrix, i, j));
      line(fmt::format("        {0}[{1}, {2}] = {0}[{2}, {1}]", matrix, i, j));
      return line(fmt::format("        {}[{}, {}] = kept", matrix, j, i));
    }
    case 5: {  // Turns of which memory tells how many.
      const std::string turns = parameter("int32", {{n}}), sums = parameter(type, {{n}});
      const std::string values = parameter(type, {{4}});
      line(fmt::format("for {} in range({}):", i, n));
      line("    turn = T.int32(0)");
      line(fmt::format("    while turn < {}[{}] % 4:", turns, i));
      line("        turn = turn + 1");
      return line(fmt::format("        {0}[{1}] = {0}[{1}] + {2}[turn]", sums, i, values));
    }
    default: {  // Two numbers that are carried along a row.
      const std::string rows = parameter(type, {{n}, {m}}), totals = parameter(type, {{n}});
      line(fmt::format("for {} in range({}):", i, n));
      line(fmt::format("    top = {}", literal(type, 0)));
      line(fmt::format("    total = {}", literal(type, 1)));
      line(fmt::format("    for {} in range({}):", j, m));
      line(fmt::format("        higher = T.max(top, {}[{}, {}])", rows, i, j));
      line(fmt::format("        total = total * (higher - top) + {}", literal(type, 1)));
      line("        top = higher");
      return line(fmt::format("    {}[{}] = total", totals, i));
    }
  }
}

void ProgramWriter::recurrence(const std::string& type, const std::string& i, int n) {
  const std::string input = parameter(type, {{n}}), result = parameter(type, {{n + 1}});
  const std::string before = fmt::format("{}[{}]", result, i);
  const std::string value = fmt::format("{}[{}]", input, i);
  line(fmt::format("for {} in range({}):", i, n));
  const char* form =
      families_.of<const char*>({"{0} + {1}", "{0} + {1}", "T.max({0}, {1})", "{0} * {2} + {1}",
                                 "{1} - {0}", "T.Select({1} > {2}, {1}, {0} + {1})"});
  line(fmt::format("    {}[{} + 1] = {}", result, i,
                   fmt::format(fmt::runtime(form), before, value, literal(type, 2))));
  if (!families_.chance(50)) return;
  const std::string use = parameter(type, {{n}});
  line(fmt::format("    {}[{}] = {} * {} + {}", use, i, before, literal(type, 3), value));
}

void ProgramWriter::sweep(const std::string& type, const std::string& i, const std::string& j,
                          int n, int m) {
  const std::string grid = parameter(type, {{n + 2}, {m + 2}});
  const char* form = families_.of<const char*>(
      {"{0}[{1}, {2} + 1] + {0}[{1} + 1, {2}]",
       "{0}[{1}, {2} + 1] + {0}[{1} + 1, {2}] + {0}[{1} + 2, {2} + 1] + {0}[{1} + 1, {2} + 2]",
       "T.max({0}[{1}, {2}], {0}[{1}, {2} + 1]) + {0}[{1} + 1, {2}]",
       "{0}[{1}, {2} + 2] + {0}[{1} + 1, {2}]"});
  line(fmt::format("for {}, {} in T.grid({}, {}):", i, j, n, m));
  line(fmt::format("    {}[{} + 1, {} + 1] = {}", grid, i, j,
                   fmt::format(fmt::runtime(form), grid, i, j)));
}

void ProgramWriter::scatter(const std::string& type, const std::string& i, int n, int m) {
  const std::string places = parameter("int32", {{n}}), bins = parameter(type, {{m}});
  const std::string bin = fmt::format("{}[{}[{}] % {}]", bins, places, i, m);
  const std::string update = families_.of<std::string>(
      {fmt::format("{} + {}", bin, literal(type, 1)),
       fmt::format("T.max({}, {})", bin, literal(type, 4)), literal(type, 5)});
  line(fmt::format("for {} in range({}):", i, n));
  line(fmt::format("    {} = {}", bin, update));
}

}  // namespace loopsmith::schedule_testing
