// Servers that share root keys by what the machine and the plan of wraps decide, in any order of
// answers, failures, restarts and leaders, and with configurations that differ. While all of that
// goes on no key is lost; once it has ended all can open all, and nobody writes any more.
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include <doctest/doctest.h>

#include "runtime/base/overloaded.hpp"
#include "runtime/base/random.hpp"
#include "runtime/keyring/keyring_machine.hpp"
#include "runtime/keyring/wrap_plan.hpp"

using namespace nomad;
using namespace nomad::keyring;
using namespace std::chrono_literals;

namespace {

struct Row {
  std::vector<std::string> wraps = {};
  int index = 0;
  int created = 0;
};

/// What the log has made of the state.
struct State {
  std::map<std::string, Row> keys;
  std::map<std::string, Holder> holders;
  std::string active;
  int index = 0;
};

struct Configured {
  std::set<std::string> opens;
  std::string wrapping_key;
  std::string secret;
};

struct SharingServer {
  std::string name;
  std::string recipient = {};  ///< Of what is wrapped by the key pair in its file.
  Configured configured = {};
  KeyringMachine machine = {};
  std::set<std::string> opened = {};  ///< In memory.
  State looked = {};
  int life = 0;  ///< Answers to an earlier one are lost.
  int open_writes = 0;
  int making = 0;
};

class World {
public:
  explicit World(std::uint64_t seed) : random_{seed} {
    for (const auto* name : {"a", "b", "c"})
      servers_.push_back({.name = name, .recipient = name});
    for (auto& server : servers_)
      configure(server);
  }

  void be_troubled() {
    for (int step = 0; step < 1500; ++step) {
      if (random_.chance(0.02)) elect();
      if (random_.chance(0.01)) restart(servers_[random_.below(servers_.size())]);
      if (random_.chance(0.3)) tick();
      answer();
      check_that_none_is_lost();
    }
  }

  /// All runs well from now on.
  void settle() {
    failures_ = 0;
    restart(servers_.front());
    elect();
    for (int second = 0; second < 400; ++second) {
      tick();
      while (!answers_.empty())
        answer();
    }
    const auto before = state_.index;
    for (int second = 0; second < 100; ++second) {
      tick();
      while (!answers_.empty())
        answer();
    }
    CHECK(state_.index == before);
    CHECK(state_.keys.contains(state_.active));
    for (const auto& entry : state_.keys)
      for (const auto& server : servers_) {
        const auto& row = entry.second;
        CAPTURE(entry.first);
        CAPTURE(server.name);
        CHECK(can_unwrap(server, row));
        if (&server != leader_) continue;
        CHECK_FALSE(plan_wraps(facts_of(server, row, state_, false)).changes);
        if (!server.configured.wrapping_key.empty())
          CHECK(std::ranges::count(row.wraps, server.configured.wrapping_key) == 1);
      }
    CHECK(writes_ > 0);
  }

private:
  Holder holder_of(const SharingServer& server) const {
    return {.recipient = server.recipient,
            .opens = {server.configured.opens.begin(), server.configured.opens.end()}};
  }

  static bool can_unwrap(const SharingServer& server, const Row& row) {
    return std::ranges::any_of(row.wraps, [&server](const std::string& wrap) {
      return wrap == server.recipient || wrap == server.configured.secret
             || server.configured.opens.contains(wrap);
    });
  }

  static WrapFacts facts_of(const SharingServer& server,
                            const Row& row,
                            const State& state,
                            bool has_wrapped) {
    WrapFacts facts{.row = row.wraps,
                    .secret = server.configured.secret,
                    .wrapping_key = server.configured.wrapping_key,
                    .has_wrapped = has_wrapped,
                    .leads = server.machine.leads()};
    for (const auto& [name, holder] : state.holders)
      facts.holders.push_back(holder);
    return facts;
  }

  /// Wrapping keys that a server had it still has, as operators are told; what wraps, and the
  /// secret, are as anybody pleases.
  void configure(SharingServer& server) {
    auto& to = server.configured;
    if (random_.chance(0.4)) to.opens.insert("keyring file " + std::to_string(random_.below(3)));
    to.wrapping_key = "";
    for (const auto& name : to.opens)
      if (random_.chance(0.5)) to.wrapping_key = name;
    to.secret = random_.chance(0.3) ? "" : "encrypt " + std::to_string(random_.below(2));
  }

  void elect() {
    leader_ = &servers_[random_.below(servers_.size())];
    for (auto& server : servers_) {
      server.machine.lead(&server == leader_);
      go_on(server);
    }
  }

  void restart(SharingServer& server) {
    if (random_.chance(0.5)) lose_file(server);
    server.machine = {};
    server.opened.clear();
    ++server.life;
    server.open_writes = 0;
    server.making = 0;
    configure(server);
    if (&server == leader_) leader_ = nullptr;
  }

  /// With its disk, as long as others can open all that it could.
  void lose_file(SharingServer& server) {
    for (const auto& entry : state_.keys)
      if (std::ranges::none_of(servers_, [&](const SharingServer& other) {
            return &other != &server && can_unwrap(other, entry.second);
          }))
        return;
    server.recipient = server.name + ' ' + std::to_string(++lost_files_);
  }

  void tick() {
    now_ += 1s;
    for (auto& server : servers_) {
      server.machine.tick();
      go_on(server);
    }
  }

  void go_on(SharingServer& server) {
    for (auto actions = server.machine.take(); !actions.empty(); actions = server.machine.take())
      for (const auto& action : actions)
        std::visit(
            Overloaded{[&](const keyring_action::Look&) { look(server); },
                       [&](const keyring_action::Register&) {
                         write(server, {}, [this, &server] {
                           state_.holders[server.name] = holder_of(server);
                           return true;
                         });
                       },
                       [&](const keyring_action::MakeKey&) { make_key(server); },
                       [&](const keyring_action::Wrap& it) { wrap(server, it.key_id); },
                       [&](const keyring_action::Share& it) {
                         for (const auto& id : it.key_ids)
                           put_wraps(server, id, false);
                         server.machine.shared();
                       },
                       [&](const keyring_action::DoDuties&) { CHECK(server.open_writes == 0); }},
            action);
  }

  void look(SharingServer& server) {
    CHECK(server.open_writes == 0);
    server.looked = state_;
    const auto known = state_.holders.find(server.name);
    const auto own = holder_of(server);
    KeyringFacts facts{.is_known = known != state_.holders.end()
                                   && known->second.recipient == own.recipient
                                   && known->second.opens == own.opens,
                       .may_register = !random_.chance(failures_)};
    for (const auto& [id, row] : state_.keys) {
      if (can_unwrap(server, row)) server.opened.insert(id);
      facts.keys.push_back(
          {.id = id,
           .is_open = server.opened.contains(id),
           .lacks_key = !server.configured.wrapping_key.empty()
                        && std::ranges::count(row.wraps, server.configured.wrapping_key) == 0,
           .lacks_wraps = plan_wraps(facts_of(server, row, state_, false)).changes});
    }
    facts.needs_key = !server.opened.contains(state_.active);
    server.machine.look(facts, now_);
  }

  void make_key(SharingServer& server) {
    CHECK(server.machine.leads());
    CHECK(++server.making == 1);
    later(server, [this, &server](bool is_done) {
      --server.making;
      server.machine.made(is_done, now_);
      if (!is_done) return;
      auto facts = facts_of(server, {}, server.looked, !server.configured.wrapping_key.empty());
      facts.holders.push_back(holder_of(server));
      facts.leads = true;
      const auto id = "key " + std::to_string(++made_);
      Row row{.created = made_};
      for (const auto& wrap : plan_wraps(facts).wraps)
        if (std::ranges::count(row.wraps, wrap.recipient) == 0) row.wraps.push_back(wrap.recipient);
      server.opened.insert(id);
      write(server, {.is_new_key = true}, [this, id, row] {
        state_.keys[id] = row;
        state_.keys[id].index = state_.index;
        state_.active = id;
        return true;
      });
    });
  }

  void wrap(SharingServer& server, const std::string& id) {
    CHECK(server.machine.leads());
    later(server, [this, &server, id](bool is_done) {
      server.machine.wrapped(id, is_done, now_);
      if (is_done) put_wraps(server, id, true);
    });
  }

  /// By what was looked at: the log refuses it if the row is another by now.
  void put_wraps(SharingServer& server, const std::string& id, bool has_wrapped) {
    CHECK(server.opened.contains(id));
    const auto found = server.looked.keys.find(id);
    if (found == server.looked.keys.end()) return;
    const auto base = found->second;
    if (std::ranges::count(base.wraps, server.configured.wrapping_key) != 0) has_wrapped = false;
    const auto plan = plan_wraps(facts_of(server, base, server.looked, has_wrapped));
    if (!plan.changes) return;
    Row row = base;
    row.wraps.clear();
    for (const auto& one : plan.wraps)
      row.wraps.push_back(one.recipient);
    write(server, {.wrapped_key = has_wrapped ? id : ""}, [this, id, row] {
      const auto stored = state_.keys.find(id);
      if (stored == state_.keys.end() || stored->second.index != row.index) return false;
      stored->second = row;
      stored->second.index = state_.index;
      return true;
    });
  }

  /// Applied once it is its turn, if ever, also of a server that has died since; the answer may be
  /// lost.
  void write(SharingServer& server,
             const KeyringMachine::Subject& of,
             const std::function<bool()>& apply) {
    server.machine.writing();
    ++server.open_writes;
    answers_.push_back([this, &server, life = server.life, of, apply] {
      bool is_done = !random_.chance(failures_);
      if (is_done) {
        ++state_.index;
        is_done = apply();
        (is_done ? writes_ : state_.index) += is_done ? 1 : -1;
      }
      if (server.life != life) return;
      --server.open_writes;
      server.machine.written(is_done && !random_.chance(failures_), of, now_);
      go_on(server);
    });
  }

  void later(SharingServer& server, const std::function<void(bool)>& answered) {
    answers_.push_back([this, &server, life = server.life, answered] {
      if (server.life != life) return;
      answered(!random_.chance(failures_));
      go_on(server);
    });
  }

  void answer() {
    if (answers_.empty()) return;
    const auto one = answers_.begin() + static_cast<std::ptrdiff_t>(random_.below(answers_.size()));
    const auto told = std::move(*one);
    answers_.erase(one);
    told();
  }

  void check_that_none_is_lost() const {
    for (const auto& entry : state_.keys)
      CHECK(std::ranges::any_of(servers_, [&entry](const SharingServer& server) {
        return can_unwrap(server, entry.second);
      }));
  }

  Random random_;
  std::deque<SharingServer> servers_;
  SharingServer* leader_ = nullptr;
  State state_;
  std::deque<std::function<void()>> answers_;
  Nanoseconds now_{1s};
  double failures_ = 0.2;
  int made_ = 0;
  int lost_files_ = 0;
  int writes_ = 0;
};

}  // namespace

TEST_CASE("keyring world: no root key is lost, and all come to have all") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    World world{seed};
    world.be_troubled();
    world.settle();
  }
}
