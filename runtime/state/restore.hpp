// Restore: rows from a snapshot become tables again. Bytes are checked here; what derives from the
// rows is computed, so that a fault in an earlier derivation does not live on.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {

/// Collects the rows of a snapshot, and makes a state of them for `Store::replace`.
class Restore {
public:
  /// One row as `Snapshot::for_each_row` gave it. The bytes are checked; `Errc::corrupt` names
  /// table and key.
  Result<> row(Table table, std::string_view key, std::span<const std::byte> bytes);

  /// As `Snapshot::index_row` gave it.
  Result<> index_row(std::span<const std::byte> bytes);

  /// As `Snapshot::offset_row` gave it.
  Result<> offset_row(std::span<const std::byte> bytes);

  /// Joins the allocations with jobs and metrics, derives everything that is not stored, and hands
  /// the state over; this is then spent. `corrupt` names a row that fits no other.
  Result<Tables> take();

private:
  Tables tables_;
};

}  // namespace nomad::state
