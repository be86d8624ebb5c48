// SQLite with owners and results: connections, prepared statements, transactions. Every error says
// which file and what was tried; none is thrown. A full disk is `overloaded`: what was tried has
// not happened, and can be tried again.
//
// A connection and its statements belong to one thread at a time. What it has cached is dropped by
// whoever gives back spare memory (runtime/base/resident.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/resident.hpp"
#include "runtime/base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace nomad::storage {

namespace detail {

struct CloseDatabase {
  std::unique_ptr<ReleasableMemory> cache{};  ///< Of the pages that were read and written last.

  void operator()(sqlite3* database);
};

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};

}  // namespace detail

/// One prepared statement. Bind, step until it is done, reset; parameters and columns are numbered
/// from 1 and 0 as in SQLite.
class Statement {
public:
  /// No statement yet: only to be assigned to.
  Statement() = default;

  void bind(int parameter, std::int64_t number);

  /// The bytes must stay as they are until `reset`.
  void bind_blob(int parameter, std::span<const std::byte> bytes);
  void bind_text(int parameter, std::string_view text);

  /// True: a row is there. False: done. `attempt` starts the sentence of a failure.
  Result<bool> step(std::string_view attempt);

  /// Runs a statement that yields no rows, and resets it whatever comes.
  Result<> run(std::string_view attempt);

  /// Makes the statement ready to be bound and stepped again.
  void reset();

  std::int64_t number(int column) const;

  /// Valid until the next `step` or `reset`.
  std::span<const std::byte> blob(int column) const;
  std::string_view text(int column) const;

private:
  friend class Database;

  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}

  std::unique_ptr<sqlite3_stmt, detail::FinalizeStatement> handle_;
};

/// A path that stands for a database without a file, which goes with its connection.
inline constexpr std::string_view in_memory = ":memory:";

struct OpenOptions {
  bool create = true;

  /// Nothing is written, not even a -wal file: for files that never change again.
  bool immutable = false;

  /// WAL with an fsync for each commit; checkpoints only when asked for, so the -wal file outlives
  /// the connections. Otherwise there is no
  /// journal and no sync: for a file that is thrown away unless it was written whole.
  bool durable = true;

  /// Whether commits wait until they are durable (`sync_commits`). Without, a `durable` file asks
  /// for no sync from its beginning on (but for `begin_with`): a killed process loses nothing, a
  /// power cut may take the file.
  bool syncs = true;

  /// What a file begins with that is not there yet, or empty: SQL. It is made aside and put in its
  /// place whole, by one sync of the file where SQLite needs one for each step; whoever opens it
  /// syncs the directory. Of `durable` files of the system's own file system.
  std::string begin_with = {};

  std::string vfs = {};  ///< SQLite's name of a file system; empty is the system's own.
};

struct CheckpointResult {
  int wal_pages = 0;     ///< Pages in the write-ahead log.
  int copied_pages = 0;  ///< Of these, already in the database file.
};

class Database {
public:
  static Result<Database> open(const std::string& path, const OpenOptions& options = {});

  Result<Statement> prepare(std::string_view sql);

  /// Prepares into `statement`.
  Result<> prepare(Statement& statement, std::string_view sql);

  /// Runs statements without parameters and results.
  Result<> run(const std::string& sql);

  /// Copies the write-ahead log into the file. `restart` waits for readers and makes the next
  /// commit begin the log anew; otherwise nobody is disturbed and as much is copied as can be.
  Result<CheckpointResult> checkpoint(bool restart);

  /// Pages in the write-ahead log after the last commit of this connection.
  int wal_pages() const { return *wal_pages_; }

  const std::string& path() const { return path_; }

  bool is_read_only() const;

  /// Whether commits wait until they are durable, which they do unless told not to. The first one
  /// that does makes all of a new file durable. Of `durable` databases.
  Result<> sync_commits(bool wanted);

  /// Whether there is nothing in it. A file that has lost its beginning looks like that, too.
  Result<bool> is_empty();

  /// Looks at the file's structure: pages that are used twice, or lie in the list of free ones, are
  /// damage that reading does not meet and writing makes worse. `corrupt` with what was found.
  Result<> check_structure();

  /// The last failure of this connection: `"<path>": <attempt>: <reason>`.
  Error failure(std::string_view attempt) const;

private:
  Database() = default;

  Result<> configure(const OpenOptions& options);

  std::string path_;
  std::unique_ptr<int> wal_pages_ = std::make_unique<int>(0);
  std::unique_ptr<sqlite3, detail::CloseDatabase> handle_;
};

/// Changes that become durable together. Rolls back unless committed.
class Transaction {
public:
  static Result<Transaction> begin(Database& database);

  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Result<> commit(std::string_view attempt);

private:
  explicit Transaction(Database& database) : database_(&database) {}

  Database* database_;
};

/// What a file of ours holds, stored in its header.
struct FileFormat {
  std::string_view name;     ///< For messages: "raft log".
  std::int32_t id = 0;       ///< SQLite's application id.
  std::int32_t version = 1;  ///< The newest that this program reads.
};

/// Marks a new file, and refuses one that is of another kind or of a newer format with `corrupt`.
/// Returns the file's version.
Result<std::int32_t> require_format(Database& database, const FileFormat& format);

/// The SQL that makes a file one of the newest version of `format`.
std::string set_version(const FileFormat& format);

/// The SQL that makes a new file one of `format`.
std::string set_format(const FileFormat& format);

/// Begins the write-ahead log of a file of `format`, while its commits are not synced: what SQLite
/// syncs of a log's beginning is then a part of the first commit that is.
Result<> begin_wal(Database& database, const FileFormat& format);

/// An SQL identifier in quotes.
std::string in_quotes(std::string_view name);

}  // namespace nomad::storage
