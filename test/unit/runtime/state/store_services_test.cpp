// Registrations of services: what comes and goes by itself, what watches and events tell of it.
#include "fixture.hpp"
#include "runtime/state/watch.hpp"

using namespace nomad;
using namespace nomad::state;
using schema::ClientStatus;
using schema::NodeStatus;

namespace {

Outcome put_service(StateFixture& state, std::int64_t port) {
  return state.run([&](auto command) {
    auto service = command.initServiceUpsert().initServices(1)[0];
    service.setId("s1");
    service.setNamespace("default");
    service.setServiceName("api");
    service.setNodeId("node");
    service.setAllocId("alloc");
    service.setPort(port);
  });
}

/// Two allocations of job "web", each with a service, on a node each.
struct OfferingState : StateFixture {
  OfferingState() {
    register_node({.id = "n1"});
    register_node({.id = "n2"});
    register_job({.groups = {{"api", 2}}});
    place({{.id = "a", .node = "n1"}, {.id = "b", .node = "n2"}});
    offer("a", "n1");
    offer("b", "n2");
    REQUIRE(ids() == "s-a s-b");
  }

  Outcome offer(const std::string& alloc, const std::string& node, std::int64_t port = 80) {
    return run([&](auto command) {
      fill_service(command.initNodeServices().initRegistered(1)[0], alloc, node, port);
    });
  }

  static void fill_service(schema::ServiceRegistration::Builder service,
                           const std::string& alloc,
                           const std::string& node,
                           std::int64_t port = 80) {
    service.setId(text("s-" + alloc));
    service.setNamespace("default");
    service.setServiceName("api");
    service.setJobId("web");
    service.setNodeId(text(node));
    service.setAllocId(text(alloc));
    service.setPort(port);
  }

  Outcome set_status(const char* node, NodeStatus status) {
    return run([&](auto command) {
      auto body = command.initNodeStatusUpdate();
      body.setNodeId(node);
      body.setStatus(status);
    });
  }

  std::string ids() const {
    std::string all;
    const auto snapshot = now();
    for (const auto& entry : snapshot.services())
      all += (all.empty() ? "" : " ") + copy(entry.value()->getId());
    const auto& t = snapshot.tables();
    CHECK(t.services_by_alloc.size() == t.services.size());
    CHECK(t.services_by_node.size() == t.services.size());
    CHECK(t.services_by_name.size() == t.services.size());
    return all;
  }
};

using Strings = std::vector<std::string>;

/// "type id" of the events about services that `fill` makes.
Strings service_events(OfferingState& state,
                       const std::function<void(schema::Command::Builder)>& fill) {
  const auto before = state.index;
  REQUIRE_FALSE(state.run(fill).error);
  Strings shown;
  const auto page = state.store.events().read_after(before, 10);
  REQUIRE(page.has_value());
  for (const auto& batch : page->batches)
    for (const auto& event : batch->events)
      if (event.topic() == "Service")
        shown.push_back(std::string{event.type} + ' ' + std::string{event.key()});
  return shown;
}

}  // namespace

TEST_CASE("Store: a service registered again unchanged changes nothing") {
  StateFixture state;
  put_service(state, 80);
  const Index registered = state.index;
  put_service(state, 80);
  CHECK(state.now().index(Table::services) == registered);
  put_service(state, 81);
  CHECK(state.now().service("default", "s1")->getCreateIndex() == registered);
  CHECK(state.now().service("default", "s1")->getModifyIndex() == state.index);
  CHECK_FALSE(state.now().services_by_name("default", "api").empty());
  CHECK_FALSE(state.now().services_by_alloc("alloc").empty());

  const auto remove = [&](const char* id, const char* node) {
    return state.run([&](auto command) {
      auto body = command.initServiceDelete();
      body.setNodeId(node);
      if (*node != '\0') return;
      auto key = body.initKeys(1)[0];
      key.setNamespace("default");
      key.setId(id);
    });
  };
  CHECK(remove("s2", "").error->code == Errc::not_found);
  CHECK_FALSE(remove("", "other").error);
  CHECK(state.now().service("default", "s1"));
  CHECK_FALSE(remove("", "node").error);
  CHECK_FALSE(state.now().service("default", "s1"));
  CHECK(state.now().services_by_name("default", "api").empty());
}

TEST_CASE_FIXTURE(OfferingState, "Store: services go with an allocation that ends") {
  report("a", ClientStatus::RUNNING);
  CHECK(ids() == "s-a s-b");
  report("a", ClientStatus::FAILED);
  CHECK(ids() == "s-b");
  stop("b");  // its client takes it down, in its own time
  CHECK(ids() == "s-b");
  stop("b", ClientStatus::LOST);
  CHECK(ids() == "");
}

TEST_CASE_FIXTURE(OfferingState, "Store: services go with an allocation that is collected") {
  run([](auto command) { command.initReap().initAllocationIds(1).set(0, "a"); });
  CHECK(ids() == "s-b");
}

TEST_CASE_FIXTURE(OfferingState, "Store: services stay with a silent node until it is down") {
  set_status("n1", NodeStatus::DISCONNECTED);
  CHECK(ids() == "s-a s-b");
  set_status("n1", NodeStatus::DOWN);
  CHECK(ids() == "s-b");
  run([](auto command) { command.initNodeDeregister().initNodeIds(1).set(0, "n2"); });
  CHECK(ids() == "");
}

TEST_CASE_FIXTURE(OfferingState, "Store: what ended since it was decided offers nothing") {
  const auto refused = [this](const std::string& alloc, const std::string& node) {
    offer(alloc, node, 90);
    return ids() == "s-a s-b" && now().service("default", "s-" + alloc)->getPort() == 80;
  };
  offer("c", "n1");  // collected meanwhile
  CHECK(ids() == "s-a s-b");
  set_status("n1", NodeStatus::DISCONNECTED);
  CHECK(refused("a", "n1"));
  stop("b");
  CHECK(refused("b", "n2"));
}

TEST_CASE_FIXTURE(OfferingState,
                  "Store: nodes take down single services, or all of an allocation") {
  const auto gone = [](auto command, const char* alloc, const char* id) {
    auto entry = command.initNodeServices().initGone(1)[0];
    entry.setNamespace("default");
    entry.setAllocId(alloc);
    if (id != nullptr) entry.initIds(1).set(0, id);
  };
  CHECK_FALSE(run([&](auto command) { gone(command, "a", "none"); }).error);
  CHECK(ids() == "s-a s-b");
  run([&](auto command) { gone(command, "a", "s-a"); });
  CHECK(ids() == "s-b");
  run([&](auto command) { gone(command, "b", nullptr); });
  CHECK(ids() == "");
}

TEST_CASE_FIXTURE(OfferingState, "Store: events of services have their own types") {
  CHECK(service_events(*this,
                       [](auto command) {
                         fill_service(command.initNodeServices().initRegistered(1)[0], "a", "n1",
                                      81);
                       })
        == Strings{"ServiceRegistration s-a"});
  CHECK(service_events(*this,
                       [](auto command) {
                         auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
                         alloc.setId("a");
                         alloc.setClientStatus(ClientStatus::COMPLETE);
                       })
        == Strings{"ServiceDeregistration s-a"});
  CHECK(service_events(*this,
                       [](auto command) { command.initReap().initAllocationIds(1).set(0, "b"); })
        == Strings{"ServiceDeregistration s-b"});
}

TEST_CASE_FIXTURE(OfferingState,
                  "Store: who waits for a service, its job or its allocation wakes") {
  int woken = 0;
  std::vector<Watches::Subscription> waiting;
  for (const auto& key :
       {watch_key(Table::services, join_key("default", "s-a")),
        watch_key(Table::services_by_name, join_key("default", "api")),
        watch_key(Table::services_by_job, join_key("default", "web")),
        watch_key(Table::services_by_alloc, "a"), watch_key(Table::services_by_alloc, "b")})
    waiting.push_back(store.watches().subscribe({key}, [&woken] { ++woken; }));
  report("a", ClientStatus::COMPLETE);
  CHECK(woken == 4);
}
