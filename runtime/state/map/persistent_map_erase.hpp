// The changing half of PersistentMap, kept apart for size; include persistent_map.hpp instead.
//
// Erasing merges a node that fell below a quarter of its limit with a neighbour when both fit
// into one; otherwise sparse nodes stay, because a later insert fills them again.
#pragma once

#include <cassert>

#include "runtime/state/map/persistent_map.hpp"

namespace nomad::state {

template <MapValue V>
bool StoredMap<V>::insert_or_assign(std::string_view key, V value) {
  if (root_ == nullptr) {
    const tree::KeyParts keys{key, {}};
    root_ = tree::make_node(0, slot_size, &keys, 1);
    put(root_, 0, std::move(value));
    size_ = 1;
    return true;
  }
  bool added = false;
  Grown grown = insert(std::exchange(root_, nullptr), key, value, true, added);
  if (grown.right != nullptr) {
    const std::array<tree::KeyParts, 2> keys{tree::KeyParts{}, tree::KeyParts{grown.separator, {}}};
    const auto height = static_cast<std::uint16_t>(grown.node->height + 1);
    Node* root = tree::make_node(height, sizeof(Node*), keys.data(), 2);
    root->children()[0] = grown.node;
    root->children()[1] = grown.right;
    grown.node = root;
  }
  root_ = grown.node;
  size_ += added ? 1 : 0;
  return added;
}

template <MapValue V>
V* StoredMap<V>::find_for_update(std::string_view key) {
  if (root_ == nullptr) return nullptr;
  Node** position = &root_;
  *position = make_unique(*position);
  while (!(*position)->is_leaf()) {
    position = &(*position)->children()[(*position)->child_index(key)];
    *position = make_unique(*position);
  }
  bool found = false;
  const std::size_t index = (*position)->lower_bound(key, found);
  return found ? &value_at(*position, index) : nullptr;
}

template <MapValue V>
bool StoredMap<V>::erase(std::string_view key) {
  return contains(key) && erase_known(key);
}

template <MapValue V>
bool StoredMap<V>::erase_known(std::string_view key) {
  if (root_ == nullptr) return false;
  bool removed = false;
  root_ = erase(std::exchange(root_, nullptr), key, removed);
  if (!removed) return false;
  --size_;
  drop_useless_roots();
  return true;
}

template <MapValue V>
std::size_t StoredMap<V>::erase_all(std::span<const std::string> keys) {
  if (root_ == nullptr || keys.empty()) return 0;
  std::size_t removed = 0;
  root_ = erase_all(std::exchange(root_, nullptr), keys, removed);
  size_ -= removed;
  drop_useless_roots();
  return removed;
}

/// A root with one child is none.
template <MapValue V>
void StoredMap<V>::drop_useless_roots() {
  while (root_ != nullptr && !root_->is_leaf() && root_->count == 1) {
    Node* child = root_->children()[0];
    retain(child);
    release(std::exchange(root_, child));
  }
}

/// `node`, consumed, without one slot; null when that was the last. `steal`: the node is unique,
/// and the slot's value or child has been dealt with. The caller asks once whether a node is
/// unique, because it may become so at any time, when a reader lets go.
template <MapValue V>
typename StoredMap<V>::Node* StoredMap<V>::without(Node* node, std::size_t index, bool steal) {
  std::array<tree::KeyParts, inner_limit + 1> keys;
  std::size_t count = 0;
  for (std::size_t i = 0; i < node->count; ++i)
    if (i != index) keys[count++] = node->key(i);
  Node* smaller = nullptr;
  if (count > 0) {
    smaller = tree::make_node(node->height, slot_size_at(node->height), keys.data(), count);
    for (std::size_t i = 0; i < count; ++i)
      transfer(smaller, i, node, i < index ? i : i + 1, steal);
  }
  drop(node, steal);
  return smaller;
}

template <MapValue V>
typename StoredMap<V>::Node* StoredMap<V>::erase(Node* node, std::string_view key, bool& removed) {
  if (node->is_leaf()) {
    const std::size_t index = node->lower_bound(key, removed);
    if (!removed) return node;
    const bool steal = node->is_unique();
    if constexpr (!std::is_empty_v<V>)
      if (steal) std::destroy_at(&value_at(node, index));
    return without(node, index, steal);
  }
  node = make_unique(node);
  const std::size_t index = node->child_index(key);
  Node* child = erase(node->children()[index], key, removed);
  if (child == nullptr) return without(node, index, true);
  node->children()[index] = child;
  if (child->count >= limit_of(child) / 4 || node->count == 1) return node;
  return merge_child(node, index);
}

/// Joins child `index` of the unique `node` with a neighbour, if they fit into one node.
template <MapValue V>
typename StoredMap<V>::Node* StoredMap<V>::merge_child(Node* node, std::size_t index) {
  const std::size_t left_index = index + 1u < node->count ? index : index - 1;
  Node* left = node->children()[left_index];
  Node* right = node->children()[left_index + 1];
  const std::size_t count = std::size_t{left->count} + right->count;
  if (count > limit_of(left) * 3 / 4) return node;

  std::array<tree::KeyParts, inner_limit + 1> keys;
  for (std::size_t i = 0; i < left->count; ++i)
    keys[i] = left->key(i);
  for (std::size_t i = 0; i < right->count; ++i)
    keys[left->count + i] = right->key(i);
  if (!left->is_leaf()) keys[left->count] = node->key(left_index + 1);
  Node* merged = tree::make_node(left->height, slot_size_at(left->height), keys.data(), count);
  const std::size_t left_count = left->count;
  for (Node* source : {left, right}) {
    const bool steal = source->is_unique();
    const std::size_t offset = source == left ? 0 : left_count;
    const std::size_t source_count = source->count;
    for (std::size_t i = 0; i < source_count; ++i)
      transfer(merged, offset + i, source, i, steal);
    drop(source, steal);
  }
  node->children()[left_index] = merged;
  return without(node, left_index + 1, true);
}

/// `leaf`, consumed, without those of `keys` that are in it; null when nothing is left.
template <MapValue V>
typename StoredMap<V>::Node* StoredMap<V>::erase_in_leaf(Node* leaf,
                                                         std::span<const std::string> keys,
                                                         std::size_t& removed) {
  std::array<bool, leaf_limit> goes{};
  std::size_t found_here = 0;
  for (const auto& key : keys) {
    bool found = false;
    const std::size_t index = leaf->lower_bound(key, found);
    if (!found || std::exchange(goes[index], true)) continue;
    ++found_here;
  }
  if (found_here == 0) return leaf;
  removed += found_here;
  const bool steal = leaf->is_unique();
  std::array<tree::KeyParts, leaf_limit> kept;
  std::size_t count = 0;
  for (std::size_t i = 0; i < leaf->count; ++i) {
    if (!goes[i])
      kept[count++] = leaf->key(i);
    else if constexpr (!std::is_empty_v<V>)
      if (steal) std::destroy_at(&value_at(leaf, i));
  }
  Node* smaller = count > 0 ? tree::make_node(0, slot_size, kept.data(), count) : nullptr;
  std::size_t to = 0;
  for (std::size_t i = 0; i < leaf->count; ++i)
    if (!goes[i]) transfer(smaller, to++, leaf, i, steal);
  drop(leaf, steal);
  return smaller;
}

template <MapValue V>
typename StoredMap<V>::Node* StoredMap<V>::erase_all(Node* node,
                                                     std::span<const std::string> keys,
                                                     std::size_t& removed) {
  if (node->is_leaf()) return erase_in_leaf(node, keys, removed);
  node = make_unique(node);
  while (!keys.empty()) {
    const std::size_t index = node->child_index(keys.front());
    std::size_t count = 1;
    while (count < keys.size() && node->child_index(keys[count]) == index)
      ++count;
    Node*& child = node->children()[index];
    child = erase_all(child, keys.first(count), removed);
    keys = keys.subspan(count);
  }
  node = without_gaps(node);
  for (std::size_t index = 0; node != nullptr && index < node->count;) {
    const Node* child = node->children()[index];
    const std::size_t before = node->count;
    if (before > 1 && child->count < limit_of(child) / 4) node = merge_child(node, index);
    if (node->count == before) ++index;
  }
  return node;
}

/// The unique `node` without the children that have become null; null when none is left.
template <MapValue V>
typename StoredMap<V>::Node* StoredMap<V>::without_gaps(Node* node) {
  std::array<tree::KeyParts, inner_limit> kept;
  std::array<Node*, inner_limit> children;
  std::size_t count = 0;
  for (std::size_t i = 0; i < node->count; ++i) {
    if (node->children()[i] == nullptr) continue;
    kept[count] = node->key(i);
    children[count++] = node->children()[i];
  }
  if (count == node->count) return node;
  Node* smaller
      = count > 0 ? tree::make_node(node->height, sizeof(Node*), kept.data(), count) : nullptr;
  for (std::size_t i = 0; i < count; ++i)
    smaller->children()[i] = children[i];
  tree::free_node(node);
  return smaller;
}

}  // namespace nomad::state
