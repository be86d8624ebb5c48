#include "runtime/workload/interpolation.hpp"

#include <algorithm>

namespace nomad::workload {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name_character(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

}  // namespace

std::string interpolate(std::string_view text, const Lookup& lookup) {
  std::string out;
  std::size_t copied = 0;
  for (auto start = text.find("${"); start != text.npos; start = text.find("${", start + 2)) {
    auto end = start + 2;
    while (end < text.size() && is_name_character(text[end]))
      ++end;
    if (end == start + 2 || end == text.size() || text[end] != '}') continue;
    const auto value = lookup(text.substr(start + 2, end - start - 2));
    if (!value) continue;
    out.append(text.substr(copied, start - copied)).append(*value);
    copied = end + 1;
  }
  if (copied == 0) return std::string{text};
  return out.append(text.substr(copied));
}

std::string clean_variable(std::string_view name) {
  std::string cleaned{name};
  for (std::size_t i = 0; i < cleaned.size(); ++i) {
    const char c = cleaned[i];
    if (c != '_' && !is_letter(c) && !(i > 0 && is_digit(c))) cleaned[i] = '_';
  }
  return cleaned;
}

}  // namespace nomad::workload
