#include "runtime/state/restore.hpp"

#include <algorithm>

#include "runtime/object/draft.hpp"
#include "runtime/state/alloc_index.hpp"
#include "runtime/state/kinds/derive.hpp"

namespace nomad::state {

namespace {

template <class T>
Result<> put(PersistentMap<Object<T>>& map,
             std::string_view key,
             std::span<const std::byte> bytes) {
  auto object = NOMAD_TRY(Object<T>::from_bytes(bytes));
  map.insert_or_assign(key, std::move(object));
  return {};
}

/// Joined with its job and metrics once all rows are there.
Result<> put(PersistentMap<AllocRef>& map, std::string_view key, std::span<const std::byte> bytes) {
  auto alloc = NOMAD_TRY(Object<schema::Allocation>::from_bytes(bytes));
  map.insert_or_assign(key, AllocRef::make(make_row(std::move(alloc), {}, {})));
  return {};
}

/// A table of one row.
template <class T>
Result<> put(Object<T>& object, std::string_view, std::span<const std::byte> bytes) {
  object = NOMAD_TRY(Object<T>::from_bytes(bytes));
  return {};
}

/// What follows from all rows of a kind by its descriptor.
template <class Kind>
void derive_all(Tables& t) {
  if constexpr (Deriving<Kind>) {
    const Derivation how{.changed = [](Table, std::string_view) {},
                         .quota_opened = [](std::string_view) {}};
    for (const auto& entry : (t.*Kind::rows).all())
      derive<Kind>(t, {}, entry.value(), how);
  }
}

std::string printable(std::string_view key) {
  std::string text;
  for (const char c : key)
    text += c >= ' ' && c <= '~' ? c : '.';
  return text;
}

}  // namespace

Result<> Restore::row(Table table, std::string_view key, std::span<const std::byte> bytes) {
  Result<> outcome = Error{Errc::corrupt, "the table is not a stored one"};
  visit_kind(table, [&]<class Kind>() { outcome = put(tables_.*Kind::rows, key, bytes); });
  if (outcome.has_error())
    return Error{Errc::corrupt, "table " + std::string{to_string(table)} + ", row \""
                                    + printable(key) + "\": " + outcome.error().what};
  return {};
}

Result<> Restore::index_row(std::span<const std::byte> bytes) {
  // A later version may know more tables; an earlier one fewer.
  if (bytes.size() % sizeof(Index) != 0)
    return Error{Errc::corrupt,
                 "the row of table indexes has " + std::to_string(bytes.size()) + " bytes"};
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size() / 8, stored_tables); ++i) {
    Index index = 0;
    for (const std::byte part : bytes.subspan(i * 8, 8))
      index = index << 8 | std::to_integer<Index>(part);
    tables_.indexes[i] = index;
  }
  return {};
}

Result<> Restore::offset_row(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(Index))
    return Error{Errc::corrupt,
                 "the row of the index offset has " + std::to_string(bytes.size()) + " bytes"};
  tables_.index_offset = 0;
  for (const std::byte part : bytes)
    tables_.index_offset = tables_.index_offset << 8 | std::to_integer<Index>(part);
  return {};
}

Result<Tables> Restore::take() {
  Tables& t = tables_;
  std::vector<AllocRef> rows;
  rows.reserve(t.allocs.size());
  for (const auto& entry : t.allocs.all())
    rows.push_back(entry.value());
  t.allocs.clear();
  Released none;
  for (AllocRef& row : rows) {
    const auto alloc = *row->alloc;
    const auto* job = find_job_version(t, alloc);
    if (job == nullptr)
      return Error{Errc::corrupt, "table allocs, row \"" + std::string{alloc.id()}
                                      + "\": its version of job \"" + std::string{alloc.job_id()}
                                      + "\" is missing"};
    AllocRow& joined = row.writable();
    joined.job = *job;
    const auto* metric = t.alloc_metrics.find(metric_key(alloc.eval_id(), alloc.metric_number()));
    if (metric != nullptr) joined.metric = *metric;
    t.allocs.insert_or_assign(alloc.id(), row);
    index_alloc(t, nullptr, row, none);
  }
  each_kind([&t]<class Kind>() { derive_all<Kind>(t); });
  // Which policies went is not known any more; so the last change of any job stands for theirs,
  // which nobody that waits can have heard of.
  t.scaling_policies_index = t.indexes[static_cast<std::uint32_t>(Table::jobs)];
  t.csi_plugins_index = std::max({t.indexes[static_cast<std::uint32_t>(Table::nodes)],
                                  t.indexes[static_cast<std::uint32_t>(Table::jobs)],
                                  t.indexes[static_cast<std::uint32_t>(Table::csi_volumes)]});
  t.acl_tokens_replaced = t.indexes[static_cast<std::uint32_t>(Table::acl_tokens)];  // the same
  return std::move(t);
}

}  // namespace nomad::state
