// What the commands of variables share: how one is shown, and what a lost check-and-set says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/api.hpp"
#include "runtime/base/result.hpp"
#include "runtime/net/http/http_client.hpp"

namespace nomad::cli {

inline constexpr std::string_view wildcard_refused
    = "The wildcard namespace (\"*\") is not valid for this command.";

/// Whether stdout is a terminal; several defaults depend on it.
bool on_terminal();

/// "Namespace, Path, …, Items" as a table of keys and values.
std::string variable_table(const View& variable);

/// As the JSON specification that `var put` reads: two spaces deep, Nomad's order of members.
std::string variable_json(const View& variable);

/// As the HCL specification.
std::string variable_hcl(const View& variable);

/// A paragraph in lines of at most `width` columns, each behind `indent`. Breaks behind hyphens
/// too.
std::string wrapped(std::string_view paragraph, std::size_t width, std::string_view indent);

/// An unsigned index as a flag gives it; empty text is "not given". The error is Go's; `too_large`
/// when it is a number.
Result<std::optional<std::uint64_t>> parse_check_index(const std::string& text);

/// If `response` is a refused check-and-set, explains it on stderr and returns the exit code.
/// Without a check there is one reason alone to refuse: a lock.
std::optional<int> explain_conflict(const net::ClientResponse& response,
                                    std::optional<std::uint64_t> check_index);

/// The path of the API for a variable's path, segment by segment.
std::string variable_path(std::string_view path);

}  // namespace nomad::cli
