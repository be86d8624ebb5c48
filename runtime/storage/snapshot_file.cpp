#include "runtime/storage/snapshot_file.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "runtime/base/failpoint.hpp"
#include "runtime/base/files/bounded.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/directory.hpp"
#include "runtime/storage/reserve.hpp"
#include "runtime/storage/snapshot_format.hpp"
#include "runtime/storage/sqlite.hpp"

namespace nomad::storage {
namespace {

constexpr std::string_view name_prefix = "snapshot-";
constexpr std::string_view name_suffix = ".db";
constexpr std::string_view unfinished_suffix = ".unfinished";

/// Reads `snapshot_name` backwards; false for other names.
bool parse_name(const std::string& name, SnapshotFile& file) {
  unsigned long long term = 0;
  unsigned long long index = 0;
  int length = 0;
  if (std::sscanf(name.c_str(), "snapshot-%16llx-%16llx.db%n", &term, &index, &length) != 2)
    return false;
  file.term = term;
  file.index = index;
  return name == snapshot_name(term, index);
}

bool ends_with_any(const std::string& name, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&name](auto ending) { return name.ends_with(ending); });
}

bool is_table_name(std::string_view name) {
  return !name.empty() && !name.starts_with("sqlite_") && !name.starts_with("snapshot_")
         && std::ranges::all_of(
             name, [](char letter) { return letter == '_' || is_alphanumeric(letter); });
}

}  // namespace

std::string snapshot_name(raft::Term term, raft::Index index) {
  return fmt::format("{}{:016x}-{:016x}{}", name_prefix, term, index, name_suffix);
}

Result<std::vector<SnapshotFile>> list_snapshots(const std::string& directory) {
  std::vector<SnapshotFile> files;
  const auto names = names_in(directory);
  if (!names && names.error().code != Errc::not_found) return names.error().within("cannot list");
  for (const auto& name : names.value_or(std::vector<std::string>{})) {
    SnapshotFile file{.path = directory + '/' + name};
    if (parse_name(name, file)) files.push_back(std::move(file));
  }
  std::ranges::sort(files, [](const SnapshotFile& left, const SnapshotFile& right) {
    return std::pair{left.index, left.term} > std::pair{right.index, right.term};
  });
  return files;
}

Result<> remove_old_snapshots(const std::string& directory, std::size_t keep) {
  auto files = NOMAD_TRY(list_snapshots(directory));
  std::vector<std::filesystem::path> doomed;
  for (std::size_t at = keep; at < files.size(); ++at)
    doomed.emplace_back(files[at].path);
  for (const auto& name : names_in(directory).value_or(std::vector<std::string>{}))
    if (ends_with_any(name, {unfinished_suffix, ".db-journal"}))
      doomed.emplace_back(directory + '/' + name);
  std::error_code failure;
  for (const auto& path : doomed) {
    std::filesystem::remove(path, failure);
    if (failure)
      return Error{Errc::io, "cannot remove \"" + path.string() + "\": " + failure.message()};
  }
  return {};
}

struct SnapshotWriter::Parts {
  Parts(Database opened, std::string folder, const raft::SnapshotMeta& wanted)
      : database(std::move(opened)), directory(std::move(folder)), meta(wanted) {}

  ~Parts() {
    if (finished) return;
    std::error_code failure;  // nothing more can be done: the next clean-up removes it
    std::filesystem::remove(database.path(), failure);
  }

  Database database;
  std::string directory;
  raft::SnapshotMeta meta;
  Statement insert;
  snapshot_format::TableSum sum;
  std::vector<snapshot_format::TableSum> done;
  std::string last_key;
  std::size_t unsynced = 0;
  bool finished = false;

  void end_table() {
    if (!sum.name.empty()) done.push_back(std::move(sum));
    sum = {};
  }
};

SnapshotWriter::SnapshotWriter(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

SnapshotWriter::~SnapshotWriter() = default;

Result<std::unique_ptr<SnapshotWriter>> SnapshotWriter::create(const std::string& directory,
                                                               const raft::SnapshotMeta& meta,
                                                               const std::string& vfs) {
  NOMAD_TRY(make_directory(directory));
  const auto path
      = directory + "/" + snapshot_name(meta.term, meta.index) + std::string{unfinished_suffix};
  std::error_code failure;
  std::filesystem::remove(path, failure);
  if (failure) return Error{Errc::io, "cannot remove \"" + path + "\": " + failure.message()};
  auto database = NOMAD_TRY(Database::open(path, {.durable = false, .vfs = vfs}));
  auto parts = std::make_unique<Parts>(std::move(database), directory, meta);
  NOMAD_TRY(require_format(parts->database, snapshot_format::file));
  NOMAD_TRY(parts->database.run("BEGIN"));
  return std::unique_ptr<SnapshotWriter>{new SnapshotWriter{std::move(parts)}};
}

Result<> SnapshotWriter::begin_table(std::string_view name) {
  auto& parts = *parts_;
  parts.end_table();
  if (!is_table_name(name))
    return Error{Errc::internal, "\"" + std::string{name} + "\" cannot name a snapshot's table"};
  NOMAD_TRY(parts.database.run("CREATE TABLE " + in_quotes(name)
                               + "(key BLOB NOT NULL, value BLOB NOT NULL,"
                                 " checksum INTEGER NOT NULL)"));
  NOMAD_TRY(parts.database.prepare(parts.insert,
                                   "INSERT INTO " + in_quotes(name) + " VALUES(?1, ?2, ?3)"));
  parts.sum.name = name;
  return {};
}

Result<> SnapshotWriter::row(std::string_view key, std::span<const std::byte> value) {
  auto& parts = *parts_;
  if (parts.sum.name.empty()) return Error{Errc::internal, "a snapshot's row needs a table"};
  if (parts.sum.rows > 0 && key <= parts.last_key)
    return Error{Errc::internal, fmt::format("snapshot table {}: row {} is out of order",
                                             parts.sum.name, parts.sum.rows + 1)};
  parts.last_key = key;
  const auto sum = parts.sum.add(key, value);
  parts.insert.bind_blob(1, std::as_bytes(std::span{key}));
  parts.insert.bind_blob(2, value);
  parts.insert.bind(3, static_cast<std::int64_t>(sum));
  NOMAD_TRY(parts.insert.run("cannot write a row of " + parts.sum.name));
  parts.unsynced += key.size() + value.size();
  if (parts.unsynced < snapshot_format::stretch) return {};
  parts.unsynced = 0;
  NOMAD_TRY(sync_file(parts.database.path()));
  return require_room(parts.directory);
}

Result<SnapshotFile> SnapshotWriter::finish() {
  auto& parts = *parts_;
  parts.end_table();
  parts.insert = {};
  NOMAD_TRY(snapshot_format::write_meta(parts.database, parts.meta, parts.done));
  NOMAD_TRY(parts.database.run("COMMIT"));
  const auto unfinished = parts.database.path();
  SnapshotFile file{
      .path = parts.directory + "/" + snapshot_name(parts.meta.term, parts.meta.index),
      .index = parts.meta.index,
      .term = parts.meta.term,
  };
  NOMAD_TRY(sync_file(unfinished));
  NOMAD_FAILPOINT_ERROR("snapshot.before_rename");
  std::error_code failure;
  std::filesystem::rename(unfinished, file.path, failure);
  if (failure) return Error{Errc::io, "cannot rename \"" + unfinished + "\": " + failure.message()};
  parts.finished = true;
  NOMAD_FAILPOINT_ERROR("snapshot.after_rename");
  NOMAD_TRY(sync_directory(parts.directory));
  return file;
}

struct SnapshotReader::Parts {
  explicit Parts(Database opened) : database(std::move(opened)) {}

  Database database;
  raft::SnapshotMeta meta;
  std::vector<snapshot_format::TableSum> tables;
};

SnapshotReader::SnapshotReader(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

SnapshotReader::~SnapshotReader() = default;

Result<std::unique_ptr<SnapshotReader>> SnapshotReader::open(const std::string& path,
                                                             const std::string& vfs) {
  auto database = NOMAD_TRY(Database::open(path, {.immutable = true, .vfs = vfs}));
  auto parts = std::make_unique<Parts>(std::move(database));
  NOMAD_TRY(require_format(parts->database, snapshot_format::file));
  NOMAD_TRY(snapshot_format::read_meta(parts->database, parts->meta, parts->tables));
  return std::unique_ptr<SnapshotReader>{new SnapshotReader{std::move(parts)}};
}

const raft::SnapshotMeta& SnapshotReader::meta() const {
  return parts_->meta;
}

Result<std::vector<std::string>> SnapshotReader::tables() {
  std::vector<std::string> names;
  for (const auto& table : parts_->tables)
    names.push_back(table.name);
  return names;
}

Result<> SnapshotReader::read(std::string_view table, const Row& row) {
  auto& parts = *parts_;
  const auto expected = std::ranges::find(parts.tables, table, &snapshot_format::TableSum::name);
  if (expected == parts.tables.end())
    return Error{Errc::not_found,
                 "\"" + parts.database.path() + "\" has no table " + std::string{table}};
  auto select = NOMAD_TRY(parts.database.prepare("SELECT key, value, checksum FROM "
                                                 + in_quotes(table) + " ORDER BY rowid"));
  snapshot_format::TableSum seen{.name = std::string{table}};
  std::vector<std::uint64_t> aligned;
  while (true) {
    const auto where = fmt::format("table {}, row {}", table, seen.rows + 1);
    const auto found = NOMAD_TRY(select.step("cannot read " + where));
    if (!found) break;
    const auto value = select.blob(1);
    aligned.resize((value.size() + 7) / 8);
    if (!value.empty()) std::memcpy(aligned.data(), value.data(), value.size());
    const auto copy = std::as_bytes(std::span{aligned}).first(value.size());
    if (seen.add(select.text(0), copy) != static_cast<std::uint64_t>(select.number(2)))
      return Error{Errc::corrupt,
                   "\"" + parts.database.path() + "\": " + where + ": checksum does not match"};
    if (auto outcome = row(select.text(0), copy); !outcome)
      return outcome.error().within("\"" + parts.database.path() + "\": " + where);
  }
  if (!(seen == *expected))
    return Error{Errc::corrupt,
                 fmt::format("\"{}\": table {} has {} rows, {} were written", parts.database.path(),
                             table, seen.rows, expected->rows)};
  return {};
}

Result<> SnapshotReader::verify() {
  for (const auto& table : parts_->tables)
    NOMAD_TRY(read(table.name,
                   [](std::string_view, std::span<const std::byte>) -> Result<> { return {}; }));
  return {};
}

}  // namespace nomad::storage
