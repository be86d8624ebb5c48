// AuditLog: writes a sink of the audit log.
//
// Owns:   the sink's file (runtime/audit/audit_file.hpp), in a thread of its own: writing blocks.
//         All that has gathered while one batch was written is the next one, so that one sync
//         serves many requests.
// Takes:  Flush; its feed's news, which are bounded. Whoever waits for an event is called back when
//         it is written. What is lost is counted (audit.lost) and told by a line once one can be
//         written.
// Parent: root, restart; the file stays open meanwhile.
// Ends:   by Close, behind what waits; who comes later hears that he is not written.
#pragma once

#include <memory>

#include "actors/api/audit/audit_feed.hpp"
#include "actors/core/actor.hpp"
#include "runtime/audit/audit_file.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::api {

namespace audit_log {

/// Write what waits. It comes by itself, too.
struct Flush {
  using is_message = void;
};

/// Write what waits, and no more from now on.
struct Close {
  using is_message = void;
};

}  // namespace audit_log

using AuditLog = actor::Interface<void(audit_log::Flush), void(audit_log::Close)>;

struct StartedAuditLog {
  AuditLog log;
  std::shared_ptr<AuditFeed> feed;
};

/// Opens the file and starts the actor. `metrics` may be null.
Result<StartedAuditLog> start_audit_log(const actor::Owner& owner,
                                        audit::FileOptions file,
                                        std::shared_ptr<telemetry::Registry> metrics);

}  // namespace nomad::api
