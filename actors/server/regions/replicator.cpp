#include "actors/server/regions/replicator.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/server/actor_proposer.hpp"
#include "actors/server/regions/region_rows.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using cluster::Replica;
using cluster::RowMark;
using cluster::SharedKind;
using schema::rpc::RegionRowsReply;
using schema::rpc::RegionRowsRequest;

constexpr auto answer_patience = 10s;
constexpr auto replication_complaint_pause = 1min;
constexpr std::size_t most_complaints = 100;

/// A rest of the kind at `place` is over.
struct GoOn {
  using is_message = void;
  std::uint64_t term = 0;
  std::size_t position = 0;
};

struct ShowLag {
  using is_message = void;
};

using ReplicatorSelf = actor::WithInternal<LeaderDuty, void(GoOn), void(ShowLag)>;

/// Rows of one comparison that something is not done with.
struct LeftRows {
  std::size_t count = 0;
  std::string first{};  ///< The key of the first of them,
  std::string why{};    ///< and what is the matter with it.

  void add(const std::string& key, const std::string& reason) {
    if (count++ != 0) return;
    first = key;
    why = reason;
  }
};

/// How the copying of one kind stands.
struct Copying {
  const SharedKind* kind = nullptr;
  Replica replica{};
  std::vector<RowMark> fetched{};  ///< What `rows` are copies of.
  std::vector<std::vector<std::byte>> rows{};
  std::size_t refused = 0;  ///< Of those fetched last: what is no copy, for this region to store.
  LeftRows staying{};
  LeftRows unstored{};
  std::chrono::steady_clock::time_point level_at{};  ///< When it was known to be level last.
};

RowMark mark_in(RegionRowsReply::Row::Reader row) {
  return {.key = copy(row.getKey()),
          .index = row.getModifyIndex(),
          .hash = std::string{state::kind::bytes_of(row.getHash())}};
}

cluster::MarkPage page_in(RegionRowsReply::Reader reply) {
  cluster::MarkPage page{.index = reply.getIndex(), .marks = {}, .is_last = reply.getComplete()};
  page.marks.reserve(reply.getRows().size());
  for (const auto row : reply.getRows())
    page.marks.push_back(mark_in(row));
  return page;
}

struct ReplicatorState {
  static constexpr const char* name = "replicator";

  using Self = ReplicatorSelf::stateful_pointer<ReplicatorState>;

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::shared_ptr<security::Keyring> keyring;
  rpc::Forwarder forwarder;
  ReplicatorOptions options;
  std::optional<ActorProposer> writes;
  Random random{0};
  std::uint64_t term = 0;  ///< Counts leaderships: what an earlier one has asked for is stale.
  std::vector<Copying> kinds;
  std::map<std::string, std::chrono::steady_clock::time_point> told_at;  ///< By kind and reason.

  void lead(bool leads) {
    ++term;
    kinds.clear();
    told_at.clear();
    options.metrics->show(name, {});
    if (!leads) return;
    for (const auto& kind : cluster::shared_kinds())
      if (options.copies_access || !kind.is_of_access)
        kinds.push_back({.kind = &kind,
                         .replica = Replica{options.replica},
                         .fetched = {},
                         .rows = {},
                         .refused = 0,
                         .staying = {},
                         .unstored = {},
                         .level_at = self->now()});
    log::info("replication", "what holds in all regions is copied from the authoritative region",
              {{"region", options.authority}});
    for (std::size_t position = 0; position < kinds.size(); ++position)
      carry_out(position, kinds[position].replica.begin());
    show_lag();
  }

  void go_on(const GoOn& msg) {
    if (msg.term == term) carry_out(msg.position, kinds[msg.position].replica.begin());
  }

  void carry_out(std::size_t position, const Replica::Step& step) {
    if (const auto* list = std::get_if<Replica::List>(&step)) return list_rows(position, *list);
    if (const auto* fetch = std::get_if<Replica::Fetch>(&step)) return fetch_rows(position, *fetch);
    if (const auto* write = std::get_if<Replica::Write>(&step)) return write_rows(position, *write);
    actor::send_self_after(self, std::get<Replica::Rest>(step).pause, GoOn{term, position});
  }

  /// What the authoritative region answers, in a turn of this leadership.
  template <class Then>
  void ask(std::size_t position, const Object<RegionRowsRequest>& request, Then then) {
    rpc::transport::Call call;
    call.method = rpc::Method::region_rows;
    call.region = options.authority;
    call.credentials.token = options.token.reveal();
    call.timeout = std::chrono::milliseconds{request->getMaxWaitMs()} + answer_patience;
    call.body = rpc::bytes_of(request);
    const auto patience = std::chrono::duration_cast<std::chrono::seconds>(call.timeout) + 5s;
    self->request(forwarder, patience, rpc::forwarder::SendOn{std::move(call)})
        .then(
            [this, position, term = term, then](const rpc::transport::Reply& answer) {
              if (term != this->term) return;
              if (!answer.outcome) return fail(position, answer.outcome.error());
              const auto reply = Object<RegionRowsReply>::from_bytes(answer.outcome->view());
              if (!reply) return fail(position, reply.error());
              then(*reply);
            },
            [this, position, term = term](const Error& err) {
              if (term == this->term) fail(position, err);
            });
  }

  void list_rows(std::size_t position, const Replica::List& list) {
    Draft<RegionRowsRequest> request;
    request->setKind(text(kinds[position].kind->name));
    request->setAfter(text(list.after));
    request->setMinIndex(list.held_at);
    if (list.held_at != 0)
      request->setMaxWaitMs(static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(options.hold).count()));
    note_level(kinds[position]);
    if (list.held_at != 0) say_left(kinds[position]);
    ask(position, request.freeze(), [this, position](const Object<RegionRowsReply>& reply) {
      auto& copying = kinds[position];
      note_level(copying);
      const auto page = page_in(*reply);
      const auto last = Replica::end_of(page);
      const auto ours = copying.kind->copies(store->snapshot(),
                                             {.after = copying.replica.after(), .last = last});
      const auto step = copying.replica.on_listed(page, ours.marks);
      say_losses(copying, step);
      carry_out(position, step);
    });
  }

  /// Before rows go that are copies of nothing: users of this region have made them.
  void say_losses(const Copying& copying, const Replica::Step& step) {
    const auto* write = std::get_if<Replica::Write>(&step);
    if (write == nullptr) return;
    const auto snapshot = store->snapshot();
    LeftRows lost;
    for (const auto* keys : {&write->removed, &copying.replica.surplus()})
      for (const auto& key : *keys) {
        const auto mark = copying.kind->copy_of(snapshot, key);
        if (mark && mark->index == 0 && !copying.kind->stays(snapshot, key)) lost.add(key, "");
      }
    if (lost.count != 0)
      complain(copying, "losses",
               fmt::format("{} rows were made here and are not there: they are removed now; the "
                           "first is \"{}\"",
                           lost.count, lost.first));
  }

  void fetch_rows(std::size_t position, const Replica::Fetch& fetch) {
    Draft<RegionRowsRequest> request;
    request->setKind(text(kinds[position].kind->name));
    auto keys = request->initKeys(static_cast<unsigned>(fetch.keys.size()));
    for (unsigned i = 0; i < keys.size(); ++i)
      keys.set(i, text(fetch.keys[i]));
    ask(position, request.freeze(), [this, position](const Object<RegionRowsReply>& reply) {
      if (const auto taken = take_rows(kinds[position], *reply); !taken)
        return fail(position, taken.error());
      carry_out(position, kinds[position].replica.on_fetched(reply->getDone()));
    });
  }

  /// Makes copies of what came. What cannot be one is passed over, and asked for again.
  Result<> take_rows(Copying& copying, RegionRowsReply::Reader reply) const {
    const auto snapshot = store->snapshot();
    const auto key = snapshot.active_root_key();
    for (const auto row : reply.getRows()) {
      auto mark = mark_in(row);
      const SecretText secret{state::kind::bytes_of(row.getSecret())};
      cluster::SealedPart sealed;
      if (!secret.empty()) {
        if (!key) return Error{Errc::unavailable, "the keyring has no key yet"};
        const auto bytes = NOMAD_TRY(
            keyring->seal_secret(key, {seal_of(*copying.kind), mark.key}, secret.reveal()));
        sealed
            = {copy(key->getKeyId()), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
      } else if (copying.kind->table == state::Table::acl_tokens) {
        // A token's secret never changes, but its rights do, and what is taken away is urgent.
        if (const auto ours = copying.kind->read(snapshot, mark.key)) sealed = ours->sealed;
      }
      auto copied = copying.kind->copy(
          {reinterpret_cast<const std::byte*>(row.getRow().begin()), row.getRow().size()}, mark,
          secret, sealed);
      if (!copied) {
        ++copying.refused;
        copying.unstored.add(mark.key, copied.error().what);
        continue;
      }
      copying.rows.push_back(std::move(*copied));
      copying.fetched.push_back(std::move(mark));
    }
    return {};
  }

  void write_rows(std::size_t position, const Replica::Write& write) {
    auto& copying = kinds[position];
    const auto snapshot = store->snapshot();
    std::vector<std::string> removed;
    for (const auto& key : write.removed) {
      if (const auto why = copying.kind->stays(snapshot, key))
        copying.staying.add(key, why->what);
      else
        removed.push_back(key);
    }
    const auto left = write.removed.size() - removed.size() + std::exchange(copying.refused, 0);
    const auto rows = std::exchange(copying.rows, {});
    auto fetched = std::exchange(copying.fetched, {});
    if (rows.empty() && removed.empty())
      return carry_out(position, copying.replica.on_written(left, false));
    options.metrics->count("replication.rows", rows.size() + removed.size());
    writes->propose(cluster::copy_command(*copying.kind, rows, removed),
                    [this, position, term = term, left, removes = !removed.empty(),
                     fetched = std::move(fetched)](const Result<Committed>& committed) {
                      if (term != this->term) return;
                      if (!committed) return fail(position, committed.error());
                      const auto unstored = count_left(position, fetched);
                      const bool changed = removes || unstored < fetched.size();
                      carry_out(position,
                                kinds[position].replica.on_written(left + unstored, changed));
                    });
  }

  /// How many of these are not here now.
  std::size_t count_left(std::size_t position, const std::vector<RowMark>& wanted) {
    auto& copying = kinds[position];
    const auto snapshot = store->snapshot();
    std::size_t count = 0;
    for (const auto& mark : wanted) {
      if (copying.kind->copy_of(snapshot, mark.key) == mark) continue;
      ++count;
      copying.unstored.add(mark.key, "another one, which stays, is in its place");
    }
    return count;
  }

  /// At the end of a comparison: what of it is not done.
  void say_left(Copying& copying) {
    const auto staying = std::exchange(copying.staying, {});
    const auto unstored = std::exchange(copying.unstored, {});
    if (staying.count == 1)
      complain(copying, "stays",
               fmt::format("\"{}\" is not there, and stays here for now: {}", staying.first,
                           staying.why));
    else if (staying.count != 0)
      complain(copying, "stays",
               fmt::format("{} rows are not there, and stay here for now; the first, \"{}\": {}",
                           staying.count, staying.first, staying.why));
    if (unstored.count != 0)
      complain(copying, "unstored",
               fmt::format("{} rows cannot be stored here; the first, \"{}\": {}", unstored.count,
                           unstored.first, unstored.why));
  }

  void fail(std::size_t position, const Error& why) {
    auto& copying = kinds[position];
    copying.rows.clear();
    copying.fetched.clear();
    copying.refused = 0;
    copying.staying = {};
    copying.unstored = {};
    options.metrics->count("replication.failures", 1);
    const auto reason = reason_of(why);
    complain(copying, reason, reason);
    carry_out(position, copying.replica.on_failed(random.fraction()));
  }

  std::string reason_of(const Error& why) const {
    if (why.code == Errc::rejected) return "it answers: " + why.what;
    if (why.code != Errc::permission_denied) return why.what;
    if (options.token.empty())
      return "it has access control, and acl.replication_token is not set here";
    return "it refuses acl.replication_token: that is no token of management there";
  }

  /// What goes on is tried again and again, and said once a minute of a kind.
  void complain(const Copying& copying, const std::string& reason, const std::string& why) {
    const auto now = self->now();
    if (told_at.size() >= most_complaints) told_at.clear();
    const auto [told, is_new]
        = told_at.try_emplace(fmt::format("{} {}", copying.kind->name, reason), now);
    const bool is_worth_saying = is_new || now >= told->second + replication_complaint_pause;
    if (is_worth_saying) told->second = now;
    log::write(is_worth_saying ? log::Level::warn : log::Level::debug, "replication",
               "could not copy from the authoritative region",
               {{"kind", copying.kind->name}, {"region", options.authority}, {"error", why}});
  }

  void note_level(Copying& copying) const {
    if (copying.replica.is_level()) copying.level_at = self->now();
  }

  /// For how long each kind has not been as it is there; 0 while news of it are waited for.
  void show_lag() {
    std::vector<telemetry::ServerMetrics::Gauge> gauges;
    for (const auto& copying : kinds) {
      const auto behind = copying.replica.is_level() ? 0ns : self->now() - copying.level_at;
      const telemetry::Labels labels{{"kind", std::string{copying.kind->name}}};
      gauges.push_back(
          {"replication.lag_seconds", std::chrono::duration<double>{behind}.count(), labels});
      gauges.push_back({"replication.left", static_cast<double>(copying.replica.left()), labels});
    }
    options.metrics->show(name, std::move(gauges));
  }
};

ReplicatorSelf::behavior_type replicator(ReplicatorState::Self self,
                                         std::shared_ptr<state::Store> store,
                                         raft::Proposer proposer,
                                         std::shared_ptr<security::Keyring> keyring,
                                         rpc::Forwarder forwarder,
                                         ReplicatorOptions options) {
  auto* state = &self->state;
  state->self = self;
  state->store = std::move(store);
  state->keyring = std::move(keyring);
  state->forwarder = std::move(forwarder);
  state->random = Random{self->seed(options.random_seed)};
  state->options = std::move(options);
  if (!state->options.metrics) state->options.metrics = telemetry::ServerMetrics::make({});
  state->writes.emplace(self, std::move(proposer), access::own_work("replicator"));
  actor::send_self_after(self, telemetry::ServerMetrics::gauge_interval, ShowLag{});

  return {
      [state](Lead msg) { state->lead(msg.leads); },
      [state](const GoOn& msg) { state->go_on(msg); },
      [state](ShowLag) {
        state->show_lag();
        actor::send_self_after(state->self, telemetry::ServerMetrics::gauge_interval, ShowLag{});
      },
  };
}

}  // namespace

LeaderDuty spawn_replicator(const actor::Owner& owner,
                            std::shared_ptr<state::Store> store,
                            raft::Proposer proposer,
                            std::shared_ptr<security::Keyring> keyring,
                            rpc::Forwarder forwarder,
                            ReplicatorOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, replicator, std::move(store),
                                              std::move(proposer), std::move(keyring),
                                              std::move(forwarder), std::move(options));
}

}  // namespace nomad::server
