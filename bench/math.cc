// SPDX-License-Identifier: Apache-2.0
// Errors and speed of the compiled scalar functions: every float32, random float64, against the C
// library in a wider type.
//
//     bench_math [--every N] [--samples N] [--fast] [function...]
//
// prints a row for each function, as docs/math.md has them. `--every 61` takes one float32 of 61.
#include <dlfcn.h>
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "loopsmith/driver/build.h"
#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/te/te.h"

namespace loopsmith {
namespace {

constexpr int block = 4096;

struct Settings {
  std::uint64_t every = 1;
  std::int64_t samples = 10'000'000;
  bool fast = false;
  std::vector<std::string> only;
};

using Real = long double;
using Wide = Real (*)(Real, Real);

/// A function with its reference and the arguments that it is timed with.
struct Case {
  const char* name;
  bool is_binary;
  Wide wide;
  double low, high;
  /// Its vector form in glibc's libmvec; null: scalars serve.
  const char* vector_name;
  /// In double precision, wide enough for float32; null: `wide` serves.
  double (*narrow)(double) = nullptr;
};

template <Real (*fn)(Real)>
Real unary(Real x, Real) {
  return fn(x);
}

template <class T>
T sigmoid(T x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
template <class T>
T rsqrt(T x) {
  return 1 / std::sqrt(x);
}

const Case cases[] = {
    {"exp", false, unary<std::exp>, -20, 20, "exp"},
    {"exp2", false, unary<std::exp2>, -20, 20, "exp2"},
    {"exp10", false, unary<exp10l>, -20, 20, "exp10"},
    {"expm1", false, unary<std::expm1>, -20, 20, "expm1"},
    {"sigmoid", false, unary<sigmoid<Real>>, -10, 10, nullptr, sigmoid<double>},
    {"log", false, unary<std::log>, 0.01, 100, "log"},
    {"log2", false, unary<std::log2>, 0.01, 100, "log2"},
    {"log10", false, unary<std::log10>, 0.01, 100, "log10"},
    {"log1p", false, unary<std::log1p>, -0.9, 10, "log1p"},
    {"sinh", false, unary<std::sinh>, -10, 10, "sinh"},
    {"cosh", false, unary<std::cosh>, -10, 10, "cosh"},
    {"tanh", false, unary<std::tanh>, -3, 3, "tanh"},
    {"asinh", false, unary<std::asinh>, -5, 5, "asinh"},
    {"acosh", false, unary<std::acosh>, 1, 10, "acosh"},
    {"atanh", false, unary<std::atanh>, -1, 1, "atanh"},
    {"sin", false, unary<std::sin>, -10, 10, "sin"},
    {"cos", false, unary<std::cos>, -10, 10, "cos"},
    {"tan", false, unary<std::tan>, -10, 10, "tan"},
    {"asin", false, unary<std::asin>, -1, 1, "asin"},
    {"acos", false, unary<std::acos>, -1, 1, "acos"},
    {"atan", false, unary<std::atan>, -5, 5, "atan"},
    {"erf", false, unary<std::erf>, -3, 3, "erf"},
    {"rsqrt", false, unary<rsqrt<Real>>, 0.1, 10, nullptr, rsqrt<double>},
    {"pow", true, std::pow, 0.1, 10, "pow"},
    {"atan2", true, std::atan2, -5, 5, "atan2"},
    {"hypot", true, std::hypot, -5, 5, "hypot"},
    {"fmod", true, std::fmod, 0.1, 100, nullptr},
};

/// The reference in double precision, by vectors of eight where the processor and libmvec have
/// them.
class Reference {
 public:
  explicit Reference(const Case& c) : case_(c) {
    if (!c.vector_name || !__builtin_cpu_supports("avx512f")) return;
    void* library = dlopen("libmvec.so.1", RTLD_NOW);
    const std::string symbol = fmt::format("_ZGVeN8v{}_{}", c.is_binary ? "v" : "", c.vector_name);
    if (library) vector_ = dlsym(library, symbol.c_str());
  }

  void operator()(const std::vector<float>& x, const std::vector<float>& y,
                  std::vector<double>& result) const {
    if (vector_) return by_vectors(x, y, result);
    for (int i = 0; i < block; ++i) {
      result[i] = case_.narrow ? case_.narrow(x[i]) : static_cast<double>(case_.wide(x[i], y[i]));
    }
  }

 private:
  __attribute__((target("avx512f"))) void by_vectors(const std::vector<float>& x,
                                                     const std::vector<float>& y,
                                                     std::vector<double>& result) const {
    for (int i = 0; i < block; i += 8) {
      const __m512d a = _mm512_cvtps_pd(_mm256_loadu_ps(&x[i]));
      const __m512d b = _mm512_cvtps_pd(_mm256_loadu_ps(&y[i]));
      const __m512d r = case_.is_binary
                            ? reinterpret_cast<__m512d (*)(__m512d, __m512d)>(vector_)(a, b)
                            : reinterpret_cast<__m512d (*)(__m512d)>(vector_)(a);
      _mm512_storeu_pd(&result[i], r);
    }
  }

  const Case& case_;
  void* vector_ = nullptr;
};

/// The largest error seen, and what went wrong altogether.
struct Worst {
  double ulp = 0;
  double x = 0, y = 0;
  std::int64_t wrong = 0;  ///< NaN, infinities or signs that differ.
  std::int64_t count = 0;

  template <class T, class Wider>
  void add(T got, Wider want, T a, T b) {
    constexpr int digits = std::numeric_limits<T>::digits;
    constexpr int least = std::numeric_limits<T>::min_exponent - digits;
    ++count;
    const T rounded = static_cast<T>(want);
    // Equal special values, and results that rounding alone makes infinite or not.
    if (got == rounded && std::signbit(got) == std::signbit(rounded) &&
        (got == 0 || std::isinf(got))) {
      return;
    }
    if (std::isnan(rounded) && std::isnan(got)) return;
    const Wider largest = std::numeric_limits<T>::max();
    const bool at_the_end = std::abs(want) > largest * (1 - 4 * std::numeric_limits<T>::epsilon());
    if (at_the_end && std::signbit(got) == std::signbit(rounded) && std::abs(got) >= largest) {
      return;
    }
    int exponent = 0;
    std::frexp(want, &exponent);
    const Wider ulp_size = std::ldexp(Wider(1), std::max(exponent - digits, least));
    const double error = static_cast<double>(std::abs(got - want) / ulp_size);
    if (!(error < 1e6) || std::signbit(got) != std::signbit(rounded)) {
      if (wrong++ == 0) fmt::print("wrong: {} and {} gave {}, not {}\n", a, b, got, rounded);
    } else if (error > ulp) {
      ulp = error, x = a, y = b;
    }
  }
};

Function compile(const Case& c, DataType type, const Settings& settings) {
  const te::Tensor a = te::placeholder({block}, type, "A"), b = te::placeholder({block}, type, "B");
  const Op function = op_of(find_op(c.name));
  const te::Tensor out = te::compute(
      {block},
      [&](const Expr& i) {
        return c.is_binary ? call(function, {a(i), b(i)}) : call(function, {a(i)});
      },
      "C");
  BuildOptions options;
  if (settings.fast) options.fast_math = {"approximate"};
  std::vector<Ref> arguments = {a, out};
  if (c.is_binary) arguments.insert(arguments.begin() + 1, b);
  return build(te::create_prim_func(arguments), Target("llvm -mcpu=native"), options).entry();
}

/// The compiled function with its arrays.
template <class T>
class Kernel {
 public:
  Kernel(const Case& c, const Settings& settings)
      : is_binary_(c.is_binary),
        function_(compile(c, sizeof(T) == 4 ? f32 : f64, settings)),
        arrays_(3, NDArray::zeros({block}, sizeof(T) == 4 ? dtype::float32 : dtype::float64)) {
    for (NDArray& array : arrays_) array = NDArray::zeros({block}, arrays_[0].dtype());
  }
  T* x() { return arrays_[0].template data<T>(); }
  T* y() { return arrays_[1].template data<T>(); }
  T* result() { return arrays_[2].template data<T>(); }
  void run() {
    is_binary_ ? function_(arrays_[0], arrays_[1], arrays_[2]) : function_(arrays_[0], arrays_[2]);
  }

  /// Nanoseconds an element on ordinary arguments.
  double time(const Case& c) {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> inside(c.low, c.high);
    for (int i = 0; i < block; ++i) x()[i] = T(inside(random)), y()[i] = T(inside(random));
    double best = 1e9;
    for (int round = 0; round < 200; ++round) {
      const auto start = std::chrono::steady_clock::now();
      run();
      const std::chrono::duration<double, std::nano> time =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, time.count() / block);
    }
    return best;
  }

 private:
  bool is_binary_;
  Function function_;
  std::vector<NDArray> arrays_;
};

/// All float32 (every `every`-th), or for functions of two arguments as many random pairs.
Worst check_float(const Case& c, Kernel<float>& kernel, const Settings& settings) {
  const Reference reference(c);
  std::vector<float> x(block), y(block);
  std::vector<double> want(block);
  std::mt19937_64 random(1);
  const std::uint64_t total = (std::uint64_t{1} << (c.is_binary ? 28 : 32)) / settings.every;
  Worst worst;
  for (std::uint64_t done = 0; done < total; done += block) {
    for (int i = 0; i < block; ++i) {
      const auto pattern = static_cast<std::uint32_t>((done + i) * settings.every);
      x[i] = std::bit_cast<float>(pattern);
      if (c.is_binary) {
        // Any bits, or exponents near 0.
        const std::uint64_t bits = random();
        const bool near = done / block % 2 == 1;
        const auto limit = [&](std::uint32_t b) {
          return near ? (b & 0x83ffffff) | 0x3c000000 : b;
        };
        x[i] = std::bit_cast<float>(limit(static_cast<std::uint32_t>(bits)));
        y[i] = std::bit_cast<float>(limit(static_cast<std::uint32_t>(bits >> 32)));
      }
    }
    std::copy(x.begin(), x.end(), kernel.x());
    std::copy(y.begin(), y.end(), kernel.y());
    kernel.run();
    reference(x, y, want);
    // Most elements need no more than this.
    const float* got = kernel.result();
    for (int i = 0; i < block; ++i) {
      const bool is_nearest = std::bit_cast<std::uint32_t>(got[i]) ==
                              std::bit_cast<std::uint32_t>(static_cast<float>(want[i]));
      if (is_nearest && worst.ulp >= 0.5) continue;
      const double error = std::abs(got[i] - want[i]);
      const bool small = error <= std::abs(want[i]) * 0x1p-24 * worst.ulp * 0.5 &&
                         std::abs(want[i]) > 0x1p-126 && std::abs(want[i]) < 0x1p127;
      if (!small) worst.add(got[i], want[i], x[i], y[i]);
    }
  }
  worst.count = static_cast<std::int64_t>(total);
  return worst;
}

/// Random float64: any bits, exponents near 0, the interval of the timing.
Worst check_double(const Case& c, Kernel<double>& kernel, const Settings& settings) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> inside(c.low, c.high);
  const auto draw = [&](int kind) {
    const std::uint64_t bits = random();
    if (kind == 0) return std::bit_cast<double>(bits);
    if (kind == 1) return std::bit_cast<double>((bits & 0x807fffffffffffff) | 0x3f80000000000000);
    return inside(random);
  };
  Worst worst;
  for (std::int64_t done = 0; done < settings.samples; done += block) {
    for (int i = 0; i < block; ++i) {
      kernel.x()[i] = draw(static_cast<int>(random() % 3));
      kernel.y()[i] = draw(static_cast<int>(random() % 3));
    }
    kernel.run();
    for (int i = 0; i < block; ++i) {
      const double x = kernel.x()[i], y = kernel.y()[i];
      worst.add(kernel.result()[i], c.wide(x, y), x, y);
    }
  }
  return worst;
}

void print_row(const Case& c, const Settings& settings) {
  Kernel<float> in_float(c, settings);
  Kernel<double> in_double(c, settings);
  const Worst f = check_float(c, in_float, settings);
  const Worst d = check_double(c, in_double, settings);
  fmt::print("| {} | {:.3f} | {} | {:.3f} | {} | {:.2f} | {:.2f} |", c.name, f.ulp, f.count, d.ulp,
             d.count, in_float.time(c), in_double.time(c));
  if (f.wrong + d.wrong > 0) fmt::print(" wrong: {} and {}", f.wrong, d.wrong);
  fmt::print("\n");
  std::fflush(stdout);
}

int run(const Settings& settings) {
  fmt::print(
      "| function | float32: largest error, ulp | inputs | float64: ulp | inputs | ns, float32 | "
      "ns, float64 |\n|---|---|---|---|---|---|---|\n");
  for (const Case& c : cases) {
    const bool chosen =
        settings.only.empty() || std::ranges::find(settings.only, c.name) != settings.only.end();
    if (chosen) print_row(c, settings);
  }
  return 0;
}

}  // namespace
}  // namespace loopsmith

int main(int argc, char** argv) {
  loopsmith::Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--fast") {
      settings.fast = true;
    } else if (argument == "--every" && i + 1 < argc) {
      settings.every = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--samples" && i + 1 < argc) {
      settings.samples = std::strtoll(argv[++i], nullptr, 10);
    } else {
      settings.only.push_back(argument);
    }
  }
  return loopsmith::run(settings);
}
