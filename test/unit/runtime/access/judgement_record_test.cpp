#include "runtime/access/judgement_record.hpp"

#include <doctest/doctest.h>

using namespace nomad::access;

TEST_CASE("judged: without a judgement it has seen nothing") {
  const JudgementRecord judged;

  CHECK_FALSE(judged.first_allowed());
  CHECK_FALSE(judged.last_refused());
}

TEST_CASE("judged: of many judgements the first that allowed and the last that refused are kept") {
  JudgementRecord judged;

  judged.note(Capability::read_job, {.ns = "a"}, true);
  judged.note(Capability::list_jobs, {.ns = "b"}, true);
  judged.note(Capability::submit_job, {.ns = "c"}, false);
  judged.note(Capability::alloc_exec, {.ns = "d"}, false);

  REQUIRE(judged.first_allowed());
  CHECK(judged.first_allowed()->capability == Capability::read_job);
  CHECK(judged.first_allowed()->ns == "a");
  REQUIRE(judged.last_refused());
  CHECK(judged.last_refused()->capability == Capability::alloc_exec);
  CHECK(judged.last_refused()->ns == "d");
}

TEST_CASE("judged: what was judged is kept beyond what named it") {
  JudgementRecord judged;
  {
    const std::string path = "a/secret/place";
    const std::string pool = "gpu";
    judged.note(Capability::variables_read,
                {.ns = "n",
                 .path = path,
                 .node_pool = pool,
                 .node = "node",
                 .host_volume = "disk",
                 .plugin = "p"},
                true);
  }
  const auto seen = judged.first_allowed();

  REQUIRE(seen);
  const auto target = seen->target();
  CHECK(target.ns == "n");
  CHECK(target.path == "a/secret/place");
  CHECK(target.node_pool == "gpu");
  CHECK(target.node == "node");
  CHECK(target.host_volume == "disk");
  CHECK(target.plugin == "p");
}
