// JSON's numbers and strings, as strict as RFC 8259; shared by JSON files and `jsondecode`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace nomad::hcl {

bool is_json_number(std::string_view text);

/// Appends what the literal `text`, quotes included, stands for. On a mistake answers how many
/// bytes were read when it showed.
std::optional<std::size_t> unescape_json(std::string_view text, std::string& out);

}  // namespace nomad::hcl
