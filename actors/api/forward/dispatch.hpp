// Dispatch: runs an operation where it is to be served (destination.hpp): here, or by way of a
// Relay.
#pragma once

#include <string>

#include "actors/api/forward/destination.hpp"
#include "actors/api/forward/relay.hpp"

namespace nomad::api {

/// The region that serves it: the one that the request names, the authoritative one of what holds
/// in all, or our own.
std::string region_of(Where where, const Call& call);

/// Whether that is not ours: unless the request is about this agent itself, it is passed on to
/// there, and judged there.
bool is_of_other_region(Where where, const Call& call);

/// Whether this server passes it on to the leader, as things stand.
bool goes_to_leader(Where where, const Call& call);

/// `run` serves it here.
void dispatch(Where where, Call call, const Run& run);

/// Passes a call on to its node (`Call::node`), which does not know the question that it was asked:
/// it is of the release before the questions.
void relay_to_node(Call call);

/// Passes a call on that turned out to belong to another region.
void dispatch_to_region(Call call, const std::string& region, const Run& run);

/// Passes a call on that turned out to be about what holds in all regions, if that is written
/// elsewhere; whether it was.
bool dispatch_to_authority(Call& call);

}  // namespace nomad::api
