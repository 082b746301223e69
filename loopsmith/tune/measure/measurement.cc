// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/measure/measurement.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <span>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/codegen/signature.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::tune {
namespace {

/// A candidate that takes so many times what the quickest takes is measured once.
constexpr double slower = 1.5;

std::int64_t bytes_of(const NDArray& array) {
  return array.size() * ((array.dtype().bits * array.dtype().lanes + 7) / 8);
}

std::byte* bytes_in(const NDArray& array) {
  const DLTensor& tensor = array.c_tensor();
  return static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
}

void copy_bytes(const NDArray& from, const NDArray& to) {
  const auto bytes = static_cast<std::size_t>(bytes_of(from));
  if (bytes > 0) std::memcpy(bytes_in(to), bytes_in(from), bytes);
}

NDArray copy_of(const NDArray& array) {
  NDArray made = NDArray::empty({array.shape().begin(), array.shape().end()}, array.dtype());
  copy_bytes(array, made);
  return made;
}

std::vector<NDArray> copies_of(const std::vector<NDArray>& arrays) {
  std::vector<NDArray> made;
  for (const NDArray& array : arrays) made.push_back(copy_of(array));
  return made;
}

std::vector<CallArgument> call_arguments(const std::vector<NDArray>& arrays) {
  return {arrays.begin(), arrays.end()};
}

/// The value of a float of 16 bits.
double value_of(DLDataType type, std::uint16_t bits) {
  if (type.code == kDLBfloat) return std::bit_cast<float>(std::uint32_t{bits} << 16);
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = bits >> 15 == 0 ? 1 : -1;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

bool is_half(DLDataType type) {
  return type.bits == 16 && (type.code == kDLFloat || type.code == kDLBfloat);
}

/// Calls `visit` with the elements of two arrays as doubles, where their type is a float of 16, 32
/// or 64 bits; whether it is.
template <class Visit>
bool with_floats(const NDArray& left, const NDArray& right, Visit&& visit) {
  const DLDataType type = left.dtype();
  const auto each = [&]<class T>(T, auto&& value) {
    const T* a = reinterpret_cast<const T*>(bytes_in(left));
    const T* b = reinterpret_cast<const T*>(bytes_in(right));
    for (std::int64_t i = 0; i < left.size(); ++i) visit(i, value(a[i]), value(b[i]));
    return true;
  };
  const auto as_it_is = [](auto number) { return static_cast<double>(number); };
  if (is_half(type)) {
    return each(std::uint16_t{}, [&](std::uint16_t bits) { return value_of(type, bits); });
  }
  if (type.code == kDLFloat && type.bits == 32) return each(float{}, as_it_is);
  if (type.code == kDLFloat && type.bits == 64) return each(double{}, as_it_is);
  return false;
}

double precision_of(DLDataType type) {
  if (type.code == kDLBfloat) return std::ldexp(1, -7);
  if (type.bits == 16) return std::ldexp(1, -10);
  return type.bits == 64 ? std::numeric_limits<double>::epsilon()
                         : std::numeric_limits<float>::epsilon();
}

std::string difference_of(const NDArray& expected, const NDArray& got, std::size_t number,
                          bool is_exact) {
  const auto bytes = static_cast<std::size_t>(bytes_of(expected));
  if (bytes == 0 || std::memcmp(bytes_in(expected), bytes_in(got), bytes) == 0) return {};
  if (is_exact) return fmt::format("argument {} differs in some bits", number);
  const double tolerance = std::sqrt(precision_of(expected.dtype()));
  double largest = 0;
  with_floats(expected, got, [&](std::int64_t, double a, double) {
    if (std::isfinite(a)) largest = std::max(largest, std::abs(a));
  });
  std::string found;
  const bool are_floats = with_floats(expected, got, [&](std::int64_t i, double a, double b) {
    const bool agree = a == b || (std::isnan(a) && std::isnan(b)) ||
                       std::abs(a - b) <= tolerance * (largest + std::abs(a));
    if (!agree && found.empty()) {
      found = fmt::format("argument {}, element {}: {}, expected {}", number, i, b, a);
    }
  });
  return are_floats ? found : fmt::format("argument {} differs", number);
}

void limit_memory(std::int64_t bytes) {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  statm >> pages;
  const auto used = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE));
  const rlimit limit{used + static_cast<rlim_t>(bytes), used + static_cast<rlim_t>(bytes)};
  ::setrlimit(RLIMIT_AS, &limit);
}

void append(std::string& message, const std::vector<double>& samples) {
  const std::size_t count = samples.size();
  message.append(reinterpret_cast<const char*>(&count), sizeof count);
  message.append(reinterpret_cast<const char*>(samples.data()), count * sizeof(double));
}

std::vector<double> take_samples(std::string_view& message) {
  std::size_t count = 0;
  if (message.size() < sizeof count) return {};
  std::memcpy(&count, message.data(), sizeof count);
  message.remove_prefix(sizeof count);
  std::vector<double> samples(std::min(count, message.size() / sizeof(double)));
  if (samples.empty()) return samples;
  std::memcpy(samples.data(), message.data(), samples.size() * sizeof(double));
  message.remove_prefix(samples.size() * sizeof(double));
  return samples;
}

/// All samples of an outcome, in the order in which they are sent.
std::array<std::vector<double>*, 4> samples_of(Outcome& outcome) {
  return {&outcome.samples, &outcome.others, &outcome.cold, &outcome.other_cold};
}

[[noreturn]] void answer(int pipe, const std::function<Outcome()>& task, std::int64_t bytes) {
  limit_memory(bytes);
  Outcome outcome;
  try {
    outcome = task();
  } catch (const std::exception& error) {
    outcome = {.failure = run_error, .detail = error.what()};
  }
  std::string message;
  for (const auto* samples : samples_of(outcome)) append(message, *samples);
  append(message, {outcome.flops, outcome.bytes});
  message += outcome.failure + '\0' + outcome.detail;
  for (std::string_view rest = message; !rest.empty();) {
    const ssize_t written = ::write(pipe, rest.data(), rest.size());
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  ::_exit(0);  // Nothing of the parent's is to be ended here.
}

/// What is read until the other end is closed; nothing where that takes too long.
std::optional<std::string> read_all(int pipe, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::string message;
  for (;;) {
    const auto left = std::chrono::duration<double, std::milli>(end - Clock::now()).count();
    pollfd waiting{.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = left <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(std::ceil(left)));
    if (ready < 0 && errno == EINTR) continue;  // By a signal: the limit holds after it, too.
    if (ready == 0) return {};
    char buffer[4096];
    const ssize_t count = ::read(pipe, buffer, sizeof buffer);
    if (count <= 0) return message;
    message.append(buffer, static_cast<std::size_t>(count));
  }
}

/// How many calls take so long that a sample of them can be measured.
int calls_in_a_sample(const Module& program, std::span<const CallArgument> arguments) {
  constexpr double sample_seconds = 1e-3;
  const double call = program.entry().time(arguments, {.warmup = 0, .repeat = 1}).median;
  return std::max(1, static_cast<int>(std::ceil(sample_seconds / std::max(call, 1e-9))));
}

/// What a wrong result is told by; nothing where it is right.
Outcome outcome_of(std::string wrong) {
  if (wrong.empty()) return {};
  return {.failure = wrong_result, .detail = std::move(wrong)};
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Outcome in_child(const std::function<Outcome()>& task, const ChildLimits& limits) {
  int ends[2];
  require(::pipe(ends) == 0, ErrorKind::call, "process_is_made",
          hint("close files, or raise the limit"), {}, "search: no pipe for a child process");
  const pid_t child = ::fork();
  require(child >= 0, ErrorKind::call, "process_is_made", hint("end processes, or raise the limit"),
          {}, "search: no child process");
  if (child == 0) {
    ::close(ends[0]);
    answer(ends[1], task, limits.bytes);
  }
  ::close(ends[1]);
  const auto message = read_all(ends[0], limits.seconds);
  ::close(ends[0]);
  if (!message) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!message) {
    return {.failure = timeout, .detail = fmt::format("no answer within {} s", limits.seconds)};
  }
  if (WIFSIGNALED(status)) {
    return {.failure = crash, .detail = fmt::format("signal {}", WTERMSIG(status))};
  }
  if (message->empty()) {
    return {.failure = crash, .detail = fmt::format("the process ended with {}", status)};
  }
  std::string_view rest = *message;
  Outcome outcome;
  for (auto* samples : samples_of(outcome)) *samples = take_samples(rest);
  const std::vector<double> work = take_samples(rest);
  outcome.flops = work.at(0);
  outcome.bytes = work.at(1);
  const std::size_t end = rest.find('\0');
  outcome.failure = rest.substr(0, end);
  outcome.detail = rest.substr(end + 1);
  return outcome;
}

std::vector<NDArray> random_arguments(const PrimFunc& func, std::uint64_t seed,
                                      const Sizes& sizes) {
  Substitution values;
  for (const auto& [name, size] : sizes) {
    const Expr variable = size_variable(func, name);
    values.emplace(variable, int_imm(variable.dtype(), size));
  }
  Analyzer analyzer;
  std::mt19937_64 random(seed);
  std::vector<NDArray> made;
  for (std::size_t k = 0; k < func.params.size(); ++k) {
    const Ptr<Buffer>& buffer = func.buffer_map[k];
    require(buffer.defined(), ErrorKind::type_mismatch, "arguments_can_be_drawn",
            hint("give the arguments in the options"), {},
            "search: parameter {} is no tensor, so arguments cannot be drawn",
            func.params[k]->name);
    std::vector<std::int64_t> shape;
    for (const Expr& extent : buffer->shape) {
      const Expr known = analyzer.simplify(substitute(extent, values));
      const std::int64_t* size = as_int(known);
      require(size != nullptr, ErrorKind::type_mismatch, "arguments_can_be_drawn",
              hint("give the arguments in the options, or search for sizes"), {},
              "search: tensor {} has a size that is no constant, so arguments cannot be drawn",
              buffer->name);
      shape.push_back(*size);
    }
    NDArray array = NDArray::zeros(std::move(shape), to_dlpack(buffer->dtype));
    const DLDataType type = array.dtype();
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < array.size(); ++i) {
      if (type.code == kDLFloat && type.bits == 32) {
        array.data<float>()[i] = static_cast<float>(normal(random));
      } else if (type.code == kDLFloat && type.bits == 64) {
        array.data<double>()[i] = normal(random);
      } else if (is_half(type)) {  // From 0.5 to 1, of both signs.
        const auto bits = static_cast<std::uint16_t>(random());
        const bool is_bfloat = type.code == kDLBfloat;
        array.data<std::uint16_t>()[i] = static_cast<std::uint16_t>(
            (bits & 0x8000) | (is_bfloat ? 0x3F00 | (bits & 127) : 0x3800 | (bits & 1023)));
      } else if (type.code == kDLInt || type.code == kDLUInt) {
        bytes_in(array)[i * type.bits / 8] = std::byte(random() % 10);  // The lowest byte of each.
      }
    }
    made.push_back(std::move(array));
  }
  return made;
}

double median(std::vector<double> samples) {
  if (samples.empty()) return std::numeric_limits<double>::infinity();
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  return *middle;
}

double time_of(Outcome& outcome) {
  if (!outcome.failure.empty()) return std::numeric_limits<double>::infinity();
  const double seconds = outcome.samples.empty() ? NAN : median(outcome.samples);
  if (std::isfinite(seconds) && seconds > 0) return seconds;
  outcome.failure = no_time;
  outcome.detail = fmt::format("the runner returned {} s, expected a positive number", seconds);
  return std::numeric_limits<double>::infinity();
}

std::string difference(const std::vector<NDArray>& expected, const std::vector<NDArray>& got,
                       bool is_exact) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::string found = difference_of(expected[i], got[i], i, is_exact);
    if (!found.empty()) return found;
  }
  return {};
}

Workload::Workload(const std::vector<NDArray>& arguments, const Module& program, bool is_exact)
    : arguments_(copies_of(arguments)), expected_(results(program)), is_exact_(is_exact) {}

std::vector<NDArray> Workload::results(const Module& program) const {
  std::vector<NDArray> arrays = copies_of(arguments_);
  program.entry().call(call_arguments(arrays));
  return arrays;
}

Outcome Workload::measure(const Module& program, double best) const {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<NDArray> arrays = results(program);
  const double first = seconds_since(begin);
  if (std::string wrong = difference(expected_, arrays, is_exact_); !wrong.empty()) {
    return outcome_of(std::move(wrong));
  }
  if (first > 10 * best + 1e-3) return {.samples = {first}};
  const auto given = call_arguments(arrays);
  const Timing once = program.entry().time(given, {.warmup = 0, .repeat = 1, .number = 1});
  if (once.median > slower * best) return {.samples = once.samples};
  Timing taken = program.entry().time(given);
  return {.samples = std::move(taken.samples), .flops = taken.flops, .bytes = taken.bytes};
}

Outcome Workload::duel(const Module& program, const Module& other, int warm, int cold) const {
  const std::vector<NDArray> arrays = copies_of(arguments_);
  const auto given = call_arguments(arrays);
  Outcome outcome;
  const int own_calls = calls_in_a_sample(program, given);
  const int other_calls = calls_in_a_sample(other, given);
  const auto sample = [&](const Module& which, int calls, std::vector<double>& samples) {
    const TimingOptions once{.warmup = 0, .repeat = 1, .number = calls};
    samples.push_back(which.entry().time(given, once).median);
  };
  for (int i = 0; i < warm; ++i) {
    // Which goes first alternates: the second finds caches as the first left them.
    if (i % 2 == 0) sample(other, other_calls, outcome.others);
    sample(program, own_calls, outcome.samples);
    if (i % 2 != 0) sample(other, other_calls, outcome.others);
  }
  const TimingOptions one{.warmup = 0, .repeat = 1, .cold = true};
  for (int i = 0; i < cold; ++i) {
    outcome.other_cold.push_back(other.entry().time(given, one).median);
    outcome.cold.push_back(program.entry().time(given, one).median);
  }
  return outcome;
}

Outcome Workload::check(const Module& program) const {
  return outcome_of(difference(expected_, results(program), is_exact_));
}

Outcome Workload::compare(const Module& program, const Module& other) const {
  return outcome_of(difference(results(other), results(program), is_exact_));
}

}  // namespace loopsmith::tune
