// PersistentMap<V>: an ordered map from byte strings to small values, of which a copy costs one
// reference count and never changes afterwards, whatever happens to the original.
//
// It is a B+tree that copies the path to what it changes. A writer that changes a map many times
// between two copies does so in place, because a node that nobody else refers to is its own: a
// batch of inserts copies each shared node once. Readers hold copies and need no lock; a copy may
// be read, copied and destroyed on any thread. One object of this class, like any value, may not
// be written on one thread while another uses that same object.
//
// V is a reference-like value: copied without allocating (Object<T>, an intrusive pointer) or
// empty, which makes the map a set. Measured overhead per entry beside key and value: about 14
// bytes. Pointers and cursors into a map are valid until that map is changed or destroyed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/state/map/tree_node.hpp"

namespace nomad::state {

/// The value of a map that is used as a set.
struct Nothing {};

template <class V>
concept MapValue
    = std::is_nothrow_move_constructible_v<V> && std::is_copy_constructible_v<V> && alignof(V) <= 8
      && sizeof(V) <= 64;

template <MapValue V>
class PersistentMap;

/// A part of a map for range-based for; each element is the cursor at an entry.
template <class Cursor>
class CursorRange {
public:
  class Iterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Cursor;
    using difference_type = std::ptrdiff_t;
    using pointer = const Cursor*;
    using reference = const Cursor&;

    explicit Iterator(Cursor cursor) : cursor_{std::move(cursor)} {}

    reference operator*() const { return cursor_; }

    pointer operator->() const { return &cursor_; }

    Iterator& operator++() {
      cursor_.next();
      return *this;
    }

    void operator++(int) { cursor_.next(); }

    friend bool operator==(const Iterator& a, const Iterator& b) { return a.cursor_ == b.cursor_; }

    /// Whether it has come to `end`, that of its range.
    friend bool operator==(const Iterator& a, const Cursor& end) { return a.cursor_ == end; }

  private:
    Cursor cursor_;
  };

  CursorRange() = default;

  CursorRange(Cursor first, Cursor end) : first_{std::move(first)}, end_{std::move(end)} {}

  Iterator begin() const { return Iterator{first_}; }

  /// Where an iterator ends: the first cursor behind the range, none at the map's end.
  const Cursor& end() const { return end_; }

  const Cursor& first() const { return first_; }

  bool empty() const { return first_ == end_; }

private:
  template <MapValue V>
  friend class PersistentMap;

  Cursor first_{};
  Cursor end_{};
};

/// What of a PersistentMap does not depend on what its values are called: `V` is what is stored.
template <MapValue V>
class StoredMap {
protected:
  using Node = tree::Node;

public:
  StoredMap() = default;

  StoredMap(const StoredMap& other) noexcept : root_{other.root_}, size_{other.size_} {
    if (root_ != nullptr) retain(root_);
  }

  StoredMap(StoredMap&& other) noexcept
      : root_{std::exchange(other.root_, nullptr)}, size_{std::exchange(other.size_, 0)} {}

  StoredMap& operator=(StoredMap other) noexcept {
    std::swap(root_, other.root_);
    std::swap(size_, other.size_);
    return *this;
  }

  ~StoredMap() {
    if (root_ != nullptr) release(root_);
  }

  std::size_t size() const { return size_; }

  bool empty() const { return size_ == 0; }

  /// The value under `key`, or null.
  const V* find(std::string_view key) const {
    const Node* node = root_;
    if (node == nullptr) return nullptr;
    while (!node->is_leaf())
      node = node->children()[node->child_index(key)];
    bool found = false;
    const std::size_t index = node->lower_bound(key, found);
    return found ? &value_at(node, index) : nullptr;
  }

  bool contains(std::string_view key) const { return find(key) != nullptr; }

  /// The value under `key` for changing in place, or null; no copy of this map sees the change.
  /// Copies the shared path to where the key is or would be, so it is for keys that are likely
  /// there.
  V* find_for_update(std::string_view key);

  /// Stores `value` under `key`; true when the key is new.
  bool insert_or_assign(std::string_view key, V value);

  /// Removes `key`; false when it was not there.
  bool erase(std::string_view key);

  /// The same for a key that is likely there: looks it up once, and copies the shared path to where
  /// it is or would be.
  bool erase_known(std::string_view key);

  /// Removes all of `keys`, which ascend, and answers how many were there. Costs as much as the
  /// nodes that they are in: for keys that lie together.
  std::size_t erase_all(std::span<const std::string> keys);

  void clear() { *this = StoredMap{}; }

  /// Whether both are copies of one map, unchanged since. For tests and cheap change checks.
  bool same_root(const StoredMap& other) const { return root_ == other.root_; }

protected:
  static constexpr std::size_t leaf_limit = 12;
  static constexpr std::size_t inner_limit = 16;
  static constexpr std::size_t slot_size = std::is_empty_v<V> ? 0 : sizeof(V);

  /// What an insert into a child did: itself, and its new right neighbour if it split.
  struct Grown {
    Node* node = nullptr;
    Node* right = nullptr;
    std::string separator;
  };

  static constexpr std::size_t limit_of(const Node* node) {
    return node->is_leaf() ? leaf_limit : inner_limit;
  }

  static V& value_at(Node* node, std::size_t index) {
    if constexpr (std::is_empty_v<V>) {
      static V nothing{};
      return nothing;
    } else {
      return *std::launder(reinterpret_cast<V*>(node->slots() + index * slot_size));
    }
  }

  static const V& value_at(const Node* node, std::size_t index) {
    return value_at(const_cast<Node*>(node), index);
  }

  static void retain(Node* node) noexcept {
    node->references.fetch_add(1, std::memory_order_relaxed);
  }

  static void release(Node* node) noexcept {
    if (node->references.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(node);
  }

  static void destroy(Node* node) noexcept {
    prefetch(node);
    for (std::size_t i = 0; i < node->count; ++i) {
      if (!node->is_leaf())
        release(node->children()[i]);
      else if constexpr (!std::is_empty_v<V>)
        std::destroy_at(&value_at(node, i));
    }
    tree::free_node(node);
  }

  /// Fills slot `to` of a fresh node from slot `from` of `source`, whose slots are taken over if
  /// `steal`.
  static void transfer(Node* target, std::size_t to, Node* source, std::size_t from, bool steal) {
    if (!target->is_leaf()) {
      target->children()[to] = source->children()[from];
      if (!steal) retain(source->children()[from]);
    } else if constexpr (!std::is_empty_v<V>) {
      void* position = target->slots() + to * slot_size;
      if (steal) {
        new (position) V(std::move(value_at(source, from)));
        std::destroy_at(&value_at(source, from));
      } else {
        new (position) V(value_at(source, from));
      }
    }
  }

  /// Gives up `node` after its slots were transferred.
  static void drop(Node* node, bool stolen) {
    if (stolen)
      tree::free_node(node);
    else
      release(node);
  }

  static std::size_t slot_size_at(std::uint16_t height) {
    return height == 0 ? slot_size : sizeof(Node*);
  }

  /// A node that only the caller refers to, with the same contents; consumes a reference.
  static Node* make_unique(Node* node) {
    if (node->is_unique()) return node;
    prefetch(node);
    std::array<tree::KeyParts, inner_limit + 1> keys;
    for (std::size_t i = 0; i < node->count; ++i)
      keys[i] = node->key(i);
    Node* copy
        = tree::make_node(node->height, slot_size_at(node->height), keys.data(), node->count);
    for (std::size_t i = 0; i < node->count; ++i)
      transfer(copy, i, node, i, false);
    release(node);
    return copy;
  }

  /// Asks for the cache lines of the reference counts that are about to change, all at once: one
  /// after the other, waiting for them is most of what copying and freeing a node costs.
  /// Always inline: g++ takes a function that only does that for one without effect.
  [[gnu::always_inline]] static void prefetch(const Node* node) {
    for (std::size_t i = 0; i < node->count; ++i) {
      if (!node->is_leaf())
        __builtin_prefetch(node->children()[i], 1);
      else if constexpr (requires(const V& value) { value.prefetch(); })
        value_at(node, i).prefetch();
    }
  }

  static void put(Node* leaf, std::size_t index, V&& value) {
    if constexpr (!std::is_empty_v<V>) new (leaf->slots() + index * slot_size) V(std::move(value));
  }

  /// A half of `node` with an entry added at `position` of the whole: entries [from, to) of it.
  template <class Put>
  static Node* slice(Node* node,
                     const tree::KeyParts* keys,
                     std::size_t from,
                     std::size_t to,
                     std::size_t position,
                     bool steal,
                     Put put_new) {
    Node* part = tree::make_node(node->height, slot_size_at(node->height), keys + from, to - from);
    for (std::size_t i = from; i < to; ++i) {
      if (i == position)
        put_new(part, i - from);
      else
        transfer(part, i - from, node, i < position ? i : i - 1, steal);
    }
    return part;
  }

  /// Replaces `node`, consumed, by one or two nodes with an entry more. `appending`: the entry
  /// is the map's greatest, so that ascending inserts leave full nodes behind.
  template <class Put>
  static Grown grow(
      Node* node, std::size_t position, std::string_view key, bool appending, Put put_new) {
    std::array<tree::KeyParts, inner_limit + 1> keys;
    const std::size_t count = node->count + 1u;
    for (std::size_t i = 0; i < position; ++i)
      keys[i] = node->key(i);
    keys[position] = {key, {}};
    for (std::size_t i = position + 1; i < count; ++i)
      keys[i] = node->key(i - 1);

    const bool steal = node->is_unique();
    if (!steal) prefetch(node);
    Grown grown;
    if (count <= limit_of(node)) {
      grown.node = slice(node, keys.data(), 0, count, position, steal, put_new);
    } else {
      const bool at_end = appending && position + 1 == count;
      const std::size_t middle = at_end ? count - 1 : count / 2;
      grown.separator = node->is_leaf() ? tree::separator(keys[middle - 1], keys[middle])
                                        : tree::join(keys[middle]);
      grown.node = slice(node, keys.data(), 0, middle, position, steal, put_new);
      grown.right = slice(node, keys.data(), middle, count, position, steal, put_new);
    }
    drop(node, steal);
    return grown;
  }

  static Grown insert(Node* node, std::string_view key, V& value, bool appending, bool& added) {
    if (node->is_leaf()) {
      bool found = false;
      const std::size_t position = node->lower_bound(key, found);
      added = !found;
      if (!found)
        return grow(node, position, key, appending,
                    [&](Node* leaf, std::size_t index) { put(leaf, index, std::move(value)); });
      if constexpr (!std::is_empty_v<V>) {
        node = make_unique(node);
        value_at(node, position) = std::move(value);
      }
      return {.node = node, .right = nullptr, .separator = {}};
    }
    node = make_unique(node);
    const std::size_t index = node->child_index(key);
    appending = appending && index + 1u == node->count;
    Grown child = insert(node->children()[index], key, value, appending, added);
    node->children()[index] = child.node;
    if (child.right == nullptr) return {.node = node, .right = nullptr, .separator = {}};
    return grow(node, index + 1, child.separator, appending,
                [&](Node* inner, std::size_t at) { inner->children()[at] = child.right; });
  }

  static Node* without(Node* node, std::size_t index, bool steal);
  static Node* erase(Node* node, std::string_view key, bool& removed);
  static Node* merge_child(Node* node, std::size_t index);
  static Node* erase_all(Node* node, std::span<const std::string> keys, std::size_t& removed);
  static Node* erase_in_leaf(Node* leaf, std::span<const std::string> keys, std::size_t& removed);
  static Node* without_gaps(Node* node);
  void drop_useless_roots();

  Node* root_ = nullptr;
  std::size_t size_ = 0;
};

/// What a map of `V` stores. Values that name such a type are made of it and add no more than
/// functions, so that they are read as what they were: the maps of all of them share their code.
template <class V>
struct StoredFor {
  using Type = V;
};

template <class V>
requires requires {
  typename V::Stored;
}

struct StoredFor<V> {
  static_assert(
      std::is_base_of_v<typename V::Stored, V> && sizeof(V) == sizeof(typename V::Stored));
  using Type = typename V::Stored;
};

template <MapValue V>
class PersistentMap : public StoredMap<typename StoredFor<V>::Type> {
  using Stored = typename StoredFor<V>::Type;
  using Base = StoredMap<Stored>;

public:
  class Cursor;
  using Range = CursorRange<Cursor>;

  /// The value under `key`, or null.
  const V* find(std::string_view key) const { return static_cast<const V*>(Base::find(key)); }

  /// The value under `key` for changing in place, or null; no copy of this map sees the change.
  /// Copies the shared path to where the key is or would be, so it is for keys that are likely
  /// there.
  V* find_for_update(std::string_view key) { return static_cast<V*>(Base::find_for_update(key)); }

  /// Stores `value` under `key`; true when the key is new.
  bool insert_or_assign(std::string_view key, V value) {
    return Base::insert_or_assign(key, std::move(value));
  }

  Cursor first() const;
  Cursor last() const;
  /// The first entry not less than `key`.
  Cursor lower_bound(std::string_view key) const;
  /// The last entry less than `key`.
  Cursor before(std::string_view key) const;

  /// All entries, ascending.
  Range all() const;
  /// The entries whose key begins with `prefix`, ascending.
  Range prefix(std::string_view prefix) const;
  /// The entries of [from, to), ascending.
  Range range(std::string_view from, std::string_view to) const;
};

}  // namespace nomad::state

#include "runtime/state/map/persistent_map_cursor.hpp"
#include "runtime/state/map/persistent_map_erase.hpp"
