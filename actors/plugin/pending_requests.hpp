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

  struct Request {
    std::function<void()> ask;
    std::function<void(const Error&)> fail;
    std::uint64_t instance = 0;  ///< Of a hook; 0: it is no hook's.
  };

  /// False, with the request untouched: too many wait.
  bool add(Request& request) {
    if (requests_.size() >= most) return false;
    requests_.push_back(std::move(request));
    return true;
  }

  /// All are asked.
  void admit() {
    for (const auto& request : std::exchange(requests_, {}))
      request.ask();
  }

  /// Nobody is asked any more.
  void fail_all(const Error& why) {
    for (const auto& request : std::exchange(requests_, {}))
      request.fail(why);
  }

  /// Those of an instance of a hook are not.
  void fail(std::uint64_t instance, const Error& why) {
    std::deque<Request> kept, failed;
    for (auto& request : std::exchange(requests_, {}))
      (request.instance == instance ? failed : kept).push_back(std::move(request));
    requests_ = std::move(kept);
    for (const auto& request : failed)
      request.fail(why);
  }

private:
  std::deque<Request> requests_;
};

}  // namespace nomad::plugin
