// Small helpers of the fingerprints' parsers.
#pragma once

#include <string_view>
#include <vector>

namespace nomad::host {

inline std::string_view trim(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  std::size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

/// The parts between `separator`s, empty ones included.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = text.find(separator, begin);
    if (end == std::string_view::npos) end = text.size();
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The parts between runs of white space.
inline std::vector<std::string_view> fields(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  std::vector<std::string_view> parts;
  for (std::size_t begin = text.find_first_not_of(space); begin != std::string_view::npos;) {
    std::size_t end = text.find_first_of(space, begin);
    parts.push_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) break;
    begin = text.find_first_not_of(space, end);
  }
  return parts;
}

}  // namespace nomad::host
