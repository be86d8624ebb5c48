// Turns: where a callback runs. Whoever is called back hands over the turns of his own thread,
// actor, event loop or connection beside the callback, so that a signature says on which thread it
// runs: `write(decide, turns, then)` calls `then` in one of `turns`. A callback without runs on the
// thread of whoever calls it, and must be fit for any.
//
// A handle: copies are cheap, any thread may post, and it may outlive what it stands for, which
// takes nothing then. What is posted runs in the order in which it was posted.
//
// Bounds: a handle has none, because what is posted is awaited and can't be dropped. Each taker
// says what bounds what waits there, and `TurnQueue::offer` takes what nobody asked for.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace nomad {

class Turns {
public:
  using Action = std::function<void()>;

  /// Whose turns they are.
  class Taker {
  public:
    virtual ~Taker() = default;

    /// Any thread. False, with the action untouched: it takes none, any more or at the moment.
    virtual bool take(Action& action) = 0;
  };

  /// Nobody's: nothing is run.
  Turns() = default;

  explicit Turns(std::shared_ptr<Taker> taker) : taker_{std::move(taker)} {}

  /// The thread that posts runs it before `post` returns: for callbacks that are fit for any. What
  /// an action throws is logged.
  static Turns here();

  /// One action at a time, without a thread for it: run by the thread that posts it, or after the
  /// action that runs just now, by the thread of that. What an action throws is logged.
  static Turns strand();

  /// Has `action` run, or drops it when nobody does that any more.
  void post(Action action) const { static_cast<void>(try_post(action)); }

  /// False, with the action untouched, if it will not be run.
  bool try_post(Action& action) const {
    const auto taker = taker_;  // the action may let go of this handle
    return taker && taker->take(action);
  }

  /// What others may call on their threads: `function` is called with the same, in a turn. Neither
  /// is ever copied from there on.
  template <class Function>
  auto callback(Function function) const {
    return [turns = *this, shared = std::make_shared<Function>(std::move(function))](
               auto&&... given) { turns.call(shared, std::forward<decltype(given)>(given)...); };
  }

private:
  template <class Function>
  void call(std::shared_ptr<Function> function) const {
    post([function = std::move(function)] { (*function)(); });
  }

  template <class Function, class... Given>

  requires(sizeof...(Given) > 0)

      void call(std::shared_ptr<Function> function, Given&&... given) const {
    static_assert((!std::is_same_v<std::remove_cvref_t<Given>, std::string_view> && ...),
                  "what a view shows may be gone by then");
    using Kept = std::tuple<std::decay_t<Given>...>;
    post([function = std::move(function),
          kept = std::make_shared<Kept>(std::forward<Given>(given)...)] {
      std::apply(*function, std::move(*kept));
    });
  }

  std::shared_ptr<Taker> taker_;
};

}  // namespace nomad
