// The store's outside: publishing, watches, events, restore, readers on other threads.
#include "runtime/state/store.hpp"

#include <atomic>
#include <thread>

#include "fixture.hpp"
#include "runtime/state/restore.hpp"

using namespace nomad;
using namespace nomad::state;
using schema::ClientStatus;

namespace {

std::string events_after(Store& store, Index after) {
  const auto page = store.events().read_after(after, 100);
  if (!page) return "lost";
  std::string joined;
  for (const auto& batch : page->batches)
    for (const auto& event : batch->events)
      joined += std::to_string(batch->index) + " " + std::string{event.type} + " "
                + std::string{event.topic()} + " " + std::string{event.key()} + "\n";
  return joined;
}

}  // namespace

TEST_CASE("Store: nothing is visible before it is published, and a snapshot never changes") {
  StateFixture state;
  Draft<schema::Command> command;
  fill(command->initJobRegister().initJob(), JobSpec{});
  const Snapshot before = state.now();

  state.store.apply(11, command.reader());
  CHECK_FALSE(state.now().job("default", "web"));
  state.store.set_applied(15);
  state.store.publish();

  CHECK(state.now().job("default", "web"));
  CHECK(state.now().index() == 15);
  CHECK_FALSE(before.job("default", "web"));
  CHECK(before.index() == 0);
}

TEST_CASE("Store: a publication wakes who watches what changed, after it is visible") {
  StateFixture state;
  state.register_job({}, {});
  std::string woken;
  bool visible = false;
  Watches& watches = state.store.watches();
  std::vector<Watches::Subscription> subscriptions;
  const auto watch = [&](WatchKey key, const char* name) {
    subscriptions.push_back(watches.subscribe({std::move(key)}, [&woken, name] { woken += name; }));
  };
  watch(watch_key(Table::allocs_by_node, "n1"), "by_node1 ");
  watch(watch_key(Table::allocs_by_node, "n2"), "by_node2 ");
  watch(watch_key(Table::allocs_for_node, "n1"), "for_node1 ");
  watch(watch_key(Table::allocs_by_job, join_key("default", "web")), "by_job ");
  watch(watch_prefix(Table::jobs, join_key("default", "")), "jobs ");
  watch(watch_prefix(Table::nodes, ""), "nodes ");
  subscriptions.push_back(watches.subscribe({watch_key(Table::applied, "")}, [&] {
    visible = static_cast<bool>(state.now().alloc("a"));
  }));

  state.place({{.id = "a", .node = "n1"}});
  CHECK(visible);
  for (const char* name : {"by_node1 ", "for_node1 ", "by_job ", "jobs "})
    CHECK_MESSAGE(woken.find(name) != std::string::npos, name);
  CHECK(woken.find("by_node2") == std::string::npos);
  CHECK(woken.find("nodes") == std::string::npos);

  woken.clear();
  watch(watch_key(Table::allocs_for_node, "n1"), "for_node1 ");
  watch(watch_key(Table::allocs_by_node, "n1"), "by_node1 ");
  state.report("a", ClientStatus::RUNNING);
  CHECK(woken == "by_node1 ");
}

TEST_CASE("Store: events show each object once as it became, with its command's type") {
  StateFixture state;
  state.register_job({}, {});
  CHECK(events_after(state.store, 0)
        == "11 JobRegistered Job web\n11 JobRegistered Evaluation eval\n");

  state.place({{.id = "a"}});
  CHECK(events_after(state.store, 11)
        == "12 PlanResult Evaluation eval\n12 PlanResult Allocation a\n12 PlanResult Job web\n");
  const auto page = state.store.events().read_after(11, 1);
  const auto& events = page->batches[0]->events;
  CHECK(std::get<Object<schema::Job>>(events[2].payload)->getStatus() == "running");
  CHECK(events[1].filter_keys() == std::vector<std::string_view>{"web", ""});
  CHECK(events[1].ns() == "default");
  CHECK(page->batches[0]->bytes
        > std::get<Object<schema::Job>>(events[2].payload).size_in_bytes());  // and the others

  state.run([](auto command) { command.initReap().initAllocationIds(1).set(0, "a"); });
  state.run([](auto command) { command.initNamespaceUpsert().setName("prod"); });
  CHECK(events_after(state.store, 12).empty());
  state.register_node({.pool = "gpu"});
  CHECK(events_after(state.store, 14)
        == "15 NodeRegistration Node node\n15 NodeRegistration NodePool gpu\n");
}

TEST_CASE("Store: evaluations that Nomad writes by themselves have the type of that") {
  StateFixture state;
  state.register_job({}, {});
  state.register_node();
  state.place({{.id = "a"}}, [&](auto plan) {
    auto evals = plan.initEvaluations(2);
    fill(evals[0], EvalSpec{.status = schema::EvalStatus::COMPLETE});
    fill(evals[1], EvalSpec{.id = "preempted", .job = "other"});
    evals[1].setTriggeredBy(schema::EvalTrigger::PREEMPTION);
  });
  CHECK(events_after(state.store, 12)
        == "13 PlanResult Evaluation eval\n13 PlanResult Allocation a\n"
           "13 EvaluationUpdated Evaluation eval\n13 PlanResult Evaluation preempted\n"
           "13 PlanResult Job web\n");

  state.run([](auto command) {
    auto body = command.initNodeStatusUpdate();
    body.setNodeId("node");
    body.setStatus(schema::NodeStatus::DOWN);
    fill(body.initEvaluations(1)[0], EvalSpec{.id = "down"});
  });
  CHECK(events_after(state.store, 13)
        == "14 NodeStreamEvent Node node\n14 EvaluationUpdated Evaluation down\n");
}

TEST_CASE("Store: a restore replaces everything and wakes everyone") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{}});
  StateFixture other;
  other.register_node();
  bool woken = false;
  const auto subscription
      = other.store.watches().subscribe({watch_key(Table::services, "x")}, [&] { woken = true; });

  REQUIRE(restore_into(other.store, state.now()).has_value());

  CHECK(woken);
  CHECK(describe(other.now()) == describe(state.now()));
  CHECK(other.now().index() == state.index);
  CHECK_FALSE(other.now().node("node"));
  CHECK(events_after(other.store, 11) == "lost");
  other.index = state.index;
  CHECK_FALSE(other.place({{.id = "b"}}).plans[0]);
}

TEST_CASE("Store: rows that are damaged or do not fit together are refused") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{}});
  const Snapshot good = state.now();

  Restore damaged;
  const std::vector<std::byte> junk(64, std::byte{0xa5});
  const auto result = damaged.row(Table::jobs, join_key("default", "web"), junk);
  REQUIRE(result.has_error());
  CHECK(result.error().code == Errc::corrupt);
  CHECK(result.error().what.starts_with("table jobs, row \"default.web\": "));
  CHECK(Restore{}.index_row(std::span{junk}.first(3)).error()
        == Error{Errc::corrupt, "the row of table indexes has 3 bytes"});
  CHECK(Restore{}.offset_row(std::span{junk}.first(3)).error()
        == Error{Errc::corrupt, "the row of the index offset has 3 bytes"});
  CHECK(Restore{}
            .row(Table::draining_nodes, "n1", junk)
            .error()
            .what.ends_with("row \"n1\": the table is not a stored one"));

  Restore incomplete;
  REQUIRE(good.for_each_row(
                  Table::allocs,
                  [&](auto key, auto bytes) { return incomplete.row(Table::allocs, key, bytes); })
              .has_value());
  const auto missing = incomplete.take();
  REQUIRE(missing.has_error());
  CHECK(missing.error().what
        == "table allocs, row \"alloc\": its version of job \"web\" is missing");
}

TEST_CASE("Store: readers on other threads see whole batches") {
  StateFixture state;
  state.register_job({}, {});
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> reads{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      while (!stop) {
        const Snapshot now = state.now();
        std::size_t live = 0;
        for (const auto& entry : now.allocs_by_job("default", "web"))
          if (!entry.value()->client_terminal) ++live;
        const NodeUsage* usage = now.usage("node");
        if ((usage != nullptr ? usage->allocations() : 0) != live) ++wrong;
        ++reads;
      }
    });

  for (int round = 0; round < 200 || reads < 20; ++round) {
    std::vector<AllocSpec> specs;
    for (int i = 0; i < 5; ++i)
      specs.push_back({.id = std::to_string(round % 40) + "-" + std::to_string(i),
                       .ports = {static_cast<std::uint16_t>(20000 + i)}});
    state.place(specs);
    state.report(specs[0].id, ClientStatus::FAILED);
  }
  stop = true;
  for (auto& reader : readers)
    reader.join();

  CHECK(wrong == 0);
}

TEST_CASE("Store: every command of the schema is carried out by something") {
  CHECK(known_commands() == capnp::Schema::from<schema::Command>().getUnionFields().size());
}

TEST_CASE("Store: a command of a newer version is recognized") {
  Draft<schema::Command> command;
  command->setNoop();
  CHECK(check_command(command.reader()).has_value());
  command->setNodePoolDelete("gpu");
  CHECK(check_command(command.reader()).has_value());

  // The discriminant of a union is a 16-bit number in the data section.
  const auto object = command.freeze();
  std::vector<std::byte> bytes(object.bytes().begin(), object.bytes().end());
  const auto number = static_cast<std::uint16_t>(command->which());
  std::size_t changed = 0;
  for (std::size_t i = 8; i + 1 < 16; i += 2)
    if (std::to_integer<std::uint16_t>(bytes[i]) == number && changed++ == 0)
      bytes[i + 1] = std::byte{0x7f};
  REQUIRE(changed > 0);
  const auto newer = Object<schema::Command>::from_bytes(bytes);
  REQUIRE(newer.has_value());
  CHECK(check_command(**newer).error()
        == Error{Errc::corrupt, "command " + std::to_string(kind_of(**newer))
                                    + " is unknown to this version of the server"});
  StateFixture state;
  const auto before = describe(state.now());
  CHECK(state.store.apply(11, **newer).error);
  CHECK(describe(state.now()) == before);
}
