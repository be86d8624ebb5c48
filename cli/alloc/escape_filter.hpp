// EscapeFilter: finds the escape character in what a user types, as OpenSSH does: it counts at the
// beginning of a line only. Twice is the character itself, with a '.' behind it the connection
// is closed; before anything else it is an ordinary character. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nomad::cli {

class EscapeFilter {
public:
  /// None: everything goes through.
  explicit EscapeFilter(std::optional<char> escape) : escape_{escape} {}

  /// What is to be sent of `typed`; what is behind the end of the connection is dropped.
  std::string feed(std::string_view typed);

  /// The user has closed the connection.
  bool is_closed() const { return is_closed_; }

  /// At the end of the input: an escape character that nothing followed.
  std::string rest();

private:
  const std::optional<char> escape_;
  bool at_line_start_ = true;
  bool has_escape_ = false;  ///< The escape character came, and nothing after it yet.
  bool is_closed_ = false;
};

}  // namespace nomad::cli
