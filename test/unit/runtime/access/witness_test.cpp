#include "runtime/access/witness.hpp"

#include <doctest/doctest.h>

using namespace nomad::access;

TEST_CASE("witness: without a judgement it has seen nothing") {
  const Witness witness;

  CHECK_FALSE(witness.first_allowed());
  CHECK_FALSE(witness.last_refused());
}

TEST_CASE("witness: of many judgements the first that allowed and the last that refused are kept") {
  Witness witness;

  witness.note(Capability::read_job, {.ns = "a"}, true);
  witness.note(Capability::list_jobs, {.ns = "b"}, true);
  witness.note(Capability::submit_job, {.ns = "c"}, false);
  witness.note(Capability::alloc_exec, {.ns = "d"}, false);

  REQUIRE(witness.first_allowed());
  CHECK(witness.first_allowed()->capability == Capability::read_job);
  CHECK(witness.first_allowed()->ns == "a");
  REQUIRE(witness.last_refused());
  CHECK(witness.last_refused()->capability == Capability::alloc_exec);
  CHECK(witness.last_refused()->ns == "d");
}

TEST_CASE("witness: what was judged is kept beyond what named it") {
  Witness witness;
  {
    const std::string path = "a/secret/place";
    const std::string pool = "gpu";
    witness.note(Capability::variables_read,
                 {.ns = "n",
                  .path = path,
                  .node_pool = pool,
                  .node = "node",
                  .host_volume = "disk",
                  .plugin = "p"},
                 true);
  }
  const auto seen = witness.first_allowed();

  REQUIRE(seen);
  const auto target = seen->target();
  CHECK(target.ns == "n");
  CHECK(target.path == "a/secret/place");
  CHECK(target.node_pool == "gpu");
  CHECK(target.node == "node");
  CHECK(target.host_volume == "disk");
  CHECK(target.plugin == "p");
}
