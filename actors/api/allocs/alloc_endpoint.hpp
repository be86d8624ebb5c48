// What other resources need of the allocations' endpoint.
#pragma once

#include <string>
#include <vector>

#include "actors/api/http/routes.hpp"
#include "runtime/state/rows.hpp"

namespace nomad::api {

/// The JSON array of the stubs of `rows`, oldest first.
std::string stub_list(std::vector<state::AllocRef> rows);

/// The results of an allocation's checks, at either of its two paths.
Outcome alloc_checks(Call& call, const ClientParts& parts);

/// The lines of a task's logs with their times (line_query.hpp), from its node:
/// /v1/client/fs/lines.
Outcome read_log_lines(Call& call, const ClientParts& parts);

/// An allocation's ephemeral disk, for who has its migrate token.
Outcome alloc_snapshot(Call& call, const ClientParts& parts);

}  // namespace nomad::api
