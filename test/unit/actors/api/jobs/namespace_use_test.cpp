// How much a namespace may hold.
#include "actors/api/jobs/namespace_use.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "test/support/access_policy.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;

namespace {

struct NamespaceUseFixture {
  ApiFixture fixture;
  NamespaceUse use;
  const NamespaceUse::Clock::time_point begin = NamespaceUse::Clock::now();

  void add(const char* id, const std::string& name) {
    fixture.state().run([&](schema::Command::Builder command) {
      auto job = command.initJobRegister().initJob();
      job.setNamespace("default");
      job.setId(id);
      job.setName(name);
    });
  }

  state::Snapshot now() { return fixture.state().now(); }

  std::uint64_t size(const char* id) { return now().job("default", id).size_in_bytes(); }

  JobGrowth growth(const char* id, std::uint64_t bytes) {
    return JobGrowth::of(now(), "default", id, bytes);
  }

  Result<> check(const JobGrowth& growth, std::uint64_t most, std::chrono::milliseconds later) {
    return use.check(now(), growth, most, begin + later);
  }
};

}  // namespace

TEST_CASE_FIXTURE(
    NamespaceUseFixture,
    "namespace_use: jobs are counted, what was written is added, when full counted again") {
  add("a", "a");
  const auto most = size("a") + 200;
  const JobGrowth hundred{.ns = "default", .bytes = 100};

  CHECK(check(hundred, most, 0ms));
  CHECK(check(hundred, most, 0ms));
  use.add(hundred);
  use.add(hundred);
  const auto refused = check({.ns = "default", .bytes = 1}, most, 10ms);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_argument);
  CHECK(
      refused.error().what
      == fmt::format("namespace \"default\" has {0} bytes of jobs with their versions and sources, "
                     "with the 1 of this one more than the {0} that it may have "
                     "(limits.namespace_jobs_max_mb): purge jobs, or make them smaller",
                     most));
  // What has gone meanwhile is forgotten.
  CHECK(check({.ns = "default", .bytes = 200}, most, 2s));
  CHECK_FALSE(check({.ns = "default", .bytes = 201}, most, 2s));
  CHECK(check({.ns = "default", .bytes = 1'000'000}, 0, 2s));
  CHECK(check({.ns = "other", .bytes = 150}, most, 0ms));
}

TEST_CASE_FIXTURE(NamespaceUseFixture, "namespace_use: versions and sources count") {
  add("a", std::string(10'000, 'a'));
  add("a", std::string(10'000, 'b'));
  const auto registered = now().job("default", "a")->getJobModifyIndex();
  fixture.state().run([&](schema::Command::Builder command) {
    auto source = command.initJobSubmission();
    source.setNamespace("default");
    source.setJobId("a");
    source.setJobModifyIndex(registered);
    source.setSource(std::string(50'000, 's'));
  });

  CHECK_FALSE(check({.ns = "default", .bytes = 1}, 70'000, 0ms));
  CHECK(check({.ns = "default", .bytes = 1}, 75'000, 2s));
}

TEST_CASE_FIXTURE(NamespaceUseFixture,
                  "namespace_use: what does not grow is taken when it is full") {
  add("a", std::string(10'000, 'a'));
  const auto bytes = size("a");

  CHECK_FALSE(check(growth("b", bytes), bytes, 0ms));
  CHECK_FALSE(check(growth("a", bytes + 8), bytes, 2s));
  CHECK(check(growth("a", bytes), bytes, 4s));
  CHECK(check(growth("a", 100), bytes, 6s));
  CHECK_FALSE(check(growth("a", bytes), bytes / 2, 8s));
  for (int i = 0; i < 6; ++i)
    add("a", std::string(10'000, static_cast<char>('b' + i)));
  CHECK(growth("a", bytes).bytes <= 64);
}

TEST_CASE("namespace_use: who may not change its jobs is not told how full a namespace is") {
  ApiFixture fixture{[](ApiOptions& options) {
    options.authenticator = test::a_only_rights();
    options.jobs.bounds.namespace_bytes = 1;
  }};
  fixture.add_namespace("bbb");
  fixture.state().register_job({.id = "web", .ns = "bbb"});
  const auto told = [&](const std::string& token, const std::string& action,
                        const std::string& body) {
    auto client = net::HttpClient::make(
        {.address = "http://" + fixture.address(), .headers = {{"X-Nomad-Token", token}}});
    auto answer = client->send(
        {.method = "PUT", .target = "/v1/job/web/" + action + "?namespace=bbb", .body = body});
    REQUIRE(answer.has_value());
    return std::to_string(answer->status) + ' ' + answer->body;
  };
  for (const auto& [action, body] : std::vector<std::pair<std::string, std::string>>{
           {"revert", R"({"JobID":"web","JobVersion":0})"},
           {"scale", R"({"Count":2,"Target":{"Group":"api"}})"},
           {"dispatch", "{}"}}) {
    CHECK(told(test::a_only, action, body) == "403 Permission denied");
    CHECK(told("owner", action, body).starts_with("400 namespace \"bbb\" has "));
  }
}
