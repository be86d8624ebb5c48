// What tokens are tied to, and what is whose own.
#include "runtime/cluster/acl/acl_names.hpp"

#include "acl_fixture.hpp"

namespace nomad::cluster {

namespace {

/// Whoever has the token of this accessor, and no rights at all.
access::Principal holder_of(const std::string& accessor) {
  const auto by = access::Authenticator::make(
      {.lookup = {.here = [accessor](std::string_view) -> std::optional<Result<access::Grant>> {
         return access::Grant{.accessor = accessor};
       }}});
  return by->at_once(by->identify({}))->value();
}

}  // namespace

TEST_CASE_FIXTURE(AclFixture, "acl_names: a token has its own policies and those of its roles") {
  apply(decide_put_token(now(), manager, wanted(), fresh("a"), {}));

  CHECK(policies_of_token(now(), *token("a")) == Names{"p", "q"});
  CHECK(view(token_of_secret(now(), access::secret_hash("SECRET of a"))->getAccessorId()) == "a");
  CHECK_FALSE(token_of_secret(now(), access::secret_hash("a")));
  CHECK(view(role_of_name(now(), "one")->getId()) == "r1");
  CHECK_FALSE(role_of_name(now(), "r1"));
}

TEST_CASE_FIXTURE(AclFixture, "acl_names: a holder has his own, and a manager everything") {
  apply(decide_put_token(now(), manager, wanted(), fresh("a"), {}));
  const OwnAcl own{now(), holder_of("a")};
  const OwnAcl none{now(), holder_of("")};
  const OwnAcl all{now(), manager.who};

  CHECK(own.has_policy("p"));
  CHECK(own.has_policy("q"));
  CHECK(own.has_policy("anonymous"));
  CHECK_FALSE(own.has_policy("s"));
  CHECK(own.has_role("r1"));
  CHECK_FALSE(own.has_role("one"));
  CHECK(own.has_token("a"));
  CHECK_FALSE(own.has_token("b"));
  CHECK_FALSE(own.manages());
  CHECK_FALSE(none.has_token(""));
  CHECK_FALSE(none.has_policy("p"));
  CHECK(all.manages());
  CHECK(all.has_token("b"));
}

}  // namespace nomad::cluster
