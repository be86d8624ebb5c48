// PendingRequests: what is to be asked of a plugin when it runs, in its order. Part of the
// PluginLink.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "runtime/base/result.hpp"

namespace nomad::plugin {

class PendingRequests {
public:
  static constexpr std::size_t most = 4096;

  struct Guest {
    std::function<void()> ask;
    std::function<void(const Error&)> fail;
    std::uint64_t instance = 0;  ///< Of a hook; 0: it is no hook's.
  };

  /// False, with the guest untouched: too many wait.
  bool add(Guest& guest) {
    if (guests_.size() >= most) return false;
    guests_.push_back(std::move(guest));
    return true;
  }

  /// All are asked.
  void admit() {
    for (const auto& guest : std::exchange(guests_, {}))
      guest.ask();
  }

  /// Nobody is asked any more.
  void fail_all(const Error& why) {
    for (const auto& guest : std::exchange(guests_, {}))
      guest.fail(why);
  }

  /// Those of an instance of a hook are not.
  void fail(std::uint64_t instance, const Error& why) {
    std::deque<Guest> kept, failed;
    for (auto& guest : std::exchange(guests_, {}))
      (guest.instance == instance ? failed : kept).push_back(std::move(guest));
    guests_ = std::move(kept);
    for (const auto& guest : failed)
      guest.fail(why);
  }

private:
  std::deque<Guest> guests_;
};

}  // namespace nomad::plugin
