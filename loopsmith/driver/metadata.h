// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/runtime/signature.h"

namespace loopsmith {

/// What an exported file says of itself.
struct Metadata {
  std::string target;
  std::string release;
  std::vector<Signature> functions;
};

/// As JSON, the same for equal metadata; and back. What is no such text is a FormatError.
std::string metadata_text(const Metadata& metadata);
Metadata parse_metadata(std::string_view text);

}  // namespace loopsmith
