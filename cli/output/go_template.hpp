// The part of Go's text/template that -t is used with: fields, pipelines, range, if, with, else,
// variables and the functions index, len, printf, print, println, json, eq, ne, lt, gt, and, or,
// not.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "runtime/base/result.hpp"

namespace nomad::cli {

/// The error says what in the template is wrong.
Result<std::string> render_go_template(std::string_view text, const boost::json::value& data);

}  // namespace nomad::cli
