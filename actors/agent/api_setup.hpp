// What the API of an agent is started with, as its configuration says: the audit log, who is
// counted and limited, and how searches are bounded.
#pragma once

#include <string>

#include "actors/api/api.hpp"
#include "actors/api/audit/auditor.hpp"
#include "actors/api/http/call_meter.hpp"
#include "runtime/config/agent_config.hpp"

namespace nomad::agent {

/// Without a sink in the configuration: one whose delivery is enforced, in the data directory.
api::AuditOptions audit_options(const config::AgentConfig& config, const std::string& http_address);

/// Whether metrics say who asks.
bool names_callers(const config::AgentConfig& config);

api::MeterOptions meter_options(const config::AgentConfig& config);

/// The configuration has been checked.
api::SearchOptions search_options(const config::Search& from);

}  // namespace nomad::agent
