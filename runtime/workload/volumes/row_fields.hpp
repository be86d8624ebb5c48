// Texts as one value of the client's database, with a zero byte between them; and back.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nomad::workload {

inline std::string join_fields(const std::vector<std::string>& fields) {
  std::string bytes;
  for (const auto& field : fields) {
    if (&field != &fields.front()) bytes += '\0';
    bytes += field;
  }
  return bytes;
}

/// None: there are more or fewer than `count`.
inline std::optional<std::vector<std::string_view>> split_fields(std::string_view bytes,
                                                                 std::size_t count) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; fields.size() <= count;) {
    const auto end = bytes.find('\0', begin);
    fields.push_back(bytes.substr(begin, end - begin));
    if (end == bytes.npos) break;
    begin = end + 1;
  }
  if (fields.size() != count) return std::nullopt;
  return fields;
}

/// A whole text in decimal.
template <class Number>
bool read_number(std::string_view text, Number& to) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), to);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size();
}

}  // namespace nomad::workload
