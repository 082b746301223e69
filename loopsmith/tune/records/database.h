// SPDX-License-Identifier: Apache-2.0
// A file of SQLite that several processes write, and that outlives each of them.
#pragma once
#include <sqlite3.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace loopsmith::tune {

/// Throws the UserError that a file cannot be used, and why.
[[noreturn]] void fail_of_database(const std::string& path, std::string_view what);

/// A statement of SQL, its values bound one after the other.
class Query {
 public:
  Query(sqlite3* file, const std::string& path, const std::string& sql);

  void bind(const std::string& text);
  void bind(double number);
  void bind(std::optional<double> number);

  /// Goes to the next row; false after the last one.
  bool step();
  std::string text(int column) const;
  double number(int column) const { return sqlite3_column_double(query_.get(), column); }
  bool is_null(int column) const;

 private:
  void require_ok(int status) const;

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  sqlite3* file_;
  const std::string& path_;
  std::unique_ptr<sqlite3_stmt, Finalize> query_ = {};
  int bound_ = 0;
};

/// The file, open; it is made where there is none. Each statement is a transaction, which waits
/// while the file is locked.
class Connection {
 public:
  /// The path outlives it.
  explicit Connection(const std::string& path);

  Query prepare(const std::string& sql) const { return {file_.get(), path_, sql}; }
  void run(const std::string& sql) const { prepare(sql).step(); }
  /// The number that a query gives; 0 where it gives none.
  double number(const std::string& sql) const;

 private:
  struct Close {
    void operator()(sqlite3* file) const { sqlite3_close(file); }
  };

  const std::string& path_;
  std::unique_ptr<sqlite3, Close> file_ = {};
};

}  // namespace loopsmith::tune
