// Drafts of jobs, and the blocks that they are made of.
#include "runtime/jobspec/job_draft.hpp"

#include <random>
#include <vector>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/validate/validate.hpp"
#include "runtime/object/draft.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"

using namespace nomad::jobspec;
using nomad::Draft;
using nomad::FlatJson;
using nomad::Object;

namespace {

JobDraft draft_of(std::string_view text) {
  const auto json = FlatJson::read(text);
  REQUIRE(json.has_value());
  auto draft = JobDraft::decode(json->root());
  REQUIRE_MESSAGE(draft.has_value(), draft.error().what);
  return std::move(*draft);
}

std::string tree_text(JobDraft& draft) {
  return boost::json::serialize(tree_of(draft.job(), block_types().job));
}

}  // namespace

TEST_CASE("job_draft: what was given differs from what was left out") {
  JobDraft draft = draft_of(R"({"Priority":0,"AllAtOnce":null,"Stop":false,"Name":"","Meta":{},
      "TaskGroups":[{"ShutdownDelay":0},null]})");
  const DraftBlock job = draft.job();
  CHECK(job.has("Priority"));
  CHECK_FALSE(job.has("AllAtOnce"));
  CHECK(job.has("Stop"));
  CHECK(job.has("Name"));
  CHECK_FALSE(job.has("ID"));
  CHECK(job.has("Meta"));
  CHECK_FALSE(job.has("Constraints"));
  CHECK(job.list("TaskGroups").size() == 2);
  CHECK(job.list("TaskGroups")[0].has("ShutdownDelay"));
  CHECK_FALSE(job.list("TaskGroups")[1].has("ShutdownDelay"));
  CHECK(
      tree_text(draft)
      == R"({"Name":"","Priority":0,"TaskGroups":[{"ShutdownDelay":0},{}],"Meta":{},"Stop":false})");
}

TEST_CASE("job_draft: of members of one name the last counts, whatever its case") {
  JobDraft draft = draft_of(R"({"ID":"a","Priority":"wrong","priority":7,"id":"b","Stop":true,
      "STOP":null})");
  CHECK(tree_text(draft) == R"({"ID":"b","Priority":7})");
}

TEST_CASE("job_draft: what only requests have is known, and not stored") {
  JobDraft draft = draft_of(R"({"Migrate":{"MaxParallel":2},"TaskGroups":[{"Services":[
      {"Name":"s","CheckRestart":{"Limit":3},"Connect":{"Native":true}}],
      "Tasks":[{"LogConfig":{"Enabled":true,"MaxFiles":3}}]}]})");
  const DraftBlock group = draft.job().list("TaskGroups").front();
  const DraftBlock service = group.list("Services").front();
  CHECK(draft.job().child("Migrate").number("MaxParallel") == 2);
  CHECK(service.child("CheckRestart").number("Limit") == 3);
  CHECK(service.child("Connect").flag("Native"));
  CHECK(group.list("Tasks").front().child("LogConfig").flag("Enabled"));

  const auto stored = draft.freeze();
  CHECK(Object<nomad::schema::Job>::check(stored.bytes()).has_value());
  CHECK(Draft<nomad::schema::Job>{stored}.freeze().equals(stored));
  CHECK(stored->getTaskGroups()[0].getTasks()[0].getLogConfig().getMaxFiles() == 3);
}

TEST_CASE("job_draft: a stored job is what Cap'n Proto's own copy of it would be") {
  const boost::json::value table = load_json("canonicalize.json");
  for (const auto& row : table.at("cases").as_array()) {
    JobDraft draft = admitted(row.at("job").as_object());
    const auto stored = draft.freeze();
    CHECK(Object<nomad::schema::Job>::check(stored.bytes()).has_value());
    CHECK(Draft<nomad::schema::Job>{stored}.freeze().equals(stored));
  }
}

namespace {

/// Every value in a tree.
void collect(boost::json::value& tree, std::vector<boost::json::value*>& out) {
  out.push_back(&tree);
  if (auto* members = tree.if_object())
    for (auto& member : *members)
      collect(member.value(), out);
  if (auto* elements = tree.if_array())
    for (auto& element : *elements)
      collect(element, out);
}

/// `job` with some of its values replaced by others, often of a wrong type.
boost::json::object mutated(boost::json::value job, std::minstd_rand& random) {
  const auto others = boost::json::parse(R"([null, 0, -1, 300, 1.5, 9223372036854775807,
      18446744073709551615, true, "", "x", "10s", "signal", "consul", [], {}, [null], ["a", null],
      [{}], {"b": "1", "a": "2"}, {"a": null}, {"a": ["x"]}])");
  for (auto left = random() % 4; left > 0; --left) {
    std::vector<boost::json::value*> positions;
    collect(job, positions);
    if (positions.size() == 1) break;
    *positions[1 + random() % (positions.size() - 1)]
        = others.at(random() % others.get_array().size());
  }
  return job.as_object();
}

}  // namespace

TEST_CASE("job_draft: any job is refused in words, or stored as it is read") {
  const boost::json::value table = load_json("canonicalize.json");
  const auto& cases = table.at("cases").as_array();
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::minstd_rand random{seed};
  int taken = 0;
  for (int round = 0; round < 2'000; ++round) {
    const auto job = mutated(cases.at(random() % cases.size()).at("job"), random);
    CAPTURE(boost::json::serialize(job));
    auto draft = JobDraft::decode(job);
    if (!draft) {
      CHECK_FALSE(draft.error().what.empty());
      continue;
    }
    ++taken;
    canonicalize(draft->job());
    const auto once = tree_text(*draft);
    canonicalize(draft->job());
    CHECK(tree_text(*draft) == once);
    to_server_form(draft->job());
    add_implied_constraints(draft->job());
    const Validation rules = validate(draft->job());
    CHECK(rules.ok() == rules.error_text().empty());
    const auto stored = draft->freeze();
    REQUIRE(Object<nomad::schema::Job>::check(stored.bytes()).has_value());
    REQUIRE(Draft<nomad::schema::Job>{stored}.freeze().equals(stored));
  }
  CHECK(taken > 200);
}

TEST_CASE("block: fields are set and cleared") {
  JobDraft draft = draft_of(R"({"TaskGroups":[{"MaxClientDisconnect":5}]})");
  DraftBlock job = draft.job();
  DraftBlock group = job.list("TaskGroups").front();
  group.set("Count", -3);
  group.set_default("Count", 4);
  group.clear("MaxClientDisconnect");
  group.set_default("Name", "g");
  job.set_texts("Datacenters", {"a", "b"});
  CHECK(group.number("Count") == -3);
  CHECK_FALSE(group.has("MaxClientDisconnect"));
  CHECK(tree_text(draft) == R"({"Datacenters":["a","b"],"TaskGroups":[{"Name":"g","Count":-3}]})");
  group.clear("Count");
  CHECK_FALSE(group.has("Count"));
}

TEST_CASE("block: lists grow and shrink, and keep what is in them") {
  JobDraft draft = draft_of(R"({"Constraints":[{"LTarget":"a"}],"TaskGroups":[{"Volumes":
      {"x":{"Type":"host"},"y":{"Type":"odd"}}}]})");
  DraftBlock job = draft.job();
  job.append("Constraints").set("LTarget", "b");
  DraftBlock group = job.list("TaskGroups").front();
  group.append("Affinities").set("Weight", -5);
  group.remove_if("Volumes", [](const DraftBlock& entry) {
    return entry.child("Value").text("Type") == "odd";
  });
  CHECK(job.list("Constraints")[0].text("LTarget") == "a");
  CHECK(job.list("Constraints")[1].text("LTarget") == "b");
  CHECK(group.list("Affinities").front().number("Weight") == -5);
  REQUIRE(group.list("Volumes").size() == 1);
  CHECK(group.list("Volumes").front().child("Value").text("Type") == "host");
}

TEST_CASE("block: one takes over what it lacks from another, zero included") {
  JobDraft draft = draft_of(R"({"Update":{"Canary":0,"Stagger":7,"HealthCheck":"checks"},
      "TaskGroups":[{"Update":{"Stagger":1,"AutoRevert":true}}]})");
  DraftBlock own = draft.job().list("TaskGroups").front().child("Update");
  own.fill_from(draft.job().child("Update"));
  CHECK(own.number("Stagger") == 1);
  CHECK(own.flag("AutoRevert"));
  CHECK(own.has("Canary"));
  CHECK(own.text("HealthCheck") == "checks");
  CHECK_FALSE(own.has("AutoPromote"));
  CHECK_FALSE(draft.job().child("Update").is_zero());
}

TEST_CASE("block: none reads as a block in which nothing was given") {
  const DraftBlock none;
  CHECK_FALSE(none);
  CHECK_FALSE(none.has("Name"));
  CHECK(none.text("Name").empty());
  CHECK(none.number("Count") == 0);
  CHECK(none.child("Update").list("Any").empty());
  CHECK(none.is_zero());
}

TEST_CASE("job_draft: blocks are counted before anything is made of them") {
  const auto groups = [](std::size_t count, std::string_view group) {
    std::string text = R"({"TaskGroups":[)";
    for (std::size_t i = 0; i < count; ++i)
      (text += i == 0 ? "" : ",") += group;
    return text + "]}";
  };
  const auto decode = [](const std::string& text) {
    const auto json = FlatJson::read(text);
    REQUIRE(json.has_value());
    return JobDraft::decode(json->root());
  };
  CHECK(decode(groups(JobDraft::most_blocks - 1, "{}")).has_value());
  for (const auto* group : {"{}", "null"}) {
    const auto refused = decode(groups(JobDraft::most_blocks, group));
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == nomad::Errc::too_large);
    CHECK(refused.error().what
          == "the job has 10001 blocks, at most 10000 are taken; make several jobs of it");
  }
  CHECK(decode(groups(JobDraft::most_blocks / 2, R"({"Tasks":[{}]})")).has_error());
}
