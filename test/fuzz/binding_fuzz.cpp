// Binding rules: a selector, a bind name and claims, a line each. Whatever they say, a rule is kept
// or refused, and a login becomes what exists and the rule binds, or nobody. Who is selected by an
// expression is not selected by its opposite.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/cluster/acl/acl_commands.hpp"
#include "runtime/cluster/acl/login_commands.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "test/fuzz/stored_state.hpp"

namespace {

using namespace nomad;

constexpr std::int64_t binding_time = 1'700'000'000'000'000'000;

struct BindingServer {
  state::Store store;
  state::Index index = 1;

  BindingServer() {
    run([](auto command) { command.initRootKeyUpsert().initKey().setKeyId("k"); });
    run([](auto command) { command.initAclPolicyUpsert().setName("p"); });
    run([](auto command) {
      auto role = command.initAclRoleUpsert();
      role.setId("r1");
      role.setName("one");
      role.initPolicies(1)[0].setName("p");
    });
    run([](auto command) {
      auto method = command.initAclAuthMethodUpsert();
      method.setName("m");
      method.setType("JWT");
      method.setTokenLocality("local");
      method.setMaxTokenTtl(Nanoseconds{std::chrono::hours{1}}.count());
      auto config = method.initConfig();
      fill_entries(config.initClaimMappings(3), {{"sub", "user"}, {"a", "a"}, {"/b/c", "b"}});
      fill_entries(config.initListClaimMappings(2), {{"groups", "groups"}, {"l", "l"}});
    });
  }

  void run(const std::function<void(schema::Command::Builder)>& build) {
    Draft<schema::Command> command;
    build(*command);
    static_cast<void>(store.apply(++index, command.reader()));
    store.publish();
  }

  /// Whether the rule is in the state, which has no other one, and as whom the claims log in.
  bool put_rule(std::string_view selector, std::string_view type, std::string_view name) {
    Draft<schema::AclBindingRule> rule;
    rule->setAuthMethod("m");
    rule->setSelector(text(selector));
    rule->setBindType(text(type));
    rule->setBindName(text(name));
    const auto decided = cluster::decide_put_binding_rule(
        store.snapshot(), access::Asking::of_cluster("fuzz"), rule.reader(), "rule", binding_time);
    if (!decided) {
      fuzz::require(decided.error().code == Errc::invalid_argument, "a refused rule is invalid");
      fuzz::require(!decided.error().what.empty(), "a refusal has a text");
      return false;
    }
    static_cast<void>(store.apply(++index, *decided->command));
    store.publish();
    return true;
  }

  Result<cluster::AclDecision> log_in(const access::Claims& claims) const {
    const auto snapshot = store.snapshot();
    const auto method = snapshot.row<state::kind::AclAuthMethods>("m");
    Draft<schema::AclToken> fresh;
    fresh->setAccessorId("a");
    fresh->setCreateTime(binding_time);
    fresh->setKeyId("k");
    return cluster::decide_login(snapshot, {"m", method->getModifyIndex(), claims}, fresh.freeze(),
                                 {});
  }

  /// Whether the rule that was put gives who has the claims a token.
  bool binds(const access::Claims& claims, std::string_view type) const {
    const auto decided = log_in(claims);
    if (!decided) {
      fuzz::require(!decided.error().what.empty(), "a refused login has a text");
      return false;
    }
    const auto command = *decided->command;
    const auto token = command.getAclTokenUpsert().getToken();
    const auto policies = token.getPolicies();
    const auto roles = token.getRoles();
    fuzz::require((view(token.getType()) == "management") == (type == "management"),
                  "a rule for management alone makes managers");
    fuzz::require(policies.size() == (type == "policy" ? 1U : 0U), "of policies what is bound");
    fuzz::require(roles.size() == (type == "role" ? 1U : 0U), "of roles what is bound");
    for (const auto policy : policies)
      fuzz::require(view(policy) == "p", "a policy that exists");
    for (const auto role : roles)
      fuzz::require(view(role.getId()) == "r1", "a role that exists");
    return true;
  }
};

std::string_view take_line(std::string_view& rest) {
  const auto line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = fuzz::text_of(data, size);
  std::string_view rest = input;
  const auto selector = take_line(rest);
  const auto name = take_line(rest);
  const auto claims = access::read_claims(rest);
  BindingServer server;
  for (const auto* type : {"policy", "role", "management"}) {
    const auto bound = std::string_view{type} == "management" ? std::string_view{} : name;
    const bool is_kept = server.put_rule(selector, type, bound);
    const bool is_bound = is_kept && claims && server.binds(*claims, type);
    if (is_kept) server.run([](auto command) { command.setAclBindingRuleDelete("rule"); });
    if (!is_bound || selector.empty()) continue;
    const auto opposite = "not (" + std::string{selector} + ")";
    if (!server.put_rule(opposite, type, bound)) continue;
    fuzz::require(!server.binds(*claims, type),
                  "nobody is selected by an expression and its opposite");
    server.run([](auto command) { command.setAclBindingRuleDelete("rule"); });
  }
  return 0;
}
