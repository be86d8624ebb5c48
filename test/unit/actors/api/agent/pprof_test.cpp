// /v1/agent/pprof: what a user of `go tool pprof` is told.
#include <doctest/doctest.h>

#include "runtime/telemetry/heap_profiler.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

void show_to_all(ApiOptions& options) {
  options.agent.enable_debug = true;
}

}  // namespace

TEST_CASE("pprof: where nobody needs rights, nobody sees it unless the operator says so") {
  ApiFixture fixture;
  for (const auto* name : {"cmdline", "profile", "heap"})
    CHECK(fixture.refusal(std::string{"/v1/agent/pprof/"} + name) == "403 Permission denied");
}

TEST_CASE("pprof: the words of the program are a text that no browser takes for a page") {
  ApiFixture fixture{show_to_all};
  const auto answer = fixture.get("/v1/agent/pprof/cmdline");
  CHECK(answer.body.find("api_test") != std::string::npos);
  CHECK_FALSE(answer.body.ends_with('\0'));
  CHECK(answer.header("Content-Type") == "text/plain; charset=utf-8");
  CHECK(answer.header("X-Content-Type-Options") == "nosniff");
}

TEST_CASE("pprof: kinds of profiles that this program has not are told") {
  ApiFixture fixture{show_to_all};
  CHECK(fixture.refusal("/v1/agent/pprof/mutex")
        == "404 Pprof profile not found profile: mutex; this program has \"cmdline\", \"profile\", "
           "of its processor time, and \"heap\" and \"allocs\", of its memory");
  CHECK(fixture.refusal("/v1/agent/pprof/heap?seconds=3")
        == "400 this program's memory is shown as it is now, without \"seconds\": compare two "
           "profiles by \"go tool pprof -diff_base\"");
  CHECK(fixture.refusal("/v1/agent/pprof/") == "404 Invalid method");
}

TEST_CASE("pprof: memory comes gzipped, as a file, in both views") {
  ApiFixture fixture{show_to_all};
  for (const std::string name : {"heap", "allocs"}) {
    const auto answer = fixture.get("/v1/agent/pprof/" + name);
    if (!telemetry::has_heap_hooks()) {
      CHECK(answer.status == 500);
      continue;
    }
    CHECK(answer.status == 200);
    CHECK(answer.body.starts_with("\x1f\x8b"));
    CHECK(answer.header("Content-Type") == "application/octet-stream");
    CHECK(answer.header("Content-Disposition") == "attachment; filename=\"" + name + '"');
  }
}
