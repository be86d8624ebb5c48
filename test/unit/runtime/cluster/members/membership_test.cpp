// runtime/cluster/members/membership: tables meet, failures need several witnesses, rumours are
// answered.
#include "runtime/cluster/members/membership.hpp"

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "runtime/cluster/members/member_codec.hpp"
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

/// What the first of them tells.
MemberTable rows(std::vector<MemberInfo> members) {
  MemberTable table;
  table.from = members.front().id;
  table.members = std::move(members);
  return table;
}

/// Both hear of each other.
void meet(Membership& left, Membership& right, std::chrono::nanoseconds now) {
  right.merge(left.table(), "global", now);
  left.merge(right.table(), "global", now);
}

}  // namespace

TEST_CASE("membership: tables spread, and nothing is news twice") {
  auto a = make("a");
  auto b = make("b");
  auto c = make("c");
  CHECK(b.merge(a.table(), "global", 1s));
  CHECK_FALSE(b.merge(a.table(), "global", 2s));
  CHECK(c.merge(b.table(), "global", 3s));
  meet(a, c, 4s);
  for (const auto* each : {&a, &c})
    CHECK(each->members().size() == 3);
  CHECK(a.others().size() == 2);
}

TEST_CASE("membership: what others leave out of a row its server puts right") {
  auto info = server("a");
  info.serf_address = "a:4648";
  Membership a{info, {}, Random{7}, 0s};
  auto b = make("b");
  auto without = server("a");
  without.incarnation = a.find("a")->incarnation;
  REQUIRE(b.merge(rows({server("c"), without}), "global", 1s));
  CHECK(b.find("a")->serf_address.empty());
  CHECK(b.merge(a.table(), "global", 2s));
  CHECK(b.find("a")->serf_address == "a:4648");
  CHECK_FALSE(b.merge(a.table(), "global", 3s));
  b.merge(rows({server("c"), without}), "global", 4s);
  CHECK(b.find("a")->serf_address == "a:4648");
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
  CHECK(b.merge(a.table(), "global", 5s));
  CHECK(b.self().incarnation == 1);
  CHECK(a.merge(b.table(), "global", 5s));
  CHECK(a.find("b")->status == MemberStatus::alive);
}

TEST_CASE("membership: of one incarnation the worse status wins, whatever the order") {
  auto a = make("a");
  MemberTable news{.from = "b", .members = {server("b")}, .removed = {}};
  a.merge(news, "global", 0s);
  news.members[0].status = MemberStatus::failed;
  CHECK(a.merge(news, "global", 0s));
  news.members[0].status = MemberStatus::alive;
  CHECK_FALSE(a.merge(news, "global", 0s));
  CHECK(a.find("b")->status == MemberStatus::failed);
  news.members[0].incarnation = 1;
  CHECK(a.merge(news, "global", 0s));
  CHECK(a.find("b")->status == MemberStatus::alive);
}

TEST_CASE("membership: who leaves is not failed, and stays away") {
  auto a = make("a");
  auto b = make("b");
  meet(a, b, 0s);
  b.set_status(MemberStatus::leaving);
  a.merge(b.table(), "global", 1s);
  CHECK(a.find("b")->status == MemberStatus::leaving);
  a.probed("b", false, 2s);
  CHECK(a.probed("b", false, 3s));
  CHECK(a.find("b")->status == MemberStatus::left);
  CHECK_FALSE(a.next_probe(60s));
  // Old news does not bring it back.
  MemberTable old{.from = "c", .members = {server("b")}, .removed = {}};
  CHECK_FALSE(a.merge(old, "global", 4s));
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
  b.merge(before.table(), "global", 0s);
  auto a = make("a");
  CHECK(b.members().size() == 1);  // who left and was never known is no news
  meet(a, b, 1s);
  b.merge(before.table(), "global", 2s);
  CHECK(b.find("a")->status == MemberStatus::left);
  CHECK(a.merge(b.table(), "global", 3s));
  b.merge(a.table(), "global", 3s);
  CHECK(b.find("a")->status == MemberStatus::alive);
}

TEST_CASE("membership: everybody is probed in turn, a failed one now and then") {
  auto a = make("a");
  for (const char* id : {"b", "c", "d"})
    a.merge({.from = id, .members = {server(id)}, .removed = {}}, "global", 0s);
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
    a.merge({.from = id, .members = {row}, .removed = {}}, "global", 0s);
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
  a.merge({.from = "b", .members = {server("b")}, .removed = {}}, "global", 0s);
  auto table = a.table();
  table.removed = {"old", std::string{"a\0b", 3}};
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

TEST_CASE("membership: rows without an id or a region are dropped") {
  auto a = make("a");
  auto nameless = server("b");
  nameless.id.clear();
  auto nowhere = server("c");
  nowhere.region.clear();
  CHECK_FALSE(a.merge(rows({nameless, nowhere}), "global", 1s));
  CHECK(a.members().size() == 1);
}

TEST_CASE("membership: what is said of oneself is answered when it is news, and only then") {
  auto a = make("a");
  auto rumour = a.self();
  CHECK_FALSE(a.merge(rows({rumour}), "global", 1s));
  CHECK(a.self().incarnation == 0);
  rumour.status = MemberStatus::failed;
  CHECK(a.merge(rows({rumour}), "global", 1s));
  CHECK(a.self().incarnation == 1);
  CHECK_FALSE(a.merge(rows({rumour}), "global", 1s));  // of an earlier incarnation
  rumour.status = MemberStatus::alive;
  rumour.incarnation = 5;  // of an earlier life
  CHECK(a.merge(rows({rumour}), "global", 1s));
  CHECK(a.self().incarnation == 6);
}

TEST_CASE("membership: a server that has left and is unknown stays unknown") {
  auto a = make("a");
  auto gone = server("b");
  gone.status = MemberStatus::left;
  CHECK_FALSE(a.merge(rows({gone}), "global", 1s));
  CHECK(a.find("b") == nullptr);
  CHECK(a.since("b") == 0s);
}

TEST_CASE("membership: since when a server is so changes with its status only") {
  auto a = make("a");
  auto b = server("b");
  a.merge(rows({b}), "global", 1s);
  b.incarnation = 1;
  a.merge(rows({b}), "global", 2s);
  CHECK(a.since("b") == 1s);
  b.status = MemberStatus::failed;
  a.merge(rows({b}), "global", 3s);
  CHECK(a.since("b") == 3s);
}

TEST_CASE("membership: nobody is probed who has left, and oneself and strangers not at all") {
  auto a = make("a");
  CHECK_FALSE(a.next_probe(1s).has_value());
  CHECK_FALSE(a.probed("a", false, 1s));
  CHECK_FALSE(a.probed("x", false, 1s));
  auto b = server("b");
  a.merge(rows({b}), "global", 1s);
  b.status = MemberStatus::left;
  b.incarnation = 1;
  a.merge(rows({b}), "global", 2s);
  CHECK_FALSE(a.next_probe(100s).has_value());
  CHECK_FALSE(a.probed("b", false, 100s));
  CHECK(a.find("b")->status == MemberStatus::left);
}

TEST_CASE("membership: a failed server fails no second time, and is probed less often") {
  auto a = make("a");
  a.merge(rows({server("b")}), "global", 0s);
  const MembershipOptions options;
  Membership::Time now = 1s;
  REQUIRE(a.next_probe(now).has_value());
  CHECK_FALSE(a.probed("b", false, now));
  CHECK(a.probed("b", false, now));
  CHECK_FALSE(a.probed("b", false, now));
  CHECK_FALSE(a.next_probe(now + options.reconnect_interval - 1ns).has_value());
  CHECK(a.next_probe(now + options.reconnect_interval - 1ns + options.probe_interval).has_value());
}

TEST_CASE("membership: a failed server is tried again as soon as the interval is over") {
  auto a = make("a");
  a.merge(rows({server("b")}), "global", 0s);
  REQUIRE(a.next_probe(1s).has_value());
  a.probed("b", false, 1s);
  REQUIRE(a.probed("b", false, 1s));
  CHECK(a.next_probe(1s + MembershipOptions{}.reconnect_interval).has_value());
}

TEST_CASE("membership: everybody is probed once in a round, and helps in turn") {
  auto a = make("a");
  for (const auto* id : {"b", "c", "d", "e", "f"})
    a.merge(rows({server(id)}), "global", 0s);
  Membership::Time now = 1s;
  const auto round = [&] {
    std::vector<std::string> order;
    for (int left = 5; left > 0; --left, now += 10s)
      order.push_back(a.next_probe(now).value().id);
    return order;
  };
  round();
  std::map<std::string, int> first;
  for (int at = 0; at < 200; ++at) {
    auto order = round();
    ++first[order.front()];
    std::ranges::sort(order);
    CHECK(order == std::vector<std::string>{"b", "c", "d", "e", "f"});
  }
  for (const auto* id : {"b", "c", "d", "e", "f"})
    CHECK(first[id] > 15);

  std::map<std::string, int> helped;
  for (int at = 0; at < 200; ++at) {
    const auto helpers = a.helpers("b");
    CHECK(helpers.size() == 3);
    for (const auto& helper : helpers)
      ++helped[helper.id];
  }
  CHECK(helped.size() == 4);
  for (const auto& [id, times] : helped)
    CHECK(times > 110);
  CHECK(helped.count("b") == 0);
}

TEST_CASE("membership: a status or a cluster of one's own is news to the others once") {
  auto a = make("a");
  a.set_cluster_id("c");
  CHECK(a.self().incarnation == 1);
  a.set_cluster_id("c");
  CHECK(a.self().incarnation == 1);
  a.set_status(MemberStatus::leaving);
  CHECK(a.self().incarnation == 2);
}

TEST_CASE("membership: who is gone is forgotten when that is long ago, nobody else") {
  auto a = make("a");
  for (const auto* id : {"b", "c", "d"})
    a.merge(rows({server(id)}), "global", 1s);
  REQUIRE(a.force_leave("b.global", false, 1s));
  CHECK(a.find("b")->status == MemberStatus::alive);  // for one that answers
  a.probed("b", false, 2s);
  a.probed("b", false, 2s);
  a.probed("c", false, 2s);
  a.probed("c", false, 2s);
  REQUIRE(a.force_leave("b.global", false, 2s));
  REQUIRE(a.find("b")->status == MemberStatus::left);
  const auto over = 2s + MembershipOptions{}.forget_after;
  a.expire(over);
  CHECK(a.members().size() == 4);
  a.expire(over + 1ns);
  CHECK(a.find("b") == nullptr);
  CHECK(a.find("c") == nullptr);
  CHECK(a.find("d") != nullptr);
  CHECK(a.find("a") != nullptr);
}

TEST_CASE("membership: oneself is not forced to leave, and another one of that name is pruned") {
  auto a = make("a");
  CHECK(a.force_leave("a.global", true, 1s).has_error());
  auto b = server("b");
  b.status = MemberStatus::failed;
  auto c = server("c");
  c.status = MemberStatus::failed;
  a.merge(rows({b, c}), "global", 1s);
  REQUIRE(a.force_leave("b.global", true, 2s));
  CHECK(a.find("b") == nullptr);
  CHECK(a.find("c")->status == MemberStatus::failed);
  CHECK(a.find("a") != nullptr);
}

TEST_CASE("founders: a server that expects nobody founds nothing") {
  auto lonely = server("a");
  lonely.expect = 0;
  std::string why;
  CHECK(founders({lonely}, "a", &why).empty());
  CHECK(why == "this server founds no cluster");
  lonely.expect = 1;
  CHECK(founders({lonely}, "a", &why).size() == 1);
  CHECK(founders({lonely}, "x", &why).empty());
}

TEST_CASE("membership: a server of another region has no say about ours") {
  auto a = make("a");
  auto b = make("b");
  meet(a, b, 0s);
  auto far = server("far");
  far.region = "west";
  auto gone = server("b");
  gone.status = MemberStatus::left;
  gone.incarnation = ~std::uint64_t{0};
  MemberTable table{.from = "far", .members = {far, gone}, .removed = {}};

  CHECK(a.merge(table, "west", 1s));  // of itself it may speak
  CHECK(a.find("far")->region == "west");
  CHECK(*a.find("b") == server("b"));

  for (const auto status : {MemberStatus::failed, MemberStatus::leaving, MemberStatus::alive}) {
    table.members[1].status = status;
    table.members[1].incarnation = 1;
    table.members[1].rpc_address = "evil:4647";
    CHECK_FALSE(a.merge(table, "west", 2s));
  }
  // Neither by calling itself one of us, nor by calling ours one of its own.
  table.from = "b";
  CHECK_FALSE(a.merge(table, "west", 3s));
  table.members[1].region = "west";
  CHECK_FALSE(a.merge(table, "west", 3s));
  CHECK(*a.find("b") == server("b"));
  // It may not bring us new ones of ours, either.
  auto c = server("c");
  CHECK_FALSE(a.merge({.from = "far", .members = {c}, .removed = {}}, "west", 4s));
  // That a third region is there it may say, once; then only those speak of themselves.
  c.region = "east";
  CHECK(a.merge({.from = "far", .members = {c}, .removed = {}}, "west", 5s));
  c.incarnation = 1;
  CHECK_FALSE(a.merge({.from = "far", .members = {c}, .removed = {}}, "west", 5s));
  CHECK(a.merge({.from = "c", .members = {c}, .removed = {}}, "east", 5s));
}

TEST_CASE("membership: a server that another region took for failed comes back there") {
  auto a = make("a");
  auto info = server("far");
  info.region = "west";
  Membership far{info, {}, Random{7}, 0s};
  far.merge(a.table(), "global", 0s);
  a.merge(far.table(), "west", 0s);
  far.probed("a", false, 1s);
  far.probed("a", false, 2s);
  CHECK(far.find("a")->status == MemberStatus::failed);

  CHECK(a.merge(far.table(), "west", 3s));
  CHECK(far.merge(a.table(), "global", 4s));
  CHECK(far.find("a")->status == MemberStatus::alive);
}

TEST_CASE("membership: that a server left, others are believed only if it does not answer") {
  auto a = make("a");
  auto b = make("b");
  auto c = make("c");
  meet(a, b, 0s);
  meet(a, c, 0s);
  auto gone = server("b");
  gone.status = MemberStatus::left;
  const MemberTable rumour{.from = "c", .members = {gone}, .removed = {}};

  CHECK_FALSE(a.merge(rumour, "global", 1s));
  CHECK(a.find("b")->status == MemberStatus::alive);
  a.probed("b", false, 2s);
  a.probed("b", false, 3s);
  CHECK(a.merge(rumour, "global", 4s));
  CHECK(a.find("b")->status == MemberStatus::left);
  // Of itself it is believed at once.
  CHECK(c.find("b")->status == MemberStatus::alive);
  CHECK(c.merge({.from = "b", .members = {gone}, .removed = {}}, "global", 4s));
  CHECK(c.find("b")->status == MemberStatus::left);
}

TEST_CASE("membership: nobody can drive an incarnation to its end") {
  auto a = make("a");
  auto rumour = server("a");
  rumour.status = MemberStatus::failed;
  rumour.incarnation = ~std::uint64_t{0};
  CHECK_FALSE(a.merge({.from = "b", .members = {rumour}, .removed = {}}, "global", 0s));
  CHECK(a.self().incarnation == 0);
  rumour.incarnation = 7;
  CHECK(a.merge({.from = "b", .members = {rumour}, .removed = {}}, "west", 0s));
  CHECK(a.self().incarnation == 8);

  auto b = server("b");
  b.incarnation = most_incarnation;
  CHECK_FALSE(a.merge({.from = "c", .members = {b}, .removed = {}}, "global", 1s));
  CHECK(a.merge({.from = "b", .members = {b}, .removed = {}}, "global", 1s));
  auto table = a.table();
  ++table.members.back().incarnation;
  CHECK(read_table(*write_table(table, nullptr, {}), nullptr).error().code == Errc::corrupt);
  table.members.back().incarnation = 0;
  table.members.back().name.assign(most_member_text + 1, 'x');
  CHECK(read_table(*write_table(table, nullptr, {}), nullptr).error().code == Errc::too_large);
}

TEST_CASE("membership: rows are bounded, and those of other regions take no place of ours") {
  Membership a{server("a"), {.most_rows = 3}, Random{7}, 0s};
  const auto tell = [&](const std::string& id, const std::string& region) {
    auto row = server(id);
    row.region = region;
    return a.merge({.from = id, .members = {row}, .removed = {}}, region, 0s);
  };
  for (const char* id : {"1", "2", "3"})
    CHECK(tell(id, "west"));
  CHECK_FALSE(tell("4", "west"));
  CHECK_FALSE(tell("5", "east"));
  CHECK(tell("b", "global"));
  CHECK(tell("c", "global"));
  CHECK_FALSE(tell("d", "global"));
  CHECK(a.members().size() == 6);
}
