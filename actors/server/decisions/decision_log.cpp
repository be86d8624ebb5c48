#include "actors/server/decisions/decision_log.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/kept_decision.hpp"
#include "runtime/storage/reserve.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;

/// Write them.
struct WriteDue {
  using is_message = void;
};

using DecisionLogSelf = actor::WithInternal<DecisionLog, void(WriteDue)>;

constexpr auto gathering_time = 100ms;
constexpr auto complain_again_after = 60s;
constexpr std::size_t batch_bytes = std::size_t{4} << 20;  ///< Encoded, before it is written.

/// A third of what threads at normal priority get of a busy processor.
constexpr int niceness = 5;

struct DecisionLogState {
  static constexpr const char* name = "decision_log";

  using Self = DecisionLogSelf::stateful_pointer<DecisionLogState>;

  struct Batch {
    std::vector<std::pair<std::uint64_t, Object<schema::KeptDecision>>> decisions;
    std::vector<std::pair<std::uint64_t, Object<schema::PlanEnd>>> ends;
    std::size_t bytes = 0;
    std::size_t dropped = 0;

    void add(const DecisionFeed::News& news) {
      if (const auto* decided = std::get_if<scheduler::Decided>(&news)) {
        auto kept = scheduler::keep_decision(*decided);
        if (kept.size_in_bytes() > kept_decisions.row_bytes) {
          ++dropped;
          return;
        }
        bytes += kept.size_in_bytes();
        decisions.emplace_back(decided->number, std::move(kept));
      } else if (const auto& ended = std::get<scheduler::PlanEnded>(news); ended.number != 0) {
        ends.emplace_back(ended.number, scheduler::keep_plan_end(ended));
        bytes += ends.back().second.size_in_bytes();
      }
    }
  };

  Self self = nullptr;
  std::shared_ptr<storage::RowRing> ring;
  std::shared_ptr<DecisionFeed> feed;
  std::shared_ptr<telemetry::ServerMetrics> metrics;
  std::string directory;  ///< Where room is asked for; empty: it is not.
  bool gathers = false;
  std::optional<std::chrono::steady_clock::time_point> complained;

  void gather() {
    if (std::exchange(gathers, true)) return;
    actor::send_self_after(self, gathering_time, WriteDue{});
  }

  /// Writes all that waits.
  void keep() {
    gathers = false;
    const auto begun = self->now();
    auto taken = feed->take();
    metrics->count("decision.dropped", taken.dropped);
    if (taken.news.empty()) return;
    Batch batch;
    for (auto& news : taken.news) {
      batch.add(news);
      news = scheduler::PlanEnded{};  // what it refers to goes as soon as it can
      if (batch.bytes >= batch_bytes) write(std::exchange(batch, {}));
    }
    write(std::move(batch));
    metrics->measure("decision.keep", self->now() - begun);
  }

  void write(const Batch& batch) {
    std::vector<storage::RingRow> rows;
    for (const auto& [number, kept] : batch.decisions)
      rows.push_back({number, view(kept->getEvaluation().getId()), kept.bytes()});
    std::vector<storage::RingNote> notes;
    for (const auto& [number, end] : batch.ends)
      notes.push_back({number, end.bytes()});
    const auto written = try_to_write(rows, notes);
    metrics->count("decision.kept", written ? rows.size() : 0);
    metrics->count("decision.dropped", batch.dropped + (written ? 0 : rows.size()));
    if (written) return;
    const auto now = self->now();
    if (complained && now - *complained < complain_again_after) return;
    complained = now;
    log::warn("decisions", "what decisions were made from is not kept",
              {{"error", written.error()}});
  }

  Result<> try_to_write(const std::vector<storage::RingRow>& rows,
                        const std::vector<storage::RingNote>& notes) {
    if (!directory.empty()) NOMAD_TRY(storage::require_room(directory));
    return ring->write(rows, notes);
  }

  Result<KeptDecisions> read(const ReadDecisions& msg) {
    keep();  // what was decided before the question
    KeptDecisions answer;
    std::size_t bytes = 0;
    NOMAD_TRY(ring->each(
        msg.before, msg.eval_prefix,
        [&](const storage::RingRow& row, std::span<const std::byte> note) {
          answer.has_more = answer.rows.size() >= msg.most || bytes > most_bytes_read;
          if (answer.has_more) return false;
          auto decision = Object<schema::KeptDecision>::from_bytes(row.value);
          if (!decision) return true;  // of another release
          bytes += decision->size_in_bytes();
          auto& added = answer.rows.emplace_back(KeptDecisions::Row{std::move(*decision), {}});
          if (note.empty()) return true;
          if (auto end = Object<schema::PlanEnd>::from_bytes(note)) added.end = std::move(*end);
          return true;
        }));
    return answer;
  }
};

DecisionLogSelf::behavior_type decision_log(DecisionLogState::Self self,
                                            std::shared_ptr<storage::RowRing> ring,
                                            std::shared_ptr<DecisionFeed> feed,
                                            std::shared_ptr<telemetry::ServerMetrics> metrics,
                                            std::string directory) {
  auto& state = self->state;
  state.self = self;
  state.ring = std::move(ring);
  state.feed = std::move(feed);
  state.metrics = std::move(metrics);
  state.directory = std::move(directory);
  // Its thread is its own. What is kept has time.
  if (!state.directory.empty()
      && setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), niceness) != 0)
    log::warn("decisions", "cannot lower the priority of the thread that keeps decisions",
              {{"error", std::strerror(errno)}});
  state.feed->set_wake(actor::turns_of(self).callback([self] { self->state.gather(); }));
  return {
      [self](const ReadDecisions& msg) -> actor::Answer<KeptDecisions> {
        return actor::answer(self->state.read(msg));
      },
      [self](WriteDue) { self->state.keep(); },
  };
}

}  // namespace

Result<StartedDecisionLog> start_decision_log(const actor::Owner& owner,
                                              const std::string& directory,
                                              std::shared_ptr<telemetry::ServerMetrics> metrics) {
  auto opened = NOMAD_TRY(storage::RowRing::open(directory + "/decisions.db", kept_decisions));
  auto ring = std::make_shared<storage::RowRing>(std::move(opened));
  const auto newest = NOMAD_TRY(ring->newest());
  auto feed = std::make_shared<DecisionFeed>(newest);
  auto spawned = actor::spawn_detached<actor::Policy::restart>(owner, decision_log, std::move(ring),
                                                               feed, std::move(metrics), directory);
  return StartedDecisionLog{std::move(spawned), std::move(feed)};
}

StartedDecisionLog start_decision_log_inline(const actor::Owner& owner,
                                             std::shared_ptr<storage::RowRing> ring,
                                             std::shared_ptr<telemetry::ServerMetrics> metrics) {
  const auto newest = ring->newest();
  auto feed = std::make_shared<DecisionFeed>(newest ? *newest : 0);
  auto spawned = actor::spawn<actor::Policy::restart>(owner, decision_log, std::move(ring), feed,
                                                      std::move(metrics), std::string{});
  return {std::move(spawned), std::move(feed)};
}

}  // namespace nomad::server
