// Walking a PersistentMap in both directions; include persistent_map.hpp instead.
#pragma once

#include <algorithm>
#include <cassert>

#include "runtime/state/map/persistent_map.hpp"

namespace nomad::state {

/// A place in a map: an entry, or none (`valid()` is false). Does not keep the map alive.
template <MapValue V>
class PersistentMap<V>::Cursor {
public:
  Cursor() = default;

  bool valid() const { return depth_ > 0; }

  explicit operator bool() const { return valid(); }

  /// The entry's key. The view is valid until the cursor moves or dies.
  std::string_view key() const {
    leaf().node->copy_key(leaf().index, key_);
    return key_;
  }

  /// The same as of `key()`, which would be made for it.
  bool key_begins_with(std::string_view text) const {
    const auto key = leaf().node->key(leaf().index);
    const auto shared = std::min(text.size(), key.prefix.size());
    return key.prefix.substr(0, shared) == text.substr(0, shared)
           && key.suffix.starts_with(text.substr(shared));
  }

  bool key_is(std::string_view text) const {
    return leaf().node->key(leaf().index).size() == text.size() && key_begins_with(text);
  }

  const V& value() const { return value_at(leaf().node, leaf().index); }

  void next() {
    while (depth_ > 0) {
      Frame& frame = frames_[depth_ - 1];
      if (frame.index + 1u < frame.node->count) {
        ++frame.index;
        if (frame.node->is_leaf()) return;
        descend(frame, true);
        return prefetch_next_leaf();
      }
      --depth_;
    }
  }

  void previous() {
    while (depth_ > 0) {
      Frame& frame = frames_[depth_ - 1];
      if (frame.index > 0) {
        --frame.index;
        return descend(frame, false);
      }
      --depth_;
    }
  }

  friend bool operator==(const Cursor& a, const Cursor& b) {
    if (!a.valid() || !b.valid()) return a.valid() == b.valid();
    return a.leaf().node == b.leaf().node && a.leaf().index == b.leaf().index;
  }

  /// The value that is so many entries ahead in the same node; null if that ends sooner. For who
  /// asks for its memory while he reads this one.
  const V* ahead(std::uint32_t entries) const {
    const auto& [node, index] = leaf();
    return index + entries < node->count ? &value_at(node, index + entries) : nullptr;
  }

  /// Whether it is the first entry of its node.
  bool begins_node() const { return leaf().index == 0; }

private:
  friend class PersistentMap;

  struct Frame {
    const Node* node;
    std::uint32_t index;
  };

  // A level more needs sixteen times the inserts, so this is never reached.
  static constexpr std::size_t max_depth = 16;

  const Frame& leaf() const { return frames_[depth_ - 1]; }

  void push(const Node* node, std::size_t index) {
    assert(depth_ < max_depth);
    frames_[depth_++] = {node, static_cast<std::uint32_t>(index)};
  }

  /// Always inline: g++ takes a function that only asks for memory for one without effect.
  [[gnu::always_inline]] void prefetch_next_leaf() const {
    constexpr std::size_t line = 64;
    const auto& above = frames_[depth_ - 2];
    if (above.index + 1u >= above.node->count) return;
    const auto* next = reinterpret_cast<const char*>(above.node->children()[above.index + 1u]);
    for (std::size_t at = 0; at < 10 * line; at += line)
      __builtin_prefetch(next + at);
  }

  /// From the entry of an inner frame down to its first or last leaf entry.
  void descend(const Frame& from, bool to_first) {
    if (!from.node->is_leaf()) descend_into(from.node->children()[from.index], to_first);
  }

  void descend_into(const Node* node, bool to_first) {
    push(node, to_first ? 0 : node->count - 1u);
    while (!node->is_leaf()) {
      node = node->children()[frames_[depth_ - 1].index];
      push(node, to_first ? 0 : node->count - 1u);
    }
  }

  std::array<Frame, max_depth> frames_{};
  std::size_t depth_ = 0;
  mutable std::string key_;
};

template <MapValue V>
typename PersistentMap<V>::Cursor PersistentMap<V>::first() const {
  Cursor cursor;
  if (root_ != nullptr) cursor.descend_into(root_, true);
  return cursor;
}

template <MapValue V>
typename PersistentMap<V>::Cursor PersistentMap<V>::last() const {
  Cursor cursor;
  if (root_ != nullptr) cursor.descend_into(root_, false);
  return cursor;
}

template <MapValue V>
typename PersistentMap<V>::Cursor PersistentMap<V>::lower_bound(std::string_view key) const {
  Cursor cursor;
  if (root_ == nullptr) return cursor;
  const Node* node = root_;
  while (!node->is_leaf()) {
    const std::size_t index = node->child_index(key);
    cursor.push(node, index);
    node = node->children()[index];
  }
  bool found = false;
  const std::size_t index = node->lower_bound(key, found);
  if (index < node->count) {
    cursor.push(node, index);
  } else {
    cursor.push(node, node->count - 1u);
    cursor.next();
  }
  return cursor;
}

template <MapValue V>
typename PersistentMap<V>::Cursor PersistentMap<V>::before(std::string_view key) const {
  Cursor cursor = lower_bound(key);
  if (!cursor.valid()) return last();
  cursor.previous();
  return cursor;
}

template <MapValue V>
typename PersistentMap<V>::Range PersistentMap<V>::all() const {
  return {first(), Cursor{}};
}

template <MapValue V>
typename PersistentMap<V>::Range PersistentMap<V>::range(std::string_view from,
                                                         std::string_view to) const {
  if (!(from < to)) return {Cursor{}, Cursor{}};
  return {lower_bound(from), lower_bound(to)};
}

template <MapValue V>
typename PersistentMap<V>::Range PersistentMap<V>::prefix(std::string_view prefix) const {
  std::string end{prefix};  // the smallest string greater than all that begin with `prefix`
  while (!end.empty() && end.back() == '\xff')
    end.pop_back();
  if (end.empty()) return {lower_bound(prefix), Cursor{}};
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return {lower_bound(prefix), lower_bound(end)};
}

}  // namespace nomad::state
