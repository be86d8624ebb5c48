#include "runtime/query/members.hpp"

#include <algorithm>

namespace nomad::query {
namespace {

/// The place behind the string whose opening quote is at `at`.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

/// The place of the comma or brace that ends the value at `at`.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  for (std::size_t depth = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      at = behind_string(text, at) - 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == '}')) {
      return at;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return at;
}

}  // namespace

Members::Members(std::string_view names) {
  while (!names.empty()) {
    const auto comma = std::min(names.find(','), names.size());
    if (comma != 0) names_.emplace_back(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
}

void Members::keep(std::string& text, std::size_t begin) const {
  if (are_all() || begin >= text.size() || text[begin] != '{') return;
  auto kept = begin + 1;  // where the next member goes
  for (auto at = begin + 1; at < text.size() && text[at] == '"';) {
    const auto value = behind_string(text, at) + 1;
    const auto end = end_of_value(text, value);
    const auto name = std::string_view{text}.substr(at + 1, value - at - 3);
    if (std::ranges::find(names_, name) != names_.end()) {
      if (kept != begin + 1) text[kept++] = ',';
      if (kept != at)
        std::copy(text.begin() + static_cast<std::ptrdiff_t>(at),
                  text.begin() + static_cast<std::ptrdiff_t>(end),
                  text.begin() + static_cast<std::ptrdiff_t>(kept));
      kept += end - at;
    }
    at = end + 1;
  }
  text.resize(kept);
  text += '}';
}

}  // namespace nomad::query
