// Secret: bytes that are wiped when they go: keys, and what variables hold. It has no printer and
// no serializer, cannot be copied by accident, and comparing two takes the same time whatever is in
// them. Up to 64 bytes (keys) lie between guard pages and are never swapped.
//
// What this does not promise: a text that HTTP carries passes through socket buffers, which are not
// ours to wipe.
//
// runtime/security may depend on: runtime/base, runtime/object, runtime/storage (files), schema,
// libsodium.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace nomad::security {

class Secret {
public:
  Secret() = default;

  /// `size` zero bytes.
  explicit Secret(std::size_t size);

  static Secret copy_of(std::span<const std::byte> bytes);
  static Secret copy_of(std::string_view text);

  Secret(Secret&& other) noexcept
      : data_{std::exchange(other.data_, nullptr)}, size_{std::exchange(other.size_, 0)} {}

  Secret& operator=(Secret&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  ~Secret();

  std::size_t size() const { return size_; }

  std::span<std::byte> bytes() { return {data_, size_}; }

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  /// In constant time for equal sizes.
  bool equals(const Secret& other) const;

private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Overwrites what a text holds, also beyond its size, and empties it.
void wipe(std::string& text);

}  // namespace nomad::security
