// What becomes of requests whose tokens have to be looked up: unknown ones, ones that nobody can
// say something of at once, and ones whose rights change while a request waits.
#include <atomic>
#include <future>
#include <mutex>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "actors/api/http/routes.hpp"
#include "test/support/access_policy.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/actors/api/busy_looks.hpp"
#include "test/unit/actors/api/silent_peers.hpp"

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;

namespace {

/// Tokens as a test has them from moment to moment, here or elsewhere.
struct Tokens {
  std::mutex guard;
  access::RightsRef rights = access::Rights::everything();  ///< Of every token but `no_token`.
  std::atomic<std::uint64_t> index = 1;
  std::atomic<bool> holds = true;  ///< Whether the task of every token still runs.
  bool are_elsewhere = false;
  std::vector<access::Lookup::Found> asked;

  std::optional<Result<access::Grant>> find(std::string_view token) {
    const std::lock_guard lock{guard};
    if (are_elsewhere) return {};
    if (token == test::no_token || !holds) return access::permission_denied();
    return access::Grant{
        .rights = rights, .index = index, .holds = [this] { return holds.load(); }};
  }

  void change(const access::RightsRef& to) {
    const std::lock_guard lock{guard};
    rights = to;
    ++index;
  }

  void hear(access::Lookup::Found found) {
    {
      const std::lock_guard lock{guard};
      asked.push_back(std::move(found));
    }
    test::note_change();
  }

  std::size_t open() {
    const std::lock_guard lock{guard};
    return asked.size();
  }

  /// Answers the oldest question.
  void say(Result<access::Grant> grant) {
    access::Lookup::Found found;
    {
      const std::lock_guard lock{guard};
      found = std::move(asked.front());
      asked.erase(asked.begin());
    }
    found(std::move(grant));
  }
};

struct RightsFixture {
  std::shared_ptr<Tokens> tokens = std::make_shared<Tokens>();
  ApiFixture api{[this](ApiOptions& options) {
    options.authenticator = access::Authenticator::make(
        {.lookup
         = {.index = [tokens = tokens] { return tokens->index.load(); },
            .here = [tokens = tokens](std::string_view token) { return tokens->find(token); },
            .elsewhere
            = [tokens = tokens](const SecretText&,
                                access::Lookup::Found found) { tokens->hear(std::move(found)); }}});
  }};

  net::ClientResponse send(const std::string& method,
                           const std::string& target,
                           const std::string& token,
                           const std::string& body = {}) const {
    auto client = net::HttpClient::make(
        {.address = "http://" + api.address(), .headers = {{"X-Nomad-Token", token}}});
    auto response = client->send({.method = method, .target = target, .body = body});
    REQUIRE(response.has_value());
    return std::move(*response);
  }
};

}  // namespace

TEST_CASE("rights: an unknown token is refused by every route that is not open to all") {
  const RightsFixture fixture;
  Routes routes{nullptr};
  add_routes(routes, {});
  for (const auto& [route, needed] : routes.listed()) {
    if (needed == Capability::none) continue;
    const auto& shown = route;
    CAPTURE(shown);
    auto method = route.substr(0, route.find(' '));
    auto path = route.substr(route.find(' ') + 1);
    if (const auto star = path.find('*'); star != std::string::npos)
      path.replace(star, 1, own_node);
    const auto answer = fixture.send(method == "ANY" ? "GET" : method, path, test::no_token, "{}");
    CHECK(answer.status == 403);
    CHECK(answer.body == "Permission denied");
  }
  CHECK(fixture.send("GET", "/v1/status/leader", test::no_token).status == 200);
}

TEST_CASE("rights: a request waits for what its token gives") {
  RightsFixture fixture;
  fixture.tokens->are_elsewhere = true;
  const auto ask = [&] {
    return std::async(std::launch::async, [&] { return fixture.send("GET", "/v1/jobs", "t"); });
  };
  auto first = ask();
  REQUIRE(test::eventually([&] { return fixture.tokens->open() == 1; }));
  fixture.tokens->say(Error{Errc::timeout, "the servers are slow"});
  const auto refused = first.get();
  CHECK(refused.status >= 500);
  CHECK(refused.body == "the servers are slow");

  auto second = ask();
  REQUIRE(test::eventually([&] { return fixture.tokens->open() == 1; }));
  fixture.tokens->say(access::Grant{.rights = access::Rights::everything(), .index = 1});
  CHECK(second.get().status == 200);
  CHECK(ask().get().status == 200);  // as it is kept

  fixture.tokens->change(access::Rights::everything());
  auto third = ask();
  REQUIRE(test::eventually([&] { return fixture.tokens->open() == 1; }));
  fixture.tokens->say(access::permission_denied());
  CHECK(third.get().status == 403);
}

TEST_CASE(
    "rights: a blocking query is judged by the rights that its caller has when it is looked at") {
  RightsFixture fixture;
  fixture.api.state().register_job({.id = "web"});
  const auto wait = [&] {
    const auto target = fmt::format("/v1/job/web?index={}", fixture.api.state().index);
    auto answer = std::async(std::launch::async,
                             [&, target] { return fixture.send("GET", target, "t").status; });
    REQUIRE(fixture.api.has_waiting(1));
    return answer;
  };
  SUBCASE("as this process finds them") {
    auto answer = wait();
    fixture.tokens->change(access::Rights::nothing());
    fixture.api.state().register_job({.id = "web", .type = "batch"});
    CHECK(answer.get() == 403);
  }
  SUBCASE("as others say them, later") {
    auto answer = wait();
    fixture.tokens->are_elsewhere = true;
    fixture.tokens->change(access::Rights::nothing());
    fixture.api.state().register_job({.id = "web", .type = "batch"});
    REQUIRE(test::eventually([&] { return fixture.tokens->open() == 1; }));
    SUBCASE("less") {
      fixture.tokens->say(access::Grant{.rights = access::Rights::nothing(), .index = 2});
      CHECK(answer.get() == 403);
    }
    SUBCASE("the same") {
      fixture.tokens->say(access::Grant{.rights = access::Rights::everything(), .index = 2});
      CHECK(answer.get() == 200);
    }
    SUBCASE("nobody is there: where there is a state, what was known counts no more") {
      fixture.tokens->say(Error{Errc::unavailable, "nobody is there"});
      CHECK(answer.get() >= 500);
    }
    SUBCASE("none") {
      fixture.tokens->say(Error{Errc::internal, "broken"});
      CHECK(answer.get() >= 500);
    }
  }
}

TEST_CASE("rights: an event stream ends when its caller may not follow it any more") {
  RightsFixture fixture;
  auto client = fixture.api.client();
  auto stream = client.open({.target = "/v1/event/stream?topic=Job"});
  REQUIRE(stream.has_value());
  fixture.api.state().register_job({.id = "web"});
  std::string got;
  while (got.find("web") == std::string::npos) {
    const auto piece = stream->read(10s);
    REQUIRE((piece && !piece->empty()));
    got += *piece;
  }
  fixture.tokens->change(access::Rights::nothing());
  fixture.api.state().register_job({.id = "hidden"});
  auto piece = stream->read(10s);
  for (; piece && !piece->empty(); piece = stream->read(10s))
    got += *piece;
  CHECK(got.find("hidden") == std::string::npos);
  CHECK(got.ends_with("{\"Error\":\"Permission denied\"}\n"));
  REQUIRE_FALSE(piece.has_value());
  CHECK(piece.error().code == Errc::io);  // cut, so that it does not look complete
}

TEST_CASE("rights: an event stream goes on though nobody has time to look at its caller's rights") {
  const auto looks = std::make_shared<BusyLooks>();
  ApiFixture api{[looks](ApiOptions& options) { BusyLooks::judge_by(looks, options); }};
  auto client = api.client();
  auto stream = client.open({.target = "/v1/event/stream?topic=Job"});
  REQUIRE(stream.has_value());
  REQUIRE(looks->are_refused());
  api.state().register_job({.id = "web"});
  std::string got;
  while (got.find("web") == std::string::npos) {
    const auto piece = stream->read(10s);
    REQUIRE((piece && !piece->empty()));
    got += *piece;
  }
}

TEST_CASE("rights: what goes on ends soon after its caller has lost the right") {
  RightsFixture fixture;
  fixture.api.state().register_job({.id = "web"});
  const auto target = fmt::format("/v1/job/web?index={}", fixture.api.state().index);
  std::vector<std::future<unsigned>> queries;
  for (int i = 0; i < 20; ++i)
    queries.push_back(
        std::async(std::launch::async, [&] { return fixture.send("GET", target, "t").status; }));
  auto client = fixture.api.client();
  std::vector<net::ResponseStream> streams;
  for (const auto* each : {"/v1/event/stream?topic=Job", "/v1/agent/monitor?plain=true"}) {
    auto stream = client.open({.target = each});
    REQUIRE(stream.has_value());
    streams.push_back(std::move(*stream));
  }
  REQUIRE(fixture.api.has_waiting(20));

  const auto begun = std::chrono::steady_clock::now();
  fixture.tokens->change(access::Rights::nothing());
  for (auto& query : queries)
    CHECK(query.get() == 403);
  for (auto& stream : streams) {
    auto piece = stream.read(10s);
    while (piece && !piece->empty())
      piece = stream.read(10s);
    CHECK((piece || piece.error().code != Errc::timeout));
  }
  CHECK(std::chrono::steady_clock::now() - begun < 5s);  // a second where there is nothing else
}

TEST_CASE("rights: a stream ends soon after the task whose identity it goes by") {
  RightsFixture fixture;
  auto client = fixture.api.client();
  auto stream = client.open({.target = "/v1/event/stream?topic=Job"});
  REQUIRE(stream.has_value());
  fixture.tokens->holds = false;
  auto piece = stream->read(10s);
  while (piece && !piece->empty())
    piece = stream->read(10s);
  REQUIRE_FALSE(piece.has_value());
  CHECK(piece.error().code == Errc::io);
}

TEST_CASE("rights: who guesses tokens waits for his answers, and others do not") {
  const RightsFixture fixture;
  const auto is_slow = [&](const std::string& token, unsigned status) {
    const auto begun = std::chrono::steady_clock::now();
    CHECK(fixture.send("GET", "/v1/jobs", token).status == status);
    return std::chrono::steady_clock::now() - begun > 900ms;
  };
  int quick = 0;
  while (quick < 150 && !is_slow(test::no_token, 403))
    ++quick;
  CHECK(quick >= 49);
  CHECK(quick < 150);  // twice as many where the window ends meanwhile
  CHECK(fixture.send("GET", "/v1/jobs", "t").status == 200);
}

TEST_CASE("rights: a job for another region is no guess, though only others know its token") {
  const RightsFixture fixture;
  fixture.tokens->are_elsewhere = true;
  const auto said = [&](const std::string& region, const Error& why) {
    const auto body = R"({"Job":{"ID":"web","Region":")" + region + "\"}}";
    auto answer = std::async(std::launch::async, [&] {
      return fixture.send("PUT", "/v1/jobs", test::no_token, body).body;
    });
    REQUIRE(test::eventually([&] { return fixture.tokens->open() == 1; }));
    fixture.tokens->say(why);
    ++fixture.tokens->index;  // it is looked up anew
    return answer.get();
  };
  CHECK(said("global", access::permission_denied()) == "Permission denied");
  CHECK(said("eu", {Errc::timeout, "slow"}) == "slow");
  for (unsigned i = 0; i <= access::GuessLimits{}.of_one; ++i)
    REQUIRE(said("eu", access::permission_denied()) == "No path to region");
  CHECK(said("global", access::permission_denied()) == "Permission denied");
}

TEST_CASE("rights: a client node has a server asked of a token that is for another region") {
  std::mutex guard;
  std::vector<std::string> asked;
  ApiOptions options;
  const ApiFixture fixture{[&](ApiOptions& made) {
    options = made;
    options.state = {};
    options.authenticator = test::a_only_rights();
    auto& view = options.peers.view.emplace();
    view.region = made.agent.region;
    view.leader_address = [] { return rpc::LeaderAddress{}; };
    view.servers_in = [&](const std::string& region) {
      {
        const std::lock_guard lock{guard};
        asked.push_back(region);
      }
      test::note_change();
      return std::vector<std::string>{};
    };
  }};
  actor::SystemConfig config;
  actor::System system{config};
  const auto context = std::make_shared<Context>(system, options);
  const auto exchange = std::make_shared<SilentClient>();
  exchange->request.method = "PUT";
  exchange->request.path = exchange->request.target = "/v1/jobs";
  exchange->request.body = R"({"Job":{"ID":"web","Region":"eu"}})";
  exchange->request.hops = 1;  // who asks again is another one
  exchange->request.add_header("X-Nomad-Token", test::no_token);
  net::serve(all_routes(context, options), net::Responder{exchange});
  REQUIRE(test::eventually([&] { return exchange->answer().has_value(); }));
  CHECK(exchange->answer()->body == "No servers");
  CHECK(asked == std::vector<std::string>{"global"});
  context->stop();
}

TEST_CASE("rights: an archive is not taken in of those who may not send one") {
  RightsFixture fixture;
  net::Request head;
  head.method = "PUT";
  head.target = "/v1/operator/snapshot";
  head.add_header("X-Nomad-Token", "t");
  const auto authenticator = access::Authenticator::make(
      {.lookup = {.here = [&](std::string_view token) { return fixture.tokens->find(token); },
                  .elsewhere =
                      [&](const SecretText&, access::Lookup::Found found) {
                        fixture.tokens->asked.push_back(std::move(found));
                      }}});
  CHECK(brings_archive(head, *authenticator));
  head.clear();
  head.method = "PUT";
  head.target = "/v1/operator/snapshot";
  head.add_header("X-Nomad-Token", test::no_token);
  CHECK_FALSE(brings_archive(head, *authenticator));

  fixture.tokens->are_elsewhere = true;
  head.clear();
  head.method = "PUT";
  head.target = "/v1/operator/snapshot";
  CHECK_FALSE(brings_archive(head, *authenticator));  // nobody can say at once
  REQUIRE(fixture.tokens->open() == 1);               // for the next try
  fixture.tokens->say(access::Grant{.rights = access::Rights::everything()});
  CHECK(brings_archive(head, *authenticator));
}

TEST_CASE("rights: what goes on after its token's end is looked at until it has ended") {
  std::atomic<int> asked{0};
  const auto authenticator = access::Authenticator::make(
      {.lookup = {.here = [&](std::string_view) -> std::optional<Result<access::Grant>> {
         if (++asked > 2) return access::permission_denied();  // whose clock is behind
         return access::Grant{.rights = access::Rights::everything(),
                              .until = std::chrono::steady_clock::now() + 50ms};
       }}});
  const auto who = test::who_shows("short", *authenticator);
  net::TimerQueue timers;
  RightsWatch watch{authenticator, timers};
  std::atomic<bool> is_refused{false};
  const auto kept = watch.keep(
      who, [](const access::Principal&) { return Result<>{}; },
      [&](const Error&) {
        is_refused = true;
        test::note_change();
      });
  CHECK(test::eventually([&] { return is_refused.load(); }));
  timers.stop();
}
