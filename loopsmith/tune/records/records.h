// SPDX-License-Identifier: Apache-2.0
// Records: the schedules that won, by program, target and version of the compiler, in a file of
// SQLite. Python's `tuning.Records` reads and writes the same files.
#pragma once
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "loopsmith/driver/build.h"
#include "loopsmith/driver/schedule.h"
#include "loopsmith/tune/results/best.h"
#include "loopsmith/tune/spaces/numerics.h"

namespace loopsmith::tune {

/// The format of the files, which they say as their `user_version`.
inline constexpr int record_format = 1;
/// The statements of SQL that make the tables of a file. `trials` is what searches go on from where
/// others were ended (`trial_log.h`).
inline constexpr std::array<const char*, 4> record_tables = {
    R"(CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY, "key" TEXT NOT NULL, )"
    R"("name" TEXT NOT NULL, "program" TEXT NOT NULL, "target" TEXT NOT NULL, )"
    R"("version" TEXT NOT NULL, "trace" TEXT NOT NULL, "seconds" DOUBLE PRECISION NOT NULL, )"
    R"("default_seconds" DOUBLE PRECISION NOT NULL, "check" TEXT NOT NULL, )"
    R"("machine" TEXT NOT NULL))",
    "CREATE INDEX IF NOT EXISTS keys ON records (key, target, version)",
    "CREATE TABLE IF NOT EXISTS trials (id INTEGER PRIMARY KEY, search TEXT NOT NULL, "
    "program TEXT NOT NULL, trace TEXT NOT NULL, seconds DOUBLE PRECISION)",
    "CREATE INDEX IF NOT EXISTS searches ON trials (search)",
};

/// A schedule that was quicker than the default one.
struct Record {
  std::string key;      ///< The structural hash of the program.
  std::string name;     ///< What the function was called.
  std::string program;  ///< The program without a schedule, as JSON.
  std::string target;   ///< As `target_key` has it.
  std::string version;  ///< Of the compiler.
  /// The steps and decisions, as JSON; of a search for ranges of sizes, those of all its variants.
  std::string trace;
  double seconds = 0;          ///< Of a call with this schedule,
  double default_seconds = 0;  ///< and with the default one, measured beside it.
  std::string check;           ///< What the results were compared with.
  std::string machine;         ///< Where it was measured.

  /// True for a record of this program: its key may be that of two.
  bool is_of(const Ptr<PrimFunc>& func) const;
  /// True for a record of this version of the compiler.
  bool is_of_this_version() const;
  /// True when it has several schedules, for ranges of sizes.
  bool has_variants() const;
  /// The schedule, its steps taken on the function.
  /// Throws a UserError where this version of the compiler refuses a step, and for variants.
  tir::Schedule schedule(const Ptr<PrimFunc>& func) const;
  /// The function as it is scheduled; of variants, one function that decides between them, with
  /// `reference` as variant 0. Throws a UserError where this version refuses a step.
  Ptr<PrimFunc> scheduled(const Ptr<PrimFunc>& func, const Ptr<PrimFunc>& reference) const;
};

/// A file of records. Several processes may write to it at once; what was written stays when a
/// process is killed. Throws a UserError where the file cannot be used.
class Records {
 public:
  /// The file is made where there is none.
  explicit Records(std::string path);

  /// Writes a record. When this returns, it is on the disk.
  void add(const Record& record) const;
  /// All records, the oldest first.
  std::vector<Record> all() const;
  /// The records of a program for a target: those of this version of the compiler before those of
  /// others, and the quickest first.
  std::vector<Record> of(const Ptr<PrimFunc>& func, const std::string& target) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Which processor this is, and how many of them.
std::string machine_name();
/// What a program is compiled for: the target, the machine if that is meant, options that are not
/// as they are where nothing is said.
std::string target_key(const Target& target, const BuildOptions& options = {},
                       Numerics numerics = Numerics::free);
/// The same for so many threads; 0: as many as there are processors.
std::string target_key(const Target& target, const BuildOptions& options, Numerics numerics,
                       int num_threads);

/// The record of a schedule of a function, made here and now; what was measured is left to fill in.
Record record_of(const Ptr<PrimFunc>& func, const tir::Schedule& schedule, std::string target);
/// The record of schedules for ranges of sizes, and of what decides between them.
Record record_of(const BestSizes& best, std::string target);
/// What a record says of how results were compared: with the program without a schedule, or with
/// the default one alone.
std::string check_text(bool is_checked);

/// Is told what somebody ought to know.
using Warn = std::function<void(const std::string&)>;
/// Writes it as a line on the standard error.
void warn_on_standard_error(const std::string& what);
/// What to know where the record of a function is used that another version made.
std::string version_warning(const std::string& name, const std::string& version);

/// The function with the schedule of its quickest record, for `build`; as it is where there is
/// none, or where it has a schedule. Where all records are of other versions of the compiler, it is
/// the quickest whose steps this version proves, and `warn` is told: its times may hold no more.
/// Throws a UserError where the file cannot be used, or no record applies any more.
Ptr<PrimFunc> recorded(const Ptr<PrimFunc>& func, const Records& records,
                       const Target& target = Target("llvm -mcpu=native"),
                       const BuildOptions& options = {}, Numerics numerics = Numerics::free,
                       const Warn& warn = warn_on_standard_error);

}  // namespace loopsmith::tune
