// Asker: asks actors from threads that are none, and hands their answers to callbacks.
//
// Owns:   a few gateway actors, which carry the questions. More than one, because CAF searches an
//         actor's open questions in order.
// Takes:  questions from any thread; the callback runs in a gateway and must be quick: it composes
//         an answer and sends it. What a callback throws is logged, and is this question's failure
//         alone. While `most_open` have no answer yet, the next fails at once, on its own thread.
// Parent: server, restart, or root: the owner of the service or of the Api that asks.
// Ends:   with `stop`. Questions that are open then are dropped, callbacks and all.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/guard.hpp"

namespace nomad::actor {

/// A question on its way into a gateway.
struct Ask {
  using is_message = void;
  Question question;
  Question::OnReply then;
  Question::OnError failed;
};

using Gateway = Interface<void(Ask)>;

class Asker {
public:
  /// Several for each of a hundred thousand nodes.
  static constexpr std::size_t most_open = std::size_t{1} << 19U;

  explicit Asker(const Owner& owner, unsigned gateways = 4, std::size_t most = most_open);
  Asker(const Asker&) = delete;
  ~Asker();

  /// `done` gets the reply, or the error: an empty or dead handle is `unavailable`, silence
  /// `timeout`, and `overloaded` says that too many questions are open. An urgent question is ahead
  /// of normal ones all the way.
  template <class Reply, class Handle, Message Request, class Done>
  void ask(const Handle& dest,
           Request request,
           Timeout timeout,
           Done done,
           Priority priority = Priority::normal) {
    static_assert(std::is_same_v<Reply, ReplyOf<Handle, Request>>);
    auto share = enter();  // Until the callback has run.
    if (!share) {
      guarded("agent", [&] {
        done(Result<Reply>{Error{Errc::overloaded, "too many questions are open"}});
      });
      return;
    }
    ask({.question = {dest.ref(), timeout, Mail::of(std::move(request)), priority},
         .then = on_reply<Reply>([done, share](Reply& reply) mutable {
           guarded("agent", [&] { done(Result<Reply>{std::move(reply)}); });
         }),
         .failed = [done, share](const Error& error) mutable {
           guarded("agent", [&] { done(Result<Reply>{error}); });
         }});
  }

  void stop();

private:
  /// A share of what may be open; null: nothing more may be.
  std::shared_ptr<const void> enter();
  void ask(Ask message);

  const std::size_t most_;
  std::vector<Gateway> gateways_;
  std::atomic<unsigned> next_{0};
  std::shared_ptr<std::atomic<std::size_t>> open_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace nomad::actor
