// The text of a template with `env = true`: a line for each variable, as Nomad reads it.
//
//   line  = blank | "#"… | [ "export " ] key "=" value [ "#"… ]
//   value : unquoted up to white space at its end or a "#"; 'as it is'; "with \" \\ \/ \b \f \r \n
//           \t and \u263a"; one behind the other
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::templates {

/// Fails in Nomad's words: "error on line 2: missing =".
Result<std::map<std::string, std::string>> parse_environment_file(std::string_view text);

}  // namespace nomad::templates
