// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loopsmith::tune {

/// Which candidates come next.
enum class Strategy {
  evolutionary,  ///< Descendants of the quickest, and of what the model likes.
  annealed,      ///< Walks by changes of one decision, ever less often to what is predicted slower.
  random,        ///< Any of the space.
};

}  // namespace loopsmith::tune
