// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace loopsmith {

/// For which family of machines code is generated.
enum class TargetKind : std::uint8_t { llvm, c, cuda, opencl };

/// The name of a kind: `llvm`, `c`, `cuda`, `opencl`.
std::string_view to_string(TargetKind kind);

/// What code is generated for: a kind with options, as in `llvm -mcpu=native -num-cores=4`.
///
/// A value: two targets are the same when their kinds and options are. An option that a kind does
/// not have, or whose value is no number where one is needed, is a UserError.
class Target {
 public:
  using Options = std::map<std::string, std::string, std::less<>>;

  /// Reads `kind -name=value ...`; `-name` alone stands for `-name=1`.
  explicit Target(std::string_view text);
  /// From a kind's name and options without their dash: {"mcpu", "native"}.
  Target(std::string_view kind, Options options);

  TargetKind kind() const { return kind_; }
  bool is_gpu() const { return kind_ == TargetKind::cuda || kind_ == TargetKind::opencl; }
  const Options& options() const { return options_; }
  /// The value of an option, or `default_value` where it was not given.
  std::string get(std::string_view option, std::string_view default_value = {}) const;
  std::int64_t get_int(std::string_view option, std::int64_t default_value) const;

  /// The text that reads back as this target, the same for equal targets.
  std::string text() const;

  bool operator==(const Target&) const = default;

 private:
  void set(std::string_view name, std::string_view value);

  TargetKind kind_ = TargetKind::llvm;
  Options options_;
};

/// What a launch on a GPU may ask for.
struct GpuLimits {
  std::int64_t threads_per_block;
  std::int64_t shared_bytes_per_block;
  std::int64_t shared_pool_bytes;  ///< The same where a launch gives it: scope shared.dyn.
  std::int64_t registers_per_block;
  std::int64_t warp_size;
  bool has_async_copies;        ///< From global into shared memory, while threads go on.
  bool has_dp4a;                ///< Threads add products of four pairs of bytes at once.
  bool has_tensor_cores;        ///< Warps multiply tiles of matrices; see fragments.h.
  bool allows_tf32;             ///< Rules may round operands of float32 for these to 11 bits.
  bool has_warpgroup_products;  ///< Four warps do so from shared memory, on sm_90a.
  std::int64_t blocks[3];       ///< Along x, y and z.
  std::int64_t threads[3];      ///< Along x, y and z.
};

/// The limits of a target `cuda` or `opencl`: its options, or what devices of its kind have.
GpuLimits gpu_limits(const Target& target);

}  // namespace loopsmith
