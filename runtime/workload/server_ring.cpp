#include "runtime/workload/server_ring.hpp"

#include <algorithm>
#include <utility>

namespace nomad::workload {

ServerRing::ServerRing(std::vector<std::string> servers, Random random)
    : first_{servers}, servers_{std::move(servers)}, random_{std::move(random)} {
  shuffle();
}

bool ServerRing::move_on(const std::string& from) {
  if (empty() || current() != from) return false;
  current_ = (current_ + 1) % servers_.size();
  return true;
}

bool ServerRing::learn(std::vector<std::string> fresh) {
  if (fresh.empty() || empty()) return false;
  if (std::is_permutation(servers_.begin(), servers_.end(), fresh.begin(), fresh.end()))
    return false;
  const auto in_use = current();
  servers_ = std::move(fresh);
  shuffle();
  const auto position = std::find(servers_.begin(), servers_.end(), in_use);
  if (position != servers_.end()) current_ = static_cast<std::size_t>(position - servers_.begin());
  return true;
}

bool ServerRing::widen() {
  const auto before = servers_.size();
  for (const auto& server : first_)
    if (std::find(servers_.begin(), servers_.end(), server) == servers_.end())
      servers_.push_back(server);
  return servers_.size() > before;
}

void ServerRing::replace(std::vector<std::string> servers) {
  first_ = servers;
  servers_ = std::move(servers);
  shuffle();
}

void ServerRing::shuffle() {
  current_ = 0;
  for (std::size_t i = servers_.size(); i > 1; --i)
    std::swap(servers_[i - 1], servers_[random_.below(i)]);
}

std::vector<std::string> ServerRing::in_order() const {
  auto list = servers_;
  std::rotate(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(current_), list.end());
  return list;
}

}  // namespace nomad::workload
