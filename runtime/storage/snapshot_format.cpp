#include "runtime/storage/snapshot_format.hpp"

#include <map>

#include "runtime/base/whole_number.hpp"
#include "runtime/storage/checksum.hpp"

namespace nomad::storage::snapshot_format {
namespace {

constexpr std::uint64_t seed_of_rows = 0x726f'7773'0000'0001;
constexpr std::uint64_t seed_of_meta = 0x6d65'7461'0000'0001;

std::uint64_t meta_checksum(std::string_view name, std::string_view value) {
  return checksum(value, checksum(name, seed_of_meta));
}

std::uint64_t sum_checksum(const TableSum& table) {
  return mix(mix(checksum(table.name, seed_of_meta), table.rows), table.checksum);
}

Error damaged(const Database& database, std::string_view what) {
  return {Errc::corrupt, "\"" + database.path() + "\": " + std::string{what}};
}

std::string members_text(const raft::Configuration& configuration) {
  std::string text;
  for (const auto& member : configuration.members) {
    if (!text.empty()) text += ", ";
    text += member.id + " " + member.address + (member.voter ? " voter" : " learner");
  }
  return text;
}

Result<std::uint64_t> number_of(const Database& database,
                                const std::map<std::string, std::string, std::less<>>& values,
                                std::string_view name) {
  const auto found = values.find(name);
  if (found == values.end())
    return damaged(database, "meta data \"" + std::string{name} + "\" is missing");
  const auto number = whole_number<std::uint64_t>(found->second);
  if (!number) return damaged(database, "meta data \"" + std::string{name} + "\" is no number");
  return *number;
}

Result<std::map<std::string, std::string, std::less<>>> read_values(Database& database) {
  auto select = database.prepare("SELECT name, value, checksum FROM snapshot_meta");
  if (!select) return Error{Errc::corrupt, select.error().what};
  std::map<std::string, std::string, std::less<>> values;
  while (true) {
    const auto found = NOMAD_TRY(select->step("cannot read the meta data"));
    if (!found) return values;
    const auto name = std::string{select->text(0)};
    if (meta_checksum(name, select->text(1)) != static_cast<std::uint64_t>(select->number(2)))
      return damaged(database, "meta data \"" + name + "\": checksum does not match");
    values[name] = select->text(1);
  }
}

Result<> read_tables(Database& database, std::uint64_t count, std::vector<TableSum>& tables) {
  auto select
      = database.prepare("SELECT name, rows, checksum, self FROM snapshot_tables ORDER BY rowid");
  if (!select) return Error{Errc::corrupt, select.error().what};
  while (true) {
    const auto found = NOMAD_TRY(select->step("cannot read the list of tables"));
    if (!found) break;
    TableSum table{.name = std::string{select->text(0)},
                   .rows = static_cast<std::uint64_t>(select->number(1)),
                   .checksum = static_cast<std::uint64_t>(select->number(2))};
    if (sum_checksum(table) != static_cast<std::uint64_t>(select->number(3)))
      return damaged(database, "table " + table.name + ": the checksum of its sum does not match");
    tables.push_back(std::move(table));
  }
  if (tables.size() != count) return damaged(database, "the list of tables is incomplete");
  return {};
}

}  // namespace

std::uint64_t TableSum::add(std::string_view key, std::span<const std::byte> value) {
  const auto of_row
      = storage::checksum(value, storage::checksum(key, storage::checksum(name, seed_of_rows)));
  checksum = mix(checksum, of_row);
  ++rows;
  return of_row;
}

Result<> write_meta(Database& database,
                    const raft::SnapshotMeta& meta,
                    const std::vector<TableSum>& tables) {
  NOMAD_TRY(
      database.run("CREATE TABLE snapshot_meta(name TEXT PRIMARY KEY, value BLOB NOT NULL,"
                   " checksum INTEGER NOT NULL);"
                   "CREATE TABLE snapshot_tables(name TEXT NOT NULL, rows INTEGER NOT NULL,"
                   " checksum INTEGER NOT NULL, self INTEGER NOT NULL)"));
  auto insert = NOMAD_TRY(database.prepare("INSERT INTO snapshot_meta VALUES(?1, ?2, ?3)"));
  const auto put = [&insert](std::string_view name, std::string_view value) {
    insert.bind_text(1, name);
    insert.bind_text(2, value);
    insert.bind(3, static_cast<std::int64_t>(meta_checksum(name, value)));
    return insert.run("cannot write the meta data");
  };
  const auto configuration = raft::encode(meta.configuration);
  NOMAD_TRY(put("index", std::to_string(meta.index)));
  NOMAD_TRY(put("term", std::to_string(meta.term)));
  NOMAD_TRY(put("configuration_index", std::to_string(meta.configuration_index)));
  NOMAD_TRY(put("cluster_id", meta.configuration.cluster_id));
  NOMAD_TRY(put("members", members_text(meta.configuration)));
  NOMAD_TRY(put("configuration", configuration.text()));
  NOMAD_TRY(put("tables", std::to_string(tables.size())));

  auto list = NOMAD_TRY(database.prepare("INSERT INTO snapshot_tables VALUES(?1, ?2, ?3, ?4)"));
  for (const auto& table : tables) {
    list.bind_text(1, table.name);
    list.bind(2, static_cast<std::int64_t>(table.rows));
    list.bind(3, static_cast<std::int64_t>(table.checksum));
    list.bind(4, static_cast<std::int64_t>(sum_checksum(table)));
    NOMAD_TRY(list.run("cannot write the list of tables"));
  }
  return {};
}

Result<> read_meta(Database& database, raft::SnapshotMeta& meta, std::vector<TableSum>& tables) {
  const auto values = NOMAD_TRY(read_values(database));
  const auto take = [&](std::string_view name, std::uint64_t& number) -> Result<> {
    number = NOMAD_TRY(number_of(database, values, name));
    return {};
  };
  std::uint64_t count = 0;
  NOMAD_TRY(take("index", meta.index));
  NOMAD_TRY(take("term", meta.term));
  NOMAD_TRY(take("configuration_index", meta.configuration_index));
  NOMAD_TRY(take("tables", count));
  const auto encoded = values.find("configuration");
  if (encoded == values.end()) return damaged(database, "the configuration is missing");
  auto configuration = raft::decode_configuration(std::as_bytes(std::span{encoded->second}));
  if (!configuration) return damaged(database, configuration.error().what);
  meta.configuration = std::move(*configuration);
  return read_tables(database, count, tables);
}

}  // namespace nomad::storage::snapshot_format
