// The web UI at /ui/: the files of subprojects/web-ui as they are in this program, for anybody who
// reaches the agent. They are constants and show nothing; what a page shows, it asks the API for
// with its user's token. A path without a file is a page of the UI, and gets index.html.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/net/http/page_guard.hpp"
#include "runtime/net/http/router.hpp"
#include "web_ui/assets.hpp"

namespace nomad::api {

struct UiOptions {
  bool enabled = true;
  std::vector<std::string> frame_ancestors = {};  ///< Whose pages may frame it; empty: nobody's.
};

/// The answer to a request below /ui/, by the files that there are.
net::Response ui_response(std::span<const web_ui::Asset> assets,
                          const UiOptions& options,
                          const net::Request& request);

/// Adds /ui/, and that / leads there.
void add_ui_pages(net::HttpRouter& router, UiOptions options, net::HostRules hosts);

}  // namespace nomad::api
