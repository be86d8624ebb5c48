// The commands that restore a snapshot through the log: its rows in portions of a bounded size,
// then one that replaces the state. Nothing changes before the last one is applied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/object/object.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/command.capnp.h"

namespace nomad::cluster {

class RestoreCommands {
public:
  /// `id` is new; it keeps two restores apart.
  explicit RestoreCommands(std::string id, std::size_t portion_bytes = std::size_t{1} << 20);

  void add(std::string_view table, std::string_view key, std::span<const std::byte> value);

  /// `newest_index` is that of the state in the rows. This is then spent.
  std::vector<Object<schema::Command>> finish(std::uint64_t newest_index);

private:
  struct Row {
    std::string table;
    std::string key;
    std::vector<std::byte> value;
  };

  void flush();

  std::string id_;
  std::size_t portion_bytes_;
  std::vector<Row> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t flushed_ = 0;
  std::vector<Object<schema::Command>> commands_;
};

/// The id of the restore whose rows are kept aside; empty: there is none.
std::string restore_under_way(const state::Snapshot& snapshot);

/// Drops what a restore has kept aside that nobody goes on with: it asks for more rows than there
/// can be, and is refused.
Object<schema::Command> abandon_restore(std::string_view id);

/// Whether this answer to `abandon_restore` says that nothing of the restore is kept any more.
bool is_abandoned(const Error& refusal);

}  // namespace nomad::cluster
