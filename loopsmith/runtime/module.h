// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/runtime/argument.h"
#include "loopsmith/runtime/runtime_options.h"
#include "loopsmith/runtime/signature.h"
#include "loopsmith/runtime/timing.h"

namespace loopsmith {

class DeviceProgram;
struct LoopCounters;

/// What a module is made from: one compiled function.
struct CompiledFunction {
  Signature signature;
  ls_packed_function address = nullptr;
  std::string refusal = {};                    ///< Without an address: why it does not run here.
  std::shared_ptr<const void> code = nullptr;  ///< Keeps the function's code in memory.
  double flops = 0;                            ///< Of one call, where known.
  double bytes = 0;  ///< Read and written at least by one call, where known.
  /// The kernels that it launches; null of functions that run on the processor alone.
  std::shared_ptr<const DeviceProgram> device = nullptr;
  /// Of the statements that a profile times, by their numbers.
  std::vector<LoopCounters*> loop_counters = {};
};

/// A pool of threads for a module. An error for a negative number of threads, or a processor that
/// this process may not use.
std::shared_ptr<ThreadPool> make_pool(const ThreadConfig& config);

/// A text that a module was made from (its program, LLVM's code, assembly), made when asked for.
struct SourceText {
  std::string name;
  std::function<std::string()> make;
};

class Function;

/// Compiled functions by name, with the threads and the memory they use. A value; copies share.
///
/// Any number of threads may call concurrently; each has its own context, and keeps it for the next
/// call.
class Module {
 public:
  explicit Module(std::vector<CompiledFunction> functions, RuntimeOptions options = {},
                  std::vector<SourceText> sources = {});

  /// The function `name`; an error that lists the names when there is none.
  Function operator[](std::string_view name) const;
  bool contains(std::string_view name) const;
  std::vector<std::string> names() const;
  /// The only function, or else the one called `main`.
  Function entry() const;

  /// The names of the texts that it was made from, and one of them.
  std::vector<std::string> source_names() const;
  std::string source(std::string_view name) const;

  /// The same functions, run by other threads: with a pool of their own.
  Module with_threads(const ThreadConfig& config) const;
  /// The same functions with other options.
  Module with(RuntimeOptions options) const;
  const RuntimeOptions& options() const;

  /// The calling thread's context.
  ls_context* context() const;

 private:
  friend class Function;
  struct State;
  explicit Module(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

/// A compiled function. It keeps its module alive.
class Function {
 public:
  const std::string& name() const { return function_->signature.spec().name; }
  const Signature& signature() const { return function_->signature; }
  double flops() const { return function_->flops; }
  double bytes() const { return function_->bytes; }
  /// What `BuildOptions::profile` has counted so far, by the numbers that profile_loops gave.
  std::span<LoopCounters* const> loop_counters() const;

  /// Checks the arguments and runs the function on them; results are written in place.
  void call(std::span<const CallArgument> arguments) const;

  template <class... Arguments>
  void operator()(Arguments&&... arguments) const {
    const CallArgument list[sizeof...(arguments) + 1] = {CallArgument(arguments)...,
                                                         CallArgument(0)};
    call({list, sizeof...(arguments)});
  }

  /// Runs the function on the arguments again and again, and tells how long a call takes.
  Timing time(std::span<const CallArgument> arguments, const TimingOptions& options = {}) const;

 private:
  friend class Module;
  Function(Module module, const CompiledFunction* function)
      : module_(std::move(module)), function_(function) {}

  void run(std::span<const CallArgument> arguments) const;
  void call_on_device(std::span<const CallArgument> arguments) const;

  Module module_;
  const CompiledFunction* function_;
};

}  // namespace loopsmith
