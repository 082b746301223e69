// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

constexpr std::string_view kind_names[] = {"llvm", "c", "cuda", "opencl"};

/// One option: which kinds have it (their letters: l, c, u for cuda, o), and whether it is a
/// number.
struct OptionInfo {
  std::string_view name;
  std::string_view kinds;
  bool is_number = false;
};
constexpr char kind_letters[] = {'l', 'c', 'u', 'o'};

constexpr OptionInfo option_table[] = {
    {"mcpu", "l"},                                // A processor's name, or `native`.
    {"mattr", "l"},                               // Features: `+avx512f,-fma`.
    {"mtriple", "l"},                             // A machine: `x86_64-linux-gnu`.
    {"opt-level", "l", true},                     // 0 (fastest to compile) to 3.
    {"num-cores", "lc", true},                    // How many processors to schedule for.
    {"vector-width", "l", true},                  // Bits of a vector; else the processor's.
    {"arch", "u"},                                // `sm_90a`.
    {"device", "uo", true},                       // The number of the device to run on.
    {"max_threads_per_block", "uo", true},        // Limits of the device.
    {"max_num_threads", "uo", true},              //
    {"max_shared_memory_per_block", "uo", true},  // Bytes.
    {"registers_per_block", "u", true},           //
    {"thread_warp_size", "uo", true},             //
    {"l2_cache_size_bytes", "u", true},           //
    {"allow_tf32", "u", true},                    // Whether rules may round operands to 11 bits.
};

const OptionInfo* find_option(TargetKind kind, std::string_view name) {
  const char letter = kind_letters[static_cast<int>(kind)];
  const auto* found = std::ranges::find(option_table, name, &OptionInfo::name);
  if (found == std::end(option_table) || found->kinds.find(letter) == std::string_view::npos) {
    return nullptr;
  };
  return found;
}

std::vector<std::string_view> options_of(TargetKind kind) {
  std::vector<std::string_view> names;
  for (const OptionInfo& option : option_table) {
    if (find_option(kind, option.name)) names.push_back(option.name);
  }
  return names;
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

TargetKind parse_kind(std::string_view name) {
  const auto* found = std::ranges::find(kind_names, name);
  require(found != std::end(kind_names), "unknown_target",
          hint("start with llvm, c, cuda or opencl, as in 'llvm -mcpu=native'"),
          "target: '{}' is not a kind of target", name);
  return static_cast<TargetKind>(found - kind_names);
}

/// The next word of `text`, which is then without it; empty at the end.
std::string_view take_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  const std::size_t end = std::min(text.find_first_of(" \t\n", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

}  // namespace

std::string_view to_string(TargetKind kind) {
  return kind_names[static_cast<int>(kind)];
}

Target::Target(std::string_view text) : kind_(parse_kind(take_word(text))) {
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
    require(word.starts_with("-"), "target_option_has_dash", hint("write -name=value"),
            "target: option '{}' does not start with a dash", word);
    const std::size_t name_begin = std::min(word.find_first_not_of('-'), word.size());
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      set(word.substr(name_begin), "1");
    } else {
      set(word.substr(name_begin, equals - name_begin), word.substr(equals + 1));
    }
  }
}

Target::Target(std::string_view kind, Options options) : kind_(parse_kind(kind)) {
  for (const auto& [name, value] : options) set(name, value);
}

void Target::set(std::string_view name, std::string_view value) {
  const OptionInfo* option = find_option(kind_, name);
  if (!option) {
    const std::string hint_text =
        fmt::format("its options are {}", fmt::join(options_of(kind_), ", "));
    require(false, "unknown_target_option", hint(hint_text), "target: {} has no option '{}'",
            to_string(kind_), name);
  }
  if (option->is_number) {
    const std::optional<std::int64_t> number = parse_number(value);
    require(number && *number >= 0, "target_option_is_number", hint("give a number, 0 or more"),
            "target: option {} is '{}', not a number", name, value);
  }
  options_.insert_or_assign(std::string(name), std::string(value));
}

std::string Target::get(std::string_view option, std::string_view default_value) const {
  const auto found = options_.find(option);
  return std::string(found == options_.end() ? default_value : std::string_view(found->second));
}

std::int64_t Target::get_int(std::string_view option, std::int64_t default_value) const {
  const auto found = options_.find(option);
  return found == options_.end() ? default_value
                                 : parse_number(found->second).value_or(default_value);
}

std::string Target::text() const {
  std::string text(to_string(kind_));
  for (const auto& [name, value] : options_) text += fmt::format(" -{}={}", name, value);
  return text;
}

namespace {

/// Shared memory of a block by architecture, where a launch asks for it (CUDA C++ Programming
/// Guide, table of compute capabilities).
std::int64_t cuda_pool_bytes(const Target& target) {
  const std::string arch = target.get("arch", "sm_80");
  constexpr std::int64_t kib = 1024;
  for (const char* large : {"sm_90", "sm_100", "sm_103"}) {
    if (arch.starts_with(large)) return 227 * kib;
  }
  if (arch.starts_with("sm_80") || arch.starts_with("sm_87")) return 163 * kib;
  if (arch.starts_with("sm_86") || arch.starts_with("sm_89") || arch.starts_with("sm_12")) {
    return 99 * kib;
  }
  return arch.starts_with("sm_75") ? 64 * kib : 48 * kib;
}

/// The number of an architecture: 80 of `sm_80`, 90 of `sm_90a`.
std::int64_t cuda_arch_number(const Target& target) {
  const std::string arch = target.get("arch", "sm_80");
  std::int64_t number = 0;
  for (const char digit : arch.substr(std::min(arch.size(), arch.find('_') + 1))) {
    if (digit < '0' || digit > '9') break;
    number = number * 10 + (digit - '0');
  }
  return number;
}

}  // namespace

GpuLimits gpu_limits(const Target& target) {
  constexpr std::int64_t any = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t max_blocks = 65535;
  // Every GPU with CUDA since sm_50; of OpenCL what all current devices have.
  GpuLimits limits =
      target.kind() == TargetKind::cuda
          ? GpuLimits{.threads_per_block = 1024,
                      .shared_bytes_per_block = 48 * 1024,
                      .shared_pool_bytes = cuda_pool_bytes(target),
                      .registers_per_block = 65536,
                      .warp_size = 32,
                      .has_async_copies = cuda_arch_number(target) >= 80,
                      .has_dp4a = cuda_arch_number(target) >= 61,
                      .has_tensor_cores = cuda_arch_number(target) >= 80,
                      .allows_tf32 = target.get_int("allow_tf32", 0) != 0,
                      .has_warpgroup_products = target.get("arch", "sm_80") == "sm_90a",
                      .blocks = {any, max_blocks, max_blocks},
                      .threads = {1024, 1024, 64}}
          : GpuLimits{.threads_per_block = 1024,
                      .shared_bytes_per_block = 32 * 1024,
                      .shared_pool_bytes = 32 * 1024,
                      .registers_per_block = any,
                      .warp_size = 1,
                      .has_async_copies = false,
                      .has_dp4a = false,
                      .has_tensor_cores = false,
                      .allows_tf32 = false,
                      .has_warpgroup_products = false,
                      .blocks = {any, any, any},
                      .threads = {1024, 1024, 1024}};
  const std::int64_t threads = target.get_int("max_num_threads", limits.threads_per_block);
  limits.threads_per_block = target.get_int("max_threads_per_block", threads);
  limits.shared_bytes_per_block =
      target.get_int("max_shared_memory_per_block", limits.shared_bytes_per_block);
  limits.shared_pool_bytes =
      target.get_int("max_shared_memory_per_block", limits.shared_pool_bytes);
  limits.registers_per_block = target.get_int("registers_per_block", limits.registers_per_block);
  limits.warp_size = target.get_int("thread_warp_size", limits.warp_size);
  return limits;
}

}  // namespace loopsmith
