// StableStore: the term and vote of this server, in the file of its log, so that one transaction
// and one fsync cover both.
#pragma once

#include "runtime/raft/entry.hpp"
#include "runtime/storage/sqlite.hpp"

namespace nomad::storage {

class StableStore {
public:
  /// The SQL that makes its table, where it is missing.
  static constexpr auto table
      = "CREATE TABLE IF NOT EXISTS stable(id INTEGER PRIMARY KEY CHECK (id = 1),"
        " current_term INTEGER NOT NULL, voted_for BLOB NOT NULL, checksum INTEGER NOT NULL);";

  /// Creates the table when it is missing.
  static Result<StableStore> open(Database& database);

  /// No store yet: only to be assigned to.
  StableStore() = default;

  /// The zero state when nothing was ever saved; `corrupt` when the checksum fails.
  Result<raft::HardState> load();

  /// Durable when the surrounding transaction is.
  Result<> save(const raft::HardState& state);

private:
  std::string path_;
  Statement read_;
  Statement write_;
};

}  // namespace nomad::storage
