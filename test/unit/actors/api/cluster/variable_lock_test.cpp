// Locks of variables over HTTP: what Nomad's later releases answer to those who take, renew and
// give them up, and to everybody else meanwhile.
#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

struct Locks : ApiFixture {
  Locks() { add_root_key(); }

  net::ClientResponse put(const std::string& target, const std::string& body) {
    return send("PUT", "/v1/var/" + target, body);
  }

  /// The id of a new lock on the variable "app".
  std::string take(const std::string& body = "{}") {
    const auto taken = put("app?lock-acquire", body);
    CAPTURE(taken.body);
    REQUIRE(taken.status == 200);
    const auto answer = boost::json::parse(taken.body);
    return std::string{answer.at("Lock").at("ID").as_string()};
  }
};

std::string with_id(const std::string& id, const std::string& more = "") {
  return R"({"Lock":{"ID":")" + id + "\"}" + more + "}";
}

constexpr auto nothing
    = R"({"CreateIndex":0,"CreateTime":0,"Items":null,"ModifyIndex":0,"ModifyTime":0,)"
      R"("Namespace":"default","Path":"app"})";

}  // namespace

TEST_CASE("lock: is taken with the variable's items, shown to its holder, and given up") {
  Locks fixture;

  const auto taken = fixture.put("app?lock-acquire",
                                 R"({"Items":{"k":"v"},"Lock":{"TTL":"30s","LockDelay":"1m"}})");

  REQUIRE(taken.status == 200);
  const auto answer = boost::json::parse(taken.body).as_object();
  CHECK(answer.at("Items").at("k") == "v");
  const auto& lock = answer.at("Lock");
  CHECK(lock.at("TTL") == "30s");
  CHECK(lock.at("LockDelay") == "1m0s");
  const std::string id{lock.at("ID").as_string()};
  CHECK(id.size() == 36);
  CHECK(taken.header("X-Nomad-Index") == std::to_string(answer.at("ModifyIndex").as_int64()));
  const auto released = fixture.put("app?lock-release", with_id(id));
  REQUIRE(released.status == 200);
  CHECK_FALSE(boost::json::parse(released.body).as_object().contains("Lock"));
  CHECK_FALSE(boost::json::parse(released.body).as_object().contains("Items"));
  CHECK(fixture.json("/v1/var/app").at("Items").at("k") == "v");
  CHECK(fixture.put("app?lock-release", with_id(id)).status == 409);
}

TEST_CASE("lock: without times it has Nomad's, and the variable keeps what it holds") {
  Locks fixture;
  REQUIRE(fixture.put("app", R"({"Items":{"k":"v"}})").status == 200);

  const auto taken = boost::json::parse(fixture.put("app?lock-acquire", "{}").body);

  CHECK(taken.at("Lock").at("TTL") == "15s");
  CHECK(taken.at("Lock").at("LockDelay") == "15s");
  CHECK_FALSE(taken.as_object().contains("Items"));  // he may not be one who can read them
  CHECK(fixture.json("/v1/var/app").at("Items").at("k") == "v");
}

TEST_CASE("lock: nobody else writes, takes or deletes what is locked") {
  Locks fixture;
  const auto id = fixture.take();

  for (const auto& refused :
       {fixture.put("app?lock-acquire", "{}"), fixture.put("app", R"({"Items":{"k":"v"}})"),
        fixture.put("app", with_id("other", R"(,"Items":{"k":"v"})")),
        fixture.send("DELETE", "/v1/var/app"), fixture.put("app?lock-release", with_id("other"))}) {
    CHECK(refused.status == 409);
    CHECK(refused.body == nothing);
  }
  const auto written = fixture.put("app", with_id(id, R"(,"Items":{"k":"v"})"));
  REQUIRE(written.status == 200);
  CHECK(boost::json::parse(written.body).at("Lock").at("ID") == boost::json::value(id));
}

TEST_CASE("lock: a renewal is the lock tracker's") {
  Locks fixture;
  const auto id = fixture.take();

  const auto renewed = fixture.put("app?lock-renew", with_id(id));

  REQUIRE(renewed.status == 200);
  CHECK(boost::json::parse(renewed.body).at("Lock").at("ID") == boost::json::value(id));
  CHECK_FALSE(boost::json::parse(renewed.body).as_object().contains("Items"));
  REQUIRE(fixture.played->renewed.size() == 1);
  CHECK(fixture.played->renewed[0].variable == state::join_key("default", "app"));
  CHECK(fixture.played->renewed[0].id == id);
  CHECK(fixture.refusal("PUT", "/v1/var/app?lock-renew", with_id("other"))
        == "409 attempting to modify locked variable");
  CHECK(fixture.refusal("PUT", "/v1/var/none?lock-renew", with_id(id))
        == "404 variable doesn't exist");
  fixture.played->lost_lock = Error{Errc::conflict, "lost"};
  CHECK(fixture.refusal("PUT", "/v1/var/app?lock-renew", with_id(id)) == "409 lost");
  REQUIRE(fixture.put("free", R"({"Items":{"k":"v"}})").status == 200);
  CHECK(fixture.refusal("PUT", "/v1/var/free?lock-renew", with_id(id))
        == "409 variable doesn't hold a lock");
}

TEST_CASE("lock: is in lists and reads, and nothing of it elsewhere") {
  Locks fixture;
  const auto id = fixture.take();

  CHECK(fixture.json("/v1/var/app").at("Lock").at("ID") == boost::json::value(id));
  CHECK(fixture.json("/v1/vars").at(0).at("Lock").at("ID") == boost::json::value(id));
  CHECK(fixture
            .json("/v1/vars?filter="
                  "Path%20matches%20%22"
                  + id + "%22")
            .as_array()
            .empty());
  CHECK(fixture.get("/v1/vars?filter=Lock.ID%20!=%20%22%22").status == 400);
}

TEST_CASE("lock: bad requests are refused in Nomad's words") {
  Locks fixture;
  const auto id = fixture.take();
  const auto lock_of = [](const std::string& members) { return R"({"Lock":{)" + members + "}}"; };
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"app?lock-acquire&lock-renew", "{}", "400 multiple lock operations"},
      {"app?lock-acquire&cas=3", "{}", "400 CAS can't be used with lock operations"},
      {"app?lock-acquire", "", "400 Request body is empty"},
      {"?lock-acquire", "{}", "400 missing variable path"},
      {"b%20c?lock-acquire", "{}", "400 invalid path \"b c\""},
      {"b?lock-acquire", lock_of(R"("TTL":"9s")"),
       "400 TTL must be between 10 seconds and 24 hours"},
      {"b?lock-acquire", lock_of(R"("TTL":-5)"), "400 Lock delay and TTL must be positive"},
      {"b?lock-acquire", lock_of(R"("TTL":9223372036854775808)"),
       "400 TTL: it is no time in nanoseconds"},
      {"b?lock-acquire", lock_of(R"("TTL":true)"), "400 TTL: expected a duration such as \"15s\""},
      {"b?lock-acquire", lock_of(R"("LockDelay":"x")"),
       "400 LockDelay: time: invalid duration \"x\""},
      {"b?lock-acquire", lock_of(R"("LockDelay":"25h")"),
       "400 Lock delay must not be more than 24 hours"},
      {"b?lock-acquire&namespace=*", "{}", "400 can not target wildcard (\"*\")namespace"},
      {"b?lock-acquire&namespace=none", "{}", "400 variable is in nonexistent namespace \"none\""},
      {"app?lock-release", "{}", "400 missing lock information"},
      {"app?lock-release", with_id(id, R"(,"Items":{"k":"v"})"),
       "400 lock release operation doesn't take variable items"},
      {"none?lock-release", with_id(id), "404 variable doesn't exist"},
      {"app?lock-renew", "{}", "400 missing lock ID"},
      {"app", R"({"Items":{"k":"v"},"Lock":{"TTL":"15s"}})",
       "400 variable should not contain lock definition"}};
  for (const auto& [target, body, expected] : cases)
    CHECK(fixture.refusal("PUT", "/v1/var/" + target, body) == expected);
}
