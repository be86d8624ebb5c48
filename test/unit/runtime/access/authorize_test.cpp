#include "runtime/access/authorize.hpp"

#include <type_traits>

#include <doctest/doctest.h>

#include "test/support/anybody.hpp"

using namespace nomad;
using namespace nomad::access;

// Nobody but `authorize` can make one.
static_assert(!std::is_default_constructible_v<Allowed>);
static_assert(!std::is_aggregate_v<Allowed>);
static_assert(!std::is_constructible_v<Allowed, Capability, Target, bool>);

// Nor anybody but the Authenticator a principal that is not the cluster.
static_assert(!std::is_default_constructible_v<Principal>);
static_assert(!std::is_aggregate_v<Principal>);
static_assert(!std::is_constructible_v<Principal, std::shared_ptr<const Caller>, bool>);

namespace {

Principal reader_of(const std::string& ns) {
  return test::somebody([ns](Capability needed, const Target& target) {
    return needed == Capability::read_job && target.ns == ns;
  });
}

}  // namespace

TEST_CASE("authorize: where nothing is enforced everybody may do everything") {
  const auto anybody = test::anybody_at();

  CHECK(authorize(anybody, Capability::management, {}).has_value());
  CHECK(authorize(anybody, Capability::variables_read, {"a", "path"}).has_value());
}

TEST_CASE("authorize: the rights of who asks decide, by what is asked and of what") {
  const auto who = reader_of("a");

  CHECK(authorize(who, Capability::read_job, {"a"}).has_value());
  CHECK(authorize(who, Capability::read_job, {"b"}).error()
        == Error{Errc::permission_denied, "Permission denied"});
  CHECK(authorize(who, Capability::submit_job, {"a"}).has_error());
  CHECK(authorize(Asking{who, Capability::read_job}, {"a"}).has_value());
  CHECK(authorize(who, Capability::none, {"b"}).has_value());
}

TEST_CASE("authorize: a permission says what it is for") {
  const auto anybody = test::anybody_at();
  const auto allowed = authorize(anybody, Capability::variables_write, {"a", "path"}).value();

  CHECK(allowed.capability() == Capability::variables_write);
  CHECK(allowed.is_for({"a", "path"}));
  CHECK_FALSE(allowed.is_for({"b", "path"}));
  CHECK_FALSE(allowed.is_for({"a", "other"}));
  CHECK_FALSE(allowed.is_for({"path", "a"}));
  for (const Target& other : {Target{.ns = "a", .path = "path", .node_pool = "x"},
                              Target{.ns = "a", .path = "path", .host_volume = "x"},
                              Target{.ns = "a", .path = "path", .plugin = "x"}})
    CHECK_FALSE(allowed.is_for(other));
}

TEST_CASE("authorize: the cluster at its own work is nobody's caller") {
  CHECK(own_work("core_gc").is_for({"any"}));
  CHECK(Principal::cluster("core_gc").describe() == "cluster:core_gc");
  CHECK(test::anybody_at("10.0.0.1").describe() == "anonymous:10.0.0.1");
}

TEST_CASE(
    "authorize: of whom nobody has looked up the rights, or who was moved away, may do nothing") {
  const auto open = test::open_to_all();
  auto who = open->identify({.remote = "10.0.0.1"});
  CHECK(authorize(who, Capability::read_job, {"a"}).error() == permission_denied());
  CHECK(authorize(who, Capability::none, {}).has_value());

  auto whole = test::anybody_at();
  const auto taken = std::move(whole);
  CHECK(authorize(taken, Capability::read_job, {"a"}).has_value());
  CHECK(authorize(whole, Capability::read_job, {"a"})
            .has_error());  // NOLINT(bugprone-use-after-move)
}

TEST_CASE("capability: those of a namespace can only be judged with one") {
  CHECK(is_namespaced(Capability::read_job));
  CHECK(is_namespaced(Capability::variables_destroy));
  for (const auto other :
       {Capability::none, Capability::node_read, Capability::node_pool_read,
        Capability::agent_write, Capability::operator_read, Capability::management})
    CHECK_FALSE(is_namespaced(other));
}
