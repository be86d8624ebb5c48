// How many rows each root key has sealed a secret of: such a key cannot be removed. Private to this
// folder.
#pragma once

#include "runtime/state/tables.hpp"

namespace nomad::state {

/// Takes the use of a root key by `before` from the counts, and adds that by `after`.
template <class T>
void count_seals(Tables& tables, const Object<T>& before, const Object<T>& after) {
  const auto key_of
      = [](const Object<T>& row) { return row ? view(row->getKeyId()) : std::string_view{}; };
  const auto from = key_of(before);
  const auto to = key_of(after);
  if (from == to) return;
  auto& counts = tables.acl_sealed_by_key;
  const auto add = [&counts](std::string_view key, std::uint64_t step) {
    if (key.empty()) return;
    const auto* found = counts.find(key);
    const auto count = (found != nullptr ? *found : 0) + step;
    if (count == 0)
      counts.erase(key);
    else
      counts.insert_or_assign(key, count);
  };
  add(from, static_cast<std::uint64_t>(-1));
  add(to, 1);
}

}  // namespace nomad::state
