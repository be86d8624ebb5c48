// Asker: asks actors from threads that are none, and hands their answers to callbacks.
//
// Owns:   a few gateway actors, which carry the questions. More than one, because CAF searches an
//         actor's open questions in order.
// Takes:  questions from any thread; the callback runs in a gateway and must be quick: it composes
//         an answer and sends it.
// Parent: whoever owns it (the Api, a service of the RPC router), which stops it. Questions that
// are open then are dropped, callbacks and all.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

#include "actors/core/actor.hpp"

namespace nomad::actor {

namespace gateway {

struct Run;

}  // namespace gateway

using Gateway = Interface<void(gateway::Run)>;

namespace gateway {

/// Something to do inside the gateway, which is a typed actor that can ask others.
struct Run {
  using is_message = void;
  std::function<void(Gateway::base*)> action;
};

}  // namespace gateway

class Asker {
public:
  explicit Asker(caf::actor_system& system, unsigned gateways = 4);
  Asker(const Asker&) = delete;
  ~Asker();

  /// `done` gets the reply, or the error: an empty or dead handle is `unavailable`, silence
  /// `timeout`.
  template <class Reply, class Handle, Message Request, class Done>
  void ask(const Handle& dest, Request request, std::chrono::seconds timeout, Done done) {
    run([dest, request = std::move(request), timeout, done = std::move(done)](Gateway::base* self) {
      self->request(dest, timeout, request)
          .then([done](Reply& reply) { done(Result<Reply>{std::move(reply)}); },
                [done](const caf::error& error) { done(Result<Reply>{from_caf(error)}); });
    });
  }

  void stop();

private:
  void run(std::function<void(Gateway::base*)> action);

  std::vector<Gateway> gateways_;
  std::atomic<unsigned> next_{0};
};

}  // namespace nomad::actor
