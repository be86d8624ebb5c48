#include "runtime/access/authorize.hpp"

#include <functional>
#include <utility>

namespace nomad::access {
namespace {

std::size_t hash_of(const Target& target) {
  constexpr std::hash<std::string_view> hash;
  std::size_t value = 0;
  for (const auto part :
       {target.ns, target.path, target.node_pool, target.node, target.host_volume, target.plugin})
    value = value * 31 + hash(part);
  return value;
}

}  // namespace

Principal Principal::behind() const {
  auto user = std::make_shared<Caller>(*caller_);
  user->passed_on_by = std::exchange(user->peer, {});
  user->node = {};
  auto principal = *this;
  principal.caller_ = std::move(user);
  return principal;
}

std::string Principal::describe() const {
  if (is_cluster()) return "cluster:" + std::string{duty_};
  if (grant_ && !grant_->accessor.empty())
    return "token " + grant_->accessor + " of " + caller_->remote;
  return caller_->describe();
}

Allowed::Allowed(Capability capability, const Target& target, bool is_cluster)
    : capability_{capability}, is_cluster_{is_cluster}, target_{hash_of(target)} {}

bool Allowed::is_for(const Target& target) const {
  return is_cluster_ || target_ == hash_of(target);
}

const Error& permission_denied() {
  static const Error error{Errc::permission_denied, "Permission denied"};
  return error;
}

Result<Allowed> authorize(const Principal& who, Capability needed, const Target& target) {
  const bool is_open = who.is_cluster() || needed == Capability::none;
  if (!is_open && !(who.grant_ && who.grant_->rights->allow(needed, target)))
    return permission_denied();
  if (const auto* const limits = who.limits(); limits != nullptr && !limits->allow(needed, target))
    return Limits::refusal(needed, target);
  return Allowed{needed, target, who.is_cluster()};
}

Allowed own_work(std::string_view duty) {
  return authorize(Asking::of_cluster(duty), {}).value();
}

}  // namespace nomad::access
