// What holds in all regions, from the state of one into that of another.
#include "runtime/cluster/regions/shared_kinds.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "runtime/access/secret_hash.hpp"
#include "runtime/cluster/acl/acl_names.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/state/kinds/kinds.hpp"
#include "runtime/state/store.hpp"

namespace nomad::cluster {

namespace {

namespace kind = state::kind;

capnp::Data::Reader shared_data(std::string_view bytes) {
  return {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

/// A region's state, whose log is this.
struct Region {
  state::Store store;
  std::uint64_t index = 10;

  explicit Region(std::string_view key) {
    run([&](schema::Command::Builder command) {
      auto row = command.initRootKeyUpsert().initKey();
      row.setKeyId(text(key));
      row.setState(schema::RootKeyState::ACTIVE);
    });
  }

  template <class Fill>
  std::optional<Error> run(Fill fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    return apply(draft.freeze());
  }

  std::optional<Error> apply(const Object<schema::Command>& command) {
    auto outcome = store.apply(++index, *command);
    store.publish();
    return outcome.error;
  }

  state::Snapshot state() const { return store.snapshot(); }

  void put_policy(const std::string& name, const std::string& rules) {
    CHECK_FALSE(run([&](auto command) {
      auto policy = command.initAclPolicyUpsert();
      policy.setName(text(name));
      policy.setRules(text(rules));
      policy.setHash(shared_data(name + rules));
    }));
  }

  void put_role(const std::string& id, const std::string& name) {
    CHECK_FALSE(run([&](auto command) {
      auto role = command.initAclRoleUpsert();
      role.setId(text(id));
      role.setName(text(name));
      role.initPolicies(1)[0].setName("p");
      role.setHash(shared_data(id + name));
    }));
  }

  void put_token(const std::string& accessor, bool is_global, std::string_view key) {
    CHECK_FALSE(run([&](auto command) {
      auto upsert = command.initAclTokenUpsert();
      upsert.setIsNew(true);
      auto token = upsert.initToken();
      token.setAccessorId(text(accessor));
      token.setSecretHash(shared_data(access::secret_hash("secret of " + accessor)));
      token.setGlobal(is_global);
      token.setKeyId(text(key));
      token.setSealed(shared_data("sealed there"));
      token.setHash(shared_data(accessor));
    }));
  }

  void put_namespace(const std::string& name, const std::string& quota = "") {
    CHECK_FALSE(run([&](auto command) {
      auto ns = command.initNamespaceUpsert();
      ns.setName(text(name));
      ns.setQuota(text(quota));
      ns.setHash(shared_data(name + quota));
    }));
  }

  void put_quota(const std::string& name, std::int64_t cpu) {
    CHECK_FALSE(run([&](auto command) {
      auto quota = command.initQuotaUpsert();
      quota.setName(text(name));
      auto limit = quota.initLimits(1)[0];
      limit.setRegion("other");
      limit.initRegionLimit().setCpu(cpu);
      quota.setHash(shared_data(name + std::to_string(cpu)));
    }));
  }

  std::int64_t cpu_limit(std::string_view quota) const {
    return state().row<kind::Quotas>(quota)->getLimits()[0].getRegionLimit().getCpu();
  }
};

/// Copies everything of a kind that differs; `secret` is what a sealed part opens to.
void copy_all(const Region& from, Region& to, std::string_view name) {
  const auto* kind = find_shared_kind(name);
  REQUIRE(kind != nullptr);
  const auto difference
      = compare_rows(kind->originals(from.state(), {}).marks, kind->copies(to.state(), {}).marks);
  std::vector<std::vector<std::byte>> rows;
  for (const auto& key : difference.missing) {
    const auto row = kind->read(from.state(), key);
    REQUIRE(row);
    const bool is_sealed = !row->sealed.key_id.empty();
    CHECK(std::string_view{reinterpret_cast<const char*>(row->row.data()), row->row.size()}.find(
              "sealed there")
          == std::string_view::npos);
    const auto copied
        = kind->copy(row->row, row->mark, SecretText{is_sealed ? "secret of " + key : ""},
                     is_sealed ? SealedPart{"k2", "sealed here"} : SealedPart{});
    REQUIRE(copied);
    rows.push_back(*copied);
  }
  CHECK_FALSE(to.apply(copy_command(*kind, rows, difference.surplus)));
}

struct Federation {
  Region authority{"k1"};
  Region other{"k2"};

  void copy(std::string_view name) { copy_all(authority, other, name); }

  bool are_alike(std::string_view name) const {
    const auto* kind = find_shared_kind(name);
    return kind->originals(authority.state(), {}).marks == kind->copies(other.state(), {}).marks;
  }
};

}  // namespace

TEST_CASE("shared kinds: these hold in all regions, and each has what marks need") {
  std::vector<std::string> names;
  for (const auto& kind : shared_kinds())
    names.emplace_back(kind.name);
  CHECK(names
        == std::vector<std::string>{"quotas", "node_pools", "namespaces", "acl_policies",
                                    "acl_tokens", "acl_roles", "acl_auth_methods",
                                    "acl_binding_rules", "admission_policies"});
  CHECK(find_shared_kind("variables") == nullptr);
  for (const auto* name : {"namespaces", "quotas", "admission_policies"})
    CHECK_FALSE(find_shared_kind(name)->is_of_access);
  CHECK(find_shared_kind("acl_tokens")->is_of_access);
}

TEST_CASE(
    "shared kinds: a copy is as its original, changes follow, and what goes there goes here") {
  Federation two;
  two.authority.put_policy("p", "a");
  two.authority.put_policy("q", "b");
  two.copy("acl_policies");
  CHECK(two.are_alike("acl_policies"));
  CHECK(view(two.other.state().row<kind::AclPolicies>("p")->getRules()) == "a");
  two.authority.put_policy("p", "c");
  CHECK_FALSE(two.are_alike("acl_policies"));
  CHECK_FALSE(two.authority.run([](auto command) { command.setAclPolicyDelete("q"); }));
  two.copy("acl_policies");
  CHECK(two.are_alike("acl_policies"));
  CHECK(view(two.other.state().row<kind::AclPolicies>("p")->getRules()) == "c");
  CHECK_FALSE(two.other.state().row<kind::AclPolicies>("q"));
}

TEST_CASE("shared kinds: a token's secret is hashed and sealed where it is copied to") {
  Federation two;
  two.authority.put_token("t", true, "k1");
  two.authority.put_token("local", false, "k1");
  two.other.put_token("mine", false, "k2");
  two.copy("acl_tokens");
  const auto token = token_of_secret(two.other.state(), access::secret_hash("secret of t"));
  REQUIRE(token);
  CHECK(view(token->getKeyId()) == "k2");
  CHECK(kind::bytes_of(token->getSealed()) == "sealed here");
  CHECK_FALSE(two.other.state().row<kind::AclTokens>("local"));
  CHECK(two.other.state().row<kind::AclTokens>("mine"));  // its own, which no other region has
  CHECK(two.other.state().tables().acl_sealed_by_key.find("k2") != nullptr);

  CHECK_FALSE(two.authority.run([](auto command) { command.setAclTokenDelete("t"); }));
  two.copy("acl_tokens");
  CHECK_FALSE(two.other.state().row<kind::AclTokens>("t"));
  CHECK(two.other.state().row<kind::AclTokens>("mine"));
}

TEST_CASE("shared kinds: no copy takes the place of a region's own token, or of a lost key's") {
  Federation two;
  two.other.put_token("t", false, "k2");
  two.authority.put_token("t", true, "k1");
  two.copy("acl_tokens");
  CHECK_FALSE(two.other.state().row<kind::AclTokens>("t")->getGlobal());

  two.authority.put_token("u", true, "k1");
  const auto* tokens = find_shared_kind("acl_tokens");
  const auto row = tokens->read(two.authority.state(), "u");
  const auto copied
      = tokens->copy(row->row, row->mark, SecretText{"secret of u"}, {"gone", "sealed"});
  CHECK_FALSE(two.other.apply(copy_command(*tokens, {*copied}, {})));
  CHECK_FALSE(two.other.state().row<kind::AclTokens>("u"));
  // Nor does one take its own place that has lost its secret on the way.
  CHECK(tokens->copy(row->row, row->mark, {}, {}).error().what
        == "its secret does not open there now");
  CHECK(tokens->copy(row->row, row->mark, {}, {"k2", "as before"}));
  Draft<schema::AclToken> bare{*Object<schema::AclToken>::from_bytes(row->row)};
  bare->setSecretHash({});
  bare->setKeyId("");
  CHECK(tokens->copy(bare.freeze().bytes(), row->mark, {}, {}).error().what
        == "a token without a secret");
  // Nor is a local token ever one, whatever another region says.
  two.authority.put_token("v", false, "k1");
  CHECK_FALSE(tokens->read(two.authority.state(), "v"));
  CHECK_FALSE(tokens->copy(two.authority.state().row<kind::AclTokens>("v").bytes(),
                           {.key = "v", .index = 1, .hash = ""}, SecretText{"s"}, {}));
  CHECK(tokens->copy(row->row, {.key = "another", .index = 1, .hash = ""}, SecretText{"s"}, {})
            .error()
            .what
        == "what came is not that row");
  CHECK_FALSE(tokens->copy({}, row->mark, SecretText{"s"}, {}));
}

TEST_CASE("shared kinds: a role whose name another one had before takes it") {
  Federation two;
  two.authority.put_policy("p", "a");
  two.authority.put_role("b", "name");
  two.copy("acl_roles");  // without its policy: the link stays
  CHECK(two.are_alike("acl_roles"));
  CHECK_FALSE(two.authority.run([](auto command) { command.setAclRoleDelete("b"); }));
  two.authority.put_role("a", "name");

  // The new one comes before it is known that the old one has gone.
  const auto* roles = find_shared_kind("acl_roles");
  const auto row = roles->read(two.authority.state(), "a");
  const auto copied = roles->copy(row->row, row->mark, {}, {});
  CHECK_FALSE(two.other.apply(copy_command(*roles, {*copied}, {})));
  CHECK_FALSE(two.other.state().row<kind::AclRoles>("b"));
  CHECK(two.other.state().tables().acl_roles_by_name.find("name") != nullptr);
  two.copy("acl_roles");
  CHECK(two.are_alike("acl_roles"));
}

TEST_CASE("shared kinds: a namespace that is used here stays until it is not") {
  Federation two;
  two.authority.put_namespace("n");
  two.authority.put_namespace("m");
  two.copy("namespaces");
  CHECK(two.are_alike("namespaces"));
  CHECK_FALSE(two.other.run([](auto command) {
    auto job = command.initJobRegister().initJob();
    job.setNamespace("n");
    job.setId("j");
  }));
  for (const auto* name : {"n", "m"})
    CHECK_FALSE(two.authority.run([&](auto command) { command.setNamespaceDelete(name); }));
  const auto* namespaces = find_shared_kind("namespaces");
  CHECK(namespaces->stays(two.other.state(), "n"));
  CHECK(namespaces->stays(two.other.state(), "default"));
  CHECK_FALSE(namespaces->stays(two.other.state(), "m"));
  two.copy("namespaces");
  CHECK(two.other.state().get_namespace("n"));
  CHECK_FALSE(two.other.state().get_namespace("m"));
}

TEST_CASE(
    "shared kinds: a quota bounds its namespaces in all regions, and stays as long as these") {
  Federation two;
  two.authority.put_quota("q", 100);
  two.authority.put_namespace("n", "q");
  two.copy("namespaces");  // sooner than its quota
  CHECK(two.other.state().quota_of("n") == "q");
  CHECK_FALSE(two.other.state().row<kind::Quotas>("q"));
  two.copy("quotas");
  CHECK(two.are_alike("quotas"));
  CHECK(two.other.cpu_limit("q") == 100);
  two.authority.put_quota("q", 50);
  two.copy("quotas");
  CHECK(two.other.cpu_limit("q") == 50);

  two.authority.put_namespace("n");
  CHECK_FALSE(two.authority.run([](auto command) { command.setQuotaDelete("q"); }));
  CHECK(find_shared_kind("quotas")->stays(two.other.state(), "q"));
  two.copy("quotas");
  CHECK(two.other.state().row<kind::Quotas>("q"));
  two.copy("namespaces");
  two.copy("quotas");
  CHECK_FALSE(two.other.state().row<kind::Quotas>("q"));
}

TEST_CASE("shared kinds: what jobs must be like holds in all regions") {
  Federation two;
  CHECK_FALSE(two.authority.run([](auto command) {
    auto policy = command.initAdmissionPolicyUpsert();
    policy.setName("p");
    policy.setHash(shared_data("p"));
  }));
  two.copy("admission_policies");
  CHECK(two.are_alike("admission_policies"));
  CHECK(two.other.state().row<kind::AdmissionPolicies>("p"));
}

TEST_CASE("shared kinds: marks come in pages, each behind the last") {
  Region region{"k"};
  for (const auto* name : {"a", "b", "c"})
    region.put_policy(name, "r");
  const auto* policies = find_shared_kind("acl_policies");
  const auto first = policies->originals(region.state(), {.after = {}, .last = {}, .most = 2});
  CHECK(first.marks.size() == 2);
  CHECK_FALSE(first.is_last);
  const auto rest = policies->originals(region.state(), {.after = "b", .last = {}, .most = 2});
  CHECK(rest.is_last);
  REQUIRE(rest.marks.size() == 1);
  CHECK(rest.marks.front().key == "c");
  CHECK(policies->originals(region.state(), {.after = "a", .last = "b"}).marks.size() == 1);
}

}  // namespace nomad::cluster
