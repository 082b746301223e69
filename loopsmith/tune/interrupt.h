// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <csignal>

namespace loopsmith::tune {

/// While one that watches lives, SIGINT (Ctrl-C) does not end the process, but is noted, and the
/// handler that was there before comes back at its end. One at a time watches.
class InterruptWatch {
 public:
  explicit InterruptWatch(bool is_watching);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// Whether there was one since it began to watch.
  bool has_come() const;

 private:
  bool is_watching_;
  struct sigaction before_ = {};
};

}  // namespace loopsmith::tune
