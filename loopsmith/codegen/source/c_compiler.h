// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopsmith {

/// The C compiler for machines of `triple`; for an empty one, this machine's: the environment
/// variable CC, or `cc`, `gcc` or `clang` on the path. Throws a UserError when there is none.
std::string c_compiler(std::string_view triple = {});

/// A folder for temporary files, deleted with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  void write(std::string_view name, std::span<const char> contents) const;
  std::vector<char> read(std::string_view name) const;
  /// Runs a program in the folder. Throws a UserError with what it said when it fails.
  void run(const std::vector<std::string>& command) const;

 private:
  std::string path_;
};

/// The object file that the C compiler makes of `text`, for this machine's processor.
std::vector<char> compile_c(std::string_view text);

}  // namespace loopsmith
