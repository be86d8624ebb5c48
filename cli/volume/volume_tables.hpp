// CSI plugins as `plugin status` shows them.
#pragma once

#include <string>

#include "cli/api.hpp"
#include "cli/output/output.hpp"

namespace nomad::cli {

struct CsiStatusOptions {
  bool is_short = false;
  bool verbose = false;
};

/// All of them, or the one that `id` names or begins. Returns the exit code.
Result<int> print_csi_plugins(Api& api,
                              const std::string& id,
                              const OutputFlags& output,
                              const CsiStatusOptions& options);

}  // namespace nomad::cli
