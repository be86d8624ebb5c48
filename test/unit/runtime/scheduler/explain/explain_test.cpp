#include "runtime/scheduler/explain/explain.hpp"

#include "test/unit/runtime/scheduler/explain/explain_harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(ExplainHarness,
                  "explain: a job that fits nowhere says what lacks and what would help") {
  const auto small = add_node([](schema::Node::Builder node) {
    node.setName("small");
    node.getNodeResources().getMemory().setMemoryMb(1000);
  });
  const auto large = add_node([](schema::Node::Builder node) {
    node.setName("large");
    node.getNodeResources().getMemory().setMemoryMb(1936);
  });
  process(register_job(make_job(1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].getResources().setMemoryMb(2000);
  })));

  const auto answer = group();

  CHECK(answer.queued == 1);
  CHECK(answer.fitting == 0);
  REQUIRE(answer.refused.size() == 1);
  CHECK(answer.refused[0].count == 2);
  CHECK(texts(answer.refused[0].reasons) == "memory, 2000 MiB asked: 1000 to 1936 free");
  CHECK(texts(answer.suggestions) == "64 MiB less memory (task \"server\": 2000 -> 1936)");
  CHECK(answer.suggestions.at(0).node.id == large);
  CHECK(answer.summary()
        == "Group \"api\": 1 allocation waits for a place; none of 2 nodes fits: memory, 2000 MiB "
           "asked: 1000 to 1936 free (2 nodes)");
  CHECK(texts(answer.waits) == "blocked-evaluation");
  CHECK(texts(ask_node(small).reasons) == "memory, 2000 MiB asked: 1000 free");
}

TEST_CASE_FIXTURE(ExplainHarness, "explain: ranks the nodes that fit, by the same scores") {
  const auto empty = add_node();
  const auto used = add_node(
      [](schema::Node::Builder node) { node.getNodeResources().getMemory().setMemoryMb(1000); });
  register_job(make_job(1));

  const auto answer = group();

  REQUIRE(answer.best.size() == 2);
  CHECK(answer.best[0].node.id == used);  // it gets fuller
  CHECK(answer.best[0].rank == 1);
  CHECK(answer.best[1].node.id == empty);
  CHECK(answer.best[1].rank == 2);
  CHECK(answer.best[0].normalized > answer.best[1].normalized);
  CHECK(ask_node(empty).candidate->rank == 2);
}

TEST_CASE_FIXTURE(ExplainHarness, "explain: an allocation is judged as if it were not there") {
  add_node(
      [](schema::Node::Builder node) { node.getNodeResources().getMemory().setMemoryMb(300); });
  process(register_job(make_job(1)));
  REQUIRE(live().size() == 1);
  auto asked = question();
  asked.alloc = std::string{live()[0]->alloc->id().substr(0, 8)};

  const auto answer = explained(asked);

  REQUIRE(answer.alloc.has_value());
  CHECK(answer.alloc->then->rank == 1);
  CHECK(answer.alloc->now->candidate->rank == 1);
  CHECK(answer.alloc->fitting_now == 1);
  CHECK(group().fitting == 0);  // there is no room for another one
  CHECK(texts(answer.alloc->waits) == "client");
}

TEST_CASE_FIXTURE(ExplainHarness, "explain: what is not there is said") {
  const auto node = add_node();
  register_job(make_job(1));
  const auto refusal = [&](const explain::Question& asked) {
    const auto answer = explain::explain(state(), asked);
    return answer ? std::string{} : answer.error().what;
  };
  CHECK(refusal({.ns = "default", .job_id = "none"}) == "job not found");
  auto asked = question();
  asked.group = "none";
  CHECK(refusal(asked) == "group \"none\" not found");
  asked = question();
  asked.node = "none";
  CHECK(refusal(asked) == "node \"none\" not found");
  asked.node = "node-" + node.substr(0, 8);
  CHECK(refusal(asked).empty());
  asked = question();
  asked.alloc = "none";
  CHECK(refusal(asked) == "allocation \"none\" not found");
}

TEST_CASE_FIXTURE(ExplainHarness,
                  "explain: ids that begin several nodes or allocations are refused") {
  for (const char* id : {"aaaa-1", "aaaa-2"})
    add_node([id](schema::Node::Builder node) {
      node.setId(id);
      node.setName("twin");
    });
  process(register_job(make_job(2)));
  auto asked = question();
  asked.node = "aaaa";
  CHECK(explain::explain(state(), asked).error().what
        == "several nodes begin with \"aaaa\"; give more of the id");
  asked.node = "twin";
  CHECK(explain::explain(state(), asked).error().what
        == "several nodes have the name \"twin\"; give the id of one");
}

TEST_CASE_FIXTURE(ExplainHarness,
                  "explain: groups that wait come first, and more than are told are counted") {
  add_node();
  process(register_job(make_job(1, [](schema::Job::Builder job) {
    Draft<schema::TaskGroup> sample{job.getTaskGroups()[0].asReader()};
    auto groups = job.initTaskGroups(explain::most_groups + 6);
    for (unsigned i = 0; i < groups.size(); ++i) {
      groups.setWithCaveats(i, sample.reader());
      groups[i].setName(text("g" + std::to_string(i)));
      groups[i].setCount(1);
      groups[i].getTasks()[0].getResources().setCpu(1);
      groups[i].getTasks()[0].getResources().setMemoryMb(i == 67 ? 90'000 : 10);
    }
  })));

  const auto answer = explained(question());

  CHECK(answer.groups.size() == explain::most_groups);
  CHECK(answer.other_groups == 6);
  CHECK(answer.groups[0].name == "g67");
  CHECK(answer.summary().starts_with("Group \"g67\": 1 allocation waits"));
}

TEST_CASE_FIXTURE(ExplainHarness, "explain: work is bounded, and the answer says how far it came") {
  for (int i = 0; i < 20; ++i)
    add_node();
  register_job(make_job(1));
  auto asked = question();
  asked.most_work = 80;

  const auto cut = explained(asked).groups.at(0);

  CHECK(cut.looked_at == 10);
  CHECK(cut.nodes == 20);
  CHECK_FALSE(cut.is_whole());
  CHECK(cut.summary().find("10 of 20 nodes that were looked at") != std::string::npos);
}

TEST_CASE_FIXTURE(ExplainHarness, "explain: who asks for nothing any more ends it") {
  for (int i = 0; i < 600; ++i)
    add_node();
  register_job(make_job(1));
  auto asked = question();
  asked.goes_on = [] { return false; };
  CHECK(explained(asked).groups.at(0).looked_at < 300);
}
