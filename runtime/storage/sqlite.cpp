#include "runtime/storage/sqlite.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "runtime/base/files/replace_file.hpp"
#include "runtime/storage/file.hpp"

namespace nomad::storage {
namespace {

/// How long a writer waits for a checkpoint of another connection, and the other way round.
constexpr int busy_timeout_ms = 10'000;

/// In a file's header (sqlite.org/fileformat.html): 2 in both says that its changes are in a
/// write-ahead log.
constexpr std::size_t write_version_at = 18;
constexpr std::size_t read_version_at = 19;
constexpr char with_wal = 2;

/// Whether nothing but room was missing. After a sync that failed nothing can be said of the file.
bool is_full(sqlite3* handle, int result) {
  if ((result & 0xff) == SQLITE_FULL) return true;
  return (result & 0xff) == SQLITE_IOERR && result != SQLITE_IOERR_FSYNC
         && result != SQLITE_IOERR_DIR_FSYNC && is_no_space(sqlite3_system_errno(handle));
}

Errc code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_MISMATCH:
      return Errc::corrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Errc::conflict;
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_ERROR:
      return Errc::internal;
    default:
      return Errc::io;
  }
}

Error failure_of(sqlite3* handle, std::string_view path, std::string_view attempt) {
  const int result = sqlite3_extended_errcode(handle);
  std::string what
      = "\"" + std::string{path} + "\": " + std::string{attempt} + ": " + sqlite3_errmsg(handle);
  const int primary = result & 0xff;
  if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL) {
    if (result == SQLITE_IOERR_SHORT_READ) what += " (the file is shorter than it should be)";
    if (const int system = sqlite3_system_errno(handle); system != 0)
      what += std::string{" ("} + std::strerror(system) + ")";
  }
  return {is_full(handle, result) ? Errc::overloaded : code_of(result), std::move(what)};
}

/// SQLite would make it as the umask says; what it makes beside takes this file's mode.
/// Never opens one that is there: closing it again would drop the locks that other connections of
/// this process hold on it (fcntl(2)), and who looks at it from outside would end its
/// write-ahead log under their hands.
Result<> make_private_file(const std::string& path) {
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0 && errno != EEXIST) return disk_error("cannot create \"" + path + "\"", errno);
  if (made >= 0) ::close(made);
  if (::chmod(path.c_str(), 0600) != 0)
    return errno_error("cannot change the mode of \"" + path + "\"", errno);
  return {};
}

/// A database of `sql` as its file's bytes.
Result<std::string> file_made_of(const std::string& sql) {
  sqlite3* handle = nullptr;
  const int opened = sqlite3_open_v2(
      in_memory.data(), &handle,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close_v2)> database{handle, sqlite3_close_v2};
  if (opened != SQLITE_OK
      || sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure_of(handle, in_memory, "cannot run \"" + sql + "\"");
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes{
      sqlite3_serialize(handle, "main", &size, 0), sqlite3_free};
  if (!bytes || std::cmp_less_equal(size, read_version_at))
    return failure_of(handle, in_memory, "cannot serialize");
  std::string file{reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
  file[write_version_at] = file[read_version_at] = with_wal;
  return file;
}

/// Puts a database of `sql` where there is none. What an earlier one has left beside it is SQLite's
/// to clear away: then it makes the file.
Result<> begin_file(const std::string& path, const std::string& sql) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  const auto is_there = [](const std::string& file) { return ::access(file.c_str(), F_OK) == 0; };
  if ((!failure && size > 0) || is_there(path + "-wal") || is_there(path + "-journal")) return {};
  const auto content = NOMAD_TRY(file_made_of(sql));
  const auto fresh = path + ".new";
  {
    const auto file = NOMAD_TRY(File::open(fresh, O_WRONLY | O_CREAT | O_TRUNC));
    NOMAD_TRY(file.write(std::as_bytes(std::span{content}), 0));
    NOMAD_TRY(file.sync());
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0)
    return disk_error("cannot rename \"" + fresh + "\"", errno);
  return {};
}

int count_wal_pages(void* counter, sqlite3*, const char*, int pages) {
  *static_cast<int*>(counter) = pages;
  return SQLITE_OK;
}

/// A connection at work, which may be for seconds, keeps its cache.
void drop_cache_if_idle(sqlite3* handle) {
  auto* mutex = sqlite3_db_mutex(handle);
  if (sqlite3_mutex_try(mutex) != SQLITE_OK) return;
  sqlite3_db_release_memory(handle);
  sqlite3_mutex_leave(mutex);
}

}  // namespace

void detail::CloseDatabase::operator()(sqlite3* database) {
  cache.reset();
  sqlite3_close_v2(database);
}

void detail::FinalizeStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::bind(int parameter, std::int64_t number) {
  sqlite3_bind_int64(handle_.get(), parameter, number);
}

void Statement::bind_blob(int parameter, std::span<const std::byte> bytes) {
  if (bytes.empty())
    sqlite3_bind_zeroblob(handle_.get(), parameter, 0);
  else
    sqlite3_bind_blob64(handle_.get(), parameter, bytes.data(), bytes.size(), SQLITE_STATIC);
}

void Statement::bind_text(int parameter, std::string_view text) {
  sqlite3_bind_text64(handle_.get(), parameter, text.empty() ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}

Result<bool> Statement::step(std::string_view attempt) {
  const int result = sqlite3_step(handle_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  auto* database = sqlite3_db_handle(handle_.get());
  const char* path = sqlite3_db_filename(database, "main");
  return failure_of(database, path == nullptr ? "" : path, attempt);
}

Result<> Statement::run(std::string_view attempt) {
  const auto outcome = step(attempt);
  reset();
  if (!outcome) return outcome.error();
  return {};
}

void Statement::reset() {
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

std::span<const std::byte> Statement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(handle_.get(), column));
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return {data, data == nullptr ? 0 : static_cast<std::size_t>(size)};
}

std::string_view Statement::text(int column) const {
  const auto bytes = blob(column);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<Database> Database::open(const std::string& path, const OpenOptions& options) {
  Database database;
  database.path_ = path;
  int flags = SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_EXRESCODE;  // another thread drops the cache
  flags |= options.immutable ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (options.create && !options.immutable) flags |= SQLITE_OPEN_CREATE;
  if (options.create && !options.immutable && path != in_memory) {
    if (options.durable && options.vfs.empty() && !options.begin_with.empty())
      NOMAD_TRY(begin_file(path, options.begin_with));
    NOMAD_TRY(make_private_file(path));
  }
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &handle, flags,
                                     options.vfs.empty() ? nullptr : options.vfs.c_str());
  database.handle_.reset(handle);
  if (handle == nullptr) return Error{Errc::io, "\"" + path + "\": cannot open: out of memory"};
  if (result != SQLITE_OK) return database.failure("cannot open");
  NOMAD_TRY(database.configure(options));
  database.handle_.get_deleter().cache
      = std::make_unique<ReleasableMemory>([handle] { drop_cache_if_idle(handle); });
  return database;
}

Result<> Database::configure(const OpenOptions& options) {
  auto* handle = handle_.get();
  sqlite3_busy_timeout(handle, busy_timeout_ms);
  // Defensive mode forbids running without a journal.
  if (options.durable) sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  NOMAD_TRY(run("PRAGMA cell_size_check=ON; PRAGMA cache_size=-1024;"));
  if (options.immutable) return run("PRAGMA query_only=ON; SELECT count(*) FROM sqlite_schema;");
  if (!options.durable) return run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;");
  NOMAD_TRY(sync_commits(options.syncs));  // first: a new file's change to WAL is a commit
  NOMAD_TRY(
      run("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
          "PRAGMA journal_size_limit=16777216; SELECT count(*) FROM sqlite_schema;"));
  // Closing neither moves nor removes the write-ahead log: what a refused start has found stays.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_wal_hook(handle, count_wal_pages, wal_pages_.get());
  return {};
}

Result<> Database::sync_commits(bool wanted) {
  return run(wanted ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF");
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) return failure("cannot prepare \"" + std::string{sql} + "\"");
  return Statement{statement};
}

Result<> Database::prepare(Statement& statement, std::string_view sql) {
  statement = NOMAD_TRY(prepare(sql));
  return {};
}

Result<> Database::run(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure("cannot run \"" + sql + "\"");
  return {};
}

Result<CheckpointResult> Database::checkpoint(bool restart) {
  CheckpointResult counts;
  const int mode = restart ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
  const int result = sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, mode, &counts.wal_pages,
                                               &counts.copied_pages);
  // Busy: another connection checkpoints or reads; what could be copied has been.
  if (result != SQLITE_OK && (result & 0xff) != SQLITE_BUSY)
    return failure("cannot checkpoint the write-ahead log");
  return counts;
}

bool Database::is_read_only() const {
  return sqlite3_db_readonly(handle_.get(), "main") == 1;
}

Result<bool> Database::is_empty() {
  auto count = NOMAD_TRY(prepare("SELECT count(*) FROM sqlite_schema"));
  NOMAD_TRY(count.step("cannot read the list of tables"));
  return count.number(0) == 0;
}

Result<> Database::check_structure() {
  auto check = NOMAD_TRY(prepare("PRAGMA quick_check(1)"));
  const bool found = NOMAD_TRY(check.step("cannot check the file"));
  if (found && check.text(0) == "ok") return {};
  std::string what{found ? check.text(0) : "no answer"};
  std::ranges::replace(what, '\n', ' ');
  return Error{Errc::corrupt, std::move(what)};
}

Error Database::failure(std::string_view attempt) const {
  return failure_of(handle_.get(), path_, attempt);
}

Result<Transaction> Transaction::begin(Database& database) {
  NOMAD_TRY(database.run("BEGIN IMMEDIATE"));
  return Transaction{database};
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  if (database_ == nullptr) return;
  // A failure here means that SQLite has rolled back by itself already.
  if (auto outcome = database_->run("ROLLBACK"); !outcome) return;
}

Result<> Transaction::commit(std::string_view attempt) {
  if (auto outcome = database_->run("COMMIT"); !outcome)
    return Error{outcome.error().code, std::string{attempt} + ": " + outcome.error().what};
  database_ = nullptr;
  return {};
}

std::string set_version(const FileFormat& format) {
  return "PRAGMA user_version=" + std::to_string(format.version);
}

std::string set_format(const FileFormat& format) {
  return "PRAGMA application_id=" + std::to_string(format.id) + "; " + set_version(format) + ";";
}

Result<std::int32_t> require_format(Database& database, const FileFormat& format) {
  auto read = NOMAD_TRY(database.prepare(
      "SELECT (SELECT application_id FROM pragma_application_id),"
      " (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)"));
  NOMAD_TRY(read.step("cannot read the header"));
  const auto id = read.number(0);
  const auto version = read.number(1);
  const bool is_new = id == 0 && version == 0 && read.number(2) == 0 && !database.is_read_only();
  read.reset();
  if (is_new) {
    // Both or none: a process that is killed in between must not leave a file that none can open.
    NOMAD_TRY(database.run("BEGIN IMMEDIATE; " + set_format(format) + " COMMIT"));
    return format.version;
  }
  if (id != format.id)
    return Error{Errc::corrupt, "\"" + database.path() + "\" is not a " + std::string{format.name}
                                    + " of nomadctl"};
  if (version < 1 || version > format.version)
    return Error{version < 1 ? Errc::corrupt : Errc::rejected,
                 "\"" + database.path() + "\" has format " + std::to_string(version)
                     + ", this program reads up to " + std::to_string(format.version)};
  return static_cast<std::int32_t>(version);
}

Result<> begin_wal(Database& database, const FileFormat& format) {
  return database.run(set_version(format));
}

std::string in_quotes(std::string_view name) {
  std::string out = "\"";
  for (const char letter : name) {
    if (letter == '"') out.push_back('"');
    out.push_back(letter);
  }
  out.push_back('"');
  return out;
}

}  // namespace nomad::storage
