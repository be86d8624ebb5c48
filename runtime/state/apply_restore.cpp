// Restoring a snapshot that an operator brings: its rows come through the log like any write, are
// kept aside (and are part of the state and its snapshots, so that every replica has the same
// ones), and replace the state in one entry, or do not.
//
// The restored state may be of a longer log than this one: its indexes are then greater than the
// log's. Nothing may ever see an index go back, so from then on the state's indexes are the log's
// plus an offset, which the entry that replaces the state sets and snapshots carry along.
#include <algorithm>

#include "runtime/state/applier.hpp"

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

}  // namespace

void Applier::restore_begin(std::string_view id) {
  t_.restore_rows.clear();
  t_.restore_rows.insert_or_assign(id, Draft<schema::RestoreRow>{}.freeze());
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
  auto made = restored_tables(id, command.getRows());
  t_.restore_rows.clear();
  touch(Table::restore_rows);
  if (!made) return refuse(made.error().code, made.error().what);
  const Index log_index = index_ - t_.index_offset;
  Tables& next = *made;
  next.restore_rows.clear();
  next.key_holders = t_.key_holders;
  next.applied = std::max(index_, command.getIndex() + 1);
  next.index_offset = next.applied - log_index;
  next.indexes.fill(next.applied);
  t_ = std::move(next);
  outcome_.replaced = true;
  outcome_.index = t_.applied;
}

}  // namespace nomad::state
