#include "runtime/state/map/tree_cursor.hpp"

#include <algorithm>
#include <cassert>

namespace nomad::state::tree {

namespace {

/// Asks for the memory of the leaf behind the one that was just entered.
/// Always inline: g++ takes a function that only asks for memory for one without effect.
[[gnu::always_inline]] inline void prefetch_child(const Node* above, std::size_t index) {
  constexpr std::size_t line = 64;
  if (index >= above->count) return;
  const auto* next = reinterpret_cast<const char*>(above->children()[index]);
  for (std::size_t at = 0; at < 10 * line; at += line)
    __builtin_prefetch(next + at);
}

}  // namespace

Cursor::Cursor(const Cursor& other) noexcept : depth_{other.depth_} {
  std::copy_n(other.frames_.begin(), depth_, frames_.begin());
}

Cursor& Cursor::operator=(const Cursor& other) noexcept {
  depth_ = other.depth_;
  std::copy_n(other.frames_.begin(), depth_, frames_.begin());
  return *this;
}

bool Cursor::key_begins_with(std::string_view text) const {
  const auto key = leaf().node->key(leaf().index);
  const auto shared = std::min(text.size(), key.prefix.size());
  return key.prefix.substr(0, shared) == text.substr(0, shared)
         && key.suffix.starts_with(text.substr(shared));
}

bool Cursor::key_is(std::string_view text) const {
  return leaf().node->key(leaf().index).size() == text.size() && key_begins_with(text);
}

void Cursor::push(const Node* node, std::size_t index) {
  assert(depth_ < max_depth);
  frames_[depth_++] = {node, static_cast<std::uint32_t>(index)};
}

void Cursor::descend_into(const Node* node, bool to_first) {
  push(node, to_first ? 0 : node->count - 1u);
  while (!node->is_leaf()) {
    node = node->children()[leaf().index];
    push(node, to_first ? 0 : node->count - 1u);
  }
}

void Cursor::next_leaf() {
  while (--depth_ > 0) {
    Frame& frame = frames_[depth_ - 1];
    if (++frame.index >= frame.node->count) continue;
    descend_into(frame.node->children()[frame.index], true);
    const Frame& above = frames_[depth_ - 2];
    return prefetch_child(above.node, above.index + 1u);
  }
}

void Cursor::previous_leaf() {
  while (--depth_ > 0) {
    Frame& frame = frames_[depth_ - 1];
    if (frame.index-- > 0) return descend_into(frame.node->children()[frame.index], false);
  }
}

void Cursor::to_first(const Node* root) {
  if (root != nullptr) descend_into(root, true);
}

void Cursor::to_last(const Node* root) {
  if (root != nullptr) descend_into(root, false);
}

void Cursor::to_lower_bound(const Node* root, std::string_view key) {
  if (root == nullptr) return;
  const Node* node = root;
  while (!node->is_leaf()) {
    const std::size_t index = node->child_index(key);
    push(node, index);
    node = node->children()[index];
  }
  bool found = false;
  const std::size_t index = node->lower_bound(key, found);
  if (index < node->count) {
    push(node, index);
  } else {
    push(node, node->count - 1u);
    next();
  }
}

void Cursor::to_before(const Node* root, std::string_view key) {
  to_lower_bound(root, key);
  if (valid())
    previous();
  else
    to_last(root);
}

void Cursor::to_prefix(const Node* root, std::string_view prefix, Cursor& end) {
  to_lower_bound(root, prefix);
  std::string behind{prefix};  // the smallest string greater than all that begin with `prefix`
  while (!behind.empty() && behind.back() == '\xff')
    behind.pop_back();
  if (behind.empty()) return;
  behind.back() = static_cast<char>(static_cast<unsigned char>(behind.back()) + 1);
  end.to_lower_bound(root, behind);
}

}  // namespace nomad::state::tree
