// Access control over HTTP: no secret is where it does not belong, nor told by guesses and filters.
#include <algorithm>
#include <chrono>

#include "runtime/access/secret_hash.hpp"
#include "runtime/cluster/acl/token_commands.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/security/unopened_keys.hpp"
#include "test/unit/actors/api/acl/acl_api.hpp"

using namespace nomad;
using namespace nomad::api;

TEST_CASE("acl one-time tokens: give the token's secret once") {
  Acls fixture;
  fixture.make_policy("p");
  const auto token = fixture.make_token(R"({"Type":"client","Policies":["p"]})");
  const auto secret = Acls::text_in(token, "SecretID");
  const auto make = [&](const std::string& who) {
    return fixture.ask("PUT", "/v1/acl/token/onetime", "", who);
  };
  const auto exchange = [&](const std::string& one_time) {
    return fixture.ask("PUT", "/v1/acl/token/onetime/exchange",
                       R"({"OneTimeSecretID":")" + one_time + R"("})");
  };
  const auto made = boost::json::parse(make(secret).body);
  const auto one_time = Acls::text_in(made.at("OneTimeToken"), "OneTimeSecretID");
  const auto second
      = Acls::text_in(boost::json::parse(make(secret).body).at("OneTimeToken"), "OneTimeSecretID");
  CHECK(made.at("OneTimeToken").at("AccessorID") == token.at("AccessorID"));
  CHECK(made.at("OneTimeToken").as_object().size() == 5);

  const auto done = exchange(one_time);
  REQUIRE(done.status == 200);
  CHECK(boost::json::parse(done.body).at("Token") == token);
  for (const auto& used : {one_time, second, no_such, std::string{}})
    CHECK(exchange(used).status == 403);
  CHECK(make("").body == "acl token lookup failed: missing secret id");
  CHECK(make("").status == 500);
  CHECK(make(no_such).status == 403);
}

TEST_CASE("acl: a secret that nobody can open, as after a restore elsewhere, costs nothing else") {
  Acls fixture;
  fixture.make_policy("p");
  fixture.state().run([](auto command) {
    auto key = command.initRootKeyUpsert().initKey();
    key.setKeyId(text(uuid(8)));
    key.setState(schema::RootKeyState::INACTIVE);
  });
  fixture.state().run([](auto command) {
    auto body = command.initAclTokenUpsert();
    body.setIsNew(true);
    auto token = body.initToken();
    token.setAccessorId(text(uuid(7)));
    token.setType("client");
    token.initPolicies(1).set(0, "p");
    token.setSecretHash(cluster::data_of(access::secret_hash(no_such)));
    token.setKeyId(text(uuid(8)));
    token.setSealed(cluster::data_of("sealed elsewhere"));
  });
  const auto count = security::sealed_by_key(fixture.state().now().tables());
  CHECK(security::describe(count.at(uuid(8))) == "1 token");
  CHECK(security::describe({1, 2, 1}) == "1 variable, 2 tokens, 1 auth method");

  CHECK(fixture.refused("GET", "/v1/acl/token/" + uuid(7)).starts_with("500 token error: decrypt"));
  const auto changed = fixture.manage(
      "PUT", "/v1/acl/token/" + uuid(7),
      R"({"AccessorID":")" + uuid(7) + R"(","Name":"u","Type":"client","Policies":["p"]})");
  CHECK(changed.at("Name") == "u");
  CHECK(changed.at("SecretID") == "");
  const auto made = fixture.ask("PUT", "/v1/acl/token/onetime", "", no_such);
  REQUIRE(made.status == 200);
  const auto one_time
      = Acls::text_in(boost::json::parse(made.body).at("OneTimeToken"), "OneTimeSecretID");
  for (int again = 0; again < 2; ++again)  // it is not used up
    CHECK(fixture
              .refused("PUT", "/v1/acl/token/onetime/exchange",
                       R"({"OneTimeSecretID":")" + one_time + "\"}")
              .starts_with("500 token error: decrypt"));
}

TEST_CASE("acl: who guesses secrets waits on the routes that everybody may use, too") {
  struct Guess {
    const char* method;
    const char* path;
    std::string body = {};
  };

  for (const auto& guess : {
           Guess{"GET", "/v1/acl/policies"},
           Guess{"GET", "/v1/acl/policy/p"},
           Guess{"GET", "/v1/acl/roles"},
           Guess{"GET", "/v1/acl/role/x"},
           Guess{"GET", "/v1/acl/token/self"},
           Guess{"PUT", "/v1/acl/token/onetime"},
           Guess{"PUT", "/v1/acl/token/onetime/exchange",
                 R"({"OneTimeSecretID":")" + no_such + "\"}"},
       }) {
    CAPTURE(guess.path);
    Acls fixture{true, {.of_one = 3}};
    const auto is_slow = [&](const std::string& token) {
      const auto begun = std::chrono::steady_clock::now();
      const auto answer = fixture.ask(guess.method, guess.path, guess.body, token);
      CHECK(answer.status >= 403);
      return std::chrono::steady_clock::now() - begun > std::chrono::milliseconds{900};
    };
    int quick = 0;
    while (quick < 10 && !is_slow(guess.body.empty() ? no_such : ""))
      ++quick;
    CHECK(quick >= 2);
    CHECK(quick < 7);  // twice as many where the window ends meanwhile
  }
}

TEST_CASE("acl: neither the log nor the state nor an event has a secret") {
  Acls fixture{false};
  {
    const std::lock_guard lock{fixture.played->guard};
    fixture.played->keeps_commands = true;
  }
  fixture.boot = boost::json::parse(fixture.ask("PUT", "/v1/acl/bootstrap").body);
  fixture.manager = Acls::text_in(fixture.boot, "SecretID");
  fixture.make_policy("p");
  const auto token = fixture.make_token(R"({"Type":"client","Policies":["p"]})");
  const auto one_time
      = boost::json::parse(fixture.ask("PUT", "/v1/acl/token/onetime", "", fixture.manager).body);
  fixture.manage("PUT", "/v1/acl/auth-method",
                 R"({"Name":"m","Type":"OIDC","TokenLocality":"local","MaxTokenTTL":"1h",
                     "Config":{"OIDCClientSecret":"canary-of-the-client"}})");
  const std::vector<std::string> secrets{
      fixture.manager, Acls::text_in(token, "SecretID"),
      Acls::text_in(one_time.at("OneTimeToken"), "OneTimeSecretID"), "canary-of-the-client"};
  const auto used = [&](const std::string& path, const std::string& body) {
    CHECK(fixture.ask("PUT", path, body, fixture.manager).status == 200);
  };
  const auto accessor = Acls::text_in(token, "AccessorID");
  used("/v1/acl/token/" + accessor, R"({"AccessorID":")" + accessor + R"(","SecretID":")"
                                        + secrets[1] + R"(","Type":"client","Policies":["p"]})");
  used("/v1/acl/token/onetime/exchange", R"({"OneTimeSecretID":")" + secrets[2] + "\"}");
  const auto found_in = [&](std::string_view bytes) {
    return std::any_of(secrets.begin(), secrets.end(),
                       [&](const auto& secret) { return bytes.find(secret) != bytes.npos; });
  };
  {
    const std::lock_guard lock{fixture.played->guard};
    CHECK(fixture.played->commands.size() == 7);
    for (const auto& command : fixture.played->commands) {
      const auto bytes = command.view();
      CHECK_FALSE(found_in({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
  }
  const auto now = fixture.state().now();
  for (std::uint32_t table = 0; table < state::stored_tables; ++table) {
    const auto read = now.for_each_row(
        static_cast<state::Table>(table), [&](std::string_view key, auto bytes) -> Result<> {
          CHECK_FALSE(found_in(key));
          CHECK_FALSE(found_in({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
          return {};
        });
    CHECK(read.has_value());
  }
  const auto events = fixture.state().store.events().read_after(0, 1000);
  REQUIRE(events);
  std::size_t shown = 0;
  for (const auto& batch : events->batches)
    for (const auto& event : batch->events) {
      ++shown;
      std::visit(
          [&]<class T>(const Object<T>& object) {
            if constexpr (!std::is_same_v<T, schema::Allocation>)
              CHECK_FALSE(found_in(to_json(*object)));
          },
          event.payload);
    }
  CHECK(shown == 4);  // policy, token twice, method
  CHECK_FALSE(found_in(fixture.ask("GET", "/v1/acl/auth-method/m", "", fixture.manager).body));
}

TEST_CASE("acl auth methods: no filter tells what the list does not show") {
  Acls fixture;
  fixture.manage("PUT", "/v1/acl/auth-method",
                 R"({"Name":"m","Type":"OIDC","TokenLocality":"local","MaxTokenTTL":"1h",
                     "Config":{"OIDCClientID":"canary","BoundAudiences":["canary"]}})");
  const auto found = [&](const std::string& filter) {
    return fixture.ask("GET", "/v1/acl/auth-methods?filter=" + filter).body != "[]";
  };
  CHECK(found("Name%20==%20m"));
  CHECK_FALSE(found("Name%20==%20n"));
  for (const auto* filter :
       {"Config.OIDCClientID%20==%20canary", "canary%20in%20Config.BoundAudiences",
        "TokenLocality%20==%20local", "MaxTokenTTL%20!=%200"})
    CHECK(
        fixture.ask("GET", std::string{"/v1/acl/auth-methods?filter="} + filter).body.find("\"m\"")
        == std::string::npos);
}

TEST_CASE("acl: who lists jobs and does not read them learns no more of them by filters") {
  Acls fixture;
  fixture.state().register_job({.id = "web"});
  const auto token_for = [&](const std::string& name, const std::string& capability) {
    fixture.manage("PUT", "/v1/acl/policy/" + name,
                   R"({"Name":")" + name
                       + R"(","Rules":"namespace \"default\" { capabilities = [\")" + capability
                       + R"(\"] }"})");
    const auto token = fixture.make_token(R"({"Type":"client","Policies":[")" + name + "\"]}");
    return Acls::text_in(token, "SecretID");
  };
  const auto lists = token_for("lists", "list-jobs");
  const auto both = token_for("both", R"(list-jobs\", \"read-job)");
  const auto found = [&](const std::string& token, const std::string& filter) {
    const auto answer = fixture.ask("GET", "/v1/jobs?filter=" + filter, "", token);
    CHECK(answer.status == 200);
    return answer.body != "[]";
  };
  for (const auto& token : {lists, both, lists})
    CHECK(found(token, "ID%20==%20web"));
  for (int again = 0; again < 2; ++again) {  // also of what is kept
    CHECK_FALSE(found(lists, "TaskGroups%20is%20not%20empty"));
    CHECK(found(both, "TaskGroups%20is%20not%20empty"));
  }
}
