// Policies: whatever the text, reading ends, in rules or an error. What is read gives what it
// explains, the same when it comes twice, and nothing where another policy denies. What may be
// written is read the same once it is stored.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/access/policy/policy.hpp"

namespace {

using namespace nomad::access;

constexpr std::array<std::string_view, 4> names{"default", "prod-api", "*", ""};

void check(bool holds) {
  if (!holds) std::abort();
}

void ask(const PolicyRef& policy, std::string_view name, Capability needed) {
  static const auto denies = *read_policy(
      "namespace \"default\" { policy = \"deny\" variables { path \"nomad/jobs/web\" { "
      "capabilities "
      "= [\"deny\"] } } } node_pool \"default\" { policy = \"deny\" } "
      "host_volume \"default\" { policy = \"deny\" } agent { policy = \"deny\" } "
      "node { policy = \"deny\" } operator { policy = \"deny\" } quota { policy = \"deny\" } "
      "plugin { policy = \"deny\" }");
  const ImplicitRights workload{"default", "web", "api", "server"};
  const Target target{
      .ns = name, .path = "nomad/jobs/web", .node_pool = name, .host_volume = name, .plugin = name};
  const auto once = rights_of({{"a", 1, policy}}, &workload);
  const auto twice = rights_of({{"a", 1, policy}, {"b", 1, policy}}, &workload);
  const bool is_allowed = once->allow(needed, target);
  check(is_allowed == twice->allow(needed, target));
  check(is_allowed == explain(*once, needed, target).is_allowed);
  check(needed != Capability::management || !is_allowed);
  const auto denied = rights_of({{"a", 1, policy}, {"b", 1, denies}}, &workload);
  if (name == "default" && needed != Capability::none) check(!denied->allow(needed, target));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto policy = read_policy(text);
  const auto written = read_policy(text, PolicyText::written);
  check(!written || (policy && rules_json(**policy) == rules_json(**written)));
  if (!policy) {
    check(!policy.error().what.empty() && policy.error().what.size() < 8'192);
    return 0;
  }
  check(rules_json(**policy).front() == '{');
  for (const auto name : names)
    for (int number = 0; number <= static_cast<int>(Capability::management); ++number)
      ask(*policy, name, static_cast<Capability>(number));
  return 0;
}
