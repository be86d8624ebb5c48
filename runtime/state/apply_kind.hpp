// How rows change, by the descriptor of their kind (kinds.hpp). Private to this folder.
#pragma once

#include <algorithm>

#include "runtime/state/applier.hpp"
#include "runtime/state/kinds/derive.hpp"

namespace nomad::state {

/// The stored one; empty if there is none.
template <class Kind>
ObjectOf<Kind> Applier::found(std::string_view key) const {
  if constexpr (is_single<Kind>) {
    return t_.*Kind::rows;
  } else {
    const auto* row = (t_.*Kind::rows).find(key);
    return row != nullptr ? *row : ObjectOf<Kind>{};
  }
}

/// Stores a row whose indexes are set.
template <class Kind>
void Applier::put(const ObjectOf<Kind>& row) {
  replace<Kind>(found<Kind>(Kind::key(*row)), row);
}

/// The same when it is known what is stored under the row's key. Without `after` that goes.
template <class Kind>
void Applier::replace(const ObjectOf<Kind>& before, const ObjectOf<Kind>& after) {
  replace_quietly<Kind>(before, after);
  touch(Kind::table);
  note<Kind>(before, after);
  if constexpr (requires { Kind::guides_leader; }) outcome_.settings_changed = true;
}

/// The same as if nothing had changed that anybody waits for.
template <class Kind>
void Applier::replace_quietly(const ObjectOf<Kind>& before, const ObjectOf<Kind>& after) {
  if constexpr (is_single<Kind>)
    t_.*Kind::rows = after;
  else
    set_row(t_.*Kind::rows, Kind::key(after ? *after : *before), after);
  if constexpr (requires { &Kind::derive; })
    derive<Kind>(t_, before, after,
                 {index_, [this](Table table, std::string_view key) { changed(table, key); },
                  [this](std::string_view quota) { opened_quotas_.emplace(quota); }});
  else if constexpr (Deriving<Kind>)
    derive<Kind>(t_, before, after, {});
}

/// Tells who waits for the row, and readers of events.
template <class Kind>
void Applier::note(const ObjectOf<Kind>& before, const ObjectOf<Kind>& after) {
  const auto& row = after ? after : before;
  if constexpr (requires { &Kind::watched; })
    changed(Kind::table, Kind::watched(*row));
  else
    changed(Kind::table, Kind::key(*row));
  if constexpr (requires { Kind::watches; }) {
    const auto wake = [&](const auto& watch) {
      if (before) changed(watch.table, watch.key(*before));
      if (after) changed(watch.table, watch.key(*after));
    };
    std::apply([&wake](const auto&... watch) { (wake(watch), ...); }, Kind::watches);
  }
  if constexpr (requires { &Kind::shown; }) {
    if (events_ != nullptr) event(Kind::shown(row));
  } else if constexpr (requires { Kind::put_event; })
    event_as(after ? Kind::put_event : Kind::remove_event, row);
  else if constexpr (requires { Kind::topic; })
    event(row);
}

template <class Kind>
bool Applier::remove(std::string_view key) {
  const auto row = found<Kind>(key);
  if (row) replace<Kind>(row, {});
  return static_cast<bool>(row);
}

/// Removes stored rows, many at once, without events. Quicker than one by one when the rows lie
/// together in an index.
template <class Kind>
void Applier::remove_all(const std::vector<ObjectOf<Kind>>& rows) {
  if (rows.empty()) return;
  touch(Kind::table);
  for (const auto& row : rows) {
    const auto key = Kind::key(*row);
    (t_.*Kind::rows).erase_known(key);
    changed(Kind::table, key);
    if constexpr (requires { &Kind::derive; }) Kind::derive(t_, row, {}, {});
    if constexpr (requires { Kind::watches; })
      std::apply([&](const auto&... watch) { (changed(watch.table, watch.key(*row)), ...); },
                 Kind::watches);
  }
  each_index<Kind>([&](const auto& index) {
    std::vector<std::string> keys;
    keys.reserve(rows.size());
    for (const auto& row : rows)
      keys.push_back(index.key(*row));
    std::ranges::sort(keys);
    (t_.*index.map).erase_all(keys);
  });
}

/// Stores what somebody wants, in place of `before` if that is not empty.
template <class Kind>
void Applier::put_stamped(const ObjectOf<Kind>& before, typename Kind::Reader wanted) {
  Draft<typename Kind::Type> draft{wanted};
  draft->setCreateIndex(before ? before->getCreateIndex() : index_);
  draft->setModifyIndex(index_);
  replace<Kind>(before, draft.freeze());
}

template <class Kind, class Payload>
void Applier::put_command(Payload payload) {
  typename Kind::Reader wanted;
  if constexpr (requires { &Kind::object_of; })
    wanted = Kind::object_of(payload);
  else
    wanted = payload;
  const auto before = found<Kind>(Kind::key(wanted));
  if constexpr (requires { &Kind::may_put; })
    if (const auto error = Kind::may_put(t_, before, payload)) return refuse(*error);
  put_stamped<Kind>(before, wanted);
}

template <class Kind>
void Applier::remove_command(std::string_view key) {
  const auto row = found<Kind>(key);
  if (!row) return refuse(Errc::not_found, Kind::missing(key));
  if constexpr (requires { &Kind::may_remove; })
    if (const auto error = Kind::may_remove(t_, *row)) return refuse(*error);
  replace<Kind>(row, {});
}

}  // namespace nomad::state
