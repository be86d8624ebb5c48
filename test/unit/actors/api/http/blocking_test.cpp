// Blocking queries, consistency, and the cache of list renderings.
#include <atomic>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/response_cache.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/runtime/net/http/test_server.hpp"

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

std::string index_of(const net::ClientResponse& response) {
  return std::string{response.header("X-Nomad-Index")};
}

/// Restores the jobs of `elsewhere`, and nothing else of it.
void restore_jobs(state::StateFixture& here, state::StateFixture& elsewhere) {
  here.run([](auto command) { command.setRestoreBegin("r"); });
  here.run([&](auto command) {
    auto rows = command.initRestoreRows();
    rows.setRestoreId("r");
    auto row = rows.initRows(1)[0];
    row.setTable(text(to_string(state::Table::jobs)));
    const auto saved = elsewhere.now();
    const auto copied = saved.for_each_row(
        state::Table::jobs,
        [&](std::string_view key, std::span<const std::byte> value) -> Result<> {
          row.setKey({reinterpret_cast<const unsigned char*>(key.data()), key.size()});
          row.setValue({reinterpret_cast<const unsigned char*>(value.data()), value.size()});
          return {};
        });
    REQUIRE(copied.has_value());
  });
  const auto restored = here.run([](auto command) {
    auto body = command.initRestoreFinish();
    body.setRestoreId("r");
    body.setRows(1);
  });
  REQUIRE_FALSE(restored.error);
}

}  // namespace

TEST_CASE("blocking: answers at once when the index has passed, else when it does") {
  ApiFixture fixture;
  fixture.state().register_job({.id = "web"});
  const auto index = index_of(fixture.get("/v1/job/web"));

  CHECK(fixture.get("/v1/job/web?index=1&wait=10s").status == 200);

  std::thread writer{[&] {
    while (fixture.state().store.watches().size() == 0)
      std::this_thread::yield();
    fixture.state().register_job({.id = "other"});  // wakes nobody here
    fixture.state().register_job({.id = "web", .stable = true});
  }};
  const auto changed = fixture.get("/v1/job/web?index=" + index + "&wait=10s");
  writer.join();

  CHECK(std::stoul(index_of(changed)) > std::stoul(index));
  CHECK(fixture.state().store.watches().size() == 0);
}

TEST_CASE("blocking: the wait ends with the old index") {
  ApiFixture fixture;
  fixture.state().register_job({.id = "web"});
  const auto index = index_of(fixture.get("/v1/jobs"));

  const auto begin = Clock::now();
  const auto same = fixture.get("/v1/jobs?index=" + index + "&wait=50ms");

  CHECK(same.status == 200);
  CHECK(index_of(same) == index);
  CHECK(Clock::now() - begin >= 50ms);
  CHECK(fixture.state().store.watches().size() == 0);
}

TEST_CASE("blocking: an object that is not there yet is waited for") {
  ApiFixture fixture;
  std::thread writer{[&] {
    while (fixture.state().store.watches().size() == 0)
      std::this_thread::yield();
    fixture.state().register_job({.id = "late"});
  }};

  CHECK(index_of(fixture.get("/v1/job/late")) == "0");  // which nothing waits for
  const auto found = fixture.get("/v1/job/late?wait=10s&index=1");
  writer.join();

  CHECK(found.status == 200);
}

TEST_CASE("blocking: a thousand clients wait on one thread and are all told") {
  ApiFixture fixture{[](ApiOptions& options) { options.http.connections_per_address = 0; }};
  fixture.state().register_job({.id = "web"});
  const auto index = index_of(fixture.get("/v1/job/web"));
  std::vector<std::unique_ptr<net::RawPeer>> peers;
  for (int i = 0; i < 400; ++i) {
    peers.push_back(std::make_unique<net::RawPeer>(fixture.address()));
    peers.back()->send("GET /v1/job/web?index=" + index + " HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  REQUIRE(fixture.has_waiting(400));

  fixture.state().register_job({.id = "web", .stable = true});

  for (auto& peer : peers)
    CHECK(peer->read_until("\r\n\r\n").starts_with("HTTP/1.1 200"));
}

TEST_CASE("blocking: abandoned queries leave nothing behind") {
  ApiFixture fixture;
  fixture.state().register_job({.id = "web"});
  const auto index = index_of(fixture.get("/v1/job/web"));
  {
    std::vector<std::unique_ptr<net::RawPeer>> peers;
    for (int i = 0; i < 50; ++i) {
      peers.push_back(std::make_unique<net::RawPeer>(fixture.address()));
      peers.back()->send("GET /v1/job/web?index=" + index + " HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    REQUIRE(fixture.has_waiting(50));
  }

  CHECK(fixture.has_waiting(0));
  CHECK(fixture.get("/v1/job/web").status == 200);
}

TEST_CASE("blocking: stopping the API ends what waits") {
  ApiFixture fixture;
  fixture.state().register_job({.id = "web"});
  const auto index = index_of(fixture.get("/v1/job/web"));
  net::RawPeer peer{fixture.address()};
  peer.send("GET /v1/job/web?index=" + index + " HTTP/1.1\r\nHost: x\r\n\r\n");
  REQUIRE(fixture.has_waiting(1));

  fixture.api->stop();

  CHECK(fixture.state().store.watches().size() == 0);
  CHECK(peer.read_all() == "");
}

TEST_CASE("blocking: a read that throws is a 500, and holds nothing any more") {
  ApiOptions options;
  ApiFixture fixture{[&](ApiOptions& made) { options = made; }};
  actor::SystemConfig config;
  actor::System system{config};
  const auto context = std::make_shared<Context>(system, options);
  static std::atomic<int> held{0};  // how often the read is held

  struct Held {
    Held() { ++held; }

    Held(const Held&) { ++held; }

    ~Held() {
      --held;
      test::note_change();
    }
  };

  static bool is_heavy = false;  // and so rendered on the pool
  net::HttpRouter router;
  router.handle("/", [&](net::Responder responder) {
    Call call{context, std::move(responder), ""};
    call.settle(read_state(call, [&](const ReadOptions&) -> Result<Read> {
      return Read{.watch = {state::watch_prefix(state::Table::jobs, "")},
                  .index = api::index_of<state::Table::jobs>,
                  .answer = [is_held = Held{}](const View&) -> Answer {
                    throw std::runtime_error{"a bug"};
                  },
                  .is_heavy = [](const View&) { return is_heavy; }};
    }));
  });
  auto server = net::HttpServer::start(options.http, std::move(router));
  REQUIRE(server.has_value());
  for (const bool heavy : {false, true})
    for (const std::int64_t lease : {raft::LeaderLease::unlimited, std::int64_t{0}}) {
      CAPTURE(heavy);
      CAPTURE(lease);
      is_heavy = heavy;
      fixture.lease->set(lease);
      fixture.state().register_job({.id = "web"});
      const auto index = fixture.state().now().index(state::Table::jobs);
      net::RawPeer peer{server->addresses().front()};
      peer.send("GET /?index=" + std::to_string(index) + " HTTP/1.1\r\nHost: x\r\n\r\n");
      REQUIRE(fixture.has_waiting(1));
      fixture.state().register_job({.id = "web"});
      CHECK(peer.read_until("says why").starts_with("HTTP/1.1 500"));
      CHECK(test::eventually([] { return held == 0; }));
    }
  context->stop();
}

TEST_CASE("blocking: what a restore has taken back is waited for") {
  ApiFixture fixture;
  auto& here = fixture.state();
  state::StateFixture elsewhere;
  elsewhere.register_job({.id = "web"});
  const auto old = elsewhere.index;
  here.register_job({.id = "other"});
  here.register_job({.id = "web"});
  REQUIRE(here.index > old);
  fixture.lease->set(0);
  fixture.played->before_read_index = [&, is_first = true]() mutable {
    if (std::exchange(is_first, false)) restore_jobs(here, elsewhere);
  };

  net::RawPeer peer{fixture.address()};
  peer.send("GET /v1/job/web?index=" + std::to_string(old) + " HTTP/1.1\r\nHost: x\r\n\r\n");
  REQUIRE(fixture.has_waiting(1));
  const auto changed = here.deregister("web", true);
  CHECK_FALSE(changed.error);
  CHECK(peer.read_until("\r\n\r\n").starts_with("HTTP/1.1 404"));
}

TEST_CASE("consistency: without the lease a read asks for a read index first") {
  ApiFixture fixture;
  fixture.state().register_job({.id = "web"});
  fixture.lease->set(0);

  CHECK(fixture.get("/v1/jobs").status == 200);
  {
    const std::lock_guard lock{fixture.played->guard};
    fixture.played->leads = false;
  }
  CHECK(fixture.refusal("/v1/jobs") == "500 No cluster leader");
  CHECK(fixture.get("/v1/jobs?stale").status == 200);
}

TEST_CASE("response_cache: keeps what is asked for twice at one index, within its bounds") {
  ResponseCache cache{64 * 1024};
  const auto who = test::anybody_at();
  const std::string large(10'000, 'x');
  auto body = large;
  CHECK(cache.find("/a", 1, false, who) == nullptr);
  CHECK(cache.offer("/a", 1, body, "", {}) == nullptr);
  CHECK(body == large);
  REQUIRE(cache.offer("/a", 1, body, "token", {}) != nullptr);

  const auto kept = cache.find("/a", 1, true, who);
  REQUIRE(kept != nullptr);
  CHECK(*kept->body == large);
  CHECK(kept->next_token == "token");
  CHECK(kept->gzip != nullptr);
  CHECK(cache.find("/a", 2, false, who) == nullptr);

  for (int i = 0; i < 20; ++i)
    for (int round = 0; round < 2; ++round) {
      body = large;
      cache.offer("/b" + std::to_string(i), 1, body, "", {});
    }
  CHECK(cache.bytes() <= 64 * 1024);
  CHECK(cache.find("/a", 1, false, who) == nullptr);
  CHECK(cache.find("/b19", 1, false, who) != nullptr);
  body = "small";
  CHECK(cache.offer("/s", 1, body, "", {}) == nullptr);
  CHECK(cache.offer("/s", 1, body, "", {}) == nullptr);
}

TEST_CASE("response_cache: wants what was asked for before, unless that was too large") {
  ResponseCache cache{64 * 1024};
  const auto who = test::anybody_at();
  CHECK_FALSE(cache.wants("/a", 1));
  cache.note("/a", 1, 10'000);
  CHECK(cache.wants("/a", 1));
  CHECK_FALSE(cache.wants("/a", 2));
  std::string body(10'000, 'x');
  CHECK(cache.offer("/a", 1, body, "", {}) != nullptr);
  CHECK(cache.find("/a", 1, false, who) != nullptr);

  cache.note("/b", 1, 40'000);
  CHECK_FALSE(cache.wants("/b", 1));
  cache.note("/b", 2, 10'000);
  CHECK(cache.wants("/b", 2));
}

TEST_CASE("response_cache: a list that was kept is the list, and a change is seen") {
  ApiFixture fixture;
  for (unsigned i = 0; i < 100; ++i)
    fixture.state().register_job({.id = "job-" + std::to_string(i)});
  const auto fresh = fixture.get("/v1/jobs");

  for (int i = 0; i < 3; ++i) {
    const auto again = fixture.get("/v1/jobs");
    CHECK(again.body == fresh.body);
    CHECK(index_of(again) == index_of(fresh));
  }
  CHECK(fixture.get("/v1/jobs?pretty").body == net::pretty_json(fresh.body));
  fixture.state().register_job({.id = "new"});
  CHECK(fixture.json("/v1/jobs").as_array().size() == 101);
}

TEST_CASE("response_cache: what was kept before a restore is not given out after it") {
  ApiFixture fixture;
  auto& here = fixture.state();
  state::StateFixture elsewhere;
  elsewhere.index = here.index;
  elsewhere.register_job({.id = "web", .type = "batch"});
  here.register_job({.id = "web"});
  for (int i = 0; i < 3; ++i)
    CHECK(fixture.json("/v1/job/web").as_object().at("Type") == "service");

  restore_jobs(here, elsewhere);

  const auto now = here.now().job("default", "web");
  REQUIRE(now->getModifyIndex() == elsewhere.now().job("default", "web")->getModifyIndex());
  CHECK(fixture.json("/v1/job/web").as_object().at("Type") == "batch");
}
