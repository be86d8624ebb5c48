// EvalBroker: hands evaluations to scheduler workers, one per job at a time, best priority first,
// and keeps those that wait for capacity.
//
// Owns:   the eval queue and the blocked evaluations (runtime/cluster), rebuilt from the state when
//         leadership begins. Nothing here is durable.
// Takes:  what applied batches bring (BatchApplied), the workers' Dequeue, Ack, Nack, …
//         What the scheduler configuration says: paused it hands nothing out and forgets all, as
//         if it did not lead, but workers wait.
// Writes: evaluations that end without a worker: cancelled duplicates, those delivered too often;
//         the scheduler configuration of the agent's own, if the state has none.
// Parent: server, restart. What is open is read from the state, as with a new leader.
// Ends:   by the parent's exit message; waiting workers are answered with `unavailable`.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/server/leadership.hpp"
#include "actors/server/outcome_feed.hpp"
#include "runtime/cluster/eval_queue.hpp"
#include "runtime/object/object.hpp"
#include "runtime/telemetry/server_metrics.hpp"
#include "schema/eval.capnp.h"
#include "schema/operator.capnp.h"

namespace nomad::server {

namespace eval_broker {

/// An evaluation to work on. `eval` is empty when there was none within the time asked for.
struct Delivery {
  using is_message = void;
  Object<schema::Evaluation> eval;
  std::string token;             ///< To show with every later message about it.
  std::uint64_t wait_index = 0;  ///< Decide on a snapshot of at least this index.
};

/// Asks for the next evaluation of one of `types` ("service", "batch", …, or "*": of any that is
/// not named). Answered at once when
/// there is one, else when one comes or `max_wait` is over. While another server leads nothing
/// comes: who waits then has the first evaluation as soon as this one leads. Of a named worker the
/// newest one counts: what it asked before is answered with nothing.
struct Dequeue {
  using is_message = void;
  std::vector<std::string> types;
  std::chrono::milliseconds max_wait{60'000};
  std::string worker = {};  ///< Who asks, one question at a time; "": anybody.
};

/// The worker wants none of what it waits for any more: its Dequeue is answered with nothing.
struct Withdraw {
  using is_message = void;
  std::string worker;
};

struct Done {
  using is_message = void;
};

/// The evaluation is settled. `conflict` when the token is no longer the outstanding one.
struct Ack {
  using is_message = void;
  std::string eval_id;
  std::string token;
};

/// The work failed; deliver it again later. Errors as Ack.
struct Nack {
  using is_message = void;
  std::string eval_id;
  std::string token;
  std::string why{};  ///< For its users, if it fails for good.
};

/// The plan of a living worker waits in the plan queue: its delivery does not time out meanwhile.
struct PauseNack {
  using is_message = void;
  std::string eval_id;
  std::string token;
};

struct ResumeNack {
  using is_message = void;
  std::string eval_id;
  std::string token;
};

/// For metrics and agent/self.
struct Stats {
  using is_message = void;
  cluster::EvalQueue::Stats queue;
  std::size_t blocked = 0;
  std::size_t escaped = 0;
};

struct GetStats {
  using is_message = void;
};

}  // namespace eval_broker

using EvalBroker = actor::Interface<eval_broker::Delivery(eval_broker::Dequeue),
                                    eval_broker::Done(eval_broker::Ack),
                                    eval_broker::Done(eval_broker::Nack),
                                    eval_broker::Done(eval_broker::PauseNack),
                                    eval_broker::Done(eval_broker::ResumeNack),
                                    eval_broker::Stats(eval_broker::GetStats),
                                    void(eval_broker::Withdraw),
                                    void(BatchApplied),
                                    void(Lead)>;

struct EvalBrokerOptions {
  cluster::EvalQueueOptions queue;
  std::chrono::milliseconds retry_failed_interval{60'000};  ///< Of those out of plan attempts.
  std::uint64_t random_seed = 0;
  /// Written by a new leader if the state has none; empty: nothing is.
  Object<schema::SchedulerConfiguration> default_configuration = {};
  std::shared_ptr<telemetry::ServerMetrics> metrics = telemetry::ServerMetrics::make(nullptr);
};

EvalBroker spawn_eval_broker(const actor::Owner& owner,
                             std::shared_ptr<state::Store> store,
                             raft::Proposer proposer,
                             EvalBrokerOptions options);

}  // namespace nomad::server
