// What changes between two jobs, and what that leads to.
#include "runtime/jobspec/diff.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/jobspec/canonicalize.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"

using boost::json::object;
using boost::json::value;
using namespace nomad::jobspec;

namespace {

object as_stored(object job) {
  REQUIRE_FALSE(match_names(job).has_error());
  canonicalize(job);
  AdmissionOptions options;
  options.default_node_pool = "";
  to_server_form(job, options);
  return job;
}

object between(const object& before, const object& after, bool contextual = false) {
  auto found = diff(&before, &after, contextual);
  REQUIRE_FALSE(found.has_error());
  return *std::move(found);
}

}  // namespace

TEST_CASE("the table of changes") {
  const value table = load_json("diff.json");
  const object base = as_stored(table.at("base").as_object());
  int checked = 0;
  for (const value& row : table.at("cases").as_array()) {
    CAPTURE(std::string{row.at("name").as_string()});
    const object changed = as_stored(edited(table.at("base"), row.at("edits").as_array()));
    const std::string_view jobs = row.at("jobs").as_string();
    const auto found = diff(jobs == "new" ? nullptr : &base, jobs == "old" ? nullptr : &changed,
                            row.at("contextual").as_bool());
    REQUIRE_FALSE(found.has_error());
    CHECK(to_text(without_null(*found)) == to_text(row.at("diff")));
    ++checked;
  }
  CHECK(checked > 50);
}

TEST_CASE("two jobs of different ids cannot be compared") {
  const object a = stored(small_job());
  object b = a;
  b["ID"] = "k";
  const auto found = diff(&a, &b, false);
  REQUIRE(found.has_error());
  CHECK(found.error().what == "can not diff jobs with different IDs: \"j\" and \"k\"");
}

TEST_CASE("no job at all") {
  const auto found = diff(nullptr, nullptr, true);
  REQUIRE_FALSE(found.has_error());
  CHECK(found->at("Type") == "None");
}

TEST_CASE("what the server keeps about a job is no change") {
  const object before = stored(small_job());
  object after = before;
  after["Version"] = 7;
  after["ModifyIndex"] = 99;
  after["JobModifyIndex"] = 98;
  after["CreateIndex"] = 97;
  after["SubmitTime"] = 1;
  after["Status"] = "running";
  after["Stable"] = true;
  CHECK(same_specification(before, after));
  CHECK(between(before, after).at("Type") == "None");
}

TEST_CASE("same specification") {
  const object before = stored(small_job());
  object after = before;
  CHECK(same_specification(before, after));
  after.at("TaskGroups").at(0).as_object()["Count"] = 2;
  CHECK_FALSE(same_specification(before, after));
  CHECK_FALSE(same_specification(after, before));

  object without = before;
  without["Meta"] = nullptr;
  object empty = before;
  empty.erase("Meta");
  CHECK(same_specification(without, empty));
}

TEST_CASE("annotations of counts, tasks and groups") {
  const object before = stored(small_job());
  const auto annotated = [&](auto&& change) {
    object after = small_job();
    change(after);
    object found = between(before, stored(std::move(after)));
    DesiredUpdates updates;
    updates.place = 2;
    updates.in_place_update = 1;
    annotate(found, {{"g", updates}});
    return found;
  };
  const object grown
      = annotated([](object& job) { job.at("TaskGroups").at(0).as_object()["Count"] = 3; });
  const value& group = grown.at("TaskGroups").at(0);
  CHECK(to_text(group.at("Updates")) == R"({"create":2,"in-place update":1})");
  CHECK(to_text(group.at("Fields").at(0).at("Annotations")) == R"(["forces create"])");

  const object replaced = annotated([](object& job) {
    job.at("TaskGroups").at(0).at("Tasks").at(0).as_object()["Config"]
        = boost::json::parse(R"({"command": "x"})");
  });
  CHECK(to_text(replaced.at("TaskGroups").at(0).at("Tasks").at(0).at("Annotations"))
        == R"(["forces create/destroy update"])");

  const object patient = annotated([](object& job) {
    job.at("TaskGroups").at(0).at("Tasks").at(0).as_object()["KillTimeout"] = 9'000'000'000;
  });
  CHECK(to_text(patient.at("TaskGroups").at(0).at("Tasks").at(0).at("Annotations"))
        == R"(["forces in-place update"])");
}
