#include "runtime/state/reads/read_set.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/object/draft.hpp"
#include "runtime/state/kinds/derive.hpp"

namespace nomad::state {

namespace {

using What = schema::Guarded::What;

/// More of one table are not told one by one, be it rows or ranges of them.
constexpr std::size_t most_rows_read = 64;

/// More that begin alike are not walked over where the command is applied.
constexpr std::uint32_t most_rows_of_range = 1'000;

template <class T>
concept HasModifyIndex = requires(typename T::Reader reader) {
  reader.getModifyIndex();
};

template <HasModifyIndex T>
Index changed_at(const Object<T>& row) {
  return row->getModifyIndex();
}

Index changed_at(const AllocRef& row) {
  return row->alloc->modify_index();
}

template <class Map>
concept TellsChanges = requires(const typename Map::Cursor& at) {
  changed_at(at.value());
};

/// Calls `visit` with the map of that table and order, if its rows tell when they were changed.
template <class Visit>
void visit_map(const Tables& tables, Table table, RowOrder order, Visit visit) {
  const auto visit_if_it_tells = [&visit](const auto& map) {
    if constexpr (TellsChanges<std::remove_cvref_t<decltype(map)>>) visit(map);
  };
  visit_kind(table, [&]<class Kind>() {
    if constexpr (!is_single<Kind>) {
      if (order == 0) return visit_if_it_tells(tables.*Kind::rows);
      RowOrder position = 0;
      each_index<Kind>([&](const auto& index) {
        if (++position == order) visit_if_it_tells(tables.*index.map);
      });
    }
  });
}

/// When the row was changed, 0 if there is none; empty if that can't be told.
std::optional<Index> changed_at(const Tables& tables, Table table, std::string_view key) {
  std::optional<Index> changed;
  visit_map(tables, table, 0, [&](const auto& map) {
    const auto* row = map.find(key);
    changed = row != nullptr ? changed_at(*row) : 0;
  });
  return changed;
}

struct RangeState {
  std::uint32_t rows = 0;
  Index changed_at = 0;  ///< The newest.
};

/// Empty if it can't be told, or if there are too many.
std::optional<RangeState> state_of(const Tables& tables,
                                   Table table,
                                   RowOrder order,
                                   std::string_view prefix) {
  std::optional<RangeState> state;
  visit_map(tables, table, order, [&](const auto& map) {
    state.emplace();
    for (const auto& entry : map.prefix(prefix)) {
      if (++state->rows > most_rows_of_range) return state.reset();
      state->changed_at = std::max(state->changed_at, changed_at(entry.value()));
    }
  });
  return state;
}

Index changed_at(const Tables& tables, Table table) {
  const auto number = static_cast<std::uint32_t>(table);
  return number < stored_tables ? tables.indexes.at(number) : tables.applied;
}

/// How many orders a table's rows have.
RowOrder orders_of(Table table) {
  RowOrder orders = 0;
  visit_kind(table, [&orders]<class Kind>() {
    if constexpr (!is_single<Kind>) {
      ++orders;
      each_index<Kind>([&orders](const auto&) { ++orders; });
    }
  });
  return orders;
}

bool is_known(schema::Guarded::Read::Reader read) {
  if (read.getTable() >= stored_tables || read.getWhat() > What::TABLE) return false;
  return read.getWhat() != What::RANGE
         || read.getOrder() < orders_of(static_cast<Table>(read.getTable()));
}

/// As it goes into the command; its key is a view into the set.
struct Told {
  Table table{};
  What what = What::TABLE;
  RowOrder order = 0;
  std::uint32_t rows = 0;
  std::string_view key = {};
};

capnp::Data::Reader bytes_of(std::string_view key) {
  return {reinterpret_cast<const unsigned char*>(key.data()), key.size()};
}

std::string_view view_of(capnp::Data::Reader bytes) {
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

bool is_as_read(schema::Guarded::Read::Reader read, Index at, const Tables& now) {
  const auto table = static_cast<Table>(read.getTable());
  if (changed_at(now, table) <= at) return true;
  switch (read.getWhat()) {
    case What::TABLE:
      return false;
    case What::NO_ROW:
      return changed_at(now, table, view_of(read.getKey())) == Index{0};
    case What::ROW: {
      const auto changed = changed_at(now, table, view_of(read.getKey()));
      return changed && *changed != 0 && *changed <= at;
    }
    case What::RANGE: {
      const auto state = state_of(now, table, read.getOrder(), view_of(read.getKey()));
      return state && state->rows == read.getRows() && state->changed_at <= at;
    }
  }
  return false;
}

}  // namespace

void ReadSet::row(Table table, std::string_view key) {
  rows_[table].emplace(key);
}

void ReadSet::range(Table table, RowOrder order, std::string_view prefix) {
  ranges_.emplace(table, order, std::string{prefix});
}

void ReadSet::table(Table table) {
  // What is only watched has other numbers in other releases.
  if (static_cast<std::uint32_t>(table) >= stored_tables) return all_tables();
  tables_.insert(table);
}

void ReadSet::all_tables() {
  for (std::uint32_t number = 0; number < stored_tables; ++number)
    tables_.insert(static_cast<Table>(number));
}

Object<schema::Command> ReadSet::guard(const Object<schema::Command>& command,
                                       const Tables& read) const {
  auto whole = tables_;
  std::vector<Told> told;
  for (const auto& [table, keys] : rows_)
    for (const auto& key : keys) {
      const auto changed = changed_at(read, table, key);
      if (!changed || keys.size() > most_rows_read) whole.insert(table);
      told.push_back({table, changed.value_or(0) != 0 ? What::ROW : What::NO_ROW, 0, 0, key});
    }
  std::map<Table, std::size_t> ranges_of;
  for (const auto& [table, order, prefix] : ranges_) {
    if (++ranges_of[table] > most_rows_read) whole.insert(table);
    if (whole.contains(table)) continue;
    const auto state = state_of(read, table, order, prefix);
    if (!state) whole.insert(table);
    told.push_back({table, What::RANGE, order, state ? state->rows : 0, prefix});
  }
  std::erase_if(told, [&whole](const Told& one) { return whole.contains(one.table); });
  for (const auto table : whole)
    told.push_back({table, What::TABLE, 0, 0, {}});
  if (told.empty()) return command;

  Draft<schema::Command> draft;
  auto guarded = draft->initGuarded();
  guarded.setReadIndex(read.applied);
  guarded.setCommand(*command);
  auto list = guarded.initReads(static_cast<unsigned>(told.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setTable(static_cast<std::uint16_t>(told[i].table));
    list[i].setWhat(told[i].what);
    list[i].setOrder(told[i].order);
    list[i].setRows(told[i].rows);
    list[i].setKey(bytes_of(told[i].key));
  }
  return draft.freeze();
}

Result<> check_reads(schema::Guarded::Reader guarded) {
  for (const auto read : guarded.getReads())
    if (!is_known(read))
      return Error{Errc::corrupt, "a guard names what is unknown to this version of the server"};
  return {};
}

bool is_as_read(schema::Guarded::Reader guarded, const Tables& now) {
  const auto at = guarded.getReadIndex();
  // A restore sets the indexes of all tables to its own, and leaves those of the rows.
  if (std::ranges::min(now.indexes) > at) return false;
  for (const auto read : guarded.getReads())
    if (!is_as_read(read, at, now)) return false;
  return true;
}

}  // namespace nomad::state
