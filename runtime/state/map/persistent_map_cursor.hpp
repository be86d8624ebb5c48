// Walking a PersistentMap in both directions; include persistent_map.hpp instead.
#pragma once

#include "runtime/state/map/persistent_map.hpp"
#include "runtime/state/map/tree_cursor.hpp"

namespace nomad::state {

/// A place in a map: an entry, or none (`valid()` is false). Does not keep the map alive.
template <MapValue V>
class PersistentMap<V>::Cursor : public tree::Cursor {
public:
  const V& value() const { return at(leaf().node, leaf().index); }

  /// The value that is so many entries ahead in the same node; null if that ends sooner. For who
  /// asks for its memory while he reads this one.
  const V* ahead(std::uint32_t entries) const {
    const auto& [node, index] = leaf();
    return index + entries < node->count ? &at(node, index + entries) : nullptr;
  }

private:
  friend class PersistentMap;

  static const V& at(const tree::Node* node, std::size_t index) {
    return static_cast<const V&>(PersistentMap::value_at(node, index));
  }
};

template <MapValue V>
typename PersistentMap<V>::Cursor PersistentMap<V>::first() const {
  Cursor cursor;
  cursor.to_first(this->root_);
  return cursor;
}

template <MapValue V>
typename PersistentMap<V>::Cursor PersistentMap<V>::last() const {
  Cursor cursor;
  cursor.to_last(this->root_);
  return cursor;
}

template <MapValue V>
typename PersistentMap<V>::Cursor PersistentMap<V>::lower_bound(std::string_view key) const {
  Cursor cursor;
  cursor.to_lower_bound(this->root_, key);
  return cursor;
}

template <MapValue V>
typename PersistentMap<V>::Cursor PersistentMap<V>::before(std::string_view key) const {
  Cursor cursor;
  cursor.to_before(this->root_, key);
  return cursor;
}

template <MapValue V>
typename PersistentMap<V>::Range PersistentMap<V>::all() const {
  Range range;
  range.first_.to_first(this->root_);
  return range;
}

template <MapValue V>
typename PersistentMap<V>::Range PersistentMap<V>::range(std::string_view from,
                                                         std::string_view to) const {
  Range range;
  if (!(from < to)) return range;
  range.first_.to_lower_bound(this->root_, from);
  range.end_.to_lower_bound(this->root_, to);
  return range;
}

template <MapValue V>
typename PersistentMap<V>::Range PersistentMap<V>::prefix(std::string_view prefix) const {
  Range range;
  range.first_.to_prefix(this->root_, prefix, range.end_);
  return range;
}

}  // namespace nomad::state
