// What follows from the rows of a kind, by its descriptor. Applying and restoring both do it here,
// so that they cannot differ. Private to this folder.
#pragma once

#include <tuple>

#include "runtime/state/tables.hpp"

namespace nomad::state {

/// Stores a row, or removes it if `row` is empty. The maps of all kinds are alike, so that of what
/// is not inlined the linker keeps one copy.
template <class T>
[[gnu::noinline]] void set_row(Objects<T>& rows, std::string_view key, const Object<T>& row) {
  if (row)
    rows.insert_or_assign(key, row);
  else
    rows.erase(key);
}

/// Moves a row from its position in `map` before a change to that after it.
template <class T>
[[gnu::noinline]] void move_row(Objects<T>& map,
                                const std::optional<std::string>& from,
                                const std::optional<std::string>& to,
                                const Object<T>& row) {
  if (from && from != to) map.erase(*from);
  if (to) map.insert_or_assign(*to, row);
}

template <class T>
void move_row(PersistentMap<Nothing>& map,
              const std::optional<std::string>& from,
              const std::optional<std::string>& to,
              const Object<T>&) {
  if (from == to) return;
  if (from) map.erase(*from);
  if (to) map.insert_or_assign(*to, Nothing{});
}

/// Calls `visit` with each index of a kind.
template <class Kind, class Visit>
void each_index(Visit visit) {
  if constexpr (requires { Kind::indexes; })
    std::apply([&visit](const auto&... index) { (visit(index), ...); }, Kind::indexes);
}

/// Whether anything follows from a kind's rows.
template <class Kind>
concept Deriving = requires {
  Kind::indexes;
}

|| requires {
  &Kind::derive;
};

/// Does to the derived maps what it does to the stored one that `after` replaces `before`, of which
/// either may be empty.
template <class Kind>
void derive(Tables& tables,
            const ObjectOf<Kind>& before,
            const ObjectOf<Kind>& after,
            const Derivation& how) {
  each_index<Kind>([&](const auto& index) {
    const auto position = [key = index.key](const ObjectOf<Kind>& row) {
      return row ? std::optional<std::string>{key(*row)} : std::nullopt;
    };
    move_row(tables.*index.map, position(before), position(after), after);
  });
  if constexpr (requires { &Kind::derive; }) Kind::derive(tables, before, after, how);
}

}  // namespace nomad::state
