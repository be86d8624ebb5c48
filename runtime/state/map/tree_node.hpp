// TreeNode: one node of the B+tree behind PersistentMap, without the type of its values.
//
// A node is one exactly fitting block: a header, `count` slots (values in a leaf, children
// above), the end of each key, and the keys' bytes. What all keys of a node begin with is stored
// once, so composite keys ("namespace\0id") and ids of one job cost only their differing ends.
// A node that others can reach is never changed; a change makes a new block.
//
// Invariants:
// 1. Keys ascend by bytes. Key 0 of an inner node is unused (empty): its child takes all below.
// 2. Inner key i is greater than every key under child i-1 and not greater than any under child i.
// 3. All leaves have the same depth; `height` is the distance to them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nomad::state::tree {

/// A key in two parts, as nodes store it: the node's common prefix and the rest.
struct KeyParts {
  std::string_view prefix;
  std::string_view suffix;

  std::size_t size() const { return prefix.size() + suffix.size(); }

  char at(std::size_t index) const {
    return index < prefix.size() ? prefix[index] : suffix[index - prefix.size()];
  }
};

struct Node {
  std::atomic<std::uint32_t> references;
  std::uint16_t count;
  std::uint16_t height;  ///< 0: a leaf.
  std::uint32_t prefix_size;
  std::uint32_t slot_bytes;  ///< Of all slots together, padded to 8.

  char* slots() { return reinterpret_cast<char*>(this + 1); }

  const char* slots() const { return reinterpret_cast<const char*>(this + 1); }

  Node** children() { return reinterpret_cast<Node**>(slots()); }

  Node* const* children() const { return reinterpret_cast<Node* const*>(slots()); }

  bool is_leaf() const { return height == 0; }

  bool is_unique() const { return references.load(std::memory_order_acquire) == 1; }

  std::string_view prefix() const { return {bytes(), prefix_size}; }

  std::string_view suffix(std::size_t index) const {
    const std::uint32_t start = index == 0 ? 0 : ends()[index - 1];
    return {bytes() + prefix_size + start, ends()[index] - start};
  }

  KeyParts key(std::size_t index) const { return {prefix(), suffix(index)}; }

  /// Sets `out` to the whole key.
  void copy_key(std::size_t index, std::string& out) const {
    out.assign(prefix());
    out.append(suffix(index));
  }

  /// The first slot whose key is not less than `key`; `found` tells whether it is equal.
  std::size_t lower_bound(std::string_view key, bool& found) const;

  /// The child under which `key` belongs.
  std::size_t child_index(std::string_view key) const;

private:
  friend Node* make_node(std::uint16_t, std::size_t, const KeyParts*, std::size_t);

  std::uint32_t* ends() { return reinterpret_cast<std::uint32_t*>(slots() + slot_bytes); }

  const std::uint32_t* ends() const {
    return reinterpret_cast<const std::uint32_t*>(slots() + slot_bytes);
  }

  const char* bytes() const { return reinterpret_cast<const char*>(ends() + count); }

  /// Compares `key` with the prefix: negative or positive when that decides the order against
  /// every key of the node, 0 when `key` begins with it.
  int compare_prefix(std::string_view key) const;
};

/// Allocates a node of `count` keys with uninitialised slots and one reference. Of an inner node
/// (`height` > 0) the first key is ignored.
Node* make_node(std::uint16_t height,
                std::size_t slot_size,
                const KeyParts* keys,
                std::size_t count);

/// Frees the block alone; its slots must have been moved out or destroyed.
void free_node(Node* node) noexcept;

/// The shortest string greater than `left` and not greater than `right`.
std::string separator(const KeyParts& left, const KeyParts& right);

/// The whole key in one string.
std::string join(const KeyParts& key);

}  // namespace nomad::state::tree
