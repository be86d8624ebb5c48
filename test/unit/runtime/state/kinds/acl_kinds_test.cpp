// Access control as it is stored: who of several is first, what goes with what, and what a restore
// brings back.
#include <map>
#include <set>

#include "../fixture.hpp"
#include "runtime/base/random.hpp"

using namespace nomad;
using namespace nomad::state;
using schema::RootKeyState;

namespace {

capnp::Data::Reader data(std::string_view bytes) {
  return {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

struct Acls : StateFixture {
  Acls() { put_key("k1", RootKeyState::ACTIVE); }

  Outcome put_key(std::string_view id, RootKeyState key_state) {
    return run([&](auto command) {
      auto key = command.initRootKeyUpsert().initKey();
      key.setKeyId(text(id));
      key.setState(key_state);
    });
  }

  static void fill_token(schema::AclToken::Builder token,
                         std::string_view accessor,
                         std::int64_t expires,
                         std::string_view secret) {
    token.setAccessorId(text(accessor));
    token.setSecretHash(data(secret));
    token.setKeyId("k1");
    token.setSealed(data("sealed"));
    token.setType("client");
    token.setExpirationTime(expires);
  }

  Outcome make_token(std::string_view accessor,
                     std::int64_t expires = 0,
                     std::string_view secret = {}) {
    return run([&](auto command) {
      auto upsert = command.initAclTokenUpsert();
      upsert.setIsNew(true);
      fill_token(upsert.initToken(), accessor, expires, secret.empty() ? accessor : secret);
    });
  }

  Outcome change_token(std::string_view accessor) {
    return run([&](auto command) {
      auto token = command.initAclTokenUpsert().initToken();
      fill_token(token, accessor, 0, "another");
      token.setName("changed");
      token.setGlobal(true);
      token.setSealed(data("older"));
    });
  }

  Outcome delete_token(std::string_view accessor) {
    return run([&](auto command) { command.setAclTokenDelete(text(accessor)); });
  }

  Outcome bootstrap(std::string_view accessor, Index reset = 0) {
    return run([&](auto command) {
      auto body = command.initAclBootstrap();
      fill_token(body.initToken(), accessor, 0, accessor);
      body.setResetIndex(reset);
    });
  }

  Outcome make_one_time(std::string_view accessor, std::string_view secret, std::int64_t expires) {
    return run([&](auto command) {
      auto token = command.initAclOneTimeTokenUpsert();
      token.setAccessorId(text(accessor));
      token.setSecretHash(data(secret));
      token.setExpiresAt(expires);
    });
  }

  Outcome exchange(std::string_view accessor, std::string_view secret) {
    return run([&](auto command) {
      auto body = command.initAclOneTimeTokenExchange();
      body.setAccessorId(text(accessor));
      body.setSecretHash(data(secret));
    });
  }

  Outcome expire(std::int64_t tokens, std::int64_t one_time = 0, std::uint32_t limit = 100) {
    return run([&](auto command) {
      auto body = command.initAclExpire();
      body.setTokensBefore(tokens);
      body.setOneTimeTokensBefore(one_time);
      body.setLimit(limit);
    });
  }

  Outcome put_policy(std::string_view name, std::string_view job = {}) {
    return run([&](auto command) {
      auto policy = command.initAclPolicyUpsert();
      policy.setName(text(name));
      if (job.empty()) return;
      policy.initJobAcl().setNamespace("default");
      policy.getJobAcl().setJobId(text(job));
    });
  }

  Outcome put_role(std::string_view id, std::string_view name, std::string_view policy) {
    return run([&](auto command) {
      auto role = command.initAclRoleUpsert();
      role.setId(text(id));
      role.setName(text(name));
      role.initPolicies(1)[0].setName(text(policy));
    });
  }

  Outcome put_method(std::string_view name, bool is_default, std::string_view key = {}) {
    return run([&](auto command) {
      auto method = command.initAclAuthMethodUpsert();
      method.setName(text(name));
      method.setDefault(is_default);
      method.setKeyId(text(key));
    });
  }

  Object<schema::AclToken> token(std::string_view accessor) const {
    return now().row<kind::AclTokens>(accessor);
  }

  std::size_t one_time_tokens() const { return now().rows<kind::AclOneTimeTokens>().size(); }
};

std::string error_of(const Outcome& outcome) {
  return outcome.error ? outcome.error->what : "";
}

}  // namespace

TEST_CASE("acl bootstrap: of two at the same moment one wins") {
  Acls state;

  const auto first = state.bootstrap("one");
  const auto second = state.bootstrap("two");

  CHECK_FALSE(first.error);
  CHECK(second.error->code == Errc::invalid_argument);
  CHECK(second.error->what
        == "ACL bootstrap already done (reset index: " + std::to_string(first.index) + ")");
  CHECK(state.token("one"));
  CHECK_FALSE(state.token("two"));
}

TEST_CASE("acl bootstrap: the index of the last one allows one more") {
  Acls state;
  const auto first = state.bootstrap("one").index;

  CHECK(error_of(state.bootstrap("two", 5))
        == "Invalid bootstrap reset index (specified 5, reset index: " + std::to_string(first)
               + ")");
  const auto again = state.bootstrap("two", first);
  CHECK_FALSE(again.error);
  CHECK(error_of(state.bootstrap("three", first)).starts_with("Invalid bootstrap reset index"));
  CHECK(state.token("one"));  // the earlier one stays valid
  CHECK(state.now().rows<kind::AclBootstraps>()->getModifyIndex() == again.index);
}

TEST_CASE("acl tokens: a new one has an accessor and a secret that nobody has") {
  Acls state;
  REQUIRE_FALSE(state.make_token("a", 0, "s1").error);

  for (const auto& [accessor, secret] : {std::pair{"a", "s2"}, std::pair{"b", "s1"}}) {
    const auto twice = state.make_token(accessor, 0, secret);
    CHECK(twice.error->code == Errc::conflict);
    CHECK(error_of(twice) == "there is such a token already");
  }
  CHECK(error_of(state.make_token("", 0, "s3")) == "a token needs an accessor and a secret");
  CHECK(state.now().rows<kind::AclTokens>().size() == 1);
}

TEST_CASE("acl tokens: an update keeps secret, seal, times and locality") {
  Acls state;
  state.make_token("a", 77, "s1");
  const auto before = state.token("a");

  REQUIRE_FALSE(state.change_token("a").error);

  const auto after = state.token("a");
  CHECK(view(after->getName()) == "changed");
  CHECK(after->getExpirationTime() == 77);
  CHECK_FALSE(after->getGlobal());
  CHECK(after->getSecretHash() == before->getSecretHash());
  CHECK(after->getSealed() == before->getSealed());
  CHECK(after->getCreateIndex() == before->getCreateIndex());
  CHECK(after->getModifyIndex() > before->getModifyIndex());
  CHECK(error_of(state.change_token("b")) == "cannot find token b");
}

TEST_CASE("acl tokens: one that is deleted takes its one-time tokens with it") {
  Acls state;
  state.make_token("a");
  state.make_token("b");
  state.make_one_time("a", "x", 10);
  state.make_one_time("b", "y", 10);

  CHECK_FALSE(state.delete_token("a").error);
  CHECK(error_of(state.delete_token("a")) == "Cannot delete nonexistent tokens: a");

  CHECK(state.one_time_tokens() == 1);
  CHECK(state.make_one_time("a", "z", 10).error->code == Errc::permission_denied);
}

TEST_CASE("acl one-time tokens: an exchange happens once, and ends all of the token") {
  Acls state;
  state.make_token("a");
  state.make_token("b");
  state.make_one_time("a", "x", 10);
  state.make_one_time("a", "y", 10);

  CHECK(state.exchange("b", "x").error->code == Errc::permission_denied);
  CHECK_FALSE(state.exchange("a", "x").error);
  CHECK(state.exchange("a", "x").error->code == Errc::permission_denied);
  CHECK(state.exchange("a", "y").error->code == Errc::permission_denied);
  CHECK(state.one_time_tokens() == 0);
}

TEST_CASE("acl one-time tokens: a token has so many at a time") {
  Acls state;
  state.make_token("a");
  for (std::size_t i = 0; i < kind::AclOneTimeTokens::most_of_a_token; ++i)
    REQUIRE_FALSE(state.make_one_time("a", "x" + std::to_string(i), 10).error);

  const auto more = state.make_one_time("a", "more", 10);
  CHECK(more.error->code == Errc::overloaded);
  CHECK(error_of(more) == "too many one-time tokens of this token wait for their use");
}

TEST_CASE("acl tokens: what has expired is collected, the oldest first, and nothing else") {
  Acls state;
  state.make_token("a", 30);
  state.make_token("b", 20);
  state.make_token("c", 40);
  state.make_token("d");
  state.make_one_time("a", "x", 50);
  state.make_one_time("d", "y", 35);

  state.expire(40, 40, 1);
  CHECK_FALSE(state.token("b"));
  CHECK(state.token("a"));
  CHECK(state.one_time_tokens() == 1);
  state.expire(40);
  CHECK_FALSE(state.token("a"));
  CHECK(state.token("c"));  // ends at 40, not before
  CHECK(state.token("d"));
  CHECK(state.one_time_tokens() == 0);
}

TEST_CASE("acl: what is sealed keeps its root key, and is sealed anew only as it was") {
  Acls state;
  state.make_token("a");
  state.put_method("oidc", false, "k1");
  state.put_key("k2", RootKeyState::ACTIVE);
  const auto delete_key
      = [&state] { return state.run([](auto command) { command.setRootKeyDelete("k1"); }); };
  const auto reseal = [&state](std::string_view before) {
    return state.run([&](auto command) {
      auto token = command.initAclReseal().initTokens(1)[0];
      token.setName("a");
      token.setBefore(data(before));
      token.setKeyId("k2");
      token.setSealed(data("anew"));
    });
  };
  const std::string in_use = "root key in use, cannot delete: it has sealed ";
  const std::string help
      = "; rotate with -full seals anew what it has sealed, and -force removes it with all of that";
  CHECK(error_of(delete_key()) == in_use + "2 secrets" + help);
  CHECK(state.now().root_key_in_use("k1"));

  reseal("otherwise");
  CHECK(state.token("a")->getSealed() == data("sealed"));
  reseal("sealed");
  CHECK(state.token("a")->getSealed() == data("anew"));
  CHECK(error_of(delete_key()) == in_use + "1 secret" + help);  // the method's
  state.run([](auto command) { command.setAclAuthMethodDelete("oidc"); });

  CHECK_FALSE(delete_key().error);
  CHECK(state.make_token("b").error->code == Errc::unavailable);
}

TEST_CASE("acl: what a key had sealed that was removed by force can be changed, and sealed anew") {
  Acls state;
  state.make_token("a");
  state.put_method("oidc", false, "k1");
  state.put_key("k2", RootKeyState::ACTIVE);

  CHECK_FALSE(state.run([](auto command) { command.setRootKeyForcedDelete("k1"); }).error);

  CHECK_FALSE(state.change_token("a").error);
  CHECK(view(state.token("a")->getName()) == "changed");
  CHECK_FALSE(state.put_method("oidc", true, "k1").error);
  CHECK(state.put_method("other", false, "k1").error->code == Errc::unavailable);
  CHECK_FALSE(state.put_method("oidc", true, "k2").error);
}

TEST_CASE("acl roles: names are unique, and policies are there") {
  Acls state;
  state.put_policy("p");
  REQUIRE_FALSE(state.put_role("r1", "one", "p").error);

  CHECK(error_of(state.put_role("r2", "one", "p")) == "ACL role with name one already exists");
  CHECK(error_of(state.put_role("r2", "two", "q")) == "ACL policy not found");
  CHECK_FALSE(state.put_role("r1", "uno", "p").error);
  CHECK_FALSE(state.put_role("r2", "one", "p").error);
  state.run([](auto command) { command.setAclPolicyDelete("p"); });  // in use: allowed
  CHECK(state.now().rows<kind::AclRoles>().size() == 2);
}

TEST_CASE("acl auth methods: at most one is the default") {
  Acls state;
  REQUIRE_FALSE(state.put_method("one", true).error);

  CHECK(error_of(state.put_method("two", true)) == "default method already exists: one");
  CHECK_FALSE(state.put_method("one", true).error);
  CHECK_FALSE(state.put_method("two", false).error);
}

TEST_CASE("acl binding rules: there is their method") {
  Acls state;
  const auto put_rule = [&state] {
    return state.run([](auto command) {
      command.initAclBindingRuleUpsert().setId("r");
      command.getAclBindingRuleUpsert().setAuthMethod("oidc");
    });
  };
  CHECK(error_of(put_rule()) == "ACL binding rule insert failed: ACL auth method not found");
  state.put_method("oidc", false);
  CHECK_FALSE(put_rule().error);
}

TEST_CASE("acl: a restore brings everything back with what derives from it") {
  Acls state;
  state.bootstrap("first");
  state.make_token("a", 30);
  state.make_one_time("a", "x", 10);
  state.put_policy("p", "web");
  state.put_role("r", "role", "p");
  state.put_method("oidc", true, "k1");
  state.run([](auto command) {
    command.initAclBindingRuleUpsert().setId("rule");
    command.getAclBindingRuleUpsert().setAuthMethod("oidc");
  });

  Store restored;
  REQUIRE(restore_into(restored, state.now()).has_value());

  CHECK(describe(restored.snapshot()) == describe(state.now()));
  CHECK(restored.snapshot().root_key_in_use("k1"));
  CHECK(restored.snapshot().rows<kind::AclBootstraps>());
  CHECK(restored.snapshot().tables().acl_tokens_by_secret.contains("a"));
  CHECK(restored.snapshot().tables().acl_policies_by_job.contains(join_key("default", "web", "p")));
}

TEST_CASE("acl tokens: a random world is as a plain model of it says") {
  struct Model {
    std::int64_t expires;
    std::set<std::string> one_time;
  };

  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Acls state;
    Random random{seed};
    std::map<std::string, Model> model;
    std::map<std::string, std::int64_t> times;  // of one-time tokens
    const auto name = [&random](char kind) { return kind + std::to_string(random.below(6)); };
    for (int step = 0; step < 300; ++step) {
      const auto accessor = name('a');
      const auto secret = name('x');
      const bool is_there = model.count(accessor) != 0;
      const auto time = static_cast<std::int64_t>(random.below(50));
      switch (random.below(5)) {
        case 0:
          CHECK(state.make_token(accessor, time).error.has_value() == is_there);
          if (!is_there) model[accessor] = {time, {}};
          break;
        case 1:
          CHECK(state.delete_token(accessor).error.has_value() != is_there);
          if (is_there)
            for (const auto& one : model[accessor].one_time)
              times.erase(one);
          model.erase(accessor);
          break;
        case 2: {
          const bool is_free = is_there && times.count(secret) == 0;
          CHECK(state.make_one_time(accessor, secret, time + 1).error.has_value() != is_free);
          if (is_free) model[accessor].one_time.insert(secret), times[secret] = time + 1;
          break;
        }
        case 3: {
          const bool fits = is_there && model[accessor].one_time.count(secret) != 0;
          CHECK(state.exchange(accessor, secret).error.has_value() != fits);
          if (fits) {
            for (const auto& one : model[accessor].one_time)
              times.erase(one);
            model[accessor].one_time.clear();
          }
          break;
        }
        default:
          if (!random.chance(0.2)) break;
          state.expire(time, time);
          for (auto it = model.begin(); it != model.end();) {
            const bool ends = it->second.expires != 0 && it->second.expires < time;
            for (auto one = it->second.one_time.begin(); one != it->second.one_time.end();) {
              const bool gone = ends || times[*one] < time;
              if (gone) times.erase(*one);
              one = gone ? it->second.one_time.erase(one) : std::next(one);
            }
            it = ends ? model.erase(it) : std::next(it);
          }
      }
      REQUIRE(state.now().rows<kind::AclTokens>().size() == model.size());
      REQUIRE(state.one_time_tokens() == times.size());
    }
    for (const auto& entry : model)
      CHECK(state.token(entry.first)->getExpirationTime() == entry.second.expires);
  }
}
