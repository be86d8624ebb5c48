#include "runtime/access/authenticator.hpp"

#include <map>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::access;
using namespace std::chrono_literals;

namespace {

/// A process whose tokens, index and time are the test's, and which may have to ask others.
struct Process {
  std::map<std::string, Grant, std::less<>> tokens{{"good", {.rights = Rights::everything()}},
                                                   {"", {.rights = Rights::nothing()}}};
  std::uint64_t index = 0;
  Time now{1h};
  int looked_up = 0;
  bool knows_tokens = true;
  std::vector<std::pair<std::string, Lookup::Found>> asked;
  std::shared_ptr<Authenticator> authenticator;

  explicit Process(bool enforces = true,
                   CacheLimits cache = {},
                   std::size_t most_waiting = 100,
                   bool has_tables = true) {
    authenticator = Authenticator::make(
        {.enforces = enforces,
         .lookup
         = {.index = has_tables ? [this] { return index; } : std::function<std::uint64_t()>{},
            .is_node
            = [](std::string_view id,
                 std::string_view secret) { return id == "n1" && secret == "node-secret"; },
            .here = [this](std::string_view token) { return find(token); },
            .elsewhere =
                [this](const SecretText& token, Lookup::Found found) {
                  asked.emplace_back(token.reveal(), std::move(found));
                }},
         .cache = cache,
         .most_waiting = most_waiting,
         .now = [this] { return now; }});
  }

  std::optional<Result<Grant>> find(std::string_view token) {
    if (!knows_tokens) return {};
    ++looked_up;
    const auto found = tokens.find(token);
    if (found == tokens.end()) return permission_denied();
    auto grant = found->second;
    grant.index = index;
    return grant;
  }

  Principal shows(const std::string& token) const {
    return authenticator->identify({.remote = "10.0.0.1:1", .credentials = {.token = token}});
  }

  /// What comes of a token: "all", "nothing", the refusal, or "later".
  std::string outcome(const std::string& token) const {
    const auto who = authenticator->at_once(shows(token));
    return who ? text_of(*who) : "later";
  }

  static std::string text_of(const Result<Principal>& who) {
    if (!who) return who.error().what;
    return authorize(*who, Capability::management, {}) ? "all" : "nothing";
  }

  /// What is said of a token, when it is said.
  std::shared_ptr<std::string> resolve(const std::string& token) const {
    auto said = std::make_shared<std::string>();
    authenticator->resolve(shows(token), [said](const Result<Principal>& who) {
      CHECK(said->empty());
      *said = text_of(who);
    });
    return said;
  }
};

const std::string denied = "Permission denied";

}  // namespace

TEST_CASE("authenticator: tokens give what the look-up says, and an unknown one is refused") {
  const Process process;
  CHECK(process.outcome("good") == "all");
  CHECK(process.outcome("") == "nothing");
  CHECK(process.outcome("guess") == denied);
}

TEST_CASE("authenticator: parts are proven by the request; a node's secret is no token") {
  const Process process;
  const auto identify = [&](const Credentials& shown) {
    return process.authenticator->identify({.remote = "10.0.0.1:1", .credentials = shown});
  };
  CHECK(identify({.node_id = "n1", .node_secret = "node-secret"}).caller().is_node("n1"));
  CHECK_FALSE(identify({.node_id = "n1", .node_secret = "good"}).caller().node);
  CHECK_FALSE(identify({.node_id = "n1", .node_secret = ""}).caller().node);
  CHECK_FALSE(identify({.node_id = "n2", .node_secret = "node-secret"}).caller().node);
  CHECK_FALSE(identify({.token = "node-secret", .node_id = "n1"}).caller().node);
  CHECK(process.outcome("node-secret") == denied);

  // A node that proves itself has no user's rights by that.
  const auto node = identify({.node_id = "n1", .node_secret = "node-secret"});
  CHECK(Process::text_of(*process.authenticator->at_once(node)) == "nothing");
}

TEST_CASE(
    "authenticator: without enforcing everybody may do everything, and nothing is looked up") {
  const Process process{false};
  CHECK(process.outcome("good") == "all");
  CHECK(process.outcome("guess") == "all");
  CHECK(process.outcome("") == "all");
  CHECK(process.looked_up == 0);
  CHECK(
      process.authenticator->is_fresh(process.authenticator->at_once(process.shows(""))->value()));
}

TEST_CASE("authenticator: where there must be a token, nobody comes without one") {
  for (const bool enforces : {true, false}) {
    const Process process{enforces};
    const auto comes = [&](const std::string& token) {
      return Process::text_of(*process.authenticator->at_once(
          process.authenticator->identify({.credentials = {.token = token}, .needs_token = true})));
    };
    CAPTURE(enforces);
    CHECK(comes("") == denied);
    CHECK(comes("guess") == denied);
    CHECK(comes("good") == "all");
  }
}

TEST_CASE("authenticator: what was looked up is kept until it changes or its time is over") {
  Process process;
  const auto who = process.authenticator->at_once(process.shows("good"))->value();
  CHECK(process.outcome("good") == "all");
  CHECK(process.outcome("guess") == denied);
  CHECK(process.outcome("guess") == denied);
  CHECK(process.looked_up == 2);
  CHECK(process.authenticator->is_fresh(who));

  process.tokens.erase("good");
  process.tokens["guess"] = {.rights = Rights::everything()};
  process.index = 7;
  CHECK_FALSE(process.authenticator->is_fresh(who));
  CHECK(process.outcome("good") == denied);
  CHECK(process.outcome("guess") == "all");

  process.tokens.erase("guess");  // of which nobody hears
  process.now += 30s;
  CHECK(process.outcome("guess") == denied);
}

TEST_CASE("authenticator: a token ends in its time, for those who wait with it, too") {
  Process process;
  process.tokens["short"] = {.rights = Rights::everything(), .until = process.now + 1s};
  const auto who = process.authenticator->at_once(process.shows("short"))->value();
  process.now += 1s - 1ms;
  CHECK(process.authenticator->is_fresh(who));
  process.now += 1ms;
  CHECK_FALSE(process.authenticator->is_fresh(who));
  CHECK(Process::text_of(*process.authenticator->at_once(who)) == denied);
}

TEST_CASE("authenticator: one question per token is under way, and all who wait hear the answer") {
  Process process;
  process.knows_tokens = false;
  CHECK(process.outcome("good") == "later");
  const auto first = process.resolve("good");
  const auto second = process.resolve("good");
  const auto other = process.resolve("other");
  REQUIRE(process.asked.size() == 2);
  CHECK(process.asked[0].first == "good");

  process.asked[0].second(Grant{.rights = Rights::everything()});
  process.asked[1].second(permission_denied());
  process.asked[1].second(Grant{.rights = Rights::everything()});  // nobody listens any more
  CHECK(*first == "all");
  CHECK(*second == "all");
  CHECK(*other == denied);
  CHECK(process.outcome("good") == "all");
  CHECK(process.outcome("other") == denied);
}

TEST_CASE("authenticator: what fails is refused, never allowed, and asked again") {
  Process process;
  process.knows_tokens = false;
  auto said = process.resolve("good");
  process.asked.at(0).second(Error{Errc::timeout, "too late"});
  CHECK(*said == "too late");
  CHECK(process.outcome("good") == "later");

  said = process.resolve("good");
  process.asked.clear();  // dropped without an answer
  CHECK(*said == "nobody said what the token allows");
  CHECK(process.outcome("good") == "later");

  const auto alone = Authenticator::make({});  // and nobody can be asked
  alone->resolve(process.shows("good"), [](const Result<Principal>& who) {
    CHECK(who.error().code == Errc::unavailable);
  });
}

TEST_CASE("authenticator: as many wait as may, and the others are told") {
  Process process{true, {}, 2};
  process.knows_tokens = false;
  process.resolve("a");
  process.resolve("a");
  CHECK(*process.resolve("a") == "too many requests wait for what their tokens allow");
  CHECK(process.asked.size() == 1);
  process.asked[0].second(permission_denied());
  CHECK(process.resolve("b")->empty());
}

TEST_CASE("authenticator: what others say by a newer index ends what they said before") {
  Process process{true, {}, 100, false};
  process.knows_tokens = false;
  process.resolve("a");
  process.asked.at(0).second(Grant{.rights = Rights::everything(), .index = 5});
  CHECK(process.outcome("a") == "all");
  process.resolve("b");
  process.asked.at(1).second(Grant{.rights = Rights::everything(), .index = 6});
  CHECK(process.outcome("a") == "later");
  CHECK(process.outcome("b") == "all");
}

TEST_CASE("authenticator: logs name a token by its accessor, never by its secret") {
  Process process;
  process.tokens["good"].accessor = "acc-1";
  const auto who = process.authenticator->at_once(process.shows("good"))->value();
  CHECK(who.describe() == "token acc-1 of 10.0.0.1:1");
  CHECK(process.shows("guess").describe() == "token of 10.0.0.1:1");
}

TEST_CASE("authenticator: a task's signed token says whose it is") {
  Process process;
  process.tokens["good"].workload = WorkloadIdentity{"default", "web", "a1", "api"};
  const auto who = process.authenticator->at_once(process.shows("good"))->value();
  REQUIRE(who.caller().workload);
  CHECK(who.caller().workload->alloc_id == "a1");
}

TEST_CASE("authenticator: a user's rights are those of his token, whoever passes it on") {
  const Process process;
  const auto agent = process.authenticator->identify(
      {.remote = "10.0.0.9:50000",
       .peer = PeerIdentity{AgentRole::client, "global", true},
       .credentials = {.token = "good", .node_id = "n1", .node_secret = "node-secret"}});
  const auto user = process.authenticator->at_once(agent)->value().behind();
  CHECK(Process::text_of(user) == "all");
  CHECK_FALSE(user.caller().node);
  CHECK_FALSE(user.caller().peer);
  CHECK(user.caller().passed_on_by->role == AgentRole::client);
  CHECK(user.caller().token->secret == SecretText{"good"});

  const auto later = Authenticator::with_token(user, "guess");
  CHECK(later.grant() == nullptr);
  CHECK(Process::text_of(*process.authenticator->at_once(later)) == denied);
}

TEST_CASE("authenticator: what was known counts while nobody can be asked, and no refused token") {
  Process process{true, {.known_for = 30s}, 100, false};
  process.knows_tokens = false;
  const auto say = [&](Result<Grant> grant) {
    auto found = std::move(process.asked.back().second);
    process.asked.pop_back();
    found(std::move(grant));
  };
  const Error away{Errc::unavailable, "there are none"};
  auto said = process.resolve("good");
  say(Grant{.rights = Rights::everything(), .until = process.now + 10min});
  CHECK(*said == "all");

  process.now += 31s;
  said = process.resolve("good");
  say(away);
  CHECK(*said == "all");
  CHECK(process.outcome("good") == "all");  // without a question each time
  process.now += 6s;
  CHECK(process.outcome("good") == "later");
  said = process.resolve("good");
  say(Error{Errc::internal, "broken"});
  CHECK(*said == "broken");
  said = process.resolve("good");
  say(permission_denied());
  CHECK(*said == denied);
  process.now += 6s;
  said = process.resolve("good");
  say(away);
  CHECK(*said == "there are none");

  said = process.resolve("stranger");
  say(away);
  CHECK(*said == "there are none");

  said = process.resolve("short");
  say(Grant{.rights = Rights::everything(), .until = process.now + 1min});
  process.now += 61s;
  said = process.resolve("short");
  say(away);
  CHECK(*said == "there are none");  // it has ended by itself
}

TEST_CASE("authenticator: servers that were made anew with a lesser index are believed in time") {
  Process process{true, {.known_for = 10min}, 100, false};
  process.knows_tokens = false;
  const auto hear = [&](std::uint64_t index) {
    process.authenticator->look_for_changes([] {});
    process.asked.back().second(Grant{.index = index});
    return process.authenticator->newest_index();
  };
  const auto said = process.resolve("good");
  process.asked.back().second(Grant{.rights = Rights::everything(), .index = 50});
  CHECK(*said == "all");
  CHECK(hear(7) == 50);  // a late answer
  process.now += 20s;
  CHECK(hear(50) == 50);
  CHECK(hear(7) == 50);
  process.now += 9s;
  CHECK(hear(8) == 50);
  CHECK(process.outcome("good") == "all");
  process.now += 1s;
  CHECK(hear(8) == 8);
  CHECK(process.outcome("good") == "later");  // what the servers of before have said
}

TEST_CASE("authenticator: a server takes what another one says until its own tables change") {
  Process process;
  process.knows_tokens = false;
  process.index = 3;
  auto said = process.resolve("new");
  process.asked.back().second(Grant{.rights = Rights::everything(), .index = 9});
  CHECK(*said == "all");
  CHECK(process.outcome("new") == "all");
  CHECK(process.authenticator->newest_index() == 3);
  process.index = 4;
  CHECK(process.outcome("new") == "later");

  said = process.resolve("new");  // which was deleted here, while nobody leads
  process.asked.back().second(Error{Errc::unavailable, "there are none"});
  CHECK(*said == "there are none");
}

TEST_CASE("authenticator: a change that others tell of ends what is kept") {
  Process process{true, {}, 100, false};
  process.knows_tokens = false;
  const auto said = process.resolve("good");
  process.asked.back().second(Grant{.rights = Rights::everything(), .index = 5});
  CHECK(*said == "all");
  const auto who = process.authenticator->at_once(process.shows("good"))->value();
  bool is_done = false;
  process.authenticator->look_for_changes([&] { is_done = true; });
  process.asked.back().second(Grant{.index = 5});
  CHECK(is_done);
  CHECK(process.authenticator->is_fresh(who));
  process.authenticator->look_for_changes([] {});
  process.asked.back().second(Grant{.index = 6});
  CHECK_FALSE(process.authenticator->is_fresh(who));
  CHECK(process.outcome("good") == "later");
}

TEST_CASE("authenticator: guesses are not passed on, and whom one knows is not hindered by them") {
  Process process{true, {.known_for = 1s, .unknown_for = 1ms}};
  process.knows_tokens = false;
  const auto good = process.resolve("good");
  process.asked.back().second(Grant{.rights = Rights::everything()});
  for (int i = 0; i < 50; ++i) {
    const auto token = "guess" + std::to_string(i);
    const auto said = process.resolve(token);
    process.asked.back().second(permission_denied());
    CHECK(*said == denied);
    process.authenticator->note_refused(process.shows(token));
  }
  const auto passed_on = process.asked.size();
  CHECK(process.authenticator->is_guessing(process.shows("guess")));
  CHECK(*process.resolve("guess") == "too many unknown tokens come from this address");
  CHECK(process.asked.size() == passed_on);
  process.now += 2s;
  CHECK(process.resolve("good")->empty());
  CHECK(process.asked.size() == passed_on + 1);
}

TEST_CASE("authenticator: a grant counts no moment longer than whose it is, whatever is kept") {
  Process process;
  auto lives = std::make_shared<bool>(true);
  process.tokens["task"] = {.rights = Rights::everything(), .holds = [lives] { return *lives; }};
  const auto who = process.authenticator->at_once(process.shows("task")).value().value();
  CHECK(process.outcome("task") == "all");
  CHECK(process.looked_up == 1);
  CHECK(process.authenticator->is_fresh(who));

  *lives = false;
  process.tokens.erase("task");
  CHECK_FALSE(process.authenticator->is_fresh(who));
  CHECK(process.outcome("task") == "Permission denied");
}
