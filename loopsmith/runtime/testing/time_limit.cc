// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/testing/time_limit.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

// Where this program's own code starts and ends, by the linker.
extern "C" const char __executable_start, etext;  // NOLINT(bugprone-reserved-identifier)

namespace loopsmith {
namespace {

/// Memory that another thread may be writing, or has given back: as much of it as can be read.
template <class Word>
std::vector<Word> read_words(std::uintptr_t address, std::size_t most) {
  std::vector<Word> words(most);
  const iovec here{words.data(), most * sizeof(Word)};
  // One page a piece: what cannot be read ends with a page.
  std::vector<iovec> there;
  for (std::uintptr_t at = address, end = address + here.iov_len; at < end;) {
    const std::uintptr_t next = std::min(end, (at | 4095) + 1);
    there.push_back({reinterpret_cast<void*>(at), next - at});
    at = next;
  }
  const auto size = process_vm_readv(getpid(), &here, 1, there.data(), there.size(), 0);
  words.resize(size > 0 ? static_cast<std::size_t>(size) / sizeof(Word) : 0);
  return words;
}

/// The functions of this program that the words from `stack` on point into, innermost first.
std::string functions_named_by(std::uintptr_t stack) {
  const auto start = reinterpret_cast<std::uintptr_t>(&__executable_start);
  const auto end = reinterpret_cast<std::uintptr_t>(&etext);
  std::ostringstream command;
  command << "addr2line -Cfpe " << std::filesystem::read_symlink("/proc/self/exe") << std::hex;
  int count = 0;
  for (const std::uintptr_t word : read_words<std::uintptr_t>(stack, 2048)) {
    if (word <= start || word >= end) continue;
    command << ' ' << word - start - 1;  // the call, not what is after it
    if (++count == 64) break;
  }
  std::FILE* pipe =
      count == 0 ? nullptr : popen(command.str().c_str(), "r");  // NOLINT(*-command-processor)
  if (!pipe) return "";
  std::string functions, last;
  char line[1000];
  for (int left = 12; left > 0 && std::fgets(line, sizeof line, pipe);) {
    if (line == last || !std::strstr(line, "loopsmith::")) continue;
    last = line;
    functions += "    " + last;
    --left;
  }
  pclose(pipe);
  return functions;
}

std::string text_of(const std::filesystem::path& file) {
  std::string line;
  std::getline(std::ifstream(file) >> std::ws, line);
  return line;
}

/// What a line of /proc/.../syscall says: a number, six arguments, the stack's end and more.
std::string what_call_does(const std::string& call) {
  std::istringstream words(call);
  long number = -1;
  if (!(words >> number))
    return call.empty() ? "does what the system keeps to itself\n" : call + '\n';
  std::array<std::uintptr_t, 7> arguments{};
  for (std::uintptr_t& argument : arguments) words >> std::hex >> argument;
  std::ostringstream text;
  if (number == SYS_futex) {
    text << "sleeps while the word at " << std::hex << arguments[0] << " is " << arguments[2];
    for (const auto word : read_words<std::uint32_t>(arguments[0], 1)) text << "; it is " << word;
  } else {
    text << "is in system call " << number;
  }
  text << '\n' << functions_named_by(arguments[6]);
  return text.str();
}

}  // namespace

std::string what_threads_do() {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::filesystem::path& task = entry.path();
    text += "thread " + task.filename().string() + " (" + text_of(task / "comm") + ") " +
            what_call_does(text_of(task / "syscall"));
  }
  return text;
}

TimeLimit::TimeLimit(std::chrono::milliseconds limit) : watcher_([this, limit] { watch(limit); }) {}

TimeLimit::~TimeLimit() {
  {
    const std::lock_guard lock(mutex_);
    kept_ = true;
  }
  kept_changed_.notify_one();
  watcher_.join();
}

void TimeLimit::watch(std::chrono::milliseconds limit) {
  pthread_setname_np(pthread_self(), "time limit");
  std::unique_lock lock(mutex_);
  if (kept_changed_.wait_for(lock, limit, [&] { return kept_; })) return;
  std::fprintf(stderr, "still running after %g s:\n%s",
               std::chrono::duration<double>(limit).count(), what_threads_do().c_str());
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace loopsmith
