// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/runtime/signature.h"

namespace loopsmith {

/// What an exported file says of itself.
struct Metadata {
  std::string target;
  std::string release;
  std::vector<Signature> functions;
  /// For each function the JSON of the trace of the schedule that made it; empty where none did.
  std::vector<std::string> traces = {};
};

/// Under which attribute of a function `build` finds its trace.
inline constexpr std::string_view trace_attribute = "tir.schedule_trace";

/// The function without what only modules ask it for: its trace, its outputs.
Ptr<PrimFunc> without_notes(const Ptr<PrimFunc>& func);

/// As JSON, the same for equal metadata; and back. What is no such text is a FormatError.
std::string metadata_text(const Metadata& metadata);
Metadata parse_metadata(std::string_view text);

}  // namespace loopsmith
