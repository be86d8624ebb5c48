// The programs that an agent starts, by their paths.
#pragma once

#include <string>

namespace nomad::agent {

struct Programs {
  std::string executor;       ///< nomadctl-executor.
  std::string artifact;       ///< nomadctl-artifact; empty: tasks with artifacts fail.
  std::string plugin_host{};  ///< nomadctl-plugin-host; only where there are plugins.
  std::string csi{};          ///< nomadctl-csi; empty: plugins of CSI can't be asked.
  std::string go_plugin{};    ///< nomadctl-go-plugin; empty: Nomad's own plugins are refused.
};

}  // namespace nomad::agent
