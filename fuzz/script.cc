// SPDX-License-Identifier: Apache-2.0
// Any bytes as a script: either refused with a place, or a program that prints, and whose print is
// read as the same program.
#include <cstdint>
#include <string_view>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loopsmith;
  Ref read;
  try {
    read = parse({reinterpret_cast<const char*>(data), size});
  } catch (const UserError&) {
    return 0;
  }
  require_structural_equal(parse(script(read)), read);
  return 0;
}
