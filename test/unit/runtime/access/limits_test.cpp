#include "runtime/access/limits.hpp"

#include <doctest/doctest.h>

#include "runtime/access/authenticator.hpp"

using namespace nomad;
using namespace nomad::access;

namespace {

constexpr auto last_capability = Capability::management;

Limits limits_of(std::string_view words) {
  return Limits::read(words).value();
}

/// What a caller with these limits is left, whatever else he shows.
Result<Allowed> judged(const std::string& limits, Capability needed, const Target& target) {
  const auto authenticator = Authenticator::make({.enforces = false});
  const auto who = authenticator->identify(
      {.credentials = {.token = "root", .node_id = "n", .node_secret = "s", .limits = limits}});
  return authorize(authenticator->at_once(who)->value(), needed, target);
}

}  // namespace

TEST_CASE("limits: nothing is left but what a word gives, and what everyone may do") {
  for (int number = 0; number <= static_cast<int>(last_capability); ++number) {
    const auto needed = static_cast<Capability>(number);
    CAPTURE(number);
    const bool is_for_all = needed == Capability::none || needed == Capability::node_pool_use;
    CHECK(Limits{}.allow(needed, {.ns = "default"}) == is_for_all);
    CHECK(limits_of("management").allow(needed, {.ns = "default"}));
    CHECK(limits_of("read-job").allow(needed, {.ns = "default"})
          == (is_for_all || needed == Capability::read_job || needed == Capability::read_services
              || needed == Capability::any_in_namespace));
  }
}

TEST_CASE("limits: capabilities of namespaces are for those that are named, the others for all") {
  const auto limits = limits_of("submit-job node-read namespace:a namespace:b");
  CHECK(limits.allow(Capability::submit_job, {.ns = "a"}));
  CHECK(limits.allow(Capability::submit_job, {.ns = "b"}));
  CHECK_FALSE(limits.allow(Capability::submit_job, {.ns = "c"}));
  CHECK_FALSE(limits.allow(Capability::submit_job, {}));
  CHECK_FALSE(limits.allow(Capability::any_in_namespace, {.ns = "c"}));
  CHECK(limits.allow(Capability::node_read, {}));
  CHECK_FALSE(limits_of("management namespace:a").allow(Capability::read_job, {.ns = "c"}));
}

TEST_CASE("limits: the own node may be read, and no other one") {
  const auto limits = limits_of("node:n1");
  CHECK(limits.allow(Capability::node_read, {.node = "n1"}));
  CHECK_FALSE(limits.allow(Capability::node_read, {.node = "n2"}));
  CHECK_FALSE(limits.allow(Capability::node_read, {}));
  CHECK_FALSE(limits.allow(Capability::node_write, {.node = "n1"}));
  CHECK_FALSE(limits_of("node:").allow(Capability::node_read, {}));
}

TEST_CASE("limits: words that are none are named") {
  CHECK(Limits::read("read-job submit-jobs").error().what == "\"submit-jobs\" is no capability");
  CHECK(Limits::read("node-pool-use").error().what == "\"node-pool-use\" is no capability");
  CHECK(limits_of(" node:n1  read-job ").text() == " node:n1  read-job ");
}

TEST_CASE("limits: they take from whatever the credentials give, and never add") {
  CHECK(judged("", Capability::submit_job, {.ns = "a"}));
  CHECK(judged("submit-job", Capability::submit_job, {.ns = "a"}));
  CHECK(judged("node:", Capability::submit_job, {.ns = "a"}).error().what
        == "Permission denied: it takes \"submit-job\" in the namespace \"a\"");
  CHECK(judged("node:", Capability::operator_write, {}).error().what
        == "Permission denied: it takes \"operator-write\"");
  // Of a newer release, maybe: nothing is left.
  CHECK_FALSE(judged("submit-job what-is-this", Capability::submit_job, {.ns = "a"}));

  const auto enforcing = Authenticator::make(
      {.lookup = {.here = [](std::string_view) { return std::optional<Result<Grant>>{Grant{}}; }}});
  const auto who = enforcing->identify({.credentials = {.limits = "management"}});
  CHECK_FALSE(authorize(enforcing->at_once(who)->value(), Capability::read_job, {.ns = "a"}));
  CHECK(Principal{who}.behind().limits() != nullptr);
}
