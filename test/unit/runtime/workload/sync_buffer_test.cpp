// Prioritised sync: which updates leave, and when.
#include "runtime/workload/sync_buffer.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace std::chrono_literals;
using namespace nomad;
using namespace nomad::workload;

namespace {

/// An update of allocation `id` whose task has had `restarts`.
AllocUpdate update(std::string_view id, ClientStatus status, std::uint64_t restarts = 0) {
  TaskState state{.restarts = restarts};
  return make_update({.alloc_id = id,
                      .node_id = "node",
                      .status = status,
                      .description = "",
                      .tasks = {{"web", &state}},
                      .health = std::nullopt,
                      .assigned = {}},
                     0);
}

struct Buffer {
  SyncBuffer buffer;
  std::uint64_t version = 0;
  Random random{7};

  Buffer() { buffer.open(); }

  void put(std::string_view id, ClientStatus status, std::uint64_t restarts = 0) {
    buffer.put(std::string{id}, ++version, update(id, status, restarts));
  }

  std::size_t send(Nanoseconds now) {
    const auto batch = buffer.take(now);
    if (!batch.empty()) buffer.succeeded(now);
    return batch.size();
  }

  /// A buffer whose servers have acknowledged `id` as running at time 0.
  void run(std::string_view id) {
    put(id, ClientStatus::RUNNING);
    CHECK(send(0s) == 1);
  }
};

}  // namespace

TEST_CASE("sync_buffer: a change of ClientStatus leaves at once, also right after another") {
  Buffer test;
  test.run("a");
  test.put("a", ClientStatus::FAILED);
  CHECK(test.buffer.due(1ms) == 1ms);
  CHECK(test.send(1ms) == 1);
}

namespace {

/// A buffer whose allocation changes whenever it is asked to, one change after the other.
struct Changes {
  Buffer test{};
  bool failed = false;

  void change() {
    failed = !failed;
    test.put("a", failed ? ClientStatus::FAILED : ClientStatus::RUNNING);
  }

  /// Changes at `now` and sends when it is due: how long it waited.
  Nanoseconds change_and_send(Nanoseconds now) {
    change();
    const auto due = *test.buffer.due(now);
    CHECK((due == now || test.send(due - 1ns) == 0));
    CHECK(test.send(due) == 1);
    return due - now;
  }
};

}  // namespace

TEST_CASE("sync_buffer: hundreds of changes one after the other wait for milliseconds at most") {
  Changes node;
  Nanoseconds now{0};
  for (unsigned sent = 0; sent < 400; ++sent) {
    const auto waited = node.change_and_send(now);
    CAPTURE(sent);
    CHECK(waited <= (sent < SyncOptions{}.burst ? 0ms : 20ms));
    now += waited + 5ms;
  }
}

TEST_CASE("sync_buffer: who never rests comes to a send each tick, by and by") {
  Changes node;
  Nanoseconds now{0};
  Nanoseconds last{0};
  const SyncOptions options;
  unsigned sent = 0;
  for (; now < 600s; ++sent) {
    const auto waited = node.change_and_send(now);
    if (sent < options.burst + options.reserve) CHECK(waited >= last - 2ms);  // no jump back
    last = waited;
    now += waited;
    CHECK(sent <= options.burst + options.reserve + 1 + now / options.tick);
  }
  CHECK(last > 195ms);
}

TEST_CASE("sync_buffer: a quiet node gains a send each tick") {
  Changes node;
  Nanoseconds now{0};
  for (int sent = 0; sent < 5'000; ++sent)
    now += node.change_and_send(now);
  CHECK(node.change_and_send(now + 1s) == 0ms);
  CHECK(node.change_and_send(now + 1s) > 150ms);
  now += SyncOptions{}.tick * (SyncOptions{}.reserve + 10) + 1s;
  for (int sent = 0; sent < 5; ++sent)
    CHECK(node.change_and_send(now) == 0ms);
}

TEST_CASE("sync_buffer: other updates leave on the fifth tick") {
  Buffer test;
  test.run("a");
  test.put("a", ClientStatus::RUNNING, 1);
  CHECK(test.buffer.due(300ms) == 1s);
  CHECK(test.send(999ms) == 0);
  CHECK(test.send(1s) == 1);
}

TEST_CASE("sync_buffer: one urgent update takes everything waiting along") {
  Buffer test;
  test.run("a");
  for (const auto id : {"b", "c", "d"}) {
    test.put(id, ClientStatus::PENDING);
    CHECK(test.send(100ms) == 0);
  }
  test.put("a", ClientStatus::COMPLETE);
  CHECK(test.send(200ms) == 4);
}

TEST_CASE("sync_buffer: the first state is urgent unless it is pending") {
  Buffer test;
  test.run("x");
  test.put("a", ClientStatus::PENDING);
  CHECK(test.buffer.due(500ms) == 1s);
  test.put("a", ClientStatus::RUNNING);
  CHECK(test.buffer.due(500ms) == 500ms);
}

TEST_CASE("sync_buffer: what the servers have acknowledged is dropped, after a restart too") {
  Buffer test;
  test.run("a");
  test.put("a", ClientStatus::RUNNING);
  CHECK(test.send(5s) == 0);
  CHECK(test.buffer.waiting() == 0);

  SyncBuffer restarted;
  restarted.open();
  restarted.restore("a", update("a", ClientStatus::RUNNING).state);
  restarted.put("a", 1, update("a", ClientStatus::RUNNING));
  CHECK(restarted.take(5s).empty());
}

TEST_CASE("sync_buffer: nothing leaves before the servers' first answer") {
  SyncBuffer buffer;
  buffer.put("a", 1, update("a", ClientStatus::RUNNING));
  CHECK_FALSE(buffer.due(10s).has_value());
  CHECK(buffer.take(10s).empty());
  buffer.open();
  CHECK(buffer.take(10s).size() == 1);
}

TEST_CASE("sync_buffer: a hanging send grows the buffer by one entry per allocation only") {
  Buffer test;
  test.run("a");
  test.put("a", ClientStatus::COMPLETE);
  CHECK(test.buffer.take(1s).size() == 1);
  for (std::uint64_t i = 0; i < 1'000; ++i)
    test.put("b", ClientStatus::RUNNING, i);
  CHECK(test.buffer.waiting() == 1);
  CHECK(test.buffer.take(60s).empty());
}

TEST_CASE("sync_buffer: a failed send loses nothing and never replaces a newer state") {
  Buffer test;
  test.put("a", ClientStatus::RUNNING);
  test.put("b", ClientStatus::RUNNING);
  CHECK(test.buffer.take(0s).size() == 2);
  test.put("a", ClientStatus::FAILED);
  test.buffer.failed(1s, test.random);

  CHECK(test.buffer.take(5s).empty());
  const auto due = test.buffer.due(5s);
  REQUIRE(due.has_value());
  CHECK(*due >= 6s);
  CHECK(*due <= 11s);
  const auto batch = test.buffer.take(11s);
  REQUIRE(batch.size() == 2);
  for (const auto& sent : batch) {
    const bool is_a = sent->id() == "a";
    CHECK(sent->client_status() == (is_a ? ClientStatus::FAILED : ClientStatus::RUNNING));
  }
}

TEST_CASE("sync_buffer: a state that goes back while another is under way is sent again") {
  Buffer test;
  test.run("a");
  test.put("a", ClientStatus::PENDING);
  CHECK(test.buffer.take(1s).size() == 1);
  test.put("a", ClientStatus::RUNNING);
  test.buffer.succeeded(1s);
  CHECK(test.send(2s) == 1);
}

TEST_CASE("sync_buffer: an older state that arrives late changes nothing") {
  Buffer test;
  test.buffer.put("a", 2, update("a", ClientStatus::RUNNING));
  test.buffer.put("a", 1, update("a", ClientStatus::PENDING));
  const auto batch = test.buffer.take(0s);
  REQUIRE(batch.size() == 1);
  CHECK(batch[0]->client_status() == ClientStatus::RUNNING);
  test.buffer.succeeded(0s);
  test.buffer.put("a", 1, update("a", ClientStatus::PENDING));
  CHECK(test.buffer.waiting() == 0);
}

TEST_CASE("sync_buffer: a hurried retry does not wait") {
  Buffer test;
  test.put("a", ClientStatus::RUNNING);
  test.buffer.take(0s);
  test.buffer.failed(1s, test.random);
  test.buffer.send_now();
  CHECK(test.buffer.due(1s) == 1s);
}

TEST_CASE("sync_buffer: a batch is bounded, urgent updates come first") {
  SyncBuffer buffer{{.max_batch = 2}};
  buffer.open();
  buffer.put("p1", 1, update("p1", ClientStatus::PENDING));
  buffer.put("p2", 1, update("p2", ClientStatus::PENDING));
  buffer.put("r", 1, update("r", ClientStatus::RUNNING));
  const auto batch = buffer.take(1s);
  REQUIRE(batch.size() == 2);
  CHECK(batch[0]->id() == "r");
  buffer.succeeded(1s);
  CHECK(buffer.waiting() == 1);
}

TEST_CASE("sync_buffer: a forgotten allocation is not sent, even in the middle of a send") {
  Buffer test;
  test.put("a", ClientStatus::RUNNING);
  CHECK(test.buffer.take(0s).size() == 1);
  test.buffer.forget("a");
  CHECK(test.buffer.succeeded(0s).empty());
  test.put("b", ClientStatus::RUNNING);
  CHECK(test.send(1s) == 1);
}

TEST_CASE("sync_buffer: many allocations change in every tick, one changes its status") {
  Buffer test;
  const std::vector<std::string> ids = [] {
    std::vector<std::string> made;
    for (int i = 0; i < 100; ++i)
      made.push_back("alloc-" + std::to_string(i));
    return made;
  }();
  for (const auto& id : ids)
    test.put(id, ClientStatus::RUNNING);
  CHECK(test.send(0s) == ids.size());

  std::vector<Nanoseconds> sent;
  std::uint64_t restarts = 0;
  for (Nanoseconds now = 10ms; now <= 4s; now += 10ms) {
    for (const auto& id : ids)
      test.put(id, ClientStatus::RUNNING, ++restarts);
    if (now == 2300ms) test.put(ids[3], ClientStatus::FAILED);
    if (test.send(now) > 0) sent.push_back(now);
    if (now >= 2300ms && now < 2400ms) test.put(ids[3], ClientStatus::FAILED);
  }
  CHECK(sent == std::vector<Nanoseconds>{1s, 2s, 2300ms, 2310ms, 3310ms});
}

TEST_CASE("sync_buffer: the figures of one allocation do not make those of another urgent") {
  Buffer client;
  client.put("a", ClientStatus::RUNNING);
  client.send(1s);
  client.put("a", ClientStatus::FAILED);
  client.put("a", ClientStatus::RUNNING, 1);  // back again, before it left
  CHECK(*client.buffer.due(1s) > 1s);
  client.put("a", ClientStatus::FAILED);
  CHECK(*client.buffer.due(1s) == 1s);
  client.buffer.forget("a");
  client.put("b", ClientStatus::PENDING);
  CHECK(*client.buffer.due(1s) > 1s);
}

TEST_CASE("sync_buffer: what the servers may not know any more is urgent again") {
  Buffer client;
  client.put("a", ClientStatus::RUNNING);
  client.send(1s);
  client.put("a", ClientStatus::RUNNING, 1);
  CHECK(*client.buffer.due(1s) > 1s);
  client.buffer.doubt("a");
  CHECK(*client.buffer.due(1s) == 1s);
  client.buffer.doubt("a");
  client.buffer.doubt("unknown");
  CHECK(*client.buffer.due(1s) == 1s);
}

TEST_CASE("sync_buffer: ordinary updates leave at whole periods after the last send") {
  const SyncOptions options;
  const auto period = options.tick * options.ticks_between_ordinary;
  const auto due_when_put_at = [](Nanoseconds after) {
    Buffer client;
    client.put("a", ClientStatus::RUNNING);
    client.send(100s);
    client.put("a", ClientStatus::RUNNING, 1);
    return *client.buffer.due(100s + after) - 100s;
  };
  CHECK(due_when_put_at(0s) == period);
  CHECK(due_when_put_at(period / 2) == period);
  CHECK(due_when_put_at(period) == period);
  CHECK(due_when_put_at(period + 1ns) == 2 * period);
  CHECK(due_when_put_at(3 * period - 1ns) == 3 * period);
}
