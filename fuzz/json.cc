// SPDX-License-Identifier: Apache-2.0
// Any bytes as JSON of IR: either refused as such, or a graph that survives a way through text.
#include <cstdint>
#include <string>
#include <string_view>

#include "loopsmith/ir/json.h"
#include "loopsmith/support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loopsmith;
  Ref root;
  try {
    root = from_json({reinterpret_cast<const char*>(data), size});
  } catch (const UserError&) {
    return 0;
  }
  const std::string text = to_json(root);
  check(to_json(from_json(text)) == text, "from_json", "another graph came back of {}", text);
  return 0;
}
