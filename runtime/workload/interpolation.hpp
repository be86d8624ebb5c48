// `${name}` in the texts of a job: found, looked up and replaced. Unknown names stay as they are.
// `${env["NAME"]}` is a variable whatever its name is made of, and `${meta["key"]}` the same as
// `${meta.key}`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace nomad::workload {

/// The value of a name (letters, digits, `_`, `-`, `.`), if it has one.
using Lookup = std::function<std::optional<std::string_view>(std::string_view name)>;

/// `text` with each `${name}` that `lookup` knows replaced by its value. Values are not looked
/// into again.
std::string interpolate(std::string_view text, const Lookup& lookup);

/// An environment variable's name with everything but letters, digits, `_` and `.` made `_`, as in
/// Nomad's; the first character is no digit either.
std::string clean_variable(std::string_view name);

}  // namespace nomad::workload
