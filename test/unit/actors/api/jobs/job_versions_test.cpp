// /v1/job/<id>/versions with its tags and differences, and /v1/job/<id>/actions.
#include <future>

#include <doctest/doctest.h>

#include "test/support/access_policy.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
namespace json = boost::json;

namespace {

std::string registration(int priority, const std::string& id = "web") {
  return R"({"Job":{"ID":")" + id + R"(","Datacenters":["dc1"],"Priority":)"
         + std::to_string(priority)
         + R"(,"TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"raw_exec",)"
         + R"("Actions":[{"Name":"say","Command":"/bin/echo","Args":["hi"]},)"
         + R"({"Name":"quit","Command":"/bin/quit"}],)"
         + R"("Config":{"command":"/bin/true"}}]}]}})";
}

struct Versions : ApiFixture {
  Versions() {
    for (const int priority : {10, 20, 30})
      REQUIRE(send("PUT", "/v1/jobs", registration(priority)).status == 200);
  }

  /// What the list says of the differences: for each version, from which priority to which.
  std::string changes(const std::string& query) {
    std::string out;
    const auto answer = json("/v1/job/web/versions?diffs=true" + query);
    if (answer.at("Diffs").is_null()) return "none";
    for (const auto& diff : answer.at("Diffs").as_array()) {
      std::string one{diff.at("Type").as_string()};
      if (!diff.at("Fields").is_null())
        for (const auto& field : diff.at("Fields").as_array())
          if (field.at("Name") == "Priority" && field.at("Type") != "None")
            one = std::string{field.at("Old").as_string()} + ">"
                  + std::string{field.at("New").as_string()};
      out += one + ' ';
    }
    return out;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Versions, "job versions: one gets a tag, which is shown with it") {
  const auto answer = send("POST", "/v1/job/web/versions/golden/tag",
                           R"({"Version":1,"Description":"it works"})");
  REQUIRE(answer.status == 200);
  const auto tag = json::parse(answer.body);
  CHECK(tag.at("Name") == "golden");
  CHECK(tag.at("Description") == "it works");
  CHECK(tag.at("TaggedTime").to_number<std::int64_t>() > 0);

  const auto versions = json("/v1/job/web/versions");
  CHECK(versions.at("Index") == tag.at("Index"));
  const auto& list = versions.at("Versions").as_array();
  CHECK_FALSE(list.at(0).as_object().contains("VersionTag"));
  CHECK(list.at(1).at("VersionTag").at("Name") == "golden");
  CHECK(list.at(1).at("VersionTag").at("TaggedTime") == tag.at("TaggedTime"));
  CHECK_FALSE(json("/v1/job/web").as_object().contains("VersionTag"));

  REQUIRE(send("PUT", "/v1/job/web/versions/newest/tag", R"({"Latest":true})").status == 200);
  CHECK(json("/v1/job/web").at("VersionTag").at("Name") == "newest");
  const auto gone = send("DELETE", "/v1/job/web/versions/newest/tag");
  REQUIRE(gone.status == 200);
  CHECK(json::parse(gone.body).at("Name") == "");
  CHECK_FALSE(json("/v1/job/web").as_object().contains("VersionTag"));
}

TEST_CASE_FIXTURE(Versions, "job versions: a tag of an old version wakes who waits for them") {
  const auto index = json("/v1/job/web/versions").at("Index").to_number<std::uint64_t>();
  auto waits = std::async(std::launch::async, [&] {
    return json("/v1/job/web/versions?wait=10s&index=" + std::to_string(index));
  });
  REQUIRE(has_waiting(1));
  REQUIRE(send("PUT", "/v1/job/web/versions/old/tag", R"({"Version":0})").status == 200);
  const auto versions = waits.get();
  CHECK(versions.at("Index").to_number<std::uint64_t>() > index);
  CHECK(versions.at("Versions").as_array().at(2).at("VersionTag").at("Name") == "old");
}

TEST_CASE_FIXTURE(Versions, "job versions: what can't have a tag is refused") {
  CHECK(refusal("PUT", "/v1/job/web/versions/a/tag", R"({"Version":9})")
        == "404 job \"web\" version 9 not found");
  CHECK(refusal("PUT", "/v1/job/gone/versions/a/tag", "{}") == "404 job \"gone\" not found");
  CHECK(refusal("PUT", "/v1/job/web/versions/a/tag", R"({"Version":1,"Latest":true})")
        == "400 version must be zero when tagging latest, got: 1");
  CHECK(refusal("PUT", "/v1/job/web/versions/a/b/tag", "{}") == "404 invalid job tag endpoint");
  CHECK(refusal("PUT", "/v1/job/web/tag", "{}") == "404 invalid job tag endpoint");
  CHECK(refusal("PUT", "/v1/job/versions/a/tag", "{}") == "404 invalid job tag endpoint");
  CHECK(refusal("PUT", "/v1/job/web/versions/%00/tag", "{}")
        == "400 the tag's name contains a null character");
  CHECK(refusal("DELETE", "/v1/job/web/versions/a/tag", "")
        == "404 tag \"a\" not found on job \"web\"");
  CHECK(refusal("DELETE", "/v1/job/web/tag", "") == "404 invalid job tag endpoint");
}

TEST_CASE_FIXTURE(Versions, "job versions: a job whose id has slashes has tags, too") {
  REQUIRE(send("PUT", "/v1/jobs", registration(10, "a/versions/b")).status == 200);
  REQUIRE(send("PUT", "/v1/job/a%2Fversions%2Fb/versions/golden/tag", "{}").status == 200);
  CHECK(json("/v1/job/a%2Fversions%2Fb").at("VersionTag").at("Name") == "golden");
}

TEST_CASE_FIXTURE(Versions, "job versions: they are compared with the one before, or with one") {
  REQUIRE(send("PUT", "/v1/job/web/versions/first/tag", R"({"Version":0})").status == 200);
  CHECK(changes("") == "20>30 10>20 ");
  CHECK(changes("&diff_tag=first") == "10>30 10>20 None ");
  CHECK(changes("&diff_version=2") == "None 30>20 30>10 ");
  CHECK(changes("&diff_tag=first&diff_version=2") == "10>30 10>20 None ");
  const std::string list = "/v1/job/web/versions?diffs=true";
  CHECK(refusal("GET", list + "&diff_tag=gone", "") == "404 tag \"gone\" not found");
  CHECK(refusal("GET", list + "&diff_version=9", "") == "404 version 9 not found");
  CHECK(refusal("GET", list + "&diff_version=x", "")
        == "400 Failed to parse value of \"diff_version\" (x) as a uint64: strconv.ParseUint: "
           "parsing \"x\": invalid syntax");
  CHECK(get("/v1/job/web/versions?diff_tag=gone").status == 200);
  REQUIRE(send("PUT", "/v1/jobs", registration(10, "single")).status == 200);
  CHECK(json("/v1/job/single/versions?diffs=true").at("Diffs").is_null());
}

TEST_CASE_FIXTURE(Versions, "job versions: many of them are compared all the same") {
  for (int priority = 31; priority < 45; ++priority) {
    REQUIRE(send("PUT", "/v1/jobs", registration(priority)).status == 200);
    const auto path = "/v1/job/web/versions/t" + std::to_string(priority) + "/tag";
    REQUIRE(send("PUT", path, R"({"Latest":true})").status == 200);
  }
  const auto all = json("/v1/job/web/versions?diffs=true&diff_tag=t31");
  CHECK(all.at("Versions").as_array().size() == 17);
  CHECK(all.at("Diffs").as_array().size() == 17);
}

TEST_CASE_FIXTURE(Versions, "job versions: going back to one with a tag leaves the tag there") {
  REQUIRE(send("PUT", "/v1/job/web/versions/first/tag", R"({"Version":0})").status == 200);
  REQUIRE(send("PUT", "/v1/job/web/revert", R"({"JobID":"web","JobVersion":0})").status == 200);
  const auto job = json("/v1/job/web");
  CHECK(job.at("Version") == 3);
  CHECK(job.at("Priority") == 10);
  CHECK_FALSE(job.as_object().contains("VersionTag"));
}

TEST_CASE_FIXTURE(Versions, "job actions: those of all tasks, with where they are") {
  const auto actions = json("/v1/job/web/actions");
  CHECK(texts_of(actions, "Name") == "say,quit");
  CHECK(
      json::serialize(actions.at(0))
      == R"({"Name":"say","Command":"/bin/echo","Args":["hi"],"TaskName":"t","TaskGroupName":"g"})");
  CHECK(actions.at(1).at("Args").is_null());
  CHECK(refusal("GET", "/v1/job/gone/actions", "") == "404 job not found");
}
