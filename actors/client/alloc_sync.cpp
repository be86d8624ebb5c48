#include "actors/client/alloc_sync.hpp"

#include "actors/core/newest.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
#include "runtime/workload/client_status.hpp"

namespace nomad::client {
namespace {

using namespace std::chrono_literals;

constexpr auto update_timeout = 30s;

/// It may be time to send. Stale unless it is the latest one.
struct Due {
  using is_message = void;
  std::uint64_t round;
};

/// Behind everything that was in the mailbox when the first of several states came.
struct Gathered {
  using is_message = void;
};

using SyncSelf = actor::WithInternal<AllocSync, void(Due), void(Gathered)>;

struct SyncState {
  static constexpr const char* name = "alloc_sync";

  explicit SyncState(SyncSelf::pointer actor) : self{actor} {}

  SyncSelf::pointer self;
  SyncSetup setup;
  workload::SyncBuffer buffer;
  Random random{0};
  std::uint64_t round = 0;
  std::optional<Nanoseconds> timer;  ///< When the latest Due fires.
  bool gathers = false;              ///< A Gathered is under way.
  actor::Newest<ClientDb, client_db::SaveLater> saves;

  Nanoseconds now() const { return self->now().time_since_epoch(); }

  /// Sends if it is time, otherwise sees to it that somebody wakes us when it is.
  void proceed() {
    const auto current = now();
    auto batch = buffer.take(current);
    if (!batch.empty()) {
      send(std::move(batch));
      return;
    }
    const auto due = buffer.due(current);
    if (!due || (timer && *timer <= *due)) return;
    timer = due;
    actor::send_self_after(self, *due - current, Due{++round});
  }

  void send(std::vector<Object<schema::Allocation>> batch) {
    const auto count = batch.size();
    auto report = door::make_ask(
        setup.node_id,
        [this](auto& ask) {
          ask.setUpdateAllocs(setup.numbers->next());
          ask.setMayWait(buffer.may_wait());
        },
        door::rows_of(batch));
    const auto priority = door::priority_of(report);
    self->request(setup.servers, update_timeout, std::move(report), priority)
        .then([this](const door::Reply&) { acknowledged(); },
              [this, count](const Error& err) { refused(count, err); });
  }

  void acknowledged() {
    NOMAD_FAILPOINT("client.reported");
    storage::ClientBatch changes;
    sync::Reported news;
    for (const auto& [alloc_id, state] : buffer.succeeded(now())) {
      client_db::put_acknowledged(changes, alloc_id, state);
      if (is_client_terminal(state.status)) news.ended.push_back(alloc_id);
    }
    saves.tell(self, setup.db, {std::move(changes)});
    self->send(setup.parent, std::move(news));
    proceed();
  }

  /// What was acknowledged may still wait to be saved, and come behind the allocation's erasure.
  void forget(const std::string& alloc_id) {
    buffer.forget(alloc_id);
    storage::ClientBatch changes;
    client_db::erase_acknowledged(changes, alloc_id);
    saves.tell(self, setup.db, {std::move(changes)});
  }

  void refused(std::size_t count, const Error& err) {
    log::warn("client", "updating allocations failed", {{"count", count}, {"error", err}});
    buffer.failed(now(), random);
    proceed();
  }
};

SyncSelf::behavior_type alloc_sync(SyncSelf::stateful_pointer<SyncState> self, SyncSetup setup) {
  self->state.buffer = workload::SyncBuffer{setup.timing};
  self->state.random = Random{self->seed(setup.seed)};
  self->state.setup = std::move(setup);
  actor::on_exit(self, [self] {
    self->state.saves.flush(self);
    self->quit();
  });

  return {
      [self](sync::StateChanged& msg) {
        if (msg.again) self->state.buffer.doubt(msg.alloc_id);
        self->state.buffer.put(msg.alloc_id, msg.version, std::move(msg.update));
        if (!std::exchange(self->state.gathers, true)) actor::send_self(self, Gathered{});
      },
      [self](const sync::Forget& msg) { self->state.forget(msg.alloc_id); },
      [self](sync::Open) {
        self->state.buffer.open();
        self->state.proceed();
      },
      [self](sync::SendNow) {
        self->state.buffer.send_now();
        self->state.proceed();
      },
      [self](const sync::Restore& msg) {
        self->state.buffer.restore(msg.alloc_id, msg.acknowledged);
      },
      [self](Gathered) {
        self->state.gathers = false;
        self->state.proceed();
      },
      [self](Due msg) {
        if (msg.round != self->state.round) return;
        self->state.timer.reset();
        self->state.proceed();
      },
  };
}

}  // namespace

AllocSync spawn_alloc_sync(const actor::Owner& owner, SyncSetup setup) {
  return actor::spawn<actor::Policy::restart>(owner, alloc_sync, std::move(setup));
}

}  // namespace nomad::client
