#include "runtime/security/variable_items.hpp"

#include <algorithm>
#include <cstring>

namespace nomad::security {
namespace {

constexpr std::size_t length_bytes = 4;

std::byte* put(std::byte* to, std::string_view text) {
  for (std::size_t i = 0; i < length_bytes; ++i)
    *to++ = static_cast<std::byte>(text.size() >> (8 * (length_bytes - 1 - i)));
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

/// Takes one text off the front of `rest`; false when it is cut short.
bool take(std::string_view& rest, std::string_view& text) {
  if (rest.size() < length_bytes) return false;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length = length << 8 | static_cast<unsigned char>(rest[i]);
  rest.remove_prefix(length_bytes);
  if (rest.size() < length) return false;
  text = rest.substr(0, length);
  rest.remove_prefix(length);
  return true;
}

}  // namespace

std::size_t size_of(const Items& items) {
  std::size_t size = 0;
  for (const auto& [key, value] : items)
    size += key.size() + value.size();
  return size;
}

Secret encode_items(Items items) {
  std::stable_sort(items.begin(), items.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Items kept;
  for (const auto& item : items) {
    if (!kept.empty() && kept.back().first == item.first) kept.pop_back();
    kept.push_back(item);
  }
  Secret encoded{size_of(kept) + kept.size() * 2 * length_bytes};
  auto* to = encoded.bytes().data();
  for (const auto& [key, value] : kept)
    to = put(put(to, key), value);
  return encoded;
}

Result<Items> decode_items(const Secret& encoded) {
  Items items;
  for (auto rest = encoded.text(); !rest.empty();) {
    std::string_view key, value;
    if (!take(rest, key) || !take(rest, value))
      return Error{Errc::corrupt, "the items of a variable are cut short"};
    items.emplace_back(key, value);
  }
  return items;
}

}  // namespace nomad::security
