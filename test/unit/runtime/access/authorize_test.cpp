#include "runtime/access/authorize.hpp"

#include <type_traits>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::access;

// Nobody but `authorize` can make one.
static_assert(!std::is_default_constructible_v<Allowed>);
static_assert(!std::is_aggregate_v<Allowed>);
static_assert(!std::is_constructible_v<Allowed, Capability, Target, bool>);

namespace {

Principal judged_by(Policy policy) {
  Caller caller;
  caller.token = TokenIdentity{"secret"};
  return {std::move(caller), std::make_shared<const Policy>(std::move(policy))};
}

Policy allow_reads_of(const std::string& ns) {
  return [ns](const Caller& caller, Capability needed, const Target& target) -> Result<> {
    if (caller.token && needed == Capability::read_job && target.ns == ns) return {};
    return Error{Errc::permission_denied, "Permission denied"};
  };
}

}  // namespace

TEST_CASE("authorize: without a policy everybody may do everything") {
  const Principal anybody{Caller{}, nullptr};

  CHECK(authorize(anybody, Capability::management, {}).has_value());
  CHECK(authorize(anybody, Capability::variables_read, {"a", "path"}).has_value());
}

TEST_CASE("authorize: the policy hears who, what and of what") {
  const auto who = judged_by(allow_reads_of("a"));

  CHECK(authorize(who, Capability::read_job, {"a"}).has_value());
  CHECK(authorize(who, Capability::read_job, {"b"}).error()
        == Error{Errc::permission_denied, "Permission denied"});
  CHECK(authorize(who, Capability::submit_job, {"a"}).has_error());
  CHECK(authorize(Asking{who, Capability::read_job}, {"a"}).has_value());
  CHECK(authorize(who, Capability::none, {"b"}).has_value());
}

TEST_CASE("authorize: a permission says what it is for") {
  const Principal anybody{Caller{}, nullptr};
  const auto allowed = authorize(anybody, Capability::variables_write, {"a", "path"}).value();

  CHECK(allowed.capability() == Capability::variables_write);
  CHECK(allowed.is_for({"a", "path"}));
  CHECK_FALSE(allowed.is_for({"b", "path"}));
  CHECK_FALSE(allowed.is_for({"a", "other"}));
  CHECK_FALSE(allowed.is_for({"path", "a"}));
}

TEST_CASE("authorize: the cluster at its own work is nobody's caller") {
  CHECK(own_work("core_gc").is_for({"any"}));
  CHECK(Principal::cluster("core_gc").describe() == "cluster:core_gc");
  CHECK(Principal{Caller{.remote = "10.0.0.1"}, nullptr}.describe() == "anonymous:10.0.0.1");
}

TEST_CASE("capability: those of a namespace can only be judged with one") {
  CHECK(is_namespaced(Capability::read_job));
  CHECK(is_namespaced(Capability::variables_destroy));
  for (const auto other :
       {Capability::none, Capability::node_read, Capability::node_pool_read,
        Capability::agent_write, Capability::operator_read, Capability::management})
    CHECK_FALSE(is_namespaced(other));
}
