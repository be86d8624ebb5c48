#include "cli/browser.hpp"

#include "cli/programs.hpp"
#include "runtime/host/process/spawn.hpp"

namespace nomad::cli {

bool open_browser(const std::string& url) {
  const auto browser = host::spawn({.program = "xdg-open",
                                    .arguments = {url},
                                    .environment = environment_without_secrets(),
                                    .group = host::ProcessGroup::of_own_session,
                                    .searches_path = true});
  return browser.has_value();
}

}  // namespace nomad::cli
