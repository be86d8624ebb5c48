// Shows a page in the user's browser.
#pragma once

#include <string>

namespace nomad::cli {

/// Has the browser that the desktop prefers show the URL; whether one was found. That it was
/// started does not say that anybody sees the page.
bool open_browser(const std::string& url);

}  // namespace nomad::cli
