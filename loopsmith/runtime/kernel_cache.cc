// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/kernel_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace loopsmith {
namespace {

/// FNV-1a of 64 bits (draft-eastlake-fnv). Files say what they are of, so that it need not be more.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// A file: how long the origin is, the origin, the code.
std::string contents_of(std::string_view origin, std::string_view code) {
  return fmt::format("{}\n{}{}", origin.size(), origin, code);
}

}  // namespace

KernelCache KernelCache::of_user() {
  if (const char* chosen = std::getenv("LOOPSMITH_KERNEL_CACHE")) return KernelCache(chosen);
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && *cache) return KernelCache(std::string(cache) + "/loopsmith/kernels");
  return KernelCache(home && *home ? std::string(home) + "/.cache/loopsmith/kernels" : "");
}

std::string KernelCache::file_of(std::string_view origin) const {
  return fmt::format("{}/{:016x}", folder_, hash_of(origin));
}

std::optional<std::string> KernelCache::find(std::string_view origin) const {
  if (folder_.empty()) return {};
  std::ifstream file(file_of(origin), std::ios::binary);
  if (!file) return {};
  std::ostringstream text;
  text << file.rdbuf();
  std::string contents = std::move(text).str();
  const std::string head = contents_of(origin, "");
  if (!contents.starts_with(head)) return {};
  return contents.substr(head.size());
}

void KernelCache::keep(std::string_view origin, std::string_view code) const {
  if (folder_.empty()) return;
  static std::atomic<int> number = 0;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const std::string name = file_of(origin);
  const std::string part = fmt::format("{}.{}.{}", name, getpid(), number++);
  {
    std::ofstream file(part, std::ios::binary);
    file << contents_of(origin, code);
    file.close();
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(part, name, error);
  if (error) std::filesystem::remove(part, error);
}

}  // namespace loopsmith
