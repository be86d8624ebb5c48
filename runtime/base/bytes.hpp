// Bytes: shared, immutable bytes. What travels from a proposal through the log, the wire and the
// state machine without being copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace nomad {

/// A reference to bytes that never change. Copying shares them; any thread may read. Bytes made by
/// `copy` start at an 8-byte boundary, as flat Cap'n Proto words must.
class Bytes {
public:
  Bytes() = default;

  /// Shares `view`, which stays valid as long as `owner` lives (an `Object<T>`, a buffer…).
  Bytes(std::shared_ptr<const void> owner, std::span<const std::byte> view)
      : owner_(std::move(owner)), view_(view) {}

  static Bytes copy(std::span<const std::byte> source) {
    if (source.empty()) return {};
    auto words = std::make_shared_for_overwrite<std::uint64_t[]>((source.size() + 7) / 8);
    std::memcpy(words.get(), source.data(), source.size());
    const auto* first = reinterpret_cast<const std::byte*>(words.get());
    return {std::shared_ptr<const void>(std::move(words)), {first, source.size()}};
  }

  static Bytes copy(std::string_view text) { return copy(std::as_bytes(std::span{text})); }

  std::span<const std::byte> view() const { return view_; }

  const std::byte* data() const { return view_.data(); }

  std::size_t size() const { return view_.size(); }

  bool empty() const { return view_.empty(); }

  /// The same bytes as characters.
  std::string_view text() const {
    return {reinterpret_cast<const char*>(view_.data()), view_.size()};
  }

  /// Part of the bytes, sharing them.
  Bytes slice(std::size_t offset, std::size_t count) const {
    return {owner_, view_.subspan(offset, count)};
  }

  friend bool operator==(const Bytes& left, const Bytes& right) {
    return left.text() == right.text();
  }

private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> view_;
};

}  // namespace nomad
