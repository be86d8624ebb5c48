// The kinds that hold in all regions, as rows of one table: what of them a region shows others, and
// how it stores what it was shown. A kind is one whose descriptor has `is_shared`
// (runtime/state/kinds/kinds.hpp); nothing else lists them.
//
// What a region's root key has sealed goes to no other region: the row goes without, and beside it
// the secret, which the other one seals by a key of its own. The row still names the key, so that
// one whose secret did not open, and which would lose it by being copied, is no copy.
//
// May depend on: runtime/base, access, object, state. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/cluster/regions/replica.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::cluster {

/// Which rows of a kind: those behind `after`, up to `last`, "" being no bound; at most `most`.
struct MarkRange {
  std::string_view after = {};
  std::string_view last = {};
  std::size_t most = static_cast<std::size_t>(-1);
};

/// What a root key has sealed of a row.
struct SealedPart {
  std::string key_id;  ///< Empty: nothing.
  std::string bytes;
};

/// A row as others are shown it.
struct SharedRow {
  RowMark mark;
  std::vector<std::byte> row;
  SealedPart sealed;
};

struct SharedKind {
  std::string_view name;  ///< As snapshots call it.
  state::Table table;
  bool is_of_access;  ///< Of access control: there is none of it where that is off.

  /// Marks of originals, or of the copies that this region has.
  MarkPage (*originals)(const state::Snapshot& state, const MarkRange& range);
  MarkPage (*copies)(const state::Snapshot& state, const MarkRange& range);

  /// The mark of one copy; nothing if it is not here.
  std::optional<RowMark> (*copy_of)(const state::Snapshot& state, std::string_view key);

  /// Nothing if there is no such row.
  std::optional<SharedRow> (*read)(const state::Snapshot& state, std::string_view key);

  /// What is to be stored of a row that was read elsewhere, with its secret sealed here. Refused
  /// if that cannot be the row of `original`, or has lost its secret.
  Result<std::vector<std::byte>> (*copy)(std::span<const std::byte> row,
                                         const RowMark& original,
                                         const SecretText& secret,
                                         const SealedPart& sealed);

  /// Why a copy can't be removed yet; nothing if it can, or is not there.
  std::optional<Error> (*stays)(const state::Snapshot& state, std::string_view key);
};

/// Quotas first: namespaces name them, and may place nothing while they have not come.
const std::vector<SharedKind>& shared_kinds();

/// Null if there is none of that name.
const SharedKind* find_shared_kind(std::string_view name);

/// The command that stores and removes copies.
Object<schema::Command> copy_command(const SharedKind& kind,
                                     const std::vector<std::vector<std::byte>>& rows,
                                     const std::vector<std::string>& removed);

}  // namespace nomad::cluster
