// Arena: where the nodes of a file's tree live. Nothing in it is destroyed one by one, except the
// values of literals, which are kept apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/hcl/value.hpp"

namespace nomad::hcl {

class Arena {
public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  template <class T>
  T* make(const T& node) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T{node};
  }

  template <class T>
  std::span<const T> copy(const std::vector<T>& items) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (items.empty()) return {};
    auto* begin = static_cast<T*>(allocate(sizeof(T) * items.size(), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), begin);
    return {begin, items.size()};
  }

  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    auto* begin = static_cast<char*>(allocate(text.size(), 1));
    std::memcpy(begin, text.data(), text.size());
    return {begin, text.size()};
  }

  const Value* keep(Value value) {
    values_.push_back(std::move(value));
    return &values_.back();
  }

private:
  static constexpr std::size_t block_size = 16U << 10U;

  void* allocate(std::size_t size, std::size_t alignment) {
    std::size_t begin = (used_ + alignment - 1) / alignment * alignment;
    if (blocks_.empty() || begin + size > capacity_) {
      capacity_ = std::max(block_size, size);
      blocks_.push_back(std::make_unique<std::byte[]>(capacity_));
      begin = 0;
    }
    used_ = begin + size;
    return blocks_.back().get() + begin;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  std::deque<Value> values_;
};

}  // namespace nomad::hcl
