// SQL on a database file behind the back of whoever owns it.
#pragma once

#include <string>

#include <doctest/doctest.h>
#include <sqlite3.h>

namespace nomad::test {

inline void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &handle) == SQLITE_OK);
  CHECK(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(handle);
}

/// Copies the write-ahead log into the file and removes it, as SQLite does by itself for whoever
/// closes a database last.
inline void fold_wal(const std::string& path) {
  run_sql(path, "SELECT count(*) FROM sqlite_schema");
}

}  // namespace nomad::test
