#include "runtime/access/authorize.hpp"

namespace nomad::access {
namespace {

std::size_t hash_of(const Target& target) {
  constexpr std::hash<std::string_view> hash;
  return hash(target.ns) * 31 + hash(target.path);
}

}  // namespace

std::string Principal::describe() const {
  return caller_ ? caller_->describe() : "cluster:" + std::string{duty_};
}

Allowed::Allowed(Capability capability, const Target& target, bool is_cluster)
    : capability_{capability}, is_cluster_{is_cluster}, target_{hash_of(target)} {}

bool Allowed::is_for(const Target& target) const {
  return is_cluster_ || target_ == hash_of(target);
}

Result<Allowed> authorize(const Principal& who, Capability needed, const Target& target) {
  const bool is_cluster = who.caller_ == nullptr;
  if (!is_cluster && who.policy_ && needed != Capability::none)
    NOMAD_TRY((*who.policy_)(*who.caller_, needed, target));
  return Allowed{needed, target, is_cluster};
}

Allowed own_work(std::string_view duty) {
  return authorize(Asking::of_cluster(duty), {}).value();
}

}  // namespace nomad::access
