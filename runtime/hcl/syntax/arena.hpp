// Arena: where the nodes of a file's tree live. Nothing in it is destroyed one by one, except the
// values of literals, which are kept apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/hcl/value/value.hpp"

namespace nomad::hcl {

class Arena {
public:
  Arena() = default;

  ~Arena() {
    for (; values_ != nullptr; values_ = values_->before)
      for (std::size_t i = 0; i < values_->count; ++i)
        std::destroy_at(std::launder(static_cast<Value*>(values_->slot(i))));
  }

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

  /// A span of one.
  template <class T>
  std::span<const T> one(const T& item) {
    return {make(item), 1};
  }

  const Value* keep(Value value) {
    if (values_ == nullptr || values_->count == values_per_chunk) {
      auto* chunk = new (allocate(sizeof(ValueChunk), alignof(ValueChunk))) ValueChunk;
      chunk->before = values_;
      values_ = chunk;
    }
    return new (values_->slot(values_->count++)) Value{std::move(value)};
  }

private:
  static constexpr std::size_t block_size = 16U << 10U;
  static constexpr std::size_t values_per_chunk = 32;

  /// Room for values, made one after the other.
  struct ValueChunk {
    void* slot(std::size_t i) { return storage + i * sizeof(Value); }

    ValueChunk* before = nullptr;
    std::size_t count = 0;
    alignas(Value) std::byte storage[values_per_chunk * sizeof(Value)];
  };

  void* allocate(std::size_t size, std::size_t alignment) {
    std::size_t begin = (used_ + alignment - 1) / alignment * alignment;
    if (blocks_.empty() || begin + size > capacity_) {
      capacity_ = std::max(block_size, size);
      blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(capacity_));
      begin = 0;
    }
    used_ = begin + size;
    return blocks_.back().get() + begin;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  ValueChunk* values_ = nullptr;  // the last made, in a block
};

}  // namespace nomad::hcl
