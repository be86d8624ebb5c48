// What a node's host uses in detail: the blocks of `node status -stats`.
#pragma once

#include "cli/output/json_view.hpp"

namespace nomad::cli {

/// Prints a block for each processor, the memory and each disk; nothing without `stats`, which
/// come from /v1/client/stats.
void print_host_stats(const View& stats);

}  // namespace nomad::cli
