// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/module.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "loopsmith/runtime/cpus.h"
#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/runtime/testing/error_of.h"
#include "loopsmith/runtime/testing/time_limit.h"
#include "loopsmith/runtime/thread_pool.h"

namespace loopsmith {
namespace {

/// C = A + scale * B, all of one length, as a code generator would write it.
std::int32_t run_axpy(ls_context* context, const ls_argument* arguments) {
  struct Closure {
    const float *a, *b;
    float* c;
    double scale;
  };
  const auto data = [&](int i) {
    const DLTensor& tensor = *arguments[i].value.as_tensor;
    return reinterpret_cast<float*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
  };
  Closure closure{data(0), data(1), data(2), arguments[3].value.as_float};
  return context->parallel_for(
      context->parallel_for_data, 0, arguments[0].value.as_tensor->shape[0],
      [](void* p, std::int64_t from, std::int64_t to) -> std::int32_t {
        const auto& own = *static_cast<const Closure*>(p);
        for (std::int64_t i = from; i < to; ++i) {
          own.c[i] = own.a[i] + static_cast<float>(own.scale) * own.b[i];
        }
        return LS_OK;
      },
      &closure);
}

CompiledFunction axpy(const std::string& name = "axpy") {
  const std::vector<ExtentRule> n = {ExtentRule::named("n")};
  return {.signature = Signature({.name = name,
                                  .parameters = {{.name = "A", .shape = n},
                                                 {.name = "B", .shape = n},
                                                 {.name = "C", .shape = n, .writable = true},
                                                 {.name = "scale", .kind = LS_FLOAT}},
                                  .symbols = {{"n"}}}),
          .address = run_axpy};
}

struct Vectors {
  NDArray a = NDArray::zeros({1000}), b = NDArray::zeros({1000}), c = NDArray::zeros({1000});

  Vectors() {
    for (int i = 0; i < 1000; ++i) a.data<float>()[i] = static_cast<float>(i);
    for (int i = 0; i < 1000; ++i) b.data<float>()[i] = 1.0F;
  }
};

static_assert(!std::is_constructible_v<CallArgument, const float*>, "a pointer is no truth value");

TEST(module, calls_functions_on_arrays) {
  const Module module({axpy()});
  const Vectors v;
  module["axpy"](v.a, v.b, v.c, 0.5);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(v.c.data<float>()[i], static_cast<float>(i) + 0.5F);
  module.entry()(v.a, v.b, v.c, 2);  // an integer where a floating-point number is expected
  EXPECT_EQ(v.c.data<float>()[1], 3.0F);
}

TEST(module, refuses_wrong_arguments_by_name) {
  const Function function = Module({axpy()}).entry();  // which keeps the module
  const Vectors v;
  const UserError error = error_of([&] { function(v.a, NDArray::zeros({7}), v.c, 0.5); });
  EXPECT_EQ(error.kind(), ErrorKind::call);
  EXPECT_EQ(error.code(), "shape");
  EXPECT_STREQ(error.what(),
               "axpy: B.shape[0] is 7, not n = 1000, which A.shape[0] gave\n"
               "  hint: pass arguments whose sizes agree");
  EXPECT_EQ(error_of([&] { function(v.a); }).kind(), ErrorKind::type_mismatch);
  EXPECT_EQ(error_of([&] { function(v.a, v.b, v.c, true); }).problem(),
            "axpy: scale is a truth value, not a floating-point number");
}

TEST(module, finds_functions_by_name) {
  const Module module({axpy("first"), axpy("main")});
  EXPECT_EQ(module.names(), (std::vector<std::string>{"first", "main"}));
  EXPECT_TRUE(module.contains("first"));
  EXPECT_FALSE(module.contains("axpy"));
  EXPECT_EQ(module.entry().name(), "main");
  EXPECT_EQ(error_of([&] { module["axpy"]; }).problem(),
            "module: has no function axpy, only first, main");
  EXPECT_EQ(error_of([] { Module({axpy(), axpy()}); }).problem(),
            "module: two functions are called axpy");
}

TEST(module, shows_what_it_was_made_from) {
  int made = 0;
  const Module module({axpy()}, {}, {{"tir", [&] { return fmt::format("text {}", ++made); }}});
  EXPECT_EQ(module.source_names(), std::vector<std::string>{"tir"});
  EXPECT_EQ(made, 0);
  EXPECT_EQ(module.with_threads({.num_threads = 1}).source("tir"), "text 1");
  EXPECT_STREQ(error_of([&] { (void)module.source("ptx"); }).what(),
               "module: has no source ptx, only tir\n  hint: ask for one of its sources");
}

TEST(module, keeps_the_code_while_a_function_lives) {
  auto code = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = code;
  CompiledFunction compiled = axpy();
  compiled.code = std::move(code);
  auto module = std::make_unique<Module>(std::vector{std::move(compiled)});
  auto function = std::make_unique<Function>(module->entry());
  module.reset();
  EXPECT_FALSE(watch.expired());
  function.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(module, a_failure_of_a_kernel_becomes_an_error) {
  const Signature signature({.name = "f"});
  const ls_packed_function with_words = [](ls_context* context, const ls_argument*) {
    const ls_error error = {.code = LS_ASSERTION, .parameter = -1, .message = "n is odd"};
    return context->fail(context, &error);
  };
  const ls_packed_function without = [](ls_context*, const ls_argument*) -> std::int32_t {
    return 77;
  };
  const ls_packed_function throwing = [](ls_context* context, const ls_argument*) {
    const ls_body body = [](void*, std::int64_t, std::int64_t) -> std::int32_t { throw 1; };
    return context->parallel_for(context->parallel_for_data, 0, 4, body, nullptr);
  };
  EXPECT_EQ(error_of([&] { Module({{signature, with_words}}).entry()(); }).problem(),
            "f: n is odd");
  EXPECT_EQ(error_of([&] { Module({{signature, without}}).entry()(); }).problem(),
            "f: failed with status 77");
  EXPECT_EQ(error_of([&] { Module({{signature, throwing}}).entry()(); }).problem(),
            "f: a function of the host threw an exception in a parallel loop");
}

TEST(module, each_thread_has_its_own_context_and_keeps_it) {
  const Module module({axpy()});
  const Module other({axpy()});
  ls_context* own = module.context();
  EXPECT_NE(own, other.context());
  EXPECT_EQ(own, module.context());
  std::thread([&] { EXPECT_NE(own, module.context()); }).join();

  std::vector<Module> many;  // more than a thread remembers at once
  for (int i = 0; i < 20; ++i) many.push_back(module.with({}));
  std::set<ls_context*> contexts;
  for (const Module& one : many) contexts.insert(one.context());
  EXPECT_EQ(contexts.size(), many.size());
  for (const Module& one : many) EXPECT_TRUE(contexts.contains(one.context()));
  EXPECT_EQ(own, module.context());
}

TEST(module, many_threads_call_at_once) {
  const TimeLimit limit;
  const Module module = Module({axpy()}).with_threads({.num_threads = 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Vectors v;
      for (int i = 0; i < 100; ++i) {
        module["axpy"](v.a, v.b, v.c, t + i);
        EXPECT_EQ(v.c.data<float>()[999], static_cast<float>(999 + t + i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(module, has_threads_of_its_own) {
  const Module module({axpy()});
  EXPECT_EQ(module.options().pool, ThreadPool::shared());
  const Module narrow = module.with_threads({.num_threads = 1});
  EXPECT_EQ(narrow.options().pool->num_threads(), 1);
  EXPECT_EQ(module.options().pool, ThreadPool::shared());
  EXPECT_EQ(error_of([&] { module.with_threads({.num_threads = -2}); }).problem(),
            "threads: num_threads is -2, negative");
  EXPECT_EQ(error_of([&] { module.with_threads({.affinity = {123456}}); }).problem(),
            "threads: affinity names processor 123456, which this process may not use");
}

TEST(module, a_host_runs_its_parallel_loops) {
  static std::atomic<int> loops{0};
  const ParallelFor serial{
      [](void*, std::int64_t begin, std::int64_t end, ls_body body, void* closure) {
        ++loops;
        return body(closure, begin, end);
      },
      nullptr};
  const Module module = Module({axpy()}).with({.parallel_for = serial});
  const Vectors v;
  module["axpy"](v.a, v.b, v.c, 1.0);
  EXPECT_EQ(loops, 1);
  EXPECT_EQ(v.c.data<float>()[9], 10.0F);
}

TEST(module, measures_a_function) {
  const Function function = Module({axpy()}).entry();
  const Vectors v;
  const CallArgument arguments[] = {v.a, v.b, v.c, 1.0};
  for (const bool cold : {false, true}) {
    const Timing timing = function.time(arguments, {.warmup = 1, .repeat = 4, .cold = cold});
    ASSERT_EQ(timing.samples.size(), 4U);
    EXPECT_GT(timing.min, 0.0);
    EXPECT_LE(timing.min, timing.median);
    EXPECT_LE(timing.min, timing.mean);
    EXPECT_LT(timing.median, 1.0);
  }
  EXPECT_EQ(v.c.data<float>()[9], 10.0F);
  EXPECT_EQ(error_of([&] { function.time(std::span(arguments, 2)); }).code(), "argument_count");
}

TEST(timing, counts_calls_and_orders_samples) {
  int calls = 0;
  const Timing timing = measure([&] { ++calls; }, {}, {.warmup = 2, .repeat = 3, .number = 5});
  EXPECT_EQ(calls, 25);
  EXPECT_EQ(timing.samples.size(), 3U);
  int slow_calls = 0;
  const auto slow = [&] {
    ++slow_calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  EXPECT_GE(measure(slow, {}, {.warmup = 0, .repeat = 2}).min, 2e-3);
  EXPECT_EQ(slow_calls, 3);  // one to find out that one is enough
}

TEST(timing, refuses_counts_that_mean_nothing) {
  const auto nothing = [] {};
  EXPECT_EQ(error_of([&] { measure(nothing, {}, {.repeat = 0}); }).problem(),
            "time: repeat is 0, not positive");
  EXPECT_EQ(error_of([&] { measure(nothing, {}, {.warmup = -1}); }).problem(),
            "time: warmup is -1 and number is 0");
  EXPECT_EQ(error_of([&] { measure(nothing, {}, {.number = 3, .cold = true}); }).problem(),
            "time: number is 3 for cold samples");
}

TEST(timing, drops_strided_and_empty_arrays_from_caches) {
  const NDArray array = NDArray::zeros({64, 64});
  array.data<float>()[5] = 3.0F;
  const NDArray reversed = array.view({64, 64}, {-64, -1}, 64 * 64 - 1);
  const NDArray no_rows = array.slice(0, 2, 2);
  const NDArray scalar = NDArray::empty({});
  const CallArgument arguments[] = {reversed, no_rows, scalar, 7};
  EXPECT_EQ(measure([] {}, arguments, {.repeat = 2, .cold = true}).samples.size(), 2U);
  EXPECT_EQ(array.data<float>()[5], 3.0F);
}

}  // namespace
}  // namespace loopsmith
