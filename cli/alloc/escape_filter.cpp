#include "cli/alloc/escape_filter.hpp"

#include <utility>

namespace nomad::cli {

std::string EscapeFilter::feed(std::string_view typed) {
  std::string out;
  out.reserve(typed.size() + 1);
  for (const char c : typed) {
    if (is_closed_) break;
    if (std::exchange(has_escape_, false)) {
      if (c == '.') {
        is_closed_ = true;
        break;
      }
      out += *escape_;
      at_line_start_ = false;
      if (c == *escape_) continue;
    } else if (escape_ && at_line_start_ && c == *escape_) {
      has_escape_ = true;
      continue;
    }
    out += c;
    at_line_start_ = c == '\n' || c == '\r';
  }
  return out;
}

std::string EscapeFilter::rest() {
  return std::exchange(has_escape_, false) ? std::string{*escape_} : std::string{};
}

}  // namespace nomad::cli
