// The checks of an allocation, worked out of its job.
#include "runtime/workload/checks/service_check.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace std::chrono_literals;
using namespace nomad;
using namespace nomad::workload;

namespace {

/// An allocation of one group with a service, whose checks a test fills in.
struct CheckedAlloc {
  Draft<schema::Job> job;
  Draft<schema::Allocation> alloc;
  schema::TaskGroup::Builder group{nullptr};
  schema::Service::Builder service{nullptr};

  explicit CheckedAlloc(unsigned checks = 1) {
    group = job->initTaskGroups(1)[0];
    group.setName("front");
    service = group.initServices(1)[0];
    service.setName("web");
    service.setPortLabel("http");
    service.setProvider("nomad");
    service.initChecks(checks);
    for (auto check : service.getChecks()) {
      check.setName("alive");
      check.setType("http");
      check.setPath("/health");
      check.setInterval(10'000'000'000);
      check.setTimeout(2'000'000'000);
    }
    alloc->setId("12345678-aaaa-bbbb-cccc-1234567890ab");
    alloc->setName("shop.front[2]");
    alloc->setTaskGroup("front");
    auto ports = alloc->initAllocatedResources().initShared().initPorts(2);
    ports[0].setLabel("http");
    ports[0].setValue(23456);
    ports[0].setTo(8080);
    ports[0].setHostIp("10.0.0.1");
    ports[1].setLabel("admin");
    ports[1].setValue(24000);
    ports[1].setHostIp("10.0.0.2");
  }

  schema::ServiceCheck::Builder check(unsigned at = 0) { return service.getChecks()[at]; }

  std::vector<ServiceCheck> make() {
    return checks_of(alloc.reader(), job.reader(), [](std::string_view task, std::string_view raw) {
      std::string text{raw};
      if (const auto at = text.find("${who}"); at != std::string::npos)
        text.replace(at, 6, task.empty() ? "group" : task);
      return text;
    });
  }

  ServiceCheck only() { return make().at(0); }
};

}  // namespace

TEST_CASE("service_check: what results show, and where it goes") {
  CheckedAlloc sample;
  const auto check = sample.only();
  CHECK(check.kind == CheckKind::http);
  CHECK(check.name == "alive");
  CHECK(check.service == "web");
  CHECK(check.group == "shop.front[2]");
  CHECK(check.task.empty());
  CHECK(check.interval == 10s);
  CHECK(check.timeout == 2s);
  CHECK(check.host == "10.0.0.1");
  CHECK(check.port == 23456);
  CHECK(check.protocol == "http");
  CHECK(check.method == "GET");
  CHECK(check.path == "/health");
  CHECK(check.impossible.empty());
  CHECK(check.restart.limit == 0);
  CHECK_FALSE(check.is_readiness);
}

TEST_CASE("service_check: everything a check may say, with the names of the job replaced") {
  CheckedAlloc sample;
  auto raw = sample.check();
  raw.setName("alive of ${who}");
  raw.setProtocol("HTTPS");
  raw.setMethod("post");
  raw.setBody("hello ${who}");
  raw.setTlsServerName("web.example");
  raw.setTlsSkipVerify(true);
  raw.setOnUpdate("ignore");
  auto header = raw.initHeader(1)[0];
  header.setKey("X-Who");
  header.initValue(2).set(0, "${who}");
  header.getValue().set(1, "b");
  raw.initCheckRestart().setLimit(3);
  raw.getCheckRestart().setGrace(5'000'000'000);
  raw.getCheckRestart().setIgnoreWarnings(true);
  const auto check = sample.only();
  CHECK(check.name == "alive of group");
  CHECK(check.protocol == "https");
  CHECK(check.method == "POST");
  CHECK(check.body == "hello group");
  CHECK(check.tls_server_name == "web.example");
  CHECK(check.tls_skip_verify);
  CHECK(check.is_readiness);
  CHECK(check.headers
        == std::vector<std::pair<std::string, std::string>>{{"X-Who", "group"}, {"X-Who", "b"}});
  CHECK(check.restart == CheckRestartRules{.limit = 3, .grace = 5s, .ignore_warnings = true});
}

TEST_CASE("service_check: gRPC, and scripts with the task that they run beside") {
  CheckedAlloc sample{3};
  sample.check(0).setType("grpc");
  sample.check(0).setGrpcService("shop.${who}");
  sample.check(0).setGrpcUseTls(true);
  sample.check(1).setType("script");
  sample.check(1).setCommand("/bin/${who}");
  sample.check(1).initArgs(1).set(0, "-${who}");
  sample.check(2).setType("script");
  sample.check(2).setCommand("/bin/x");
  sample.check(2).setTaskName("main");
  const auto checks = sample.make();
  CHECK(checks[0].kind == CheckKind::grpc);
  CHECK(checks[0].grpc_service == "shop.group");
  CHECK(checks[0].grpc_use_tls);
  CHECK(checks[0].port == 23456);
  CHECK(checks[1].kind == CheckKind::script);
  CHECK(checks[1].command == "/bin/group");
  CHECK(checks[1].args == std::vector<std::string>{"-group"});
  CHECK(checks[1].impossible.find("needs a task") != std::string::npos);
  CHECK(checks[2].script_task == "main");
  CHECK(checks[2].task.empty());
  CHECK(checks[2].impossible.empty());
}

TEST_CASE("service_check: of a task's services") {
  CheckedAlloc sample{0};
  auto task = sample.group.initTasks(1)[0];
  task.setName("db");
  auto service = task.initServices(1)[0];
  service.setName("db-${who}");
  service.setProvider("nomad");
  service.setTaskName("db");
  auto raw = service.initChecks(1)[0];
  raw.setType("tcp");
  raw.setPortLabel("admin");
  const auto check = sample.only();
  CHECK(check.service == "db-db");
  CHECK(check.task == "db");
  CHECK(check.script_task == "db");
  CHECK(check.restarts_task == "db");
  CHECK(check.host == "10.0.0.2");
  CHECK(check.port == 24000);
}

TEST_CASE("service_check: addresses by mode") {
  CheckedAlloc sample;
  auto raw = sample.check();
  const auto target = [&] {
    const auto check = sample.only();
    return check.impossible.empty() ? check.host + ':' + std::to_string(check.port)
                                    : check.impossible;
  };
  raw.setPortLabel("admin");  // outranks the service's
  CHECK(target() == "10.0.0.2:24000");
  raw.setPortLabel("9090");
  CHECK(target() == "127.0.0.1:9090");
  raw.setPortLabel("");

  raw.setAddressMode("alloc");
  CHECK(target().starts_with("address_mode = \"alloc\" needs a network"));
  sample.alloc->initNetworkStatus().setAddress("172.26.64.5");
  CHECK(target() == "172.26.64.5:8080");
  raw.setPortLabel("admin");  // which is not mapped
  CHECK(target() == "172.26.64.5:24000");
  raw.setPortLabel("");

  raw.setAddressMode("");
  sample.service.setAddress("shop.example");
  CHECK(target() == "shop.example:23456");
  raw.setAddressMode("host");
  CHECK(target() == "10.0.0.1:23456");
  raw.setAddressMode("driver");
  CHECK(target().starts_with("address_mode = \"driver\" needs a driver"));
}

TEST_CASE("service_check: a port that nobody has is the check's failure, and says so") {
  CheckedAlloc sample;
  for (const auto* label : {"nobody", "0", "65536", "-1", "80x"}) {
    sample.check().setPortLabel(label);
    CHECK(sample.only().impossible.starts_with("port \"" + std::string{label} + "\" is n"));
  }
  sample.check().setPortLabel("");
  sample.service.setPortLabel("");
  CHECK(sample.only().impossible == "the check has no port; give it or its service one");
}

TEST_CASE("service_check: what nobody can run says why") {
  CheckedAlloc sample;
  sample.check().setType("ping");
  CHECK(sample.only().impossible == "there are no checks of type \"ping\"");
  sample.check().setType("http");
  sample.check().setProtocol("gopher");
  CHECK(sample.only().impossible == "protocol \"gopher\" is neither http nor https");
}

TEST_CASE("service_check: ids stay, and differ between checks that look the same") {
  CheckedAlloc sample{2};
  const auto first = sample.make();
  CHECK(first[0].id.size() == 32);
  CHECK(first[0].id != first[1].id);
  const auto again = sample.make();
  CHECK(first[0].id == again[0].id);
  CHECK(first[1].id == again[1].id);
  sample.check().setInterval(11'000'000'000);
  CHECK(sample.make()[0].id != first[0].id);
  sample.check().setInterval(10'000'000'000);
  sample.alloc->setId("22345678-aaaa-bbbb-cccc-1234567890ab");
  CHECK(sample.make()[0].id != first[0].id);
}

TEST_CASE("service_check: services of other providers are not ours") {
  CheckedAlloc sample;
  sample.service.setProvider("consul");
  CHECK(sample.make().empty());
  sample.service.setProvider("nomad");
  sample.alloc->setTaskGroup("gone");
  CHECK(sample.make().empty());
}
