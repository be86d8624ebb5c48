// What -t is used with: Go's text/template on the API's answer, with sprig's functions under
// "sprig_", `json` and `toJSON`.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "runtime/base/result.hpp"

namespace nomad::cli {

/// A key that the data lacks is an error, for it is a mistake in the template as a field that a
/// structure lacks is in Go. The error says where in the template what is wrong.
Result<std::string> render_go_template(std::string_view text, const boost::json::value& data);

}  // namespace nomad::cli
