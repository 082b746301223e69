// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/testing/temporary_file.h"

#include <unistd.h>

#include <cstdlib>

namespace loopsmith::tune::testing {

TemporaryFile::TemporaryFile() {
  std::string pattern = (std::filesystem::temp_directory_path() / "records_XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
}

}  // namespace loopsmith::tune::testing
