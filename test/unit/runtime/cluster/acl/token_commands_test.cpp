// Which tokens are made, and what an update may change; the texts are tested over HTTP.
#include "runtime/cluster/acl/token_commands.hpp"

#include "acl_fixture.hpp"

namespace nomad::cluster {

TEST_CASE_FIXTURE(AclFixture, "token commands: nothing is decided for who does not manage") {
  CHECK(decide_put_token(now(), stranger, wanted(), fresh("a"), {}).error()
        == access::permission_denied());
  CHECK(decide_delete_token(now(), stranger, "a").error() == access::permission_denied());
}

TEST_CASE_FIXTURE(AclFixture, "token commands: links to roles are kept by id, each once") {
  const auto made = decide_put_token(now(), manager, wanted(), fresh("a"), {});
  CHECK(made->id == "a");
  apply(made);

  REQUIRE(token("a")->getRoles().size() == 1);
  CHECK(view(token("a")->getRoles()[0].getId()) == "r1");
  CHECK(token("a")->getRoles()[0].getName().size() == 0);
}

TEST_CASE_FIXTURE(AclFixture, "token commands: whatever is asked, accessor and secret are drawn") {
  Draft<schema::AclToken> asked{wanted()};
  asked->setSecretId("mine");
  apply(decide_put_token(now(), manager, asked.freeze(), fresh("a"), {}));

  CHECK(token("a")->getSecretId().size() == 0);
  CHECK_FALSE(token_of_secret(now(), access::secret_hash("mine")));
}

TEST_CASE_FIXTURE(AclFixture, "token commands: a life that does not fit into a clock is too long") {
  Draft<schema::AclToken> asked{wanted()};
  asked->setExpirationTime(INT64_MIN);
  CHECK_FALSE(decide_put_token(now(), manager, asked.freeze(), fresh("a", INT64_MAX), {}));
  Draft<schema::AclToken> long_lived{wanted()};
  long_lived->setExpirationTtl(INT64_MAX);
  CHECK_FALSE(decide_put_token(now(), manager, long_lived.freeze(), fresh("a", INT64_MAX), {}));
}

TEST_CASE_FIXTURE(AclFixture, "token commands: a token ends after it begins, and stays as it was") {
  const auto why = [this](const Object<schema::AclToken>& asked, std::int64_t created) {
    const auto made = decide_put_token(now(), manager, asked, fresh("b", created), {});
    return made ? std::string{} : made.error().what;
  };
  Draft<schema::AclToken> over{wanted()};
  over->setExpirationTime(999);
  CHECK(why(over.freeze(), 1000).find("expiration time cannot be before create time")
        != std::string::npos);

  const auto minute = Nanoseconds{std::chrono::minutes{1}}.count();
  Draft<schema::AclToken> asked{wanted()};
  asked->setExpirationTtl(5 * minute);
  apply(decide_put_token(now(), manager, asked.freeze(), fresh("a"), {}));
  const auto end = token("a")->getExpirationTime();

  struct Case {
    std::int64_t ttl, time;
    std::string why;
  };

  for (const auto& one : std::vector<Case>{{6 * minute, 0, "cannot update expiration TTL"},
                                           {-1, 0, "cannot update expiration TTL"},
                                           {0, end + 1, "cannot update expiration time"},
                                           {0, 1, "cannot update expiration time"},
                                           {5 * minute, end, ""}}) {
    CAPTURE(one.ttl);
    CAPTURE(one.time);
    Draft<schema::AclToken> update{wanted("a")};
    update->setExpirationTtl(one.ttl);
    update->setExpirationTime(one.time);
    const auto said = why(update.freeze(), 2000);
    CHECK(said.find(one.why) != std::string::npos);
    CHECK(said.empty() == one.why.empty());
  }
}

TEST_CASE_FIXTURE(AclFixture, "token commands: an update without an expiry keeps it") {
  Draft<schema::AclToken> asked{wanted()};
  asked->setExpirationTtl(Nanoseconds{std::chrono::minutes{5}}.count());
  apply(decide_put_token(now(), manager, asked.freeze(), fresh("a"), {}));
  const auto end = token("a")->getExpirationTime();
  CHECK(end != 0);

  apply(decide_put_token(now(), manager, wanted("a"), fresh("b"), {}));

  CHECK(token("a")->getExpirationTime() == end);
  CHECK_FALSE(token("b"));
  for (const std::int64_t other : {end + 1, std::int64_t{1}}) {
    Draft<schema::AclToken> longer{wanted("a")};
    longer->setExpirationTime(other);
    CHECK_FALSE(decide_put_token(now(), manager, longer.freeze(), fresh("b"), {}));
  }
}

TEST_CASE_FIXTURE(AclFixture,
                  "token commands: one-time tokens are for live tokens, for ten minutes") {
  const auto hash = access::secret_hash("secret of a");
  const auto one_time = access::secret_hash("once");
  const auto life = one_time_token_life.count();
  Draft<schema::AclToken> asked{wanted()};
  asked->setExpirationTtl(Nanoseconds{std::chrono::hours{1}}.count());
  apply(decide_put_token(now(), manager, asked.freeze(), fresh("a"), {}));
  const auto end = token("a")->getExpirationTime();
  const auto nobody = test::anybody();

  CHECK_FALSE(decide_one_time_token(now(), nobody, hash, one_time, end + 1));
  CHECK_FALSE(decide_one_time_token(now(), nobody, one_time, one_time, 5));
  apply(decide_one_time_token(now(), nobody, hash, one_time, end - 1));

  CHECK(decide_exchange(now(), nobody, one_time, end)->id == "a");
  CHECK_FALSE(decide_exchange(now(), nobody, one_time, end + 1));  // its token has ended
  CHECK_FALSE(decide_exchange(now(), nobody, one_time, end + life));
  CHECK_FALSE(decide_exchange(now(), nobody, hash, end));
}

}  // namespace nomad::cluster
