#include "actors/api/http/call_meter.hpp"

#include <utility>

#include "runtime/net/rpc/rpc_link.hpp"

namespace nomad::api {
namespace {

std::string_view address_in(std::string_view remote) {
  const auto colon = remote.rfind(':');
  auto address = remote.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']'))
    address = address.substr(1, address.size() - 2);
  return address;
}

/// Whose bucket it is: who shows no token shares one with his address alone.
std::string bucket_of(const access::Principal& who) {
  const auto& grant = who.grant();
  const bool has_name
      = (grant && !grant->accessor.empty()) || who.caller().workload || who.caller().node;
  return has_name ? identity_of(who) : std::string{address_in(who.caller().remote)};
}

}  // namespace

std::string identity_of(const access::Principal& who) {
  const auto& caller = who.caller();
  const auto& grant = who.grant();
  if (grant && !grant->accessor.empty()) return "token:" + grant->accessor;
  if (caller.workload) return "alloc:" + caller.workload->alloc_id;
  if (caller.node) return "client:" + caller.node->id;
  if (grant && !caller.token && !caller.peer) return "token:anonymous";
  std::string name;
  if (caller.peer && caller.peer->is_proven)
    name = net::certificate_name(caller.peer->role, caller.peer->region);
  return name.append(":").append(address_in(caller.remote));
}

CallMeter::CallMeter(std::shared_ptr<telemetry::Registry> registry,
                     std::shared_ptr<telemetry::IdentityCounters> callers,
                     MeterOptions options)
    : registry_{std::move(registry)},
      options_{options},
      callers_{callers ? std::move(callers)
                       : std::make_shared<telemetry::IdentityCounters>(registry_)},
      reads_{options.reads},
      writes_{options.writes} {}

std::optional<std::chrono::nanoseconds> CallMeter::count(const Metered& metered,
                                                         const access::Principal& who) {
  const auto now = std::chrono::steady_clock::now();
  for (auto* counter : metered.counters)
    counter->add();
  if (!metered.by_identity.empty() && registry_)
    callers_->count(metered.by_identity, identity_of(who), now);
  const auto& rate = metered.reads ? options_.reads : options_.writes;
  if (!metered.is_limited || rate.per_second <= 0) return {};
  std::optional<std::chrono::nanoseconds> wait;
  {
    const std::lock_guard lock{guard_};
    wait = (metered.reads ? reads_ : writes_).take(bucket_of(who), now);
  }
  if (!wait) return {};
  if (registry_) registry_->counter("rpc.rate_limit.exceeded").add();
  return options_.refuses ? wait : std::nullopt;
}

}  // namespace nomad::api
