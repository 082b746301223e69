// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search/program_key.h"

#include "loopsmith/ir/structural.h"

namespace loopsmith::tune {

Ptr<PrimFunc> named_main(const Ptr<PrimFunc>& func) {
  return with_attr(func, "global_symbol", string_imm("main"));
}

std::string key_of(const Ptr<PrimFunc>& func) {
  return to_string(structural_hash(named_main(func)));
}

}  // namespace loopsmith::tune
