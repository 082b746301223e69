// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loopsmith::python {

/// Lets this thread do nothing until the process has ended, as Python does from 3.14 on.
[[noreturn]] void stop_this_thread();

}  // namespace loopsmith::python
