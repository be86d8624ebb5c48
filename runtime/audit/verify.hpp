// Verifier: goes through the files of an audit log, the oldest first, and says which lines are not
// as they were written: edited, missing, swapped, put in, torn.
//
// Pure: bytes come in as they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/audit/chain.hpp"

namespace nomad::audit {

struct Finding {
  std::string file;
  std::uint64_t line = 0;  ///< From 1.
  std::string what;        ///< "was changed after it was written"
};

class Verifier {
public:
  /// More findings are only counted.
  static constexpr std::size_t most_findings = 1'000;

  /// A hash that was noted elsewhere: some line must have it.
  void expect(std::string hash) { expected_ = std::move(hash); }

  bool lacks_expected() const { return !expected_.empty() && !has_expected_; }

  void begin_file(std::string name);
  void feed(std::string_view bytes);
  void end_file();

  const std::vector<Finding>& findings() const { return findings_; }

  std::uint64_t found() const { return found_; }

  /// Lines that are as they were written.
  std::uint64_t good_lines() const { return good_; }

  /// The number of the first line of all; 0: there was none.
  std::uint64_t first_number() const { return first_; }

  const Link& last() const { return last_; }

private:
  void take_line(std::string_view line);
  void find(std::string what);
  bool follows(const ReadLink& read);

  std::string file_;
  std::uint64_t line_ = 0;
  std::string rest_;  ///< Of a line whose end has not come yet.
  bool is_too_long_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t good_ = 0;
  std::uint64_t found_ = 0;
  std::uint64_t damaged_ = 0;  ///< Lines since `last_` that say nothing of themselves.
  Link last_;
  std::string expected_;
  bool has_expected_ = false;
  std::vector<Finding> findings_;
};

/// The number of the first line in `beginning`, that of a file; nothing if it has none.
std::optional<std::uint64_t> first_number_in(std::string_view beginning);

}  // namespace nomad::audit
