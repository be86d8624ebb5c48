#include "runtime/access/policy/policy.hpp"

namespace nomad::access {

class Policy {
public:
  explicit Policy(std::string text) : text{std::move(text)} {}

  std::string text;
};

Result<PolicyRef> read_policy(std::string_view rules) {
  return PolicyRef{std::make_shared<Policy>(std::string{rules})};
}

const std::string& rules_text(const Policy& policy) {
  return policy.text;
}

std::string rules_json(const Policy&) {
  return "null";
}

RightsRef rights_of(std::vector<NamedPolicy>, const ImplicitRights*) {
  return Rights::nothing();
}

RightsRef management_rights() {
  return Rights::everything();
}

const std::vector<NamedPolicy>& policies_of(const Rights&) {
  static const std::vector<NamedPolicy> none;
  return none;
}

const ImplicitRights* workload_of(const Rights&) {
  return nullptr;
}

Explanation explain(const Rights& rights, Capability needed, const Target& target) {
  return {.is_allowed = rights.allow(needed, target), .reason = {}, .deciding = {}, .close = {}};
}

}  // namespace nomad::access
