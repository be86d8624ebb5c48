// Restoring a snapshot that an operator brings: its rows come through the log like any write, are
// kept aside (and are part of the state and its snapshots, so that every replica has the same
// ones), and replace the state in one entry, or do not.
//
// The restored state may be of a longer log than this one: its indexes are then greater than the
// log's. Nothing may ever see an index go back, so from then on the state's indexes are the log's
// plus an offset, which the entry that replaces the state sets and snapshots carry along.
//
// The machines did not go back in time: what runs on them may differ from what was saved. So all
// allocations that may run are news for their clients, and nodes that were ready have to report
// what they have before they are ready again (runtime/cluster/node_commands.hpp).
#include <algorithm>

#include "runtime/state/applier.hpp"
#include "runtime/state/restore.hpp"

namespace nomad::state {

namespace {

std::string row_key(std::string_view id, std::uint64_t number) {
  return join_key(id, number_key(number));
}

std::span<const std::byte> bytes_of(capnp::Data::Reader data) {
  return {reinterpret_cast<const std::byte*>(data.begin()), data.size()};
}

std::string_view text_of(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

/// A saved allocation that may run, as changed at `index`; empty when it ended, or cannot be read.
Object<schema::Allocation> renewed_alloc(std::span<const std::byte> bytes, Index index) {
  const auto alloc = Object<schema::Allocation>::from_bytes(bytes);
  if (!alloc || (*alloc)->is_client_terminal()) return {};
  Draft<schema::Allocation> draft{*alloc};
  draft->setModifyIndex(index);
  draft->setAllocModifyIndex(index);
  return draft.freeze();
}

/// A saved node that was ready, as one that owes its reports since `index`; empty as above.
Object<schema::Node> waiting_node(std::span<const std::byte> bytes, Index index) {
  const auto node = Object<schema::Node>::from_bytes(bytes);
  if (!node || (*node)->getStatus() != schema::NodeStatus::READY) return {};
  Draft<schema::Node> draft{*node};
  draft->setStatus(schema::NodeStatus::INITIALIZING);
  draft->setLastMissedHeartbeatIndex(index);
  draft->setModifyIndex(index);
  return draft.freeze();
}

/// The row with another value; empty when it stays as it is.
Object<schema::RestoreRow> renewed_row(const Object<schema::RestoreRow>& row, Index index) {
  const auto table = stored_table(view(row->getTable()));
  const auto with = [&row](std::span<const std::byte> value) {
    Draft<schema::RestoreRow> draft{row};
    draft->setValue({reinterpret_cast<const unsigned char*>(value.data()), value.size()});
    return draft.freeze();
  };
  if (table == Table::allocs)
    if (const auto alloc = renewed_alloc(bytes_of(row->getValue()), index))
      return with(alloc.bytes());
  if (table == Table::nodes)
    if (const auto node = waiting_node(bytes_of(row->getValue()), index)) return with(node.bytes());
  return {};
}

/// Rows that cannot be read are left to be found by who puts the state together.
void renew(PersistentMap<Object<schema::RestoreRow>>& rows, Index index) {
  const auto before = rows;
  for (const auto& entry : before.all())
    if (auto row = renewed_row(entry.value(), index))
      rows.insert_or_assign(entry.key(), std::move(row));
}

}  // namespace

void Applier::restore_begin(capnp::Text::Reader id) {
  t_.restore_rows.clear();
  t_.restore_rows.insert_or_assign(view(id), Draft<schema::RestoreRow>{}.freeze());
  touch(Table::restore_rows);
}

void Applier::restore_rows(schema::RestoreRows::Reader command) {
  const auto id = view(command.getRestoreId());
  if (!t_.restore_rows.contains(id))
    return refuse(Errc::conflict, "another restore has begun meanwhile");
  auto number = command.getFirstNumber();
  for (const auto row : command.getRows())
    t_.restore_rows.insert_or_assign(row_key(id, number++),
                                     Draft<schema::RestoreRow>{row}.freeze());
  touch(Table::restore_rows);
}

Result<Tables> Applier::restored_tables(std::string_view id, std::uint64_t rows) const {
  Restore restored;
  for (std::uint64_t number = 0; number < rows; ++number) {
    const auto* found = t_.restore_rows.find(row_key(id, number));
    if (found == nullptr)
      return Error{Errc::conflict, "row " + std::to_string(number) + " of the snapshot is missing"};
    const auto row = **found;
    const auto table = stored_table(view(row.getTable()));
    if (!table)
      return Error{Errc::corrupt,
                   "table \"" + copy(row.getTable()) + "\" is unknown to this version"};
    NOMAD_TRY(restored.row(*table, text_of(row.getKey()), bytes_of(row.getValue())));
  }
  return restored.take();
}

/// The servers' public keys stay: they are about these servers, not about what was saved.
void Applier::restore_finish(schema::RestoreFinish::Reader command) {
  const auto id = view(command.getRestoreId());
  if (!t_.restore_rows.contains(id))
    return refuse(Errc::conflict, "another restore has begun meanwhile");
  if (command.getRows() > 0 && !t_.restore_rows.contains(row_key(id, command.getRows() - 1))) {
    t_.restore_rows.clear();
    touch(Table::restore_rows);
    return refuse(Errc::conflict, "rows of the snapshot are missing: they were dropped");
  }
  const Index applied = std::max(index_, command.getIndex() + 1);
  renew(t_.restore_rows, applied);
  auto made = restored_tables(id, command.getRows());
  t_.restore_rows.clear();
  touch(Table::restore_rows);
  if (!made) return refuse(made.error().code, made.error().what);
  const Index log_index = index_ - t_.index_offset;
  Tables& next = *made;
  next.restore_rows.clear();
  next.key_holders = t_.key_holders;
  next.applied = applied;
  next.index_offset = next.applied - log_index;
  next.indexes.fill(next.applied);
  t_ = std::move(next);
  outcome_.replaced = true;
  outcome_.index = t_.applied;
}

}  // namespace nomad::state
