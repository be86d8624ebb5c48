// DecisionLog: keeps what the scheduler's newest decisions on this server were made from and led
// to, for people who ask why, and so that a decision can be made again.
//
// Owns:   the RowRing `<data_dir>/server/decisions.db`; in a thread of its own of low priority,
//         because writing blocks and nobody waits for it. A batch is written a tenth of a second
//         after its first decision, without a sync; what finds no room on the disk is dropped.
// Takes:  ReadDecisions; its feed's news, which are bounded.
// Parent: server, restart; the file stays open meanwhile.
// Ends:   by the parent's exit message; what the feed has then is not kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/server/decisions/decision_feed.hpp"
#include "runtime/object/object.hpp"
#include "runtime/storage/row_ring.hpp"
#include "runtime/telemetry/server_metrics.hpp"
#include "schema/decision.capnp.h"

namespace nomad::server {

/// Of decisions that are kept on this server, the newest first.
struct ReadDecisions {
  using is_message = void;
  std::string eval_prefix = {};  ///< Of evaluations whose id begins so.
  std::uint64_t before = 0;      ///< Of a lower number; 0: of any.
  std::size_t most = 100;
};

struct KeptDecisions {
  using is_message = void;

  struct Row {
    Object<schema::KeptDecision> decision;
    Object<schema::PlanEnd> end;  ///< Empty: it had no plan, or nothing was heard of it.
  };

  std::vector<Row> rows;
  bool has_more = false;  ///< Older ones.
};

using DecisionLog = actor::Interface<KeptDecisions(ReadDecisions)>;

/// What a server keeps at most: 10,000 decisions and 64 MiB, whatever is less.
inline constexpr storage::RingLimits kept_decisions{};

/// Bytes of one answer, about.
inline constexpr std::size_t most_bytes_read = std::size_t{16} << 20;

struct StartedDecisionLog {
  DecisionLog log;
  std::shared_ptr<DecisionFeed> feed;
};

/// Opens `<directory>/decisions.db` and starts the actor. The error is the file's.
Result<StartedDecisionLog> start_decision_log(const actor::Owner& owner,
                                              const std::string& directory,
                                              std::shared_ptr<telemetry::ServerMetrics> metrics);

/// The same over a ring that tests have opened, without a thread.
StartedDecisionLog start_decision_log_inline(const actor::Owner& owner,
                                             std::shared_ptr<storage::RowRing> ring,
                                             std::shared_ptr<telemetry::ServerMetrics> metrics);

}  // namespace nomad::server
