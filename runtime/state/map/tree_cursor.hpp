// TreeCursor: walks over the entries of a B+tree (tree_node.hpp) in both directions, whatever its
// values are; PersistentMap's cursors add those.
//
// Tests: persistent_map_test, ascending_lookups_test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/state/map/tree_node.hpp"

namespace nomad::state::tree {

/// A position in a tree: an entry, or none (`valid()` is false). Does not keep the tree alive.
class Cursor {
public:
  Cursor() = default;
  Cursor(const Cursor& other) noexcept;
  Cursor& operator=(const Cursor& other) noexcept;
  ~Cursor() = default;

  bool valid() const { return depth_ > 0; }

  explicit operator bool() const { return valid(); }

  /// The entry's key. The view is valid until the cursor moves or dies.
  std::string_view key() const {
    leaf().node->copy_key(leaf().index, key_);
    return key_;
  }

  /// The same as of `key()`, which would be made for it.
  bool key_begins_with(std::string_view text) const;
  bool key_is(std::string_view text) const;

  void next() {
    if (depth_ == 0) return;
    Frame& frame = frames_[depth_ - 1];
    if (frame.index + 1u < frame.node->count)
      ++frame.index;
    else
      next_leaf();
  }

  void previous() {
    if (depth_ == 0) return;
    Frame& frame = frames_[depth_ - 1];
    if (frame.index > 0)
      --frame.index;
    else
      previous_leaf();
  }

  friend bool operator==(const Cursor& a, const Cursor& b) {
    if (!a.valid() || !b.valid()) return a.valid() == b.valid();
    return a.leaf().node == b.leaf().node && a.leaf().index == b.leaf().index;
  }

  /// Whether it is the first entry of its node.
  bool begins_node() const { return leaf().index == 0; }

protected:
  struct Frame {
    const Node* node;
    std::uint32_t index;
  };

  const Frame& leaf() const { return frames_[depth_ - 1]; }

  // Of cursors that are nowhere yet; the tree of a null root is empty.
  void to_first(const Node* root);
  void to_last(const Node* root);
  /// To the first entry not less than `key`.
  void to_lower_bound(const Node* root, std::string_view key);
  /// To the last entry less than `key`.
  void to_before(const Node* root, std::string_view key);
  /// To the first entry whose key begins with `prefix`, or would follow it; `end` to the first one
  /// behind those.
  void to_prefix(const Node* root, std::string_view prefix, Cursor& end);

private:
  // A level more needs sixteen times the inserts, so this is never reached.
  static constexpr std::size_t max_depth = 16;

  void push(const Node* node, std::size_t index);
  void next_leaf();
  void previous_leaf();
  /// From an inner node down to its first or last leaf entry.
  void descend_into(const Node* node, bool to_first);

  std::array<Frame, max_depth> frames_{};  ///< The last one is a leaf's.
  std::size_t depth_ = 0;
  mutable std::string key_;  ///< What `key()` has shown; not copied.
};

}  // namespace nomad::state::tree
