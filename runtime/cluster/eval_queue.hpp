// EvalQueue: which evaluation a scheduler works on next. The deciding half of the eval broker.
//
// May depend on: runtime/base. Not thread-safe; one actor owns it. Time is passed in.
//
// Delivery is at least once: a dequeued evaluation is *outstanding* under a token until it is
// acknowledged (it is done), refused (nack), or its nack time-out passes, which counts as a nack.
// A worker that lost its delivery finds its token stale, so whatever it writes later changes
// nothing. After `delivery_limit` deliveries it goes to the `failed_queue`, where the reaper ends
// it.
//
// Invariants, for each job (namespace and id):
//   (1) at most one of its evaluations is ready, outstanding or waiting after a nack: its *claim*;
//   (2) the others are pending behind the claim, and when it is acknowledged the best of them
//       becomes ready while the rest are cancelable, because they cannot know anything newer;
//   (3) an evaluation is in exactly one of ready, outstanding, waiting, pending, cancelable.
// And overall: a dequeue never returns an evaluation while a higher-priority ready one of an
// allowed type exists.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/base/result.hpp"

namespace nomad::cluster {

using TimePoint = std::chrono::steady_clock::time_point;

/// What the queue needs to know of an evaluation.
struct EvalEntry {
  std::string id;
  std::string ns;
  std::string job_id;
  std::string type;  ///< The scheduler: "service", "batch", "system", "sysbatch", or a plugin's.
  std::int32_t priority = 50;
  std::uint64_t create_index = 0;
  std::uint64_t modify_index = 0;
  /// Not handed out before this time; the epoch means at once.
  TimePoint not_before{};
};

/// A dequeued evaluation and the token that its worker shows with every later call.
struct EvalDelivery {
  EvalEntry eval;
  std::string token;
  std::uint32_t deliveries = 0;  ///< How often it was handed out, this time included.
};

struct EvalQueueOptions {
  std::chrono::milliseconds nack_timeout{60'000};
  std::uint32_t delivery_limit = 3;
  std::chrono::milliseconds first_nack_delay{1'000};
  std::chrono::milliseconds later_nack_delay{20'000};  ///< Times (deliveries - 1).
};

class EvalQueue {
public:
  /// The type under which evaluations wait that were delivered too often.
  static constexpr std::string_view failed_queue = "_failed";
  /// As a type to be asked for: every one that is not named beside it.
  static constexpr std::string_view other_types = "*";

  struct Stats {
    std::size_t ready = 0;
    std::size_t outstanding = 0;
    std::size_t pending = 0;
    std::size_t waiting = 0;
    std::size_t cancelable = 0;
    std::map<std::string, std::pair<std::size_t, std::size_t>> by_type;  ///< ready, outstanding
  };

  /// An evaluation that its own delay keeps from being handed out.
  struct Delayed {
    std::string id;
    std::string ns;
    std::string job_id;
    TimePoint due{};
  };

  explicit EvalQueue(EvalQueueOptions options = {}) : options_{options} {}

  /// Takes `eval` in. A known id is ignored, except that one whose `token` is the outstanding one
  /// is kept and taken in when that delivery is acknowledged (a reblocked evaluation that has been
  /// unblocked meanwhile).
  void enqueue(EvalEntry eval, TimePoint now, std::string_view token = {});

  /// Hands out the best ready evaluation of one of `types`, or nothing. Between types whose best
  /// ones have equal rank, `random` decides, so that none starves.
  std::optional<EvalDelivery> dequeue(std::span<const std::string> types,
                                      TimePoint now,
                                      Random& random);

  /// The work is done. Error (conflict) unless `token` is the outstanding one of `id`.
  Result<> ack(std::string_view id, std::string_view token, TimePoint now);

  /// The work failed; it will be delivered again after a delay. Errors as `ack`.
  Result<> nack(std::string_view id, std::string_view token, TimePoint now);

  /// Restarts the nack time-out of a slow but living worker. Errors as `ack`.
  Result<> touch(std::string_view id, std::string_view token, TimePoint now);

  /// Stops the nack time-out, while the worker's plan waits in the plan queue. Errors as `ack`.
  Result<> pause_nack(std::string_view id, std::string_view token);

  /// Starts it again with the full duration. Errors as `ack`.
  Result<> resume_nack(std::string_view id, std::string_view token, TimePoint now);

  /// The token of the outstanding delivery of `id`, if there is one. Valid until the next change.
  std::optional<std::string_view> outstanding(std::string_view id) const;

  /// Moves what has become due by `now`: waiting ones become ready, expired deliveries are nacked.
  /// Returns the ids whose delivery expired.
  std::vector<std::string> advance(TimePoint now);

  /// When `advance` has something to do next.
  std::optional<TimePoint> next_deadline() const;

  /// Removes and returns at most `limit` evaluations that were superseded, oldest first; their
  /// status is to become `canceled`.
  std::vector<EvalEntry> take_cancelable(std::size_t limit);

  /// Forgets everything; leadership is lost, or the broker is paused.
  void clear();

  /// Forgets everything but what is outstanding, whose workers go on: to take in anew what there
  /// is.
  void clear_undelivered();

  Stats stats() const;

  /// Those that wait for their own time, soonest first, `limit` at most. Not those that wait after
  /// a nack.
  std::vector<Delayed> delayed(std::size_t limit) const;

private:
  using JobKey = std::string;  ///< namespace, NUL, job id

  struct ReadyOrder {
    bool operator()(const EvalEntry& a, const EvalEntry& b) const;
  };

  struct PendingOrder {
    bool operator()(const EvalEntry& a, const EvalEntry& b) const;
  };

  struct Outstanding {
    EvalEntry eval;
    std::string token;
    std::uint32_t deliveries;
    TimePoint nack_at;  ///< Also in `nack_deadlines_`, unless paused.
    bool paused = false;
  };

  static JobKey job_key(const EvalEntry& eval);
  void admit(EvalEntry eval, std::string_view queue);
  Result<Outstanding*> find(std::string_view id, std::string_view token);
  void refuse(Outstanding delivery, TimePoint now);
  void release_claim(const JobKey& job);

  EvalQueueOptions options_;
  std::unordered_map<std::string, std::uint32_t> deliveries_;  ///< All known ids.
  std::unordered_map<JobKey, std::string> claims_;             ///< (1)
  std::unordered_map<JobKey, std::set<EvalEntry, PendingOrder>> pending_;
  std::map<std::string, std::set<EvalEntry, ReadyOrder>, std::less<>> ready_;
  std::unordered_map<std::string, Outstanding> outstanding_;
  std::set<std::pair<TimePoint, std::string>> nack_deadlines_;
  std::unordered_map<std::string, EvalEntry> requeue_;  ///< By token.
  std::multimap<TimePoint, EvalEntry> waiting_;
  std::vector<EvalEntry> cancelable_;
};

}  // namespace nomad::cluster
