// What nodes may say of services, what becomes of it together, and what users may delete.
#include "runtime/cluster/service_commands.hpp"

#include <fmt/format.h>

#include "test/support/access_policy.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::cluster;
using schema::ClientStatus;
using schema::NodeStatus;

namespace {

using Registration = Object<schema::ServiceRegistration>;
using EditService = std::function<void(schema::ServiceRegistration::Builder)>;

std::string id_of(const std::string& alloc, const std::string& name = "web-http") {
  return "_nomad-task-" + alloc + "-group-api-" + name;
}

Registration service_of(const std::string& alloc, const EditService& edit = {}) {
  Draft<schema::ServiceRegistration> draft;
  draft->setId(text(id_of(alloc)));
  draft->setServiceName("web");
  draft->setAllocId(text(alloc));
  draft->initTags(1).set(0, "blue");
  draft->setAddress("10.0.0.1");
  draft->setPort(8080);
  if (edit) edit(*draft);
  return draft.freeze();
}

/// Allocations a and b of job "web" in namespace "prod", on nodes n1 and n2.
struct TwoNodes : state::StateFixture {
  TwoNodes() {
    for (const auto* node : {"n1", "n2"})
      run([&](auto command) {
        auto body = command.initNodeRegister().initNode();
        body.setId(node);
        body.setDatacenter("dc7");
        body.setStatus(NodeStatus::READY);
      });
    run([](auto command) { command.initNamespaceUpsert().setName("prod"); });
    register_job({.ns = "prod", .groups = {{"api", 2}}});
    place({{.id = "a", .ns = "prod", .node = "n1"}, {.id = "b", .ns = "prod", .node = "n2"}});
  }

  Result<ServiceChange> check(const Registration& service, const char* node = "n1") const {
    return check_registrations(now(), node, {service});
  }

  std::string refusal(const EditService& edit) const {
    const auto checked = check(service_of("a", edit));
    return checked ? ""
                   : std::string{to_string(checked.error().code)} + ": " + checked.error().what;
  }

  void write(const std::vector<ServiceChange>& changes) {
    const auto command = decide_service_changes(changes);
    REQUIRE_FALSE(
        run([&](auto builder) { builder.setNodeServices(command->getNodeServices()); }).error);
  }

  std::string stored() const {
    std::string ids;
    const auto snapshot = now();
    for (const auto& entry : snapshot.services())
      ids += copy(entry.value()->getId()) + "\n";
    return ids;
  }
};

}  // namespace

TEST_CASE_FIXTURE(TwoNodes, "service_commands: of a registration the state knows whose it is") {
  const auto change = check(service_of("a", [](auto service) {
    service.setNamespace("elsewhere");
    service.setNodeId("n2");
    service.setJobId("other");
    service.setDatacenter("moon");
    service.setModifyIndex(7);
  }));
  REQUIRE(change.has_value());
  write({*change});
  const auto row = now().service("prod", id_of("a"));
  REQUIRE(row);
  CHECK(view(row->getNodeId()) == "n1");
  CHECK(view(row->getJobId()) == "web");
  CHECK(view(row->getDatacenter()) == "dc7");
  CHECK(view(row->getAddress()) == "10.0.0.1");
  CHECK(row->getPort() == 8080);
  CHECK(view(row->getTags()[0]) == "blue");
  CHECK(row->getModifyIndex() == index);
}

TEST_CASE_FIXTURE(TwoNodes, "service_commands: what is malformed is refused by name") {
  CHECK(refusal([](auto service) { service.setServiceName("no good"); })
        == "rejected: service \"no good\" of allocation \"a\": a name has letters, digits and inner "
           "dashes, 63 at most; rename it");
  const auto refused
      = [&](const EditService& edit) { return refusal(edit).starts_with("rejected: service "); };
  CHECK(refused([](auto service) { service.setServiceName(""); }));
  CHECK(refused([](auto service) { service.setServiceName("web\n"); }));
  CHECK(refused([](auto service) { service.setPort(65536); }));
  CHECK(refused([](auto service) { service.setPort(-1); }));
  CHECK(refused([](auto service) { service.setAddress("10.0.0.1 x"); }));
  CHECK(refused([](auto service) { service.setAddress(text(std::string(256, 'a'))); }));
  CHECK(refused([](auto service) { service.setId("web"); }));
  CHECK(refused([](auto service) { service.setId(text(id_of("b"))); }));
  CHECK(refused([](auto service) { service.setId(text(id_of("a", std::string{"x\0y", 3}))); }));
  CHECK(refused([](auto service) { service.setId(text(id_of("a", std::string(2000, 'x')))); }));
  CHECK(
      refusal([](auto service) { service.setPort(65536); })
      == "rejected: service \"web\" of allocation \"a\": 65536 is no port; give one of 1 to 65535");
  CHECK(refusal([](auto service) { service.setId("web"); })
        == "rejected: service \"web\" of allocation \"a\": \"web\" is no id of a service of this "
           "allocation");
  CHECK(refusal([](auto service) { service.setAddress(""); }) == "");
  CHECK(refusal([](auto service) { service.setPort(0); }) == "");
}

TEST_CASE_FIXTURE(TwoNodes, "service_commands: a node speaks of its own living allocations alone") {
  const auto code = [&](const std::string& alloc, const char* node = "n1") {
    const auto checked = check(service_of(alloc), node);
    return checked ? std::string{"fine"} : std::string{to_string(checked.error().code)};
  };
  CHECK(code("a") == "fine");
  CHECK(code("b") == to_string(Errc::permission_denied));
  CHECK(code("c") == to_string(Errc::not_found));
  CHECK(code("") == to_string(Errc::rejected));
  CHECK(code("a", "n9") == to_string(Errc::not_found));
  CHECK(check(service_of("b")).error().what
        == "service \"web\" of allocation \"b\": the allocation is another node's");
  CHECK(check(service_of("c")).error().what
        == "service \"web\" of allocation \"c\": there is no such allocation");
  // One that is wrong, and none is taken.
  CHECK_FALSE(check_registrations(now(), "n1", {service_of("a"), service_of("b")}).has_value());
  stop("a");
  CHECK(check(service_of("a")).error()
        == Error{Errc::conflict,
                 "service \"web\" of allocation \"a\": the allocation is to stop, or has ended"});
  report("b", ClientStatus::FAILED);
  CHECK(code("b", "n2") == to_string(Errc::conflict));
}

TEST_CASE_FIXTURE(TwoNodes, "service_commands: a node that was given up sends a heartbeat first") {
  for (const auto status : {NodeStatus::DOWN, NodeStatus::DISCONNECTED}) {
    run([&](auto command) {
      auto body = command.initNodeStatusUpdate();
      body.setNodeId("n1");
      body.setStatus(status);
    });
    CHECK(
        check(service_of("a")).error()
        == Error{Errc::conflict,
                 "node \"n1\" is not allowed to register services before it has sent a heartbeat: "
                 "it is down or disconnected"});
    CHECK(check_deregistration(now(), "n1", "a", {}).has_value());
  }
}

TEST_CASE_FIXTURE(TwoNodes, "service_commands: one message is bounded") {
  const auto tags = service_of("a", [](auto service) {
    service.initTags(1).set(0, text(std::string(most_service_bytes, 't')));
  });
  CHECK(check(tags).error().code == Errc::too_large);
  const std::vector<Registration> many(most_services + 1, service_of("a"));
  const auto all_at_once = check_registrations(now(), "n1", many).error();
  CHECK(all_at_once.code == Errc::too_large);
  CHECK(
      all_at_once.what
      == fmt::format("{} services of {} bytes are registered at once; {} of {} bytes may be: give "
                     "them fewer or shorter tags",
                     many.size(), many.size() * many.front().bytes().size(), most_services,
                     most_service_bytes));
  const std::vector<std::string> ids(most_services + 1, id_of("a"));
  CHECK(check_deregistration(now(), "n1", "a", ids).error()
        == Error{Errc::too_large, fmt::format("{} services are removed at once; {} may be",
                                              ids.size(), most_services)});
}

TEST_CASE_FIXTURE(TwoNodes, "service_commands: what goes is the node's own, too") {
  CHECK(check_deregistration(now(), "n1", "b", {}).error().code == Errc::permission_denied);
  CHECK(check_deregistration(now(), "n9", "a", {}).error().code == Errc::not_found);
  CHECK(check_deregistration(now(), "n1", "a", {"web"}).error()
        == Error{Errc::rejected, "\"web\" is no id of a service of allocation \"a\""});
  CHECK(check_deregistration(now(), "n1", "collected", {})->empty());
  const auto all = check_deregistration(now(), "n1", "a", {});
  REQUIRE(all.has_value());
  CHECK(all->ns == "prod");
  CHECK_FALSE(all->empty());
}

TEST_CASE_FIXTURE(TwoNodes, "service_commands: messages come to what the last of them said") {
  const auto named = [this](const char* name) {
    return *check(service_of("a", [&](auto service) { service.setId(text(id_of("a", name))); }));
  };
  const auto other = *check(service_of("b"), "n2");
  const auto all_gone = *check_deregistration(now(), "n1", "a", {});
  const auto one_gone = *check_deregistration(now(), "n1", "a", {id_of("a", "one")});

  write({named("one"), other, named("two")});
  CHECK(stored() == id_of("a", "one") + "\n" + id_of("a", "two") + "\n" + id_of("b") + "\n");
  write({one_gone, named("three")});
  CHECK(stored() == id_of("a", "three") + "\n" + id_of("a", "two") + "\n" + id_of("b") + "\n");
  write({named("one"), one_gone});
  CHECK(stored() == id_of("a", "three") + "\n" + id_of("a", "two") + "\n" + id_of("b") + "\n");
  write({named("one"), all_gone, named("four")});
  CHECK(stored() == id_of("a", "four") + "\n" + id_of("b") + "\n");
}

TEST_CASE_FIXTURE(TwoNodes, "service_commands: a user deletes what the service of that name has") {
  write({*check(service_of("a"))});
  const auto remove = [&](const char* ns, const char* name, const access::Asking& asking) {
    const auto decided = decide_service_delete(now(), asking, ns, name, id_of("a"));
    return decided ? "" : std::string{to_string(decided.error().code)};
  };
  const auto anybody = test::anybody(access::Capability::submit_job);
  CHECK(remove("default", "web", anybody) == to_string(Errc::not_found));
  CHECK(remove("*", "web", anybody) == to_string(Errc::not_found));
  CHECK(remove("prod", "db", anybody) == to_string(Errc::not_found));
  CHECK(remove("prod", "web", test::asking_with(test::a_only, access::Capability::submit_job))
        == to_string(Errc::permission_denied));
  CHECK(remove("prod", "web", anybody) == "");
  const auto decided = decide_service_delete(now(), anybody, "prod", "web", id_of("a"));
  run([&](auto command) { command.setServiceDelete(decided->command->getServiceDelete()); });
  CHECK(stored() == "");
}
