// SPDX-License-Identifier: Apache-2.0
// Random steps on random programs, for as long as one likes: see --help.
#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/testing/agreement.h"
#include "loopsmith/schedule/testing/random_program.h"
#include "loopsmith/schedule/testing/trial.h"

namespace loopsmith::schedule_testing {
namespace {

constexpr const char* help = R"(schedule_fuzz: random steps on random programs.

  --programs N   stop after so many programs
  --seconds T    stop after so long; 60 unless a number of programs is given
  --seed S       of the first program, which is the same for the same seed; else a new one
  --findings D   a folder that takes a file for each finding, and SUMMARY
  --limit N      shrink and keep so many findings of a kind for each primitive; 20
  --shrink T     shrink each for so many seconds; 10
  --mixed        loops and dimensions of 32 and of 64 bits
  --show         print each program instead
)";

struct Settings {
  std::int64_t programs = -1;
  double seconds = -1;
  std::uint64_t seed = 0;
  std::string findings;
  int limit = 20;
  double shrink_seconds = 10;
  bool shows = false;
  bool mixes_types = false;

  IndexTypes types() const { return mixes_types ? IndexTypes::mixed : IndexTypes::int32; }
};

/// What became of the draws of one primitive.
struct Tally {
  std::int64_t drawn = 0, refused = 0, same = 0, doubtful = 0;
  std::map<Wrong, std::int64_t> wrong;
  std::map<std::string, std::int64_t> conditions;  ///< By which it was refused.
};

/// The program that is being worked on, for the report of a crash.
std::uint64_t current_seed = 0;
void tell_crash(int number) {
  char text[96];
  const int size = std::snprintf(text, sizeof text, "\nsignal %d at --seed %llu --programs 1\n",
                                 number, static_cast<unsigned long long>(current_seed));
  [[maybe_unused]] const auto written = write(2, text, static_cast<std::size_t>(size));
  _exit(3);
}

/// A program that takes longer hangs; one that waits for a processor does not. 0: no limit.
void limit_processor_time(int seconds) {
  const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Fuzzer {
 public:
  explicit Fuzzer(const Settings& settings) : settings_(settings) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t seed = settings_.seed;
    for (; programs_ != settings_.programs; ++programs_) {
      if (settings_.seconds >= 0 && seconds_since(start) > settings_.seconds) break;
      current_seed = seed++;
      limit_processor_time(60);
      one(current_seed);
    }
    limit_processor_time(0);
    const double seconds = seconds_since(start) - shrinking_;
    fmt::print(
        "{} programs ({} valid), {} steps accepted, {} findings in {:.1f} s: {:.0f} programs/s\n",
        programs_, valid_, accepted_, findings_, seconds, static_cast<double>(programs_) / seconds);
    write_summary();
    return findings_ == 0 ? 0 : 1;
  }

 private:
  void one(std::uint64_t seed) {
    Ptr<PrimFunc> program;
    try {
      program = random_program(seed, settings_.types());
    } catch (const std::exception& error) {
      ++unreadable_;
      if (unreadable_ <= 3) {
        fmt::print("seed {}: {}\n{}\n", seed, error.what(), random_script(seed, settings_.types()));
      }
      return;
    }
    if (settings_.shows)
      fmt::print("# seed {}\n{}\n", seed, random_script(seed, settings_.types()));
    if (!is_valid(program)) {
      const std::optional<std::string> difference = disagreement(program);
      if (!difference) return;
      // What a program may not do, the judge lets pass as long as no result depends on it.
      if (difference->find("never written") != std::string::npos) return;
      const std::string reason = difference->substr(0, difference->find('\n'));
      if (disagreements_++ < 5) {
        fmt::print("seed {}: the judge and the interpreter differ: {}\n{}\n", seed, reason,
                   random_script(seed, settings_.types()));
      }
      return;
    }
    ++valid_;
    Trial trial(program);
    auto start = std::chrono::steady_clock::now();
    play(trial, seed, [&](const DrawnStep& step, Taken taken) {
      const std::string name(step.primitive->name);
      if (seconds_since(start) > 1) {
        fmt::print("seed {}: {} took {:.1f} s\n", seed, name, seconds_since(start));
      }
      start = std::chrono::steady_clock::now();
      Tally& tally = tallies_[name];
      ++tally.drawn;
      accepted_ += taken != Taken::refused;
      switch (taken) {
        case Taken::refused: ++tally.refused, ++tally.conditions[trial.doubt()]; return;
        case Taken::same: ++tally.same; return;
        case Taken::cannot_say: ++tally.doubtful, ++doubts_[trial.doubt()]; return;
        case Taken::wrong: return keep(*trial.finding(), tally, seed);
      }
    });
  }

  void keep(Finding finding, Tally& tally, std::uint64_t seed) {
    ++findings_;
    const std::int64_t known = tally.wrong[finding.wrong]++;
    if (known >= settings_.limit) return;
    limit_processor_time(0);
    const auto start = std::chrono::steady_clock::now();
    finding = shrunk(std::move(finding), settings_.shrink_seconds);
    shrinking_ += seconds_since(start);
    const std::string shown = fmt::format("{}# --seed {} --programs 1{}\n", text(finding), seed,
                                          settings_.mixes_types ? " --mixed" : "");
    if (settings_.findings.empty()) {
      fmt::print("{}\n", shown);
      return;
    }
    const bool has_view = shown.find("decl_buffer(") != std::string::npos;
    const std::string name = fmt::format("{}.{}.{}{}", finding.steps.back().primitive->name,
                                         to_string(finding.wrong), has_view ? "view." : "", seed);
    std::ofstream(std::filesystem::path(settings_.findings) / name) << shown;
    write_summary();
  }

  void write_summary() const {
    std::string summary = fmt::format(
        "from seed {}: {} programs, {} valid, {} unreadable, {} on which judge and "
        "interpreter differ, {} steps accepted\n\n",
        settings_.seed, programs_, valid_, unreadable_, disagreements_, accepted_);
    summary += fmt::format("{:26}{:>8}{:>9}{:>8}{:>9}  {}\n", "primitive", "drawn", "refused",
                           "same", "unclear", "wrong");
    for (const auto& [name, tally] : tallies_) {
      std::string wrong;
      for (const auto& [kind, count] : tally.wrong) {
        wrong += fmt::format(" {} {}", count, to_string(kind));
      }
      summary += fmt::format("{:26}{:>8}{:>9}{:>8}{:>9} {}\n", name, tally.drawn, tally.refused,
                             tally.same, tally.doubtful, wrong);
    }
    summary += "\nrefused by\n";
    for (const auto& [name, tally] : tallies_) {
      summary += fmt::format("{:26}", name);
      for (const auto& [condition, count] : tally.conditions) {
        summary += fmt::format(" {} {}", condition, count);
      }
      summary += "\n";
    }
    for (const auto& [reason, count] : doubts_) {
      summary += fmt::format("unclear {:>5} {}\n", count, reason);
    }
    if (settings_.findings.empty()) {
      fmt::print("{}", summary);
    } else {
      std::ofstream(std::filesystem::path(settings_.findings) / "SUMMARY") << summary;
    }
  }

  Settings settings_;
  std::int64_t programs_ = 0, valid_ = 0, unreadable_ = 0, disagreements_ = 0, accepted_ = 0,
               findings_ = 0;
  double shrinking_ = 0;
  std::map<std::string, Tally> tallies_;
  std::map<std::string, std::int64_t> doubts_;
};

int main_of(int count, char** words) {
  Settings settings{.seed = std::random_device()() % 1'000'000'000};
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--show" || word == "--mixed") {
      (word == "--show" ? settings.shows : settings.mixes_types) = true;
      continue;
    }
    if (i + 1 == count) {
      fmt::print("{}", help);
      return 2;
    }
    const char* value = words[++i];
    if (word == "--programs") {
      settings.programs = std::atoll(value);
    } else if (word == "--seconds") {
      settings.seconds = std::atof(value);
    } else if (word == "--seed") {
      settings.seed = std::strtoull(value, nullptr, 10);
    } else if (word == "--findings") {
      settings.findings = value;
    } else if (word == "--limit") {
      settings.limit = std::atoi(value);
    } else if (word == "--shrink") {
      settings.shrink_seconds = std::atof(value);
    } else {
      fmt::print("{}", help);
      return 2;
    }
  }
  if (settings.programs < 0 && settings.seconds < 0) settings.seconds = 60;
  if (!settings.findings.empty()) std::filesystem::create_directories(settings.findings);
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGPROF, SIGBUS}) signal(number, tell_crash);
  fmt::print("seed {}\n", settings.seed);
  std::fflush(stdout);
  return Fuzzer(settings).run();
}

}  // namespace
}  // namespace loopsmith::schedule_testing

int main(int count, char** words) {
  return loopsmith::schedule_testing::main_of(count, words);
}
