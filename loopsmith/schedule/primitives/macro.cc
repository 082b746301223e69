// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/macro.h"

namespace loopsmith {

Planned<MacroMark> plan_begin_macro(const Schedule&, const BeginMacroArguments&) {
  return MacroMark{};
}

Planned<MacroMark> plan_end_macro(const Schedule&, const EndMacroArguments&) {
  return MacroMark{};
}

Nothing commit_macro_mark(Schedule&, MacroMark&&) {
  return {};
}

}  // namespace loopsmith
