// JsonPieces: gathers the small pieces that JSON is made of, so that a text grows by larger ones.
// For writers of many objects, each of a few hundred bytes; what is written is the caller's to get
// right.
//
// Pure; one thread at a time.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace nomad {

class JsonPieces {
public:
  /// Pieces go to the end of `out`, which outlives this. Whoever makes one calls `finish`.
  explicit JsonPieces(std::string& out) : out_{out} {}

  JsonPieces(const JsonPieces&) = delete;

  void add(char c) {
    if (size_ == gathered_.size()) finish();
    gathered_[size_++] = c;
  }

  void add(std::string_view text) {
    if (text.size() > room()) {
      finish();
      if (text.size() > room()) {
        out_ += text;
        return;
      }
    }
    if (!text.empty()) std::memcpy(gathered_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }

  /// The bytes that `add_fixed` may read of its text.
  static constexpr std::size_t fixed_bytes = 32;

  /// The first `size` bytes of at least `fixed_bytes`, as long as these are enough.
  void add_fixed(const char* text, std::size_t size) {
    if (size > fixed_bytes) return add(std::string_view{text, size});
    if (room() < fixed_bytes) finish();
    std::memcpy(gathered_.data() + size_, text, fixed_bytes);
    size_ += size;
  }

  template <std::integral Number>
  void add_number(Number number) {
    constexpr std::size_t longest = 20;
    if (room() < longest) finish();
    auto* begin = gathered_.data() + size_;
    size_ += static_cast<std::size_t>(std::to_chars(begin, begin + longest, number).ptr - begin);
  }

  /// Quoted and escaped, as `append_json_text`.
  void add_text(std::string_view text) {
    if (text.size() + 2 > room() || !is_plain(text)) return add_escaped(text);
    auto* to = gathered_.data() + size_;
    *to = '"';
    if (!text.empty()) std::memcpy(to + 1, text.data(), text.size());
    to[text.size() + 1] = '"';
    size_ += text.size() + 2;
  }

  /// Whether it stands for itself in a text.
  static bool is_plain(char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
  }

  /// Whether all of it surely does.
  static bool is_plain(std::string_view text) {
    std::size_t at = 0;
    for (; at + 8 <= text.size(); at += 8)
      if (!are_plain(text.data() + at)) return false;
    for (; at < text.size(); ++at)
      if (!is_plain(text[at])) return false;
    return true;
  }

  // What stands before a value and the value; for members of objects.
  JsonPieces& text(std::string_view before, std::string_view value) {
    add(before);
    add_text(value);
    return *this;
  }

  template <std::integral Number>
  JsonPieces& number(std::string_view before, Number value) {
    add(before);
    add_number(value);
    return *this;
  }

  JsonPieces& boolean(std::string_view before, bool value) {
    add(before);
    add(value ? std::string_view{"true"} : std::string_view{"false"});
    return *this;
  }

  /// For what writes strings; nothing is gathered when it does.
  std::string& string() {
    finish();
    return out_;
  }

  void finish() {
    out_.append(gathered_.data(), size_);
    size_ = 0;
  }

private:
  std::size_t room() const { return gathered_.size() - size_; }

  /// Whether each of eight bytes surely stands for itself.
  static bool are_plain(const char* eight) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, eight, sizeof bytes);
    const auto quote = bytes ^ (ones * '"');
    const auto backslash = bytes ^ (ones * '\\');
    // The top bit of a byte that is less than the number; of those above the lowest, perhaps.
    const auto odd = ((bytes - ones * 0x20) & ~bytes) | ((quote - ones) & ~quote)
                     | ((backslash - ones) & ~backslash);
    return (odd & (ones * 0x80)) == 0;
  }

  void add_escaped(std::string_view text);

  std::string& out_;
  std::size_t size_ = 0;
  std::array<char, 2048> gathered_;
};

}  // namespace nomad
