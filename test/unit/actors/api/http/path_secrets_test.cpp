// What of a path must not be told, because somebody took a secret for an id.
#include "actors/api/http/path_secrets.hpp"

#include "test/unit/actors/api/acl/acl_api.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

using Texts = std::vector<std::string>;

Texts found_in(const std::string& text, const std::shared_ptr<state::Store>& store) {
  Texts found;
  for (const auto& secret : secrets_in(text, store))
    found.push_back(secret.reveal());
  return found;
}

}  // namespace

TEST_CASE("path secrets: a token's secret is found wherever somebody put it, an accessor is none") {
  Acls fixture;
  const auto store = std::shared_ptr<state::Store>{std::shared_ptr<void>{}, &fixture.state().store};
  const auto secret = fixture.manager;
  const auto one_time
      = boost::json::parse(fixture.ask("PUT", "/v1/acl/token/onetime", "", fixture.manager).body);
  const auto once = Acls::text_in(one_time.at("OneTimeToken"), "OneTimeSecretID");

  for (const auto* path : {"/v1/acl/token/", "/v1/job/", "/v1/var/a/", "/v1/nothing/x-", ""})
    CHECK(found_in(path + secret, store) == Texts{secret});
  CHECK(found_in("/v1/acl/token/onetime/" + once, store) == Texts{once});
  CHECK(found_in("/v1/job/" + secret + "/" + once + "/plan", store) == Texts{secret, once});
  CHECK(found_in("/v1/acl/token/" + Acls::text_in(fixture.boot, "AccessorID"), store).empty());
  CHECK(found_in("/v1/acl/token/" + no_such, store).empty());
  CHECK(found_in("/v1/acl/token/self", store).empty());
  CHECK(found_in("/v1/acl/token/onetime/" + no_such, store) == Texts{no_such});  // used up, maybe
}

TEST_CASE("path secrets: a signed identity is one, whoever signed it") {
  Acls fixture;
  const auto store = std::shared_ptr<state::Store>{std::shared_ptr<void>{}, &fixture.state().store};
  for (const auto& each : {store, std::shared_ptr<state::Store>{}}) {
    CHECK(found_in("/v1/job/eyJhbGc.eyJzdWI.c2ln/plan", each) == Texts{"eyJhbGc.eyJzdWI.c2ln"});
    CHECK(found_in("/v1/job/eyJhbGc.x", each).empty());
    CHECK(found_in("/v1/job/web.1.2", each).empty());
  }
}

TEST_CASE("path secrets: who has no state to look at takes each id of a token for one") {
  CHECK(found_in("/v1/acl/token/" + no_such, nullptr) == Texts{no_such});
  CHECK(found_in("/v1/acl/token/onetime", nullptr).empty());
  CHECK(found_in("/v1/allocation/" + no_such, nullptr).empty());
}

TEST_CASE("path secrets: no more are looked for than anybody puts there by mistake") {
  std::string path = "/v1/acl/token/";
  for (int i = 0; i < 40; ++i)
    path += no_such + '/';
  CHECK(found_in(path, nullptr).size() == 16);
}

TEST_CASE("path secrets: logs have the pattern of a route") {
  CHECK(pattern_of("PUT /v1/job/*/plan") == "/v1/job/*/plan");
  CHECK(pattern_of("").empty());
}
