// AclFixture: a state with what access control stores, and who asks.
#pragma once

#include "runtime/access/secret_hash.hpp"
#include "runtime/cluster/acl/acl_commands.hpp"
#include "runtime/cluster/acl/acl_names.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/state/fixture.hpp"

namespace nomad::cluster {

struct AclFixture : state::StateFixture {
  AclFixture() {
    run([](auto command) { command.initRootKeyUpsert().initKey().setKeyId("k"); });
    for (const auto* name : {"p", "q"})
      run([name](auto command) { command.initAclPolicyUpsert().setName(name); });
    run([](auto command) {
      auto role = command.initAclRoleUpsert();
      role.setId("r1");
      role.setName("one");
      role.initPolicies(1)[0].setName("q");
    });
  }

  /// Applies what was decided; the index.
  state::Outcome apply(const Result<AclDecision>& decision) {
    REQUIRE(decision.has_value());
    REQUIRE(decision->command);
    return run([&](schema::Command::Builder command) {
      capnp::DynamicStruct::Builder to{command};
      const capnp::DynamicStruct::Reader from{*decision->command};
      KJ_IF_MAYBE (field, from.which()) to.set(*field, from.get(*field));
    });
  }

  static Object<schema::AclToken> fresh(const std::string& accessor, std::int64_t created = 1000) {
    Draft<schema::AclToken> draft;
    draft->setAccessorId(text(accessor));
    draft->setCreateTime(created);
    draft->setSecretHash(data_of(access::secret_hash("secret of " + accessor)));
    draft->setKeyId("k");
    draft->setSealed(data_of("sealed"));
    return draft.freeze();
  }

  /// A client token of policy "p" and role "one".
  static Object<schema::AclToken> wanted(const std::string& accessor = {}) {
    Draft<schema::AclToken> draft;
    draft->setAccessorId(text(accessor));
    draft->setType("client");
    draft->initPolicies(1).set(0, "p");
    auto roles = draft->initRoles(2);
    roles[0].setName("one");
    roles[1].setId("r1");
    return draft.freeze();
  }

  Object<schema::AclToken> token(std::string_view accessor) const {
    return now().row<state::kind::AclTokens>(accessor);
  }

  const access::Asking manager = test::anybody(access::Capability::management);
  const access::Asking stranger{
      test::somebody([](access::Capability, const access::Target&) { return false; }),
      access::Capability::management};
};

}  // namespace nomad::cluster
