// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/interrupt.h"

#include <atomic>

namespace loopsmith::tune {
namespace {

/// A handler can be told of nothing else; any thread may be the one that is interrupted.
std::atomic<bool> was_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

InterruptWatch::InterruptWatch(bool is_watching) : is_watching_(is_watching) {
  if (!is_watching_) return;
  was_interrupted = false;
  struct sigaction own = {};
  own.sa_handler = [](int) { was_interrupted = true; };
  own.sa_flags = SA_RESTART;
  ::sigemptyset(&own.sa_mask);
  ::sigaction(SIGINT, &own, &before_);
}

InterruptWatch::~InterruptWatch() {
  if (is_watching_) ::sigaction(SIGINT, &before_, nullptr);
}

bool InterruptWatch::has_come() const {
  return is_watching_ && was_interrupted;
}

}  // namespace loopsmith::tune
