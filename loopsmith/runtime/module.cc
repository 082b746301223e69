// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/module.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "loopsmith/runtime/context.h"
#include "loopsmith/runtime/cpus.h"
#include "loopsmith/runtime/device_program.h"
#include "loopsmith/runtime/error_text.h"
#include "loopsmith/runtime/host_caller.h"
#include "loopsmith/runtime/thread_pool.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

[[noreturn]] void raise(const ls_error& error) {
  const bool is_type =
      error.code == LS_ARGUMENT_COUNT || error.code == LS_ARGUMENT_KIND || error.code == LS_DTYPE;
  ErrorText text = describe(error);
  throw UserError(is_type ? ErrorKind::type_mismatch : ErrorKind::call, std::move(text.code),
                  std::move(text.problem), std::move(text.hint));
}

void check_config(const ThreadConfig& config) {
  require(config.num_threads >= 0, ErrorKind::call, "thread_count_is_not_negative",
          hint("pass 1 or more, or 0 for all processors"), {},
          "threads: num_threads is {}, negative", config.num_threads);
  const std::vector<int> allowed = allowed_cpus();
  for (const int cpu : config.affinity) {
    require(std::binary_search(allowed.begin(), allowed.end(), cpu), ErrorKind::call,
            "cpu_is_allowed", hint("pass processors that this process may run on"), {},
            "threads: affinity names processor {}, which this process may not use", cpu);
  }
}

/// The contexts that the calling thread used last, by the module's id.
struct RecentContext {
  std::uint64_t module;
  ls_context* context;
};
constexpr std::size_t num_recent = 8;
thread_local constinit RecentContext recent_contexts[num_recent]{};

std::uint64_t next_module_id() {
  static constinit std::atomic<std::uint64_t> last{0};
  return ++last;  // never 0, never used again, so that a dead module's contexts are not found
}

}  // namespace

std::shared_ptr<ThreadPool> make_pool(const ThreadConfig& config) {
  check_config(config);
  return std::make_shared<ThreadPool>(config);
}

struct Module::State {
  /// A thread's context. When the thread has ended, one that gets its id takes over.
  struct ThreadContext {
    std::thread::id thread;
    Context context;
    ThreadContext* next;
  };

  State(std::vector<CompiledFunction> compiled, RuntimeOptions given, std::vector<SourceText> texts)
      : functions(std::move(compiled)), sources(std::move(texts)), options(std::move(given)) {
    if (!options.pool) options.pool = ThreadPool::shared();
    check(!functions.empty(), "Module", "a module without functions");
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const bool may_run = functions[i].address != nullptr;
      check(may_run || !functions[i].refusal.empty(), "Module", "{} has no address", name(i));
      for (std::size_t j = 0; j < i; ++j) {
        require(name(i) != name(j), "function_name_is_unique", hint("rename one of them"),
                "module: two functions are called {}", name(i));
      }
    }
  }

  ~State() {
    for (ThreadContext* one = contexts.load(); one;) delete std::exchange(one, one->next);
  }

  const std::string& name(std::size_t i) const { return functions[i].signature.spec().name; }

  const CompiledFunction* find(std::string_view wanted) const {
    for (std::size_t i = 0; i < functions.size(); ++i) {
      if (name(i) == wanted) return &functions[i];
    }
    return nullptr;
  }

  /// The calling thread's context, made at its first call. Lock-free, so that it works after a
  /// fork.
  ls_context* find_context() const {
    const std::thread::id self = std::this_thread::get_id();
    for (ThreadContext* one = contexts.load(std::memory_order_acquire); one; one = one->next) {
      if (one->thread == self) return one->context.get();
    }
    auto* fresh = new ThreadContext{
        self, Context(options.pool, options.parallel_for, options.allocator, options.call_host),
        contexts.load()};
    while (!contexts.compare_exchange_weak(fresh->next, fresh)) {
    }
    return fresh->context.get();
  }

  const std::uint64_t id = next_module_id();
  const std::vector<CompiledFunction> functions;
  const std::vector<SourceText> sources;
  RuntimeOptions options;
  mutable std::atomic<ThreadContext*> contexts{nullptr};
};

Module::Module(std::vector<CompiledFunction> functions, RuntimeOptions options,
               std::vector<SourceText> sources)
    : state_(std::make_shared<const State>(std::move(functions), std::move(options),
                                           std::move(sources))) {}

Function Module::operator[](std::string_view name) const {
  const CompiledFunction* function = state_->find(name);
  require(function != nullptr, ErrorKind::call, "function_exists",
          hint("use one of its functions' names"), {}, "module: has no function {}, only {}", name,
          fmt::join(names(), ", "));
  return {*this, function};
}

bool Module::contains(std::string_view name) const {
  return state_->find(name) != nullptr;
}

std::vector<std::string> Module::names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < state_->functions.size(); ++i) names.push_back(state_->name(i));
  return names;
}

Function Module::entry() const {
  if (state_->functions.size() == 1) return {*this, state_->functions.data()};
  return (*this)["main"];
}

std::vector<std::string> Module::source_names() const {
  std::vector<std::string> names;
  for (const SourceText& source : state_->sources) names.push_back(source.name);
  return names;
}

std::string Module::source(std::string_view name) const {
  const auto found = std::ranges::find(state_->sources, name, &SourceText::name);
  require(found != state_->sources.end(), ErrorKind::call, "source_exists",
          hint("ask for one of its sources"), {}, "module: has no source {}, only {}", name,
          fmt::join(source_names(), ", "));
  return found->make();
}

Module Module::with_threads(const ThreadConfig& config) const {
  RuntimeOptions options = state_->options;
  options.pool = make_pool(config);
  return with(std::move(options));
}

Module Module::with(RuntimeOptions options) const {
  return Module(state_->functions, std::move(options), state_->sources);
}

const RuntimeOptions& Module::options() const {
  return state_->options;
}

ls_context* Module::context() const {
  RecentContext& recent = recent_contexts[state_->id % num_recent];
  if (recent.module != state_->id) [[unlikely]]
    recent = {state_->id, state_->find_context()};
  return recent.context;
}

namespace {

/// The arguments, checked. A whole number for a floating-point parameter is no mistake: it becomes
/// one in a copy, which `promoted` keeps.
std::span<const CallArgument> checked_arguments(const ls_signature& signature,
                                                std::span<const CallArgument> arguments,
                                                std::vector<CallArgument>& promoted) {
  ls_error error;
  const auto count = static_cast<std::int64_t>(arguments.size());
  while (ls_check_arguments(&signature, arguments.data(), count, &error) != LS_OK) [[unlikely]] {
    const bool is_promotable =
        error.code == LS_ARGUMENT_KIND && error.expected == LS_FLOAT && error.actual == LS_INT;
    if (!is_promotable) raise(error);
    if (promoted.empty()) promoted.assign(arguments.begin(), arguments.end());
    CallArgument& argument = promoted[static_cast<std::size_t>(error.parameter)];
    argument = CallArgument(static_cast<double>(argument.value.as_int));
    arguments = promoted;
  }
  return arguments;
}

}  // namespace

std::span<LoopCounters* const> Function::loop_counters() const {
  return function_->loop_counters;
}

void Function::call(std::span<const CallArgument> arguments) const {
  if (function_->device) [[unlikely]]
    return call_on_device(arguments);
  std::vector<CallArgument> promoted;
  run(checked_arguments(function_->signature.c_view(), arguments, promoted));
}

void Function::call_on_device(std::span<const CallArgument> arguments) const {
  const ls_signature& signature = function_->signature.c_view();
  const CheckedArguments on_host(function_->device->id(), arguments);
  std::vector<CallArgument> promoted;
  const auto checked = checked_arguments(signature, on_host.arguments(), promoted);
  std::vector<CallArgument> given(arguments.begin(), arguments.end());
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].kind != LS_TENSOR) given[i] = checked[i];
  }
  DeviceCall call(*function_->device, signature, given);
  run(call.arguments());
  call.finish();
}

void Function::run(std::span<const CallArgument> arguments) const {
  if (!function_->address) [[unlikely]] {
    raise({.code = LS_ASSERTION,
           .parameter = -1,
           .dimension = -1,
           .signature = &function_->signature.c_view(),
           .message = function_->refusal.c_str()});
  }
  ls_context* context = module_.context();
  const std::int32_t status = function_->address(context, arguments.data());
  if (status == LS_OK) [[likely]]
    return;
  ls_error error = context->error;
  context->error = {};
  if (context->call_host == HostCaller::call) {
    static_cast<HostCaller*>(context->call_host_data)->rethrow();
  }
  if (error.code == LS_OK) error = {.code = status, .parameter = -1, .dimension = -1};
  if (!error.signature) error.signature = &function_->signature.c_view();
  raise(error);
}

Timing Function::time(std::span<const CallArgument> arguments, const TimingOptions& options) const {
  call(arguments);  // so that errors come before anything is measured
  Clock clock = seconds_on_host;
  if (function_->device) {
    clock = [&](const std::function<void()>& work) {
      return function_->device->device().seconds_of(work);
    };
  }
  Timing timing = measure([&] { call(arguments); }, arguments, options, clock);
  timing.flops = flops();
  timing.bytes = bytes();
  return timing;
}

}  // namespace loopsmith
