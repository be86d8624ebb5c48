// ServerList: the servers that a client node uses now, for any thread: the one in use first.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace nomad::client {

class ServerList {
public:
  std::vector<std::string> addresses() const {
    const std::scoped_lock lock{mutex_};
    return addresses_;
  }

  void set(std::vector<std::string> addresses) {
    const std::scoped_lock lock{mutex_};
    addresses_ = std::move(addresses);
  }

private:
  mutable std::mutex mutex_;
  std::vector<std::string> addresses_;
};

}  // namespace nomad::client
