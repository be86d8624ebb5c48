#include "runtime/net/http/client/head_lines.hpp"

#include <utility>

namespace nomad::net {

std::string HeadLines::take(std::string_view& input) {
  std::string out;
  while (!is_whole_ && !input.empty()) {
    const char c = input.front();
    input.remove_prefix(1);
    if (c == '\n') {
      out += line_end();
      continue;
    }
    if (std::exchange(has_return_, c == '\r')) out += '\r';
    ++line_bytes_;
    if (c == ' ') ++spaces_;
    if (c != '\r') out += c;
  }
  return out;
}

std::string HeadLines::line_end() {
  const bool lacks_space = std::exchange(is_status_line_, false) && spaces_ == 1;
  is_whole_ = line_bytes_ == (has_return_ ? 1 : 0);
  line_bytes_ = 0;
  has_return_ = false;
  return lacks_space ? " \r\n" : "\r\n";
}

}  // namespace nomad::net
