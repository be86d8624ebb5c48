// What logs have of the path of a request that names a token by its secret.
#include "actors/api/http/shown_path.hpp"

#include "test/unit/actors/api/acl/acl_api.hpp"

using namespace nomad;
using namespace nomad::api;

TEST_CASE("shown path: a secret that was taken for an accessor is not shown") {
  Acls fixture;
  const auto store = std::shared_ptr<state::Store>{std::shared_ptr<void>{}, &fixture.state().store};
  const auto accessor = Acls::text_in(fixture.boot, "AccessorID");
  const auto shown
      = [&](const std::string& id) { return shown_path("/v1/acl/token/" + id, store); };

  CHECK(shown(fixture.manager) == "/v1/acl/token/<redacted>");
  CHECK(shown(accessor) == "/v1/acl/token/" + accessor);
  CHECK(shown(no_such) == "/v1/acl/token/" + no_such);
  CHECK(shown("self") == "/v1/acl/token/self");
  CHECK(shown_path("/v1/job/" + fixture.manager, store) == "/v1/job/" + fixture.manager);
  CHECK(secret_in_path("/v1/acl/token/" + fixture.manager, store).reveal() == fixture.manager);
}

TEST_CASE("shown path: who has no state to look at takes each id for a secret") {
  CHECK(shown_path("/v1/acl/token/" + no_such, nullptr) == "/v1/acl/token/<redacted>");
  CHECK(shown_path("/v1/acl/token/onetime", nullptr) == "/v1/acl/token/onetime");
}
