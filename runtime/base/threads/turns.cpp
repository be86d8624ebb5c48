// What runtime/base/turns.hpp declares.
#include "runtime/base/turns.hpp"

#include <deque>
#include <mutex>

#include "runtime/base/guard.hpp"

namespace nomad {
namespace {

class Here final : public Turns::Taker {
public:
  bool take(Turns::Action& action) override {
    guarded("agent", action);
    return true;
  }
};

class Strand final : public Turns::Taker {
public:
  bool take(Turns::Action& action) override {
    {
      const std::scoped_lock lock{guard_};
      waiting_.push_back(std::move(action));
      if (std::exchange(is_busy_, true)) return true;
    }
    while (const auto next = take_next())
      guarded("agent", next);
    return true;
  }

private:
  /// Empty when nothing waits: whoever posts next is the one who runs it.
  Turns::Action take_next() {
    const std::scoped_lock lock{guard_};
    if (waiting_.empty()) {
      is_busy_ = false;
      return {};
    }
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }

  std::mutex guard_;
  std::deque<Turns::Action> waiting_;
  bool is_busy_ = false;  ///< Somebody runs what waits.
};

}  // namespace

Turns Turns::here() {
  static const Turns here{std::make_shared<Here>()};
  return here;
}

Turns Turns::strand() {
  return Turns{std::make_shared<Strand>()};
}

}  // namespace nomad
