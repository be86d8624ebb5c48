// What nodes answer about usage, checks and identities, in the form of the door, which is the
// API's.
#pragma once

#include "actors/roles/client_api.hpp"
#include "actors/roles/node_questions.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::client {

/// `measured` stays null where nothing is measured.
void write_usage(const host::MemoryUsage& from, schema::plugin::MemoryUsage::Builder to);
void write_usage(const host::CpuUsage& from, schema::plugin::CpuUsage::Builder to);

/// What each task uses, and all of them together: with the newest of their timestamps.
door::NodeReply usage_reply(const client_api::AllocUsage& usage);

/// Nomad has the ticks of a core as its share of all that were consumed.
door::NodeReply usage_reply(const host::HostUsage& usage);

door::NodeReply checks_reply(const client_api::CheckReports& reports);

door::NodeReply identities_reply(const std::vector<client_api::IdentityReport>& reports);

}  // namespace nomad::client
