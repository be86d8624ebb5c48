// Secrets in the path of a request: people take a token's secret for its accessor, or for any other
// id, and put it where that belongs. The log of the agent has the patterns of routes and no paths
// (route_of); what has to name the object, the audit log, takes these out.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/base/secret.hpp"
#include "runtime/state/store.hpp"

namespace nomad::api {

class Call;

/// What of `text`, a path or a name, is the secret of a token or a one-time token in `store`, or
/// looks like a signed identity; at most 16. An agent without a store, null, cannot tell, and takes
/// each id below "/v1/acl/token/" for one, as everybody does below "/v1/acl/token/onetime/".
/// Thread-safe.
std::vector<SecretText> secrets_in(std::string_view text,
                                   const std::shared_ptr<state::Store>& store);

/// The pattern of the route that serves the call, as logs have it: "/v1/job/*/plan"; empty before
/// one is chosen. Valid as long as the call's route.
std::string_view route_of(const Call& call);

/// The same of what is listed as "PUT /v1/job/*/plan".
std::string_view pattern_of(std::string_view listed);

}  // namespace nomad::api
