// runtime/cluster/membership: tables meet, failures need several witnesses, rumours are answered.
#include "runtime/cluster/membership.hpp"

#include <map>

#include <doctest/doctest.h>

#include "runtime/cluster/member_codec.hpp"
#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::cluster;
using namespace std::chrono_literals;

namespace {

MemberInfo server(const std::string& id) {
  return {.id = id,
          .name = id + ".global",
          .region = "global",
          .datacenter = "dc1",
          .rpc_address = id + ":4647",
          .http_address = id + ":4646",
          .build = "1.6.5",
          .expect = 3};
}

Membership make(const std::string& id) {
  return Membership{server(id), {}, Random{7}, 0s};
}

/// Both hear of each other.
void meet(Membership& left, Membership& right, std::chrono::nanoseconds now) {
  right.merge(left.table(), now);
  left.merge(right.table(), now);
}

}  // namespace

TEST_CASE("membership: tables spread, and nothing is news twice") {
  auto a = make("a");
  auto b = make("b");
  auto c = make("c");
  CHECK(b.merge(a.table(), 1s));
  CHECK_FALSE(b.merge(a.table(), 2s));
  CHECK(c.merge(b.table(), 3s));
  meet(a, c, 4s);
  for (const auto* each : {&a, &c})
    CHECK(each->members().size() == 3);
  CHECK(a.others().size() == 2);
}

TEST_CASE("membership: a server fails after two rounds without an answer, and comes back") {
  auto a = make("a");
  auto b = make("b");
  meet(a, b, 0s);
  CHECK_FALSE(a.probed("b", false, 1s));
  CHECK_FALSE(a.probed("b", true, 2s));
  CHECK_FALSE(a.probed("b", false, 3s));
  CHECK(a.find("b")->status == MemberStatus::alive);
  CHECK(a.probed("b", false, 4s));
  CHECK(a.find("b")->status == MemberStatus::failed);
  CHECK(a.since("b") == 4s);

  // b hears that it failed, and says that it lives, louder.
  CHECK(b.merge(a.table(), 5s));
  CHECK(b.self().incarnation == 1);
  CHECK(a.merge(b.table(), 5s));
  CHECK(a.find("b")->status == MemberStatus::alive);
}

TEST_CASE("membership: of one incarnation the worse status wins, whatever the order") {
  auto a = make("a");
  MemberTable news{.from = "b", .members = {server("b")}, .removed = {}};
  a.merge(news, 0s);
  news.members[0].status = MemberStatus::failed;
  CHECK(a.merge(news, 0s));
  news.members[0].status = MemberStatus::alive;
  CHECK_FALSE(a.merge(news, 0s));
  CHECK(a.find("b")->status == MemberStatus::failed);
  news.members[0].incarnation = 1;
  CHECK(a.merge(news, 0s));
  CHECK(a.find("b")->status == MemberStatus::alive);
}

TEST_CASE("membership: who leaves is not failed, and stays away") {
  auto a = make("a");
  auto b = make("b");
  meet(a, b, 0s);
  b.set_status(MemberStatus::leaving);
  a.merge(b.table(), 1s);
  CHECK(a.find("b")->status == MemberStatus::leaving);
  a.probed("b", false, 2s);
  CHECK(a.probed("b", false, 3s));
  CHECK(a.find("b")->status == MemberStatus::left);
  CHECK_FALSE(a.next_probe(60s));
  // Old news does not bring it back.
  MemberTable old{.from = "c", .members = {server("b")}, .removed = {}};
  CHECK_FALSE(a.merge(old, 4s));
  a.expire(3s + 71h);
  CHECK(a.find("b") != nullptr);
  a.expire(4s + 72h);
  CHECK(a.find("b") == nullptr);
}

TEST_CASE("membership: an earlier life of ours with a higher incarnation is overtaken") {
  auto before = make("a");
  before.set_status(MemberStatus::leaving);
  before.set_status(MemberStatus::left);
  auto b = make("b");
  b.merge(before.table(), 0s);
  auto a = make("a");
  CHECK(b.members().size() == 1);  // who left and was never known is no news
  meet(a, b, 1s);
  b.merge(before.table(), 2s);
  CHECK(b.find("a")->status == MemberStatus::left);
  CHECK(a.merge(b.table(), 3s));
  b.merge(a.table(), 3s);
  CHECK(b.find("a")->status == MemberStatus::alive);
}

TEST_CASE("membership: everybody is probed in turn, a failed one now and then") {
  auto a = make("a");
  for (const char* id : {"b", "c", "d"})
    a.merge({.from = id, .members = {server(id)}, .removed = {}}, 0s);
  std::map<std::string, int> probed;
  for (int second = 1; second <= 30; ++second)
    if (const auto target = a.next_probe(std::chrono::seconds{second})) ++probed[target->id];
  CHECK(probed == std::map<std::string, int>{{"b", 10}, {"c", 10}, {"d", 10}});
  CHECK_FALSE(a.next_probe(30s + 500ms));

  a.probed("b", false, 31s);
  a.probed("b", false, 31s);
  probed.clear();
  for (int second = 32; second < 92; ++second)
    if (const auto target = a.next_probe(std::chrono::seconds{second})) ++probed[target->id];
  CHECK(probed["b"] >= 4);
  CHECK(probed["b"] <= 6);
  const auto helpers = a.helpers("c");
  REQUIRE(helpers.size() == 1);
  CHECK(helpers[0].id == "d");
}

TEST_CASE("membership: force-leave is for those that do not answer") {
  auto a = make("a");
  auto b = make("b");
  meet(a, b, 0s);
  CHECK(a.force_leave("b.global", false, 1s));
  CHECK(a.find("b")->status == MemberStatus::alive);
  a.probed("b", false, 2s);
  a.probed("b", false, 3s);
  CHECK(a.force_leave("b.global", false, 4s));
  CHECK(a.find("b")->status == MemberStatus::left);
  CHECK(a.force_leave("b.global", true, 5s));
  CHECK(a.find("b") == nullptr);
  CHECK(a.force_leave("x", false, 6s).error().code == Errc::not_found);
}

TEST_CASE("membership: force-leave finds the dead rows of a server that was installed anew") {
  auto a = make("a");
  for (const auto& [id, status] :
       {std::pair{"b1", MemberStatus::alive}, std::pair{"b2", MemberStatus::failed},
        std::pair{"b3", MemberStatus::leaving}}) {
    auto row = server(id);
    row.name = "b.global";
    row.status = status;
    a.merge({.from = id, .members = {row}, .removed = {}}, 0s);
  }
  CHECK(a.force_leave("b.global", false, 1s));
  CHECK(a.find("b1")->status == MemberStatus::alive);
  CHECK(a.find("b2")->status == MemberStatus::left);
  CHECK(a.find("b3")->status == MemberStatus::left);
  CHECK(a.since("b2") == 1s);
  CHECK(a.force_leave("b.global", true, 2s));
  CHECK(a.find("b1")->status == MemberStatus::alive);
  CHECK(a.find("b2") == nullptr);
  CHECK(a.find("b3") == nullptr);
}

TEST_CASE("founders: exactly one server founds a cluster, when all are there") {
  std::vector<MemberInfo> members{server("a"), server("b")};
  std::string why;
  CHECK(founders(members, "a", &why).empty());
  CHECK(why == "2 of 3 expected servers are there");
  members.push_back(server("c"));
  CHECK(founders(members, "a").size() == 3);
  CHECK(founders(members, "b", &why).empty());
  CHECK(why == "server a.global founds the cluster");

  auto other = members;
  other[1].expect = 5;
  CHECK(founders(other, "a").empty());
  other = members;
  other[2].cluster_id = "x";
  CHECK(founders(other, "a", &why).empty());
  CHECK(why.find("belongs to a cluster already") != std::string::npos);
  other = members;
  other[2].status = MemberStatus::failed;
  CHECK(founders(other, "a").empty());
  other = members;
  other[2].region = "elsewhere";
  CHECK(founders(other, "a").empty());
}

TEST_CASE("member tables: travel plain or sealed, and only to who has the key") {
  auto a = make("a");
  a.merge({.from = "b", .members = {server("b")}, .removed = {}}, 0s);
  auto table = a.table();
  table.removed = {"old"};
  const auto key = MemberKey::from_text("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=");
  const auto other = MemberKey::from_text("QUFBQUFBQUFBQUFBQUFBQQ==");
  REQUIRE(key);
  REQUIRE(other);
  CHECK_FALSE(MemberKey::from_text("short"));
  CHECK_FALSE(MemberKey::from_text("QUFB"));

  const SealNonce nonce{7};
  for (const MemberKey* used : {static_cast<const MemberKey*>(nullptr), key->get()}) {
    const auto envelope = write_table(table, used, nonce);
    const auto read = read_table(*envelope, used);
    REQUIRE(read);
    CHECK(read->members == table.members);
    CHECK(read->from == "a");
    CHECK(read->removed == table.removed);
    CHECK(read_table(*envelope, other->get()).error().code == Errc::permission_denied);
  }
  CHECK(read_table(*write_table(table, key->get(), nonce), nullptr).error().code
        == Errc::permission_denied);
}
