// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/records/records.h"

#include <fmt/ranges.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <utility>

#include "loopsmith/driver/release.h"
#include "loopsmith/ir/json.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/runtime/thread_pool.h"
#include "loopsmith/support/error.h"
#include "loopsmith/support/json.h"
#include "loopsmith/tune/records/database.h"
#include "loopsmith/tune/search/program_key.h"
#include "loopsmith/tune/sizes/variants.h"

namespace loopsmith::tune {
namespace {

using Json = nlohmann::json;

/// The columns of a record, in the order of the table.
constexpr std::array<std::pair<const char*, std::string Record::*>, 8> texts = {{
    {"key", &Record::key},
    {"name", &Record::name},
    {"program", &Record::program},
    {"target", &Record::target},
    {"version", &Record::version},
    {"trace", &Record::trace},
    {"check", &Record::check},
    {"machine", &Record::machine},
}};
constexpr std::array<std::pair<const char*, double Record::*>, 2> numbers = {{
    {"seconds", &Record::seconds},
    {"default_seconds", &Record::default_seconds},
}};

std::string columns() {
  std::vector<std::string> names;
  for (const auto& column : texts) names.push_back(fmt::format("\"{}\"", column.first));
  for (const auto& column : numbers) names.push_back(fmt::format("\"{}\"", column.first));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Record> read(Query& rows) {
  std::vector<Record> found;
  while (rows.step()) {
    Record& record = found.emplace_back();
    int column = 0;
    for (const auto& [name, member] : texts) record.*member = rows.text(column++);
    for (const auto& [name, member] : numbers) record.*member = rows.number(column++);
  }
  return found;
}

/// Takes the steps of a trace of a record.
tir::Schedule replayed(const Record& record, const Ptr<PrimFunc>& func, const std::string& trace) {
  tir::Schedule schedule(func, 1);
  try {
    schedule.apply_json(trace);
  } catch (const UserError& error) {
    fail(ErrorKind::format, "record_applies", hint("tune it again, or delete the record"), {},
         "the record of {} by version {} does not apply any more: {}", func->name(), record.version,
         error.what());
  }
  return schedule;
}

}  // namespace

bool Record::is_of(const Ptr<PrimFunc>& func) const {
  return structural_equal(from_json(program), named_main(func));
}

bool Record::is_of_this_version() const {
  return version == release();
}

bool Record::has_variants() const {
  return parse_json(trace, "record").find("variants") != nullptr;
}

tir::Schedule Record::schedule(const Ptr<PrimFunc>& func) const {
  require(!has_variants(), "record_has_one_schedule",
          hint("use Record::scheduled, or recorded(func, records)"),
          "the record of {} has several schedules, for ranges of sizes", func->name());
  return replayed(*this, with_attr(func, "global_symbol", string_imm(name)), trace);
}

Ptr<PrimFunc> Record::scheduled(const Ptr<PrimFunc>& func, const Ptr<PrimFunc>& reference) const {
  if (!has_variants()) {
    const Ptr<PrimFunc> made = schedule(func).func();
    return with_attr(with_attr(made, "global_symbol", string_imm(func->name())), "tir.is_scheduled",
                     Expr(1));
  }
  const Json data = Json::parse(trace);
  std::vector<Ptr<PrimFunc>> variants = {reference};
  for (const Json& each : data.at("variants")) {
    variants.push_back(replayed(*this, func, each.dump()).func());
  }
  return with_size_tree(variants, SizeTree::from_json(data.at("tree").dump()));
}

Records::Records(std::string path) : path_(std::move(path)) {
  const Connection file(path_);
  // In this order: between the two, another process may make the tables.
  const bool is_empty = file.number("SELECT count(*) FROM sqlite_master") == 0;
  const auto found = static_cast<int>(file.number("PRAGMA user_version"));
  if (found == 0 && is_empty) {
    file.run("BEGIN IMMEDIATE");
    for (const char* statement : record_tables) file.run(statement);
    file.run(fmt::format("PRAGMA user_version = {}", record_format));
    file.run("COMMIT");
  } else if (found != record_format) {
    fail_of_database(path_, fmt::format("its format is {}, expected {}", found, record_format));
  }
}

void Records::add(const Record& record) const {
  const Connection file(path_);
  Query statement =
      file.prepare("INSERT INTO records (" + columns() + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const auto& [name, member] : texts) statement.bind(record.*member);
  for (const auto& [name, member] : numbers) statement.bind(record.*member);
  statement.step();
}

std::vector<Record> Records::all() const {
  const Connection file(path_);
  Query rows = file.prepare("SELECT " + columns() + " FROM records ORDER BY id");
  return read(rows);
}

std::vector<Record> Records::of(const Ptr<PrimFunc>& func, const std::string& target) const {
  const Connection file(path_);
  Query rows = file.prepare("SELECT " + columns() +
                            " FROM records WHERE key = ? AND target = ? "
                            "ORDER BY version = ? DESC, seconds");
  rows.bind(key_of(func));
  rows.bind(target);
  rows.bind(std::string(release()));
  std::vector<Record> found = read(rows);
  std::erase_if(found, [&](const Record& record) { return !record.is_of(func); });
  return found;
}

std::string machine_name() {
  std::string model = "unknown";
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    model = begin == std::string::npos ? "" : line.substr(begin);
    break;
  }
  return fmt::format("{}, {} processors", model, sysconf(_SC_NPROCESSORS_ONLN));
}

std::string target_key(const Target& target, const BuildOptions& options, Numerics numerics) {
  const auto& pool = options.runtime.pool;
  return target_key(target, options, numerics, pool ? pool->num_threads() : 0);
}

std::string target_key(const Target& target, const BuildOptions& options, Numerics numerics,
                       int num_threads) {
  std::string key = target.text();
  if (key.find("native") != std::string::npos) key += " (" + machine_name() + ")";
  if (!options.contract) key += ", contract=False";
  if (!options.default_schedule || numerics != Numerics::free) key += ", default_schedule=False";
  if (!options.fast_math.empty())
    key += fmt::format(", fast_math=['{}']", fmt::join(options.fast_math, "', '"));
  if (num_threads != 0) key += fmt::format(", num_threads={}", num_threads);
  if (numerics == Numerics::reproducible) key += ", numerics='reproducible'";
  return key;
}

Record record_of(const Ptr<PrimFunc>& func, const tir::Schedule& schedule, std::string target) {
  return {.key = key_of(func),
          .name = func->name(),
          .program = to_json(named_main(func)),
          .target = std::move(target),
          .version = std::string(release()),
          .trace = schedule.trace_json(),
          .machine = machine_name()};
}

Record record_of(const BestSizes& best, std::string target) {
  std::vector<std::string> variants;
  for (const tir::Schedule& schedule : best.schedules) variants.push_back(schedule.trace_json());
  Record record{.key = key_of(best.func),
                .name = best.func->name(),
                .program = to_json(named_main(best.func)),
                .target = std::move(target),
                .version = std::string(release()),
                .trace = fmt::format(R"({{"variants": [{}], "tree": {}}})",
                                     fmt::join(variants, ", "), best.tree.as_json()),
                .check = check_text(best.is_checked),
                .machine = machine_name()};
  for (const SizedRow& row : best.rows) {  // Their weights add up to 1.
    record.seconds += row.weight * row.seconds;
    record.default_seconds += row.weight * row.default_seconds;
  }
  return record;
}

std::string check_text(bool is_checked) {
  return is_checked ? "compared with the program without a schedule"
                    : "compared with the default schedule";
}

void warn_on_standard_error(const std::string& what) {
  std::fputs(("warning: " + what + "\n").c_str(), stderr);
}

std::string version_warning(const std::string& name, const std::string& version) {
  return fmt::format(
      "the record of {} is by version {}, and this is {}: its steps were proved again, its times "
      "were not measured again; tune it again",
      name, version, release());
}

Ptr<PrimFunc> recorded(const Ptr<PrimFunc>& func, const Records& records, const Target& target,
                       const BuildOptions& options, Numerics numerics, const Warn& warn) {
  if (func->attrs.get_int("tir.is_scheduled", 0) != 0) return func;
  const auto found = records.of(func, target_key(target, options, numerics));
  if (found.empty()) return func;
  const Ptr<PrimFunc> reference = reference_of(func, target, options, numerics);
  std::exception_ptr first;
  for (const Record& record : found) {
    try {
      Ptr<PrimFunc> made = record.scheduled(func, reference);
      if (!record.is_of_this_version()) warn(version_warning(record.name, record.version));
      return made;
    } catch (const UserError&) {
      if (!first) first = std::current_exception();
      if (record.is_of_this_version()) break;  // It is no matter of versions.
    }
  }
  std::rethrow_exception(first);
}

}  // namespace loopsmith::tune
