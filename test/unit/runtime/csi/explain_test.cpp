#include "runtime/csi/explain.hpp"

#include <doctest/doctest.h>

using namespace nomad::csi;
using Method = nomad::schema::csi::Method;

TEST_CASE("explain: codes that mean something of a method are told as Nomad tells them") {
  CHECK(explain(Method::CREATE_VOLUME, "data", {Cause::exhausted, "full"})
        == "unable to provision \"data\" in accessible_topology: rpc error: code = "
           "ResourceExhausted desc = full");
  CHECK(explain(Method::VALIDATE_VOLUME_CAPABILITIES, "x", {Cause::not_found, "no"})
        == "volume \"x\" could not be found: rpc error: code = NotFound desc = no");
  CHECK(explain(Method::LIST_VOLUMES, "7", {Cause::aborted, "no"})
        == "invalid starting token \"7\": rpc error: code = Aborted desc = no");
}

TEST_CASE("explain: internal errors name whose logs to look at") {
  CHECK(explain(Method::NODE_PUBLISH_VOLUME, "x", {Cause::internal, "no disk"})
        == "node plugin returned an internal error, check the plugin allocation logs for more "
           "information: rpc error: code = Internal desc = no disk");
  CHECK(explain(Method::DELETE_VOLUME, "x", {Cause::internal, "no disk"})
            .starts_with("controller plugin returned an internal error"));
}

TEST_CASE("explain: what no plugin has said is our own words alone") {
  CHECK(explain(Method::NODE_STAGE_VOLUME, "x", {Cause::no_socket, "nobody listens at its socket"})
        == "nobody listens at its socket");
  CHECK(explain(Method::PROBE, "", {Cause::unknown, "?"}) == "rpc error: code = Unknown desc = ?");
}
