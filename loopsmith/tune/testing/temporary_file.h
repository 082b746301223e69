// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

namespace loopsmith::tune::testing {

/// A file in a folder of its own, which goes with it.
class TemporaryFile {
 public:
  TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "tuned.db").string(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace loopsmith::tune::testing
