// SimCall: one question of a machine to the servers, as the RPC layer carries it: to one server,
// which asks the leader if it is not that itself; the answer comes back on the same way. Broken
// connections and silence become `unavailable`.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "actors/roles/no_leader.hpp"
#include "test/mistakes/mistake.hpp"
#include "test/simulation/sim_network.hpp"
#include "test/simulation/sim_server.hpp"

namespace nomad::test {

struct SimCallRules {
  Time patience = std::chrono::seconds{10};
  bool repeated = false;     ///< Asking twice does no harm.
  bool needs_lease = false;  ///< Only a leader that certainly still is one may answer.
};

class SimCall {
public:
  template <class Reply>
  using Answer = std::function<void(Result<Reply>)>;

  /// Runs as code of the leader; calls its second argument with the answer.
  template <class Reply>
  using Serve = std::function<void(SimServer&, const Answer<Reply>&)>;

  /// `done` is called once, as code of `from`, unless that machine dies.
  template <class Reply>
  static void start(SimSystem& system,
                    SimNetwork& network,
                    SimSystem::Machine from,
                    SimServer& server,
                    SimCallRules rules,
                    const Serve<Reply>& serve,
                    Answer<Reply> done) {
    auto call = std::make_shared<Call<Reply>>(Call<Reply>{system, network, from, system.life(from),
                                                          rules, serve, std::move(done), false});
    network.ask(
        from, server.machine(), rules.repeated,
        [call, &server] {
          serve_at<Reply>(call, server, 0, [call, &server](Result<Reply> reply) {
            call->network.ask(
                server.machine(), call->from, false, [call, reply] { finish(*call, reply); },
                [call] { break_later(call); });
          });
        },
        [call] { finish(*call, Result<Reply>{broken()}); });
    watch(call, server, system.life(server.machine()), system.now() + rules.patience);
  }

private:
  template <class Reply>
  struct Call {
    SimSystem& system;
    SimNetwork& network;
    SimSystem::Machine from;
    std::uint64_t life;
    SimCallRules rules;
    Serve<Reply> serve;
    Answer<Reply> done;
    bool is_over;
  };

  static Error broken() { return {Errc::unavailable, "the connection broke"}; }

  template <class Reply>
  static void finish(Call<Reply>& call, const Result<Reply>& reply) {
    if (call.is_over || call.system.life(call.from) != call.life) return;
    call.is_over = true;
    call.done(reply);
  }

  template <class Reply>
  static void break_later(const std::shared_ptr<Call<Reply>>& call) {
    call->system.at(
        call->system.now() + call->network.delay(Time{100'000'000}, Time{3'000'000'000}),
        [call] { call->system.on(call->from, [&] { finish(*call, Result<Reply>{broken()}); }); });
  }

  /// A server that dies resets its connections; one that stands still lets its askers wait.
  template <class Reply>
  static void watch(const std::shared_ptr<Call<Reply>>& call,
                    SimServer& server,
                    std::uint64_t server_life,
                    Time deadline) {
    const auto& system = call->system;
    call->system.at(system.now() + Time{200'000'000}, [call, &server, server_life, deadline] {
      if (call->is_over || call->system.life(call->from) != call->life) return;
      const bool reset = call->system.life(server.machine()) != server_life
                         && !call->network.is_cut(server.machine(), call->from);
      if (!reset && call->system.now() < deadline)
        return watch(call, server, server_life, deadline);
      call->system.on(call->from, [&] { finish(*call, Result<Reply>{broken()}); });
    });
  }

  template <class Reply>
  static void serve_at(const std::shared_ptr<Call<Reply>>& call,
                       SimServer& server,
                       int hops,
                       const Answer<Reply>& answer) {
    const auto known = server.leader();
    const bool stale = mistake == Mistake::read_stale;
    if ((known.leads && known.ready && (!call->rules.needs_lease || server.lease_holds()))
        || (stale && call->rules.needs_lease))
      return call->serve(server, answer);
    auto* leader = known.leads || hops > 0 ? nullptr : server.find_server(known.leader);
    if (leader == nullptr || leader == &server) return answer(no_leader());
    call->network.ask(
        server.machine(), leader->machine(), call->rules.repeated,
        [call, leader, &server, hops, answer] {
          serve_at<Reply>(call, *leader, hops + 1,
                          [call, leader, &server, answer](Result<Reply> reply) {
                            call->network.ask(
                                leader->machine(), server.machine(), false,
                                [answer, reply] { answer(reply); }, [answer] { answer(broken()); });
                          });
        },
        [answer] { answer(broken()); });
  }
};

}  // namespace nomad::test
