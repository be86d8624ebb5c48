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

/// What stands between "${" and "}" as the name that it is looked up by; nothing if it is none.
struct Reference {
  std::string name;
  std::size_t end;  ///< Of the whole text, behind its "}".
};

std::optional<Reference> read_reference(std::string_view text, std::size_t begin) {
  auto end = begin;
  while (end < text.size() && is_name_character(text[end]))
    ++end;
  if (end == begin || end == text.size()) return std::nullopt;
  const auto name = text.substr(begin, end - begin);
  if (text[end] == '}') return Reference{std::string{name}, end + 1};
  if (!text.substr(end).starts_with("[\"")) return std::nullopt;
  const auto key = end + 2, close = text.find('"', key);
  if (close == text.npos || close == key || !text.substr(close).starts_with("\"]}"))
    return std::nullopt;
  const auto member = std::string{text.substr(key, close - key)};
  return Reference{name == "env" ? member : std::string{name} + "." + member, close + 3};
}

}  // namespace

std::string interpolate(std::string_view text, const Lookup& lookup) {
  std::string out;
  std::size_t copied = 0;
  for (auto start = text.find("${"); start != text.npos; start = text.find("${", start + 2)) {
    const auto reference = read_reference(text, start + 2);
    if (!reference) continue;
    const auto value = lookup(reference->name);
    if (!value) continue;
    out.append(text.substr(copied, start - copied)).append(*value);
    copied = reference->end;
  }
  if (copied == 0) return std::string{text};
  return out.append(text.substr(copied));
}

std::string clean_variable(std::string_view name) {
  std::string cleaned{name};
  for (std::size_t i = 0; i < cleaned.size(); ++i) {
    const char c = cleaned[i];
    if (c != '_' && c != '.' && !is_letter(c) && !(i > 0 && is_digit(c))) cleaned[i] = '_';
  }
  return cleaned;
}

}  // namespace nomad::workload
