// ReadSet: what a decision has read of a state, and whether that still holds of a later one. A
// Snapshot that is asked to notes it (`Snapshot::noting`), so that no decision can leave a read
// out.
//
// What is noted is a row (or that there is none), the rows whose keys begin alike, or a whole
// table. A row is unchanged while its ModifyIndex is not above the index of the state that was
// read; rows that begin alike while each is, and they are as many; a table while its index is not.
// What has no ModifyIndex, and what is too much to be told singly, counts as its whole table: that
// refuses more than it must, and never less.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "runtime/base/result.hpp"
#include "runtime/object/object.hpp"
#include "runtime/state/table.hpp"
#include "schema/command.capnp.h"

namespace nomad::state {

struct Tables;

/// An order of a table's rows: 0 is that of their keys, the others those of `indexes` of the kind's
/// descriptor, counted from 1. In entries of the log: never renumbered. What a guard decides must
/// not differ between releases that are in one cluster: a new order, stored table or ModifyIndex
/// that guards may name needs another guarded command, which only servers that know it are sent.
using RowOrder = std::uint16_t;

/// Used by one thread.
class ReadSet {
public:
  void row(Table table, std::string_view key);

  /// The rows whose place in `order` begins with `prefix`.
  void range(Table table, RowOrder order, std::string_view prefix);

  void table(Table table);
  void all_tables();

  bool empty() const { return tables_.empty() && rows_.empty() && ranges_.empty(); }

  /// `command`, to be applied only to a state in which everything is as in `read`, from which it
  /// was read; `command` itself if nothing was.
  Object<schema::Command> guard(const Object<schema::Command>& command, const Tables& read) const;

private:
  std::set<Table> tables_;
  std::map<Table, std::set<std::string, std::less<>>> rows_;
  std::set<std::tuple<Table, RowOrder, std::string>> ranges_;
};

/// `corrupt`: the guard names a table or an order that this release does not have.
Result<> check_reads(schema::Guarded::Reader guarded);

/// Whether what the command was decided on is as it was, of a guard that is checked. Costs a
/// look-up for each row, and a walk over rows that begin alike if their table was changed at all.
bool is_as_read(schema::Guarded::Reader guarded, const Tables& now);

}  // namespace nomad::state
