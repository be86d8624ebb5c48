// What changes between two jobs, and what that leads to.
#include "runtime/jobspec/diff/diff.hpp"

#include <algorithm>
#include <map>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"

using boost::json::object;
using boost::json::value;
using namespace nomad::jobspec;

namespace {

object as_stored(const object& job) {
  JobDraft draft = drafted(job);
  canonicalize(draft.job());
  AdmissionOptions options;
  options.default_node_pool = "";
  to_server_form(draft.job(), options);
  return tree_of_stored(draft);
}

object between(const object& before, const object& after, bool contextual = false) {
  auto found = diff(&before, &after, contextual);
  REQUIRE_FALSE(found.has_error());
  return *std::move(found);
}

DesiredUpdates updates_of(const object& counts) {
  const auto count = [&](const char* name) -> std::uint64_t {
    const value* found = counts.if_contains(name);
    return found == nullptr ? 0 : found->to_number<std::uint64_t>();
  };
  return {.ignore = count("Ignore"),
          .place = count("Place"),
          .migrate = count("Migrate"),
          .stop = count("Stop"),
          .in_place_update = count("InPlaceUpdate"),
          .destructive_update = count("DestructiveUpdate"),
          .canary = count("Canary")};
}

/// Objects of one name, such as the ports of a network, come in any order.
value unordered(value tree) {
  if (value* objects = tree.is_object() ? tree.as_object().if_contains("Objects") : nullptr;
      objects != nullptr && objects->is_array()) {
    boost::json::array& list = objects->get_array();
    std::sort(list.begin(), list.end(), [](const value& a, const value& b) {
      return to_text(unordered(a)) < to_text(unordered(b));
    });
  }
  if (tree.is_object())
    for (auto& member : tree.as_object())
      member.value() = unordered(std::move(member.value()));
  if (tree.is_array())
    for (value& element : tree.as_array())
      element = unordered(std::move(element));
  return tree;
}

}  // namespace

TEST_CASE("diff: actions and links are compared by their positions") {
  const auto job_with = [](const std::string& actions, const std::string& links) {
    auto job = small_job();
    auto& task = job.at("TaskGroups").at(0).at("Tasks").at(0).as_object();
    if (!actions.empty()) task["Actions"] = boost::json::parse(actions);
    if (!links.empty())
      job["UI"] = object{{"Description", "d"}, {"Links", boost::json::parse(links)}};
    return as_stored(job);
  };
  const auto before
      = job_with(R"([{"Name":"a","Command":"x","Args":["1"]},{"Name":"b","Command":"y"}])",
                 R"([{"Label":"l","URL":"http://a"}])");
  const auto after = job_with(R"([{"Name":"a","Command":"x","Args":["2"]}])",
                              R"([{"Label":"l","Url":"http://b"},{"Label":"m","Url":"http://c"}])");
  const auto found = between(before, after);
  const auto& ui = found.at("Objects").at(0);
  CHECK(ui.at("Name") == "UI");
  CHECK(ui.at("Type") == "Edited");
  REQUIRE(ui.at("Objects").as_array().size() == 2);
  CHECK(
      to_text(ui.at("Objects").at(0).at("Fields"))
      == to_text(boost::json::parse(
          R"([{"Type":"Edited","Name":"Url","Old":"http://a","New":"http://b","Annotations":null}])")));
  CHECK(ui.at("Objects").at(0).at("Name") == "Link");
  CHECK(ui.at("Objects").at(1).at("Type") == "Added");
  const auto& actions = found.at("TaskGroups").at(0).at("Tasks").at(0).at("Objects").as_array();
  REQUIRE(actions.size() == 2);
  for (const auto& action : actions)
    CHECK(action.at("Name") == "Action");
  CHECK(between(before, before).at("Type") == "None");
  CHECK(between(as_stored(small_job()), before).at("Type") == "Edited");
}

TEST_CASE("diff: a schedule is shown by the fields of its cron block") {
  const auto job_with = [](const std::string& schedule) {
    auto job = small_job();
    auto& task = job.at("TaskGroups").at(0).at("Tasks").at(0).as_object();
    if (!schedule.empty()) task["Schedule"] = boost::json::parse(schedule);
    return as_stored(job);
  };
  const auto schedule_of = [](const value& found) {
    return to_text(found.at("TaskGroups").at(0).at("Tasks").at(0).at("Objects"));
  };
  const auto before = job_with(R"({"Cron":{"Start":"0 9 * * * *","End":"0 16"}})");
  const auto after = job_with(R"({"Cron":{"Start":"0 9 * * * *","End":"0 17"}})");
  CHECK(
      schedule_of(between(before, after))
      == to_text(boost::json::parse(
          R"([{"Type":"Edited","Name":"Schedule","Fields":[)"
          R"({"Type":"Edited","Name":"End","Old":"0 16","New":"0 17","Annotations":null}],"Objects":null}])")));
  CHECK(
      schedule_of(between(job_with(""), before))
      == to_text(boost::json::parse(
          R"([{"Type":"Added","Name":"Schedule","Fields":[)"
          R"({"Type":"Added","Name":"End","Old":"","New":"0 16","Annotations":null},)"
          R"({"Type":"Added","Name":"Start","Old":"","New":"0 9 * * * *","Annotations":null}],"Objects":null}])")));
  CHECK(between(before, before).at("Type") == "None");
}

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

TEST_CASE("the table of plans: what changes, and what it leads to") {
  const value table = load_json("plan.json");
  const object base = stored(table.at("job").as_object());
  int checked = 0;
  for (const value& row : table.at("plans").as_array()) {
    CAPTURE(std::string{row.at("name").as_string()});
    const object changed = stored(edited(table.at("job"), row.at("edit").as_array()));
    auto found = diff(&base, &changed, true);
    REQUIRE_FALSE(found.has_error());
    std::map<std::string, DesiredUpdates, std::less<>> updates;
    for (const auto& group : row.at("updates").as_object())
      updates.emplace(group.key(), updates_of(group.value().as_object()));
    annotate(*found, updates);
    CHECK(to_text(unordered(without_null(*found))) == to_text(unordered(row.at("diff"))));
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
  CHECK(between(before, after).at("Type") == "None");
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

TEST_CASE("what the server notes in a scaling block is no change of the job") {
  const auto scaled = [](const char* changes) {
    object job = stored(small_job());
    object& scaling = job.at("TaskGroups").at(0).as_object()["Scaling"].emplace_object();
    scaling = {{"Min", 1}, {"Max", 3}};
    const value parsed = boost::json::parse(changes);
    for (const auto& change : parsed.as_object())
      scaling[change.key()] = change.value();
    return job;
  };
  const object before
      = scaled(R"({"ID":"a","Target":{"Job":"x"},"CreateIndex":4,"ModifyIndex":5})");
  const object same = between(before, scaled("{}"));
  CHECK(same.at("Type") == "None");
  CHECK(same.at("TaskGroups").at(0).at("Type") == "None");
  for (const char* change : {R"({"Min":2})", R"({"Max":null})", R"({"Policy":{"a":1}})"})
    CHECK(between(before, scaled(change)).at("Type") == "Edited");
}

TEST_CASE("a change of migrate is shown, and no scaling block that did not change") {
  object before = small_job();
  before.at("TaskGroups").at(0).as_object()["Migrate"] = boost::json::parse(R"({"MaxParallel":1})");
  before.at("TaskGroups").at(0).as_object()["Scaling"]
      = boost::json::parse(R"({"ID":"a","Min":1,"Max":3,"CreateIndex":4})");
  object after = before;
  after.at("TaskGroups").at(0).as_object()["Migrate"] = boost::json::parse(R"({"MaxParallel":7})");
  after.at("TaskGroups").at(0).as_object()["Scaling"]
      = boost::json::parse(R"({"ID":"b","Min":1,"Max":3,"CreateIndex":9})");
  const object found = between(stored(before), stored(after));
  const auto& objects = found.at("TaskGroups").at(0).at("Objects").as_array();
  REQUIRE(objects.size() == 1);
  CHECK(objects[0].at("Name") == "Migrate");
  CHECK(objects[0].at("Type") == "Edited");
  CHECK(to_text(objects[0].at("Fields"))
        == R"([{"Annotations":null,"Name":"MaxParallel","New":"7","Old":"1","Type":"Edited"}])");
}
