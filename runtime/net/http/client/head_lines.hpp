// HeadLines: brings the lines of an answer's head into the form that the parser takes: each ends
// with CRLF, and a space follows the status. Small servers write LF alone and no space; Go and curl
// take that. Pure. Internal to runtime/net.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nomad::net {

class HeadLines {
public:
  /// Takes the bytes of the head off `input`, and gives them as they are to be parsed.
  std::string take(std::string_view& input);

  /// The empty line at the end has come.
  bool is_whole() const { return is_whole_; }

private:
  std::string line_end();

  bool is_status_line_ = true;
  std::size_t line_bytes_ = 0;
  std::size_t spaces_ = 0;
  bool has_return_ = false;  ///< The last byte was CR, which is not given out yet.
  bool is_whole_ = false;
};

}  // namespace nomad::net
