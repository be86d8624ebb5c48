// What of others' text a terminal may be shown. Names, descriptions and errors are what somebody
// registered: control characters in them would move the cursor, hide or forge lines, or type for
// the reader, so they are shown as \x1b. All that a command prints goes through the filters of
// `guard_terminal`; what is bytes for programs or the content of files is printed under a
// RawOutput.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace nomad::cli {

/// `text` without control characters, on one line: a cell of a table.
std::string one_line(std::string_view text);

/// Passes on to another buffer what a terminal may be shown: of control characters line breaks,
/// tabs and, where colour is on, the colours of ours.
class TerminalFilter final : public std::streambuf {
public:
  explicit TerminalFilter(std::streambuf& to) : to_{to} {}

private:
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int_type overflow(int_type c) override;
  int sync() override;
  bool pass(bool is_end);

  std::streambuf& to_;
  std::string kept_;  ///< The beginning of a character or of a colour.
};

/// From now on stdout and stderr are filtered.
void guard_terminal();

/// As long as it lives, both pass on every byte.
class RawOutput {
public:
  RawOutput();
  RawOutput(const RawOutput&) = delete;
  ~RawOutput();

private:
  std::streambuf* filtered_output_ = nullptr;
  std::streambuf* filtered_errors_ = nullptr;
};

}  // namespace nomad::cli
