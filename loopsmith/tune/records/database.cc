// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/records/database.h"

#include "loopsmith/support/error.h"

namespace loopsmith::tune {
namespace {

constexpr int patience_ms = 30'000;  ///< How long a process waits that finds the file locked.

}  // namespace

void fail_of_database(const std::string& path, std::string_view what) {
  fail(ErrorKind::format, "records_can_be_used",
       hint("name a file of records, or one that is not there yet, on a disk with space"), {},
       "records {}: {}", path, what);
}

Query::Query(sqlite3* file, const std::string& path, const std::string& sql)
    : file_(file), path_(path) {
  sqlite3_stmt* made = nullptr;
  require_ok(sqlite3_prepare_v2(file, sql.c_str(), -1, &made, nullptr));
  query_.reset(made);
}

void Query::bind(const std::string& text) {
  require_ok(sqlite3_bind_text(query_.get(), ++bound_, text.data(), static_cast<int>(text.size()),
                               SQLITE_TRANSIENT));
}

void Query::bind(double number) {
  require_ok(sqlite3_bind_double(query_.get(), ++bound_, number));
}

void Query::bind(std::optional<double> number) {
  if (number) return bind(*number);
  require_ok(sqlite3_bind_null(query_.get(), ++bound_));
}

bool Query::step() {
  const int status = sqlite3_step(query_.get());
  if (status != SQLITE_ROW && status != SQLITE_DONE) require_ok(status);
  return status == SQLITE_ROW;
}

std::string Query::text(int column) const {
  const auto* bytes = sqlite3_column_text(query_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(query_.get(), column));
  return bytes ? std::string(reinterpret_cast<const char*>(bytes), size) : std::string();
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(query_.get(), column) == SQLITE_NULL;
}

void Query::require_ok(int status) const {
  if (status != SQLITE_OK) fail_of_database(path_, sqlite3_errmsg(file_));
}

Connection::Connection(const std::string& path) : path_(path) {
  sqlite3* made = nullptr;
  const int status = sqlite3_open(path.c_str(), &made);
  file_.reset(made);
  if (status != SQLITE_OK) fail_of_database(path, made ? sqlite3_errmsg(made) : "no memory");
  sqlite3_busy_timeout(made, patience_ms);
}

double Connection::number(const std::string& sql) const {
  Query statement = prepare(sql);
  return statement.step() ? statement.number(0) : 0;
}

}  // namespace loopsmith::tune
