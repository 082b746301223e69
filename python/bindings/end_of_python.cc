// SPDX-License-Identifier: Apache-2.0
// Python before 3.14 ends a daemon thread that asks for its lock while the process ends, by
// `pthread_exit`: the stack is unwound, and destructors of C++ would run on it without the lock.
// Any call of Python may end so. The linker puts the function below in the place of the one that
// the unwinder calls for each frame of C++ (see LoopsmithPython.cmake): the thread stops there,
// before a destructor has run.
#include "bindings/end_of_python.h"

#include <unistd.h>
#include <unwind.h>

namespace loopsmith::python {

void stop_this_thread() {
  for (;;) pause();
}

}  // namespace loopsmith::python

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): names that the linker gives.
_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context);

_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context) {
  if ((actions & _UA_FORCE_UNWIND) != 0) loopsmith::python::stop_this_thread();
  return __real___gxx_personality_v0(version, actions, kind, exception, context);
}
// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
