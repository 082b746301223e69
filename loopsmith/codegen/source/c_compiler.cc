// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/source/c_compiler.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "loopsmith/support/error.h"

extern char** environ;

namespace loopsmith {
namespace {

namespace fs = std::filesystem;

bool is_on_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/bin";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, colon)) / program;
    if (::access(candidate.c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return false;
}

}  // namespace

std::string c_compiler(std::string_view triple) {
  std::vector<std::string> candidates;
  if (triple.empty()) {
    if (const char* chosen = std::getenv("CC"); chosen && *chosen) candidates.emplace_back(chosen);
    candidates.insert(candidates.end(), {"cc", "gcc", "clang"});
  } else {
    candidates.push_back(fmt::format("{}-gcc", triple));
  }
  for (const std::string& candidate : candidates) {
    if (is_on_path(candidate)) return candidate;
  }
  require(false, "c_compiler_is_found", hint("install it, or put it on the path"),
          "there is no C compiler: neither {}", fmt::join(candidates, " nor "));
  return {};
}

TemporaryFolder::TemporaryFolder() {
  std::error_code missing;
  path_ = (fs::temp_directory_path(missing) / "loopsmith-XXXXXX").string();
  require(!missing && ::mkdtemp(path_.data()) != nullptr, "temporary_folder",
          hint("set TMPDIR to a folder"), "the temporary folder {} cannot be made", path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TemporaryFolder::write(std::string_view name, std::span<const char> contents) const {
  std::ofstream out(fs::path(path_) / name, std::ios::binary);
  out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  require(out.good(), "temporary_file", hint("free space there, or set TMPDIR"),
          "{} cannot be written to {}", name, path_);
}

std::vector<char> TemporaryFolder::read(std::string_view name) const {
  std::ifstream in(fs::path(path_) / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void TemporaryFolder::run(const std::vector<std::string>& command) const {
  constexpr const char* said = "said.txt";
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addchdir_np(&actions, path_.c_str());
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (failed == 0) {
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  const bool succeeded = failed == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (succeeded) return;
  const std::vector<char> text = read(said);
  require(false, "program_succeeds", hint("see what it said"), "{} failed:\n{}",
          fmt::join(command, " "), std::string(text.begin(), text.end()));
}

std::vector<char> compile_c(std::string_view text) {
  const TemporaryFolder folder;
  folder.write("kernel.c", text);
  std::vector<std::string> command{c_compiler(),
                                   "-std=c99",
                                   "-O3",
                                   "-march=native",
                                   "-fPIC",
                                   "-fno-math-errno",
                                   "-ffp-contract=off",
                                   "-fno-asynchronous-unwind-tables"};
#ifdef __x86_64__
  // GCC 12.2 is wrong about sums of products of bytes in vectors of 512 bits.
  command.emplace_back("-mprefer-vector-width=256");
#endif
  command.insert(command.end(), {"-c", "kernel.c", "-o", "kernel.o"});
  folder.run(command);
  return folder.read("kernel.o");
}

}  // namespace loopsmith
