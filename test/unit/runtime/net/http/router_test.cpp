#include "runtime/net/http/router.hpp"

#include <doctest/doctest.h>

using namespace nomad::net;

namespace {

struct RouterFixture {
  HttpRouter router;
  std::string called;

  void add(const std::string& pattern) {
    router.handle(pattern, [this, pattern](Responder responder) {
      called = pattern;
      responder.send({.status = 200});
    });
  }

  /// The pattern that answers `path`, "-> x" for a redirect to x, "" for none.
  std::string find(const std::string& target) {
    Request request;
    request.target = target;
    REQUIRE(split_target(request));
    const auto match = router.find(request.path, request.is_path_clean);
    if (!match.redirect.empty()) return "-> " + match.redirect;
    if (match.handler == nullptr) return "";
    called.clear();
    (*match.handler)(Responder{nullptr});
    return called;
  }
};

}  // namespace

TEST_CASE("router: the longest pattern wins, and prefixes need their slash") {
  RouterFixture fixture;
  for (const auto* pattern : {"/v1/jobs", "/v1/job/", "/v1/jobs/parse", "/v1/node/", "/v1/nodes",
                              "/v1/node/pools", "/v1/node/pool/"})
    fixture.add(pattern);

  CHECK(fixture.find("/v1/jobs") == "/v1/jobs");
  CHECK(fixture.find("/v1/jobs/parse") == "/v1/jobs/parse");
  CHECK(fixture.find("/v1/jobs/x") == "");
  CHECK(fixture.find("/v1/job/a/b") == "/v1/job/");
  CHECK(fixture.find("/v1/job/") == "/v1/job/");
  CHECK(fixture.find("/v1/job") == "-> /v1/job/");
  CHECK(fixture.find("/v1/node/pools") == "/v1/node/pools");
  CHECK(fixture.find("/v1/node/pool/x") == "/v1/node/pool/");
  CHECK(fixture.find("/v1/node/pool") == "-> /v1/node/pool/");
  CHECK(fixture.find("/v1//job/a") == "-> /v1/job/a");
  CHECK(fixture.find("/v1/job/../nodes") == "-> /v1/nodes");
  CHECK(fixture.find("/elsewhere") == "");
  // A job's name may have slashes wherever it likes.
  CHECK(fixture.find("/v1/job/%2Fteam%2Fweb") == "/v1/job/");
  CHECK(fixture.find("/v1/job/a%2F%2Fb/allocations") == "/v1/job/");
  CHECK(fixture.find("/v1/job/%2E%2E%2Fx") == "/v1/job/");
}

TEST_CASE("router: what nothing covers goes to the rest handler") {
  RouterFixture fixture;
  fixture.add("/v1/jobs");
  fixture.router.handle_rest([&fixture](Responder) { fixture.called = "rest"; });

  CHECK(fixture.find("/x") == "rest");
  CHECK(fixture.find("/v1/jobs") == "/v1/jobs");
}
