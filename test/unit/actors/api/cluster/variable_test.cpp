// Variables and the keyring over HTTP: statuses and texts as Nomad's clients know them, and
// nothing in the clear in what is written.
#include <algorithm>
#include <future>
#include <thread>

#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

struct Variables : ApiFixture {
  Variables() { add_root_key(); }

  net::ClientResponse put(const std::string& path, const std::string& items) {
    return send("PUT", "/v1/var/" + path, R"({"Items":)" + items + "}");
  }

  Object<schema::Variable> stored(const std::string& path) {
    return state().now().variable("default", path);
  }
};

bool contains(std::span<const std::byte> bytes, std::string_view text) {
  const auto needle = std::as_bytes(std::span{text});
  return std::search(bytes.begin(), bytes.end(), needle.begin(), needle.end()) != bytes.end();
}

}  // namespace

TEST_CASE("variable: is written sealed, answered as stored, and read again") {
  Variables fixture;

  const auto written = fixture.put("app/db", R"({"user":"ada","password":"tu\"lip\u00e9"})");

  CAPTURE(written.body);
  REQUIRE(written.status == 200);
  const auto variable = fixture.stored("app/db");
  REQUIRE(variable);
  CHECK_FALSE(contains(variable.bytes(), "ada"));
  CHECK_FALSE(contains(variable.bytes(), "tu\"lip"));
  CHECK(written.header("X-Nomad-Index") == std::to_string(variable->getModifyIndex()));
  const auto read = fixture.get("/v1/var/app/db");
  CHECK(read.body == written.body);
  CHECK(read.header("X-Nomad-Index") == written.header("X-Nomad-Index"));
  const auto shown = boost::json::parse(read.body).as_object();
  CHECK(shown.at("Path") == "app/db");
  CHECK(shown.at("Namespace") == "default");
  CHECK(shown.at("Items").as_object().at("password") == "tu\"lip\u00e9");
  CHECK(shown.size() == 7);
}

TEST_CASE("variable: check-and-set answers 409 with what is stored") {
  Variables fixture;
  const auto first = fixture.put("a?cas=0", R"({"k":"1"})");
  const auto again = fixture.put("a?cas=0", R"({"k":"2"})");
  const auto absent = fixture.put("b?cas=7", R"({"k":"3"})");
  const auto right
      = fixture.put("a?cas=" + std::string{first.header("X-Nomad-Index")}, R"({"k":"4"})");

  CHECK(first.status == 200);
  CHECK(again.status == 409);
  CHECK(again.body == first.body);
  CHECK(again.header("X-Nomad-Index") == first.header("X-Nomad-Index"));
  CHECK(absent.status == 409);
  CHECK(absent.header("X-Nomad-Index") == "0");
  CHECK(absent.body
        == R"({"CreateIndex":0,"CreateTime":0,"Items":null,"ModifyIndex":0,"ModifyTime":0,)"
           R"("Namespace":"default","Path":"b"})");
  CHECK(right.status == 200);
}

TEST_CASE("variable: deletion is 204, also of nothing, and checked when asked") {
  Variables fixture;
  const auto put = fixture.put("a", R"({"k":"1"})");

  const auto conflict = fixture.send("DELETE", "/v1/var/a?cas=1");
  const auto deleted
      = fixture.send("DELETE", "/v1/var/a?cas=" + std::string{put.header("X-Nomad-Index")});
  const auto nothing = fixture.send("DELETE", "/v1/var/a");

  CHECK(conflict.status == 409);
  CHECK(conflict.body == put.body);
  CHECK(deleted.status == 204);
  CHECK(deleted.body.empty());
  CHECK(nothing.status == 204);
  CHECK(fixture.refusal("/v1/var/a") == "404 variable not found");
}

TEST_CASE("variable: bad requests are refused in Nomad's words") {
  Variables fixture;
  const std::string items = R"({"Items":{"k":"v"}})";
  const std::tuple<std::string, std::string, std::string> cases[]
      = {{"/v1/var/", items, "400 missing variable path"},
         {"/v1/var/a", "", "400 Request body is empty"},
         {"/v1/var/a", "{}", "400 variable missing required Items object"},
         {"/v1/var/a", R"({"Items":{}})", "400 variable missing required Items object"},
         {"/v1/var/a", R"({"Items":{"k":1}})",
          "400 json: cannot unmarshal a value into Go struct field VariableDecrypted.Items of type "
          "string"},
         {"/v1/var/a?cas=x", items,
          "400 can not parse cas: strconv.ParseUint: parsing \"x\": invalid syntax"},
         {"/v1/var/a?namespace=*", items, "400 can not target wildcard (\"*\")namespace"},
         {"/v1/var/b%20c", items, "400 invalid path \"b c\""},
         {"/v1/var/nomad", items,
          "400 \"nomad\" is a reserved top-level directory path, but you may write variables to "
          "\"nomad/jobs\", \"nomad/job-templates\", or below"},
         {"/v1/var/a", R"({"Items":{"k":")" + std::string(65'536, 'x') + R"("}})",
          "400 variables are limited to 64KiB in total size"}};
  for (const auto& [target, body, expected] : cases)
    CHECK(fixture.refusal("PUT", target, body) == expected);
  CHECK(fixture.refusal("PATCH", "/v1/var/a", "") == "400 Invalid method");
  CHECK(fixture.refusal("POST", "/v1/vars", "") == "405 Invalid method");
  CHECK(fixture.state().now().variables_map().empty());
}

TEST_CASE("variable: the body's namespace counts before the query's") {
  Variables fixture;
  fixture.add_namespace("team");

  fixture.send("PUT", "/v1/var/a", R"({"Namespace":"team","Items":{"k":"v"}})");
  fixture.send("PUT", "/v1/var/b?namespace=team", R"({"Items":{"k":"v"}})");

  fixture.send("PUT", "/v1/var/c?namespace=other", R"({"Namespace":"team","Items":{"k":"v"}})");
  fixture.send("PUT", "/v1/var/d?namespace=team", R"({"Namespace":"default","Items":{"k":"v"}})");

  CHECK(texts_of(fixture.json("/v1/vars?namespace=team"), "Path") == "a,b,c");
  CHECK(texts_of(fixture.json("/v1/vars"), "Path") == "d");
  CHECK(texts_of(fixture.json("/v1/vars?namespace=*&prefix=b"), "Path") == "b");
}

TEST_CASE("variable: lists show no items, by page, prefix and filter") {
  Variables fixture;
  for (const std::string path : {"app/a", "app/b", "app/c", "other"})
    REQUIRE(fixture.put(path, R"({"k":"needle"})").status == 200);

  const auto all = fixture.get("/v1/vars");
  const auto page = fixture.get("/v1/vars?prefix=app&per_page=2");
  const auto next = fixture.json("/v1/vars?prefix=app&per_page=2&next_token="
                                 + std::string{page.header("X-Nomad-NextToken")});

  CHECK(all.body.find("needle") == std::string::npos);
  CHECK(all.body.find("Items") == std::string::npos);
  CHECK(texts_of(boost::json::parse(all.body), "Path") == "app/a,app/b,app/c,other");
  CHECK(texts_of(boost::json::parse(page.body), "Path") == "app/a,app/b");
  CHECK(texts_of(next, "Path") == "app/c");
  CHECK(texts_of(fixture.json("/v1/vars?filter=Path%20matches%20%22b$%22"), "Path") == "app/b");
}

TEST_CASE("variable: a blocking read wakes when it is written") {
  Variables fixture;
  REQUIRE(fixture.put("a", R"({"k":"1"})").status == 200);
  const auto before = fixture.get("/v1/var/a");
  const auto seen = before.header("X-Nomad-Index");
  std::string woken;

  std::thread reader{
      [&] { woken = fixture.get("/v1/var/a?wait=20s&index=" + std::string{seen}).body; }};
  while (fixture.state().store.watches().size() == 0)
    std::this_thread::yield();
  const auto written = fixture.put("a", R"({"k":"2"})");
  reader.join();

  CHECK(woken == written.body);
}

TEST_CASE("variable: is found by its path, and only in the namespace that is searched") {
  Variables fixture;
  CHECK(fixture.put("app/c?namespace=team", R"({"k":"1"})").body
        == "variable is in nonexistent namespace \"team\"");
  fixture.add_namespace("team");
  for (const auto* path : {"app/a", "app/b", "other", "app/c?namespace=team"})
    REQUIRE(fixture.put(path, R"({"k":"1"})").status == 200);
  const auto found = [&](const std::string& query, const std::string& context) {
    const auto answer = fixture.send("POST", "/v1/search" + query,
                                     R"({"Prefix":"app/","Context":")" + context + "\"}");
    return boost::json::serialize(
        boost::json::parse(answer.body).at("Matches").as_object().at("vars"));
  };

  CHECK(found("", "vars") == R"(["app/a","app/b"])");
  CHECK(found("", "all") == R"(["app/a","app/b"])");
  CHECK(found("?namespace=team", "vars") == R"(["app/c"])");
  CHECK(found("?namespace=*", "vars") == R"(["app/a","app/b","app/c"])");
}

TEST_CASE("variable: a write waits for the cluster's first root key") {
  ApiFixture fixture;

  auto written = std::async(std::launch::async, [&fixture] {
    return fixture.send("PUT", "/v1/var/a", R"({"Items":{"k":"v"}})").status;
  });
  CHECK(written.wait_for(std::chrono::milliseconds{60}) == std::future_status::timeout);
  fixture.add_root_key();

  CHECK(written.get() == 200);
}

TEST_CASE("variable: one that does not open is an error, not a crash") {
  Variables fixture;
  REQUIRE(fixture.put("a", R"({"k":"1"})").status == 200);
  Draft<schema::Variable> moved{fixture.stored("a")};
  moved->setPath("b");
  fixture.state().run(
      [&](auto command) { command.initVariableApply().setVariable(moved.reader()); });

  CHECK(fixture.refusal("/v1/var/b").starts_with("500 variable error: decrypt: "));
}

TEST_CASE("keyring: is listed without keys, rotated and cleaned") {
  Variables fixture;
  REQUIRE(fixture.put("a", R"({"k":"1"})").status == 200);

  const auto rotated = fixture.send("PUT", "/v1/operator/keyring/rotate");
  const auto keys = fixture.get("/v1/operator/keyring/keys");

  REQUIRE(rotated.status == 200);
  const auto answer = boost::json::parse(rotated.body).as_object();
  CHECK(answer.at("Key").as_object().at("State") == "active");
  CHECK(answer.at("Key").as_object().at("CreateIndex") == answer.at("Index"));
  const auto list = boost::json::parse(keys.body).as_array();
  REQUIRE(list.size() == 2);
  CHECK(list[0].as_object().size() == 6);
  CHECK(keys.body.find("Wraps") == std::string::npos);
  CHECK(fixture.get("/v1/var/a").status == 200);  // the old key still opens
  CHECK(fixture.send("DELETE", "/v1/operator/keyring/key/unknown").body == R"({"Index":0})");
  CHECK(fixture.refusal("DELETE", "/v1/operator/keyring/key/", "")
        == "400 root key ID is required");
  CHECK(fixture.refusal("/v1/operator/keyring/zz") == "405 Invalid method");
}

TEST_CASE("keyring: a key in use goes by force alone, and what it has sealed says so") {
  Variables fixture;
  REQUIRE(fixture.put("a", R"({"k":"1"})").status == 200);
  const auto old = copy(fixture.state().now().active_root_key()->getKeyId());
  const auto key = "/v1/operator/keyring/key/" + old;
  CHECK(fixture.refusal("DELETE", key + "?force=true", "")
        == "400 active root key cannot be deleted - call rotate first");
  REQUIRE(fixture.send("PUT", "/v1/operator/keyring/rotate").status == 200);
  for (const auto* kept : {"", "?force=false"})
    CHECK(fixture.refusal("DELETE", key + kept, "")
              .starts_with("400 root key in use, cannot delete: it has sealed 1 variable; "));
  CHECK(fixture.refusal("DELETE", key + "?force=perhaps", "")
        == "400 invalid force parameter: expected true or false");

  CHECK(fixture.send("DELETE", key + "?force=true").status == 200);

  CHECK(fixture.refusal("/v1/var/a")
        == "500 variable error: decrypt: root key " + old
               + ", which has sealed it, has been removed: delete the variable, or put it anew");
  CHECK(fixture.get("/v1/vars").status == 200);
  CHECK(fixture.put("a", R"({"k":"2"})").status == 200);
  CHECK(fixture.get("/v1/var/a").status == 200);
}

TEST_CASE("keyring: a key whose identities may still be shown goes by force alone") {
  Variables fixture;
  fixture.state().run([](schema::Command::Builder command) {
    auto job = command.initJobRegister().initJob();
    job.setId("web");
    job.setNamespace("default");
    auto task = job.initTaskGroups(1)[0].initTasks(1)[0];
    task.initIdentities(1)[0].setTtl(3600LL * 1'000'000'000);
  });
  const auto old = copy(fixture.state().now().active_root_key()->getKeyId());
  const auto key = "/v1/operator/keyring/key/" + old;
  REQUIRE(fixture.send("PUT", "/v1/operator/keyring/rotate").status == 200);

  CHECK(fixture.refusal("DELETE", key, "")
            .starts_with("400 root key in use, cannot delete: identities that " + old
                         + " has signed last until "));
  CHECK(fixture.send("DELETE", key + "?force=true").status == 200);
}

TEST_CASE("keyring: the list comes in pages, and by prefix") {
  Variables fixture;
  REQUIRE(fixture.send("PUT", "/v1/operator/keyring/rotate").status == 200);
  const auto all = fixture.json("/v1/operator/keyring/keys").as_array();
  REQUIRE(all.size() == 2);

  const auto first = fixture.get("/v1/operator/keyring/keys?per_page=1");
  const auto token = std::string{first.header("X-Nomad-NextToken")};
  CHECK(texts_of(boost::json::parse(first.body), "KeyID") == all[0].at("KeyID").as_string());
  const auto second = fixture.get("/v1/operator/keyring/keys?per_page=1&next_token=" + token);
  CHECK(texts_of(boost::json::parse(second.body), "KeyID") == all[1].at("KeyID").as_string());
  CHECK(second.header("X-Nomad-NextToken") == "");
  CHECK(fixture.json("/v1/operator/keyring/keys?prefix=" + token).as_array().size() == 1);
}

TEST_CASE("keyring: a full rotation marks the old keys") {
  Variables fixture;

  REQUIRE(fixture.send("PUT", "/v1/operator/keyring/rotate?full").status == 200);

  std::size_t rekeying = 0;
  for (const auto& entry : fixture.state().now().rows<state::kind::RootKeys>().all())
    rekeying += entry.value()->getState() == schema::RootKeyState::REKEYING ? 1 : 0;
  CHECK(rekeying == 1);
}
