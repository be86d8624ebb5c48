// html and js of Go's text/template.
#pragma once

#include <string>
#include <string_view>

namespace nomad::templates {

std::string escape_html(std::string_view text);
std::string escape_js(std::string_view text);

}  // namespace nomad::templates
