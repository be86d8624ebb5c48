#include "actors/server/regions/region_rows.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "actors/roles/no_leader.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using cluster::SharedKind;
using schema::rpc::RegionRowsReply;

constexpr std::size_t marks_a_page = 10'000;
constexpr std::size_t keys_a_question = 1'000;
constexpr std::size_t bytes_an_answer = 1024 * 1024;
constexpr std::chrono::milliseconds longest_hold = 60s;
constexpr std::chrono::seconds answer_slack = 10s;

/// A held question has to be looked at again.
struct LookAtHeld {
  using is_message = void;
  std::uint64_t number = 0;
  bool is_over = false;
};

using RowsSelf = actor::WithInternal<RegionRows, void(LookAtHeld)>;

capnp::Data::Reader data_of(std::string_view bytes) {
  return {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

void show_mark(RegionRowsReply::Row::Builder to, const cluster::RowMark& mark) {
  to.setKey(text(mark.key));
  to.setModifyIndex(mark.index);
  to.setHash(data_of(mark.hash));
}

class RowsState {
public:
  static constexpr const char* name = "region_rows";

  explicit RowsState(RowsSelf::pointer self) : self_{self} {}

  void init(std::shared_ptr<state::Store> store,
            std::shared_ptr<security::Keyring> keyring,
            std::shared_ptr<const raft::LeaderLease> lease) {
    store_ = std::move(store);
    keyring_ = std::move(keyring);
    lease_ = std::move(lease);
  }

  actor::Answer<RowsShown> answer(const AskRows& msg) {
    const auto* const kind = cluster::find_shared_kind(view(msg.request->getKind()));
    if (kind == nullptr) return Error{Errc::not_found, "no such kind holds in all regions here"};
    Held held{.kind = kind, .request = msg.request};
    const auto wait = std::min<std::chrono::milliseconds>(
        std::chrono::milliseconds{std::min<std::uint64_t>(msg.request->getMaxWaitMs(), 1'000'000)},
        longest_hold);
    const bool is_held = msg.request->getMinIndex() != 0 && wait.count() > 0;
    // Watched from before it is read.
    if (is_held) watch(held, ++last_);
    const auto snapshot = store_->snapshot();
    if (!is_held || index_of(snapshot, *kind) != msg.request->getMinIndex())
      return actor::answer(read(snapshot, held));
    if (held_.size() >= most_held_rows)
      return Error{Errc::overloaded, "too many regions wait for news"};
    held.promise = self_->make_response_promise<RowsShown>();
    held.end = actor::send_self_after(self_, wait, LookAtHeld{last_, true});
    const auto promise = held.promise;
    held_.insert_or_assign(last_, std::move(held));
    return promise;
  }

  void look(const LookAtHeld& msg) {
    const auto found = held_.find(msg.number);
    if (found == held_.end()) return;
    auto& held = found->second;
    if (!msg.is_over) watch(held, msg.number);
    const auto snapshot = store_->snapshot();
    if (!msg.is_over && index_of(snapshot, *held.kind) == held.request->getMinIndex()) return;
    self_->cancel(held.end);
    actor::answer(held.promise, read(snapshot, held));
    held_.erase(found);
  }

private:
  struct Held {
    const SharedKind* kind = nullptr;
    Object<schema::rpc::RegionRowsRequest> request{};
    state::Watches::Subscription subscription{};
    actor::Promise<RowsShown> promise{};
    actor::Timer end{};
  };

  static std::uint64_t index_of(const state::Snapshot& snapshot, const SharedKind& kind) {
    return std::max<std::uint64_t>(1, snapshot.index(kind.table));
  }

  void watch(Held& held, std::uint64_t number) {
    held.subscription = store_->watches().subscribe({state::watch_prefix(held.kind->table, "")},
                                                    turns_.callback([this, number] {
                                                      look(LookAtHeld{number, false});
                                                    }));
  }

  Result<RowsShown> read(const state::Snapshot& snapshot, const Held& held) const {
    Draft<RegionRowsReply> draft;
    draft->setIndex(index_of(snapshot, *held.kind));
    if (held.request->getKeys().size() != 0)
      NOMAD_TRY(show_rows(*draft, snapshot, held));
    else
      show_marks(*draft, snapshot, held);
    if (lease_ && !lease_->holds()) return no_leader();  // Asked after the snapshot was taken.
    return RowsShown{draft.freeze()};
  }

  static void show_marks(RegionRowsReply::Builder reply,
                         const state::Snapshot& snapshot,
                         const Held& held) {
    const auto known = held.request->getMinIndex();
    if (known != 0 && known == reply.getIndex()) return;  // Nothing is new.
    const auto page = held.kind->originals(
        snapshot, {.after = view(held.request->getAfter()), .last = {}, .most = marks_a_page});
    reply.setComplete(page.is_last);
    auto rows = reply.initRows(static_cast<unsigned>(page.marks.size()));
    for (unsigned i = 0; i < rows.size(); ++i)
      show_mark(rows[i], page.marks[i]);
  }

  Result<> show_rows(RegionRowsReply::Builder reply,
                     const state::Snapshot& snapshot,
                     const Held& held) const {
    const auto keys = held.request->getKeys();
    std::vector<cluster::SharedRow> shown;
    std::size_t bytes = 0;
    std::uint32_t done = 0;
    for (; done < std::min<std::size_t>(keys.size(), keys_a_question); ++done) {
      auto row = held.kind->read(snapshot, view(keys[done]));
      if (!row) continue;  // It has gone meanwhile.
      if (!shown.empty() && bytes + row->row.size() > bytes_an_answer) break;
      bytes += row->row.size();
      shown.push_back(std::move(*row));
    }
    reply.setDone(done);
    auto rows = reply.initRows(static_cast<unsigned>(shown.size()));
    for (unsigned i = 0; i < rows.size(); ++i) {
      show_mark(rows[i], shown[i].mark);
      rows[i].setRow(
          {reinterpret_cast<const unsigned char*>(shown[i].row.data()), shown[i].row.size()});
      if (shown[i].sealed.key_id.empty()) continue;
      const auto secret = open(snapshot, *held.kind, shown[i]);
      // Without it the row is refused there, and asked for again.
      if (secret) rows[i].setSecret(data_of(secret->text()));
    }
    return {};
  }

  Result<security::Secret> open(const state::Snapshot& snapshot,
                                const SharedKind& kind,
                                const cluster::SharedRow& row) const {
    if (!keyring_) return Error{Errc::unavailable, "this server has no keyring"};
    return keyring_->open_secret(snapshot.root_key(row.sealed.key_id),
                                 {seal_of(kind), row.mark.key}, data_of(row.sealed.bytes));
  }

  RowsSelf::pointer self_;
  Turns turns_ = actor::turns_of(self_);
  std::shared_ptr<state::Store> store_;
  std::shared_ptr<security::Keyring> keyring_;
  std::shared_ptr<const raft::LeaderLease> lease_;  ///< None: always ours.
  std::map<std::uint64_t, Held> held_;
  std::uint64_t last_ = 0;
};

RowsSelf::behavior_type region_rows(RowsSelf::stateful_pointer<RowsState> self,
                                    const std::shared_ptr<state::Store>& store,
                                    const std::shared_ptr<security::Keyring>& keyring,
                                    const std::shared_ptr<const raft::LeaderLease>& lease) {
  self->state.init(store, keyring, lease);
  return {
      [self](const AskRows& msg) { return self->state.answer(msg); },
      [self](const LookAtHeld& msg) { self->state.look(msg); },
  };
}

}  // namespace

RegionRows spawn_region_rows(const actor::Owner& owner,
                             std::shared_ptr<state::Store> store,
                             std::shared_ptr<security::Keyring> keyring,
                             std::shared_ptr<const raft::LeaderLease> lease) {
  return actor::spawn<actor::Policy::restart>(owner, region_rows, std::move(store),
                                              std::move(keyring), std::move(lease));
}

namespace {

Result<> may_see(const access::Principal& who) {
  NOMAD_TRY(access::authorize({who, access::Capability::management}, {}));
  return {};
}

/// Answers who may still see it: the question may have been held for long.
void tell_rows(access::Authenticator& authenticator,
               const access::Principal& who,
               const rpc::ReplyTo& reply,
               const RowsShown& told) {
  if (authenticator.is_fresh(who)) return reply(rpc::bytes_of(told.reply));
  authenticator.resolve(who, [reply, told](const Result<access::Principal>& later) {
    if (!later) return reply(later.error());
    if (const auto may = may_see(*later); !may) return reply(may.error());
    reply(rpc::bytes_of(told.reply));
  });
}

}  // namespace

void serve_region_rows(rpc::MethodRouter& router,
                       const std::shared_ptr<access::Authenticator>& authenticator,
                       const std::shared_ptr<actor::Asker>& asker,
                       const actor::Latest<RegionRows>& rows,
                       const std::string& copies_from) {
  router.on_inbound<schema::rpc::RegionRowsRequest>(
      rpc::Method::region_rows,
      [authenticator, asker, rows, copies_from](
          const access::Principal& who, const Object<schema::rpc::RegionRowsRequest>& request,
          const rpc::Inbound& inbound) {
        if (const auto may = may_see(who); !may) return inbound.reply(may.error());
        if (!copies_from.empty())
          return inbound.reply(Error{
              Errc::rejected, fmt::format("this region copies from region \"{}\"", copies_from)});
        // Everybody manages then, and tokens of before may be in the state.
        const auto* const kind = cluster::find_shared_kind(view(request->getKind()));
        if (kind != nullptr && kind->is_of_access && !authenticator->enforces())
          return inbound.reply(Error{Errc::rejected, "access control is off in this region"});
        const auto open = rows.get();
        if (!open) return inbound.reply(Error{Errc::unavailable, "the server is starting"});
        asker->ask<RowsShown>(
            open, AskRows{request},
            std::chrono::duration_cast<std::chrono::seconds>(longest_hold) + answer_slack,
            [authenticator, who, reply = inbound.reply](const Result<RowsShown>& told) {
              if (!told) return reply(told.error());
              tell_rows(*authenticator, who, reply, *told);
            });
      });
}

}  // namespace nomad::server
