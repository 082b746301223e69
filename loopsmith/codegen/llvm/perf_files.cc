// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/perf_files.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string_view>

namespace loopsmith::detail {
namespace {

bool is_asked_for(const char* variable) {
  const char* value = std::getenv(variable);
  return value && std::string_view(value) == "1";
}

void add_to_map(const std::vector<NamedCode>& pieces) {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::FILE* file = std::fopen(path.c_str(), "a");
  if (!file) return;
  for (const NamedCode& piece : pieces) {
    std::fprintf(file, "%llx %llx %s\n", static_cast<unsigned long long>(piece.begin),
                 static_cast<unsigned long long>(piece.end - piece.begin), piece.name.c_str());
  }
  std::fclose(file);
}

// The form of the dump: tools/perf/Documentation/jitdump-specification.txt of Linux, version 1.

#if defined(__x86_64__)
constexpr std::uint32_t own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t own_machine = EM_AARCH64;
#elif defined(__riscv)
constexpr std::uint32_t own_machine = EM_RISCV;
#else
constexpr std::uint32_t own_machine = EM_NONE;
#endif

struct DumpHeader {
  std::uint32_t magic = 0x4A695444;
  std::uint32_t version = 1;
  std::uint32_t total_size = sizeof(DumpHeader);
  std::uint32_t machine = own_machine;
  std::uint32_t padding = 0;
  std::uint32_t pid = 0;
  std::uint64_t nanoseconds = 0;
  std::uint64_t flags = 0;
};

struct LoadRecord {
  std::uint32_t kind = 0;  ///< JIT_CODE_LOAD.
  std::uint32_t total_size = 0;
  std::uint64_t nanoseconds = 0;
  std::uint32_t pid = 0;
  std::uint32_t thread = 0;
  std::uint64_t virtual_address = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t index = 0;
  // The name with its zero, then the code.
};
static_assert(sizeof(DumpHeader) == 40 && sizeof(LoadRecord) == 56);

/// By the clock of `perf record -k mono`.
std::uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

/// The dump of this process. It stays open: perf finds it by a page of it that is mapped as code.
class Dump {
 public:
  void add(const std::vector<NamedCode>& pieces) {
    if (pid_ != getpid()) open();  // Also after a fork.
    if (!file_) return;
    for (const NamedCode& piece : pieces) add(piece);
    std::fflush(file_);
  }

 private:
  void open() {
    pid_ = getpid();
    file_ = std::fopen(("/tmp/jit-" + std::to_string(pid_) + ".dump").c_str(), "w+");
    if (!file_) return;
    write(DumpHeader{.pid = static_cast<std::uint32_t>(pid_), .nanoseconds = now()});
    std::fflush(file_);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if (mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file_), 0) == MAP_FAILED) {
      std::fclose(file_);
      file_ = nullptr;
    }
  }

  template <class Record>
  void write(const Record& record) {
    std::fwrite(&record, sizeof(Record), 1, file_);
  }

  void add(const NamedCode& piece) {
    const std::uint64_t size = piece.end - piece.begin;
    const std::size_t name_size = piece.name.size() + 1;
    write(LoadRecord{
        .total_size = static_cast<std::uint32_t>(sizeof(LoadRecord) + name_size + size),
        .nanoseconds = now(),
        .pid = static_cast<std::uint32_t>(pid_),
        .thread = static_cast<std::uint32_t>(syscall(SYS_gettid)),
        .virtual_address = piece.begin,
        .address = piece.begin,
        .size = size,
        .index = index_++,
    });
    std::fwrite(piece.name.c_str(), 1, name_size, file_);
    std::fwrite(reinterpret_cast<const void*>(piece.begin), 1, size, file_);
  }

  std::FILE* file_ = nullptr;
  pid_t pid_ = -1;
  std::uint64_t index_ = 0;
};

}  // namespace

PerfFiles wanted_perf_files() {
  return {.map = is_asked_for("LOOPSMITH_PERF_MAP"), .dump = is_asked_for("LOOPSMITH_JITDUMP")};
}

void tell_perf(const std::vector<NamedCode>& pieces, PerfFiles files) {
  static std::mutex mutex;
  static Dump dump;
  const std::lock_guard lock(mutex);
  if (files.map) add_to_map(pieces);
  if (files.dump) dump.add(pieces);
}

}  // namespace loopsmith::detail
