// Servers as clients know gossip members: name, address, status, tags.
#pragma once

#include <string>

#include "actors/api/cluster/cluster_access.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/cluster/members/membership.hpp"

namespace nomad::api {

/// Appends one member as JSON.
void append_member(std::string& out, const cluster::MemberInfo& member);

/// This agent as a member, when it has no table of members.
cluster::MemberInfo member_of(const AgentInfo& agent);

/// All that are known; of an agent without a table of them, itself.
server::membership::Members members_of(const AgentParts& parts);

}  // namespace nomad::api
