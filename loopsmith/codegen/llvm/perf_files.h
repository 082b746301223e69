// SPDX-License-Identifier: Apache-2.0
// What tells perf the names of loaded code.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace loopsmith::detail {

/// A piece of loaded code that has a name.
struct NamedCode {
  std::uint64_t begin;  ///< Its first address, and the one after its last.
  std::uint64_t end;
  std::string name;
};

/// Which files are asked for, by environment variables that are 1.
struct PerfFiles {
  /// LOOPSMITH_PERF_MAP: `/tmp/perf-<pid>.map`, a line for each piece. Names alone, which
  /// `perf report` reads while the process or its map is there.
  bool map = false;
  /// LOOPSMITH_JITDUMP: `/tmp/jit-<pid>.dump`, with the instructions and the time at which each
  /// piece was loaded. `perf inject --jit` makes objects of it, which `perf annotate` shows.
  bool dump = false;
};
PerfFiles wanted_perf_files();

/// Adds pieces of code to the files. Where one cannot be written, a profile lacks names.
void tell_perf(const std::vector<NamedCode>& pieces, PerfFiles files);

}  // namespace loopsmith::detail
