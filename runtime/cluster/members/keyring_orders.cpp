#include "runtime/cluster/members/keyring_orders.hpp"

namespace nomad::cluster {

Result<> KeyringOrders::take(const KeyringOrderMark& order, std::int64_t now) {
  const auto refused = [](const char* why) { return Error{Errc::permission_denied, why}; };
  if (order.id.size() != id_bytes)
    return refused(
        "the order about the keyring has no id: the other server is of an older release");
  if (order.to != self_) return refused("the order about the keyring is for another server");
  // Compared by sums that do not overflow, whatever time it says.
  const auto age = most_age.count();
  if (order.time < now - age || order.time > now + age)
    return refused(
        "the order about the keyring is not of this minute: it was recorded and sent again, or the "
        "clocks of the two servers differ");
  if (order.time < started_)
    return refused("the order about the keyring is older than this server's start; give it again");
  forget(now);
  if (times_.contains(order.id))
    return refused(
        "the order about the keyring was obeyed already: it was recorded and sent again");
  if (times_.size() >= most_ids)
    return Error{Errc::overloaded, "too many orders about the keyring; try again in two minutes"};
  times_.emplace(order.id, order.time);
  return {};
}

/// Those that their age rules out anyway.
void KeyringOrders::forget(std::int64_t now) {
  std::erase_if(times_, [&](const auto& one) { return one.second < now - most_age.count(); });
}

}  // namespace nomad::cluster
