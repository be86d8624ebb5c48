// html, js and urlquery of Go's text/template.
#pragma once

#include <string>
#include <string_view>

namespace nomad::templates {

std::string escape_html(std::string_view text);
std::string escape_js(std::string_view text);

/// Go's url.QueryEscape: a space is "+".
std::string escape_query(std::string_view text);

}  // namespace nomad::templates
