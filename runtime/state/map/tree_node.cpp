#include "runtime/state/map/tree_node.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace nomad::state::tree {

namespace {

std::size_t common_size(std::string_view a, std::string_view b) {
  const std::size_t limit = std::min(a.size(), b.size());
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.begin() + limit, b.begin()).first
                                  - a.begin());
}

std::size_t common_size(const KeyParts& a, const KeyParts& b) {
  if (a.prefix.data() == b.prefix.data() && a.prefix.size() == b.prefix.size())
    return a.prefix.size() + common_size(a.suffix, b.suffix);
  const std::size_t limit = std::min(a.size(), b.size());
  std::size_t size = 0;
  while (size < limit && a.at(size) == b.at(size))
    ++size;
  return size;
}

/// Writes `key` without its first `skip` bytes.
char* write_from(char* out, const KeyParts& key, std::size_t skip) {
  if (skip < key.prefix.size()) {
    out = std::copy(key.prefix.begin() + skip, key.prefix.end(), out);
    skip = 0;
  } else {
    skip -= key.prefix.size();
  }
  return std::copy(key.suffix.begin() + skip, key.suffix.end(), out);
}

}  // namespace

int Node::compare_prefix(std::string_view key) const {
  const std::string_view own = prefix();
  const std::size_t size = std::min(key.size(), own.size());
  const int order = key.substr(0, size).compare(own.substr(0, size));
  if (order != 0) return order;
  return key.size() < own.size() ? -1 : 0;
}

std::size_t Node::lower_bound(std::string_view key, bool& found) const {
  found = false;
  const int order = compare_prefix(key);
  if (order != 0) return order < 0 ? 0 : count;
  const std::string_view rest = key.substr(prefix_size);
  std::size_t low = 0;
  std::size_t high = count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const int compared = suffix(middle).compare(rest);
    if (compared == 0) {
      found = true;
      return middle;
    }
    if (compared < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

std::size_t Node::child_index(std::string_view key) const {
  const int order = compare_prefix(key);
  if (order != 0) return order < 0 ? 0 : count - 1;
  const std::string_view rest = key.substr(prefix_size);
  std::size_t low = 1;  // the answer is the last key not greater than `key`, or 0
  std::size_t high = count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (suffix(middle) <= rest)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

Node* make_node(std::uint16_t height,
                std::size_t slot_size,
                const KeyParts* keys,
                std::size_t count) {
  const std::size_t first = height == 0 ? 0 : 1;
  const std::size_t prefix = count > first ? common_size(keys[first], keys[count - 1]) : 0;
  std::size_t key_bytes = prefix;
  for (std::size_t i = first; i < count; ++i)
    key_bytes += keys[i].size() - prefix;

  const std::size_t slot_bytes = (count * slot_size + 7) / 8 * 8;
  void* memory = std::malloc(sizeof(Node) + slot_bytes + count * sizeof(std::uint32_t) + key_bytes);
  if (memory == nullptr) throw std::bad_alloc{};
  Node* node = new (memory) Node{};
  node->references.store(1, std::memory_order_relaxed);
  node->count = static_cast<std::uint16_t>(count);
  node->height = height;
  node->prefix_size = static_cast<std::uint32_t>(prefix);
  node->slot_bytes = static_cast<std::uint32_t>(slot_bytes);

  char* const bytes = const_cast<char*>(node->bytes());
  const KeyParts none;
  const KeyParts& sample = count > first ? keys[first] : none;
  const std::size_t from_prefix = std::min(prefix, sample.prefix.size());
  std::copy_n(sample.prefix.begin(), from_prefix, bytes);
  std::copy_n(sample.suffix.begin(), prefix - from_prefix, bytes + from_prefix);
  char* out = bytes + prefix;
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= first) out = write_from(out, keys[i], prefix);
    node->ends()[i] = static_cast<std::uint32_t>(out - bytes - prefix);
  }
  return node;
}

void free_node(Node* node) noexcept {
  node->~Node();
  std::free(node);
}

std::string separator(const KeyParts& left, const KeyParts& right) {
  std::string result = join(right);
  result.resize(std::min(result.size(), common_size(left, right) + 1));
  return result;
}

std::string join(const KeyParts& key) {
  std::string result;
  result.reserve(key.size());
  result.append(key.prefix);
  result.append(key.suffix);
  return result;
}

}  // namespace nomad::state::tree
