// What a group and its tasks register, where it is reached, and what changes by an update.
#include "runtime/workload/services/service_registrations.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::workload;

namespace {

/// A group with a port "http" (20001 on the host, 8080 inside) and one task, on a node 10.0.0.7.
struct Offer {
  Draft<schema::Job> job;
  Draft<schema::Allocation> alloc;
  Draft<schema::Node> node;
  DriverNetwork driver{.port_map = {{"db", 5432}}, .ip = "172.17.0.2", .auto_advertise = false};
  bool has_driver = false;
  std::shared_ptr<const Variables> facts;

  Offer() {
    node->setId("n1");
    node->setDatacenter("dc1");
    auto attribute = node->initAttributes(1)[0];
    attribute.setKey("unique.network.ip-address");
    attribute.setValue("10.0.0.7");
    job->setId("web");
    auto group = job->initTaskGroups(1)[0];
    group.setName("api");
    group.initTasks(1)[0].setName("server");
    alloc->setId("12345678-aaaa-bbbb-cccc-1234567890ab");
    alloc->setName("web.api[0]");
    alloc->setNamespace("prod");
    alloc->setJobId("web");
    alloc->setTaskGroup("api");
    auto resources = alloc->initAllocatedResources();
    resources.initTasks(1)[0].setKey("server");
    auto shared = resources.initShared();
    shared.initNetworks(1)[0].setIp("10.0.0.8");
    auto port = shared.initPorts(1)[0];
    port.setLabel("http");
    port.setValue(20001);
    port.setTo(8080);
    port.setHostIp("10.0.0.9");
  }

  schema::Service::Builder service(const char* port = "http") {
    return fill(job->getTaskGroups()[0].initServices(1)[0], port);
  }

  schema::Service::Builder task_service(const char* port = "http") {
    return fill(job->getTaskGroups()[0].getTasks()[0].initServices(1)[0], port);
  }

  static schema::Service::Builder fill(schema::Service::Builder made, const char* port) {
    made.setName("web");
    made.setProvider("nomad");
    made.setAddressMode("auto");
    made.setPortLabel(port);
    return made;
  }

  TaskEnv env(std::string_view task) {
    return TaskEnv::build({.alloc = alloc.reader(),
                           .job = job.reader(),
                           .task = task,
                           .region = "global",
                           .datacenter = "dc1",
                           .cgroup_parent = "",
                           .node = node_variables(node.reader(), "global"),
                           .task_paths = {},
                           .client_paths = {},
                           .client_task_dir = "",
                           .host = {},
                           .hooks = {},
                           .templates = {},
                           .network = {}});
  }

  ServiceOwner owner() {
    facts = node_variables(node.reader(), "global");
    return {alloc.reader(), job.reader(), *facts};
  }

  Result<std::vector<ServiceRegistration>> group() { return group_registrations(owner(), env("")); }

  Result<std::vector<ServiceRegistration>> task() {
    return task_registrations(owner(), "server", env("server"), has_driver ? &driver : nullptr);
  }

  /// "address:port" of the only one, or why there is none.
  static std::string where(const Result<std::vector<ServiceRegistration>>& made) {
    if (!made) return made.error().what;
    REQUIRE(made->size() == 1);
    const auto& one = made->front();
    return copy(one->getAddress()) + ':' + std::to_string(one->getPort());
  }
};

std::string tags_of(const ServiceRegistration& service) {
  std::string all;
  for (const auto tag : service->getTags())
    all += copy(tag) + ' ';
  return all;
}

}  // namespace

TEST_CASE_FIXTURE(Offer, "service_registrations: a group's and a task's have Nomad's ids") {
  service().initTags(2).set(0, "${node.datacenter}");
  task_service();
  const auto of_group = group();
  REQUIRE(of_group->size() == 1);
  const auto& one = of_group->front();
  CHECK(view(one->getId())
        == "_nomad-task-12345678-aaaa-bbbb-cccc-1234567890ab-group-api-web-http");
  CHECK(view(one->getServiceName()) == "web");
  CHECK(view(one->getNamespace()) == "prod");
  CHECK(view(one->getNodeId()) == "n1");
  CHECK(view(one->getDatacenter()) == "dc1");
  CHECK(view(one->getJobId()) == "web");
  CHECK(view(one->getAllocId()) == "12345678-aaaa-bbbb-cccc-1234567890ab");
  CHECK(tags_of(one) == "dc1  ");
  CHECK(where(of_group) == "10.0.0.9:20001");
  CHECK(view(task()->front()->getId())
        == "_nomad-task-12345678-aaaa-bbbb-cccc-1234567890ab-server-web-http");
}

TEST_CASE_FIXTURE(Offer, "service_registrations: other providers' services are not ours") {
  service().setProvider("consul");
  CHECK(group()->empty());
}

TEST_CASE_FIXTURE(Offer, "service_registrations: addresses of the host") {
  service();
  CHECK(where(group()) == "10.0.0.9:20001");
  service("9999");  // of the group's only network
  CHECK(where(group()) == "10.0.0.8:9999");
  service("");
  CHECK(where(group()) == "10.0.0.8:0");
  alloc->getAllocatedResources().getShared().initNetworks(0);
  CHECK(where(group()) == "10.0.0.7:0");
  service("9999").setAddressMode("host");
  CHECK(where(group()) == "10.0.0.7:9999");
  for (const auto* wrong : {"https", "0", "65536", "-1", "80x", "99999999999999999999"}) {
    service(wrong);
    const auto said = where(group());
    CAPTURE(said);
    CHECK(said.starts_with("service \"web\": port \"" + std::string{wrong} + '"'));
  }
}

TEST_CASE_FIXTURE(Offer, "service_registrations: ports that a task asks for itself") {
  auto network = alloc->getAllocatedResources().getTasks()[0].initValue().initNetworks(1)[0];
  network.setIp("10.0.0.10");
  auto port = network.initDynamicPorts(1)[0];
  port.setLabel("admin");
  port.setValue(20002);
  task_service("admin");
  CHECK(where(task()) == "10.0.0.10:20002");
  task_service("");
  CHECK(where(task()) == "10.0.0.10:0");
}

TEST_CASE_FIXTURE(Offer, "service_registrations: an address of the job's own") {
  service().setAddress("${NOMAD_JOB_ID}.example.com");
  job->setId("shop");
  CHECK(where(group()) == "shop.example.com:20001");
  service("443").setAddress("example.com");
  CHECK(where(group()) == "example.com:443");
  service("").setAddress("example.com");
  CHECK(where(group()) == "example.com:0");
  service("nope").setAddress("example.com");
  CHECK(where(group()).starts_with("service \"web\": port \"nope\" is neither"));
}

TEST_CASE_FIXTURE(Offer, "service_registrations: addresses that a driver made") {
  task_service().setAddressMode("driver");
  CHECK(where(task()).starts_with("service \"web\": address_mode = \"driver\" needs a driver"));
  has_driver = true;
  CHECK(where(task()) == "172.17.0.2:8080");
  task_service("db").setAddressMode("driver");
  CHECK(where(task()) == "172.17.0.2:5432");
  task_service("7").setAddressMode("driver");
  CHECK(where(task()) == "172.17.0.2:7");
  task_service("").setAddressMode("driver");
  CHECK(where(task()) == "172.17.0.2:0");
  task_service();
  CHECK(where(task()) == "10.0.0.9:20001");
  driver.auto_advertise = true;
  CHECK(where(task()) == "172.17.0.2:8080");
}

TEST_CASE_FIXTURE(Offer, "service_registrations: addresses of the allocation's own network") {
  service().setAddressMode("alloc");
  CHECK(where(group()).starts_with("service \"web\": address_mode = \"alloc\" needs a network"));
  alloc->initNetworkStatus().setAddress("172.26.64.5");
  CHECK(where(group()) == "172.26.64.5:8080");
  alloc->getAllocatedResources().getShared().getPorts()[0].setTo(0);
  CHECK(where(group()) == "172.26.64.5:20001");
  service("").setAddressMode("alloc");
  CHECK(where(group()) == "172.26.64.5:0");
  service().setAddressMode("mesh");
  CHECK(where(group()).starts_with("service \"web\": address_mode \"mesh\" is unknown"));
}

TEST_CASE_FIXTURE(Offer, "service_registrations: a canary has its own tags until it is promoted") {
  auto made = service();
  made.initTags(1).set(0, "live");
  alloc->initDeploymentStatus().setCanary(true);
  CHECK(tags_of(group()->front()) == "live ");
  made.initCanaryTags(1).set(0, "canary");
  CHECK(tags_of(group()->front()) == "canary ");
  alloc->getDeploymentStatus().setCanary(false);
  CHECK(tags_of(group()->front()) == "live ");
}

TEST_CASE_FIXTURE(Offer, "service_registrations: names are judged as they are once interpolated") {
  service().setName("${node.datacenter}-web");
  CHECK(view(group()->front()->getServiceName()) == "dc1-web");
  for (const auto* wrong : {"${NOMAD_ALLOC_NAME}", "${unknown}", ""}) {
    service().setName(wrong);
    CHECK(where(group()).find("once interpolated") != std::string::npos);
  }
  CHECK(where(group())
        == "service \"\": its name is \"\" once interpolated; it may have letters, digits and inner "
           "dashes, 63 at most");
  auto two = job->getTaskGroups()[0].initServices(2);
  fill(two[0], "http").setName("dc1");
  fill(two[1], "http").setName("${node.datacenter}");
  CHECK(where(group())
        == "service \"${node.datacenter}\": another one has the same name and port once they are "
           "interpolated; give it another name");
}

TEST_CASE_FIXTURE(Offer, "service_registrations: who is not in the job has none") {
  CHECK(task_registrations(owner(), "nobody", env("server"), nullptr).error().code
        == Errc::not_found);
  alloc->setTaskGroup("other");
  CHECK(group().error().what == "job \"" + copy(job->getId()) + "\" has no group \"other\"");
}

TEST_CASE_FIXTURE(Offer,
                  "service_registrations: an update puts what differs and removes the rest") {
  auto two = job->getTaskGroups()[0].initServices(2);
  fill(two[0], "http");
  fill(two[1], "http").setName("admin");
  const auto before = *group();
  CHECK(registration_changes(before, *group()).empty());
  fill(two[0], "http").initTags(1).set(0, "new");
  fill(two[1], "http").setName("metrics");
  const auto after = *group();
  const auto changes = registration_changes(before, after);
  REQUIRE(changes.put.size() == 2);
  CHECK(changes.put[0].equals(after[0]));
  CHECK(changes.put[1].equals(after[1]));
  REQUIRE(changes.gone.size() == 1);
  CHECK(changes.gone[0].ends_with("-group-api-admin-http"));
  CHECK(registration_changes(after, {}).gone.size() == 2);
  CHECK(registration_changes({}, after).put.size() == 2);
}
