// Monitor: follows an evaluation until it is settled, then the deployment it made, and prints what
// happens as it happens. Used by every command that starts something.
#pragma once

#include <string>

#include "cli/api.hpp"

namespace nomad::cli {

struct MonitorOptions {
  bool verbose = false;  ///< Whole ids.
  bool follow_deployment = true;
};

/// Returns the command's exit code: 0, 1 for errors and failed deployments, 2 when the evaluation
/// ended without placing everything.
int monitor_evaluation(Api& api, const std::string& eval_id, const MonitorOptions& options);

/// Follows a deployment to its end. On a terminal the view is redrawn in place.
int monitor_deployment(Api& api, const std::string& deployment_id, bool verbose);

}  // namespace nomad::cli
