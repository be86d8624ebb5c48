// How the commands lay out text: tables, key-value blocks, ages, sizes, colours. As Nomad does it,
// because people and scripts read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output/json_view.hpp"

namespace nomad::cli {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Columns two spaces apart; empty cells read "<none>". The first row is the header. No line break
/// at the end.
std::string table(const Rows& rows);

/// `Key = Value` lines with aligned keys; empty values read "<none>".
std::string pairs(const Pairs& rows);

/// The same of values of several lines: the others stand below the first.
std::string pairs_of_lines(const Pairs& rows);

/// A section title as Nomad shows it: bold where colour is on.
std::string title(std::string_view text);

/// Writes a titled part of a command's output to stdout, after an empty line.
void print_section(std::string_view name, const std::string& body);

/// `text` in yellow, green or red where colour is on.
std::string colored(std::string_view text, std::string_view color);

/// Whether `descriptor` is a terminal that shows colour, and neither NO_COLOR (no-color.org) nor
/// TERM=dumb say that none is wanted.
bool takes_color(int descriptor);

/// Whether stdout gets colour. Set by the flags of a command, before it prints.
void set_color(bool on);
bool color_enabled();

/// The first eight characters, or all of them.
std::string shown_id(const std::string& id, bool verbose);

/// "2m43s ago" from Unix nanoseconds; "<none>" for 0.
std::string age(std::int64_t unix_nanoseconds);
/// "1007h5m54s from now": Go's duration, in whole seconds.
std::string until(std::int64_t unix_nanoseconds);
/// The two most significant units of a duration: "1h2m".
std::string short_duration(std::int64_t nanoseconds);
/// "2026-01-02T03:04:05Z", in the local zone; "N/A" for 0.
std::string clock_time(std::int64_t unix_nanoseconds);
/// The same in a zone that is so many seconds east of Greenwich.
std::string clock_time(std::int64_t unix_nanoseconds, std::int64_t offset);
/// The same, in the local zone, of an RFC 3339 text or null.
std::string clock_time(const View& rfc3339);
/// Now as `clock_time` shows it.
std::string clock_now();

/// "4.0 KiB", "106 MiB".
std::string bytes(std::uint64_t count);

/// A value as 4-space indented JSON, without a line break at the end.
std::string json_text(const boost::json::value& value);

/// Prints a value as 4-space indented JSON.
void print_json(const boost::json::value& value);

}  // namespace nomad::cli
