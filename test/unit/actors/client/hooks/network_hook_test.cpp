// Networks of allocations in a client's life, with plugins that are pretended.
#include "actors/client/hooks/network_hook.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include "actors/client/hooks/builtin_hooks.hpp"
#include "test/unit/actors/client/client_fixture.hpp"
#include "test/unit/actors/client/hooks/hook_environments.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;

namespace {

/// A machine with one CNI plugin, of the network "net".
struct NetworkFixture : ClientFixture {
  std::set<std::string> namespaces;
  std::string failure;  ///< What ADD answers; empty: it succeeds.
  std::string address = "10.9.0.2";

  NetworkFixture() {
    std::filesystem::create_directories(dir.file("state"));
    std::filesystem::create_directories(dir.file("cni"));
    std::ofstream{dir.file("cni/one")} << "#!";
    std::filesystem::permissions(dir.file("cni/one"), std::filesystem::perms::owner_all);
    std::ofstream{dir.file("cni/net.conflist")}
        << R"({"cniVersion":"0.4.0","name":"net","plugins":[{"type":"one"}]})";
  }

  host::ProgramEnded run(const host::ProgramRun& order) {
    const bool adds
        = std::ranges::find(order.environment, "CNI_COMMAND=ADD") != order.environment.end();
    if (!order.program.ends_with("/one") || !adds) return {};
    if (!failure.empty()) return {.exit_code = 1, .output = failure};
    return {.exit_code = 0,
            .output = fmt::format(R"({{"interfaces":[{{"name":"eth0","sandbox":"/n"}}],)"
                                  R"("ips":[{{"interface":0,"address":"{}/24"}}]}})",
                                  address)};
  }

  network::NetworkTools tools() {
    return {.run = [this](const host::ProgramRun& order) -> Result<host::ProgramEnded> {
              return run(order);
            },
            .has_namespace = [this](const std::string& name) { return namespaces.contains(name); },
            .make_namespace =
                [this](const std::string& name) {
                  namespaces.insert(name);
                  return Result<>{};
                },
            .remove_namespace =
                [this](const std::string& name) {
                  namespaces.erase(name);
                  return Result<>{};
                },
            .is_taken = [](const network::PortMapping&) { return false; },
            .end_holders = [](const std::string&) { return false; },
            .wait = [](std::chrono::milliseconds) {}};
  }

  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    made.builtin_hooks = [this, real = made.builtin_hooks](const client::HookParts& parts) {
      auto hooks = real(parts);
      for (auto& hook : hooks.of_allocs)
        if (hook.name == "network")
          hook = client::network_hook(
              {.options = parts.network,
               .steps = parts.steps,
               .unix_now = parts.unix_now,
               .tools_of = [this](const network::NetworkOptions&) { return tools(); }});
      return hooks;
    };
    return made;
  }

  void begin() {
    auto with = options();
    with.network.cni_path = dir.file("cni");
    with.network.cni_config_dir = dir.file("cni");
    start(true, with);
  }

  Object<schema::Job> job_in(const char* mode) {
    Draft<schema::Job> draft{make_job({})};
    auto network = draft->getTaskGroups()[0].initNetworks(1)[0];
    network.setMode(mode);
    network.initDns().initServers(1).set(0, "10.0.0.53");
    return draft.freeze();
  }

  void run_in(const char* mode) {
    const auto job = job_in(mode);
    assign(make_alloc(job, 1), job);
    advance(1s);
  }

  schema::AllocNetworkStatus::Reader told() { return heard.at(alloc_id(1))->network_status(); }

  std::string event(const char* type) {
    for (const auto event : task(1).getEvents())
      if (view(event.getType()) == type) return copy(event.getMessage());
    return {};
  }

  bool is_recorded() {
    return std::filesystem::exists(dir.file("state/networks/" + alloc_id(1) + ".json"));
  }
};

}  // namespace

TEST_CASE_FIXTURE(NetworkFixture,
                  "network hook: tasks run once there is a network, which goes with them") {
  begin();
  run_in("cni/net");
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(view(told().getInterfaceName()) == "eth0");
  CHECK(view(told().getAddress()) == "10.9.0.2");
  CHECK(view(told().getDns().getServers()[0]) == "10.0.0.53");
  CHECK(namespaces == std::set<std::string>{alloc_id(1)});
  stop_alloc(1, 5);
  advance(10s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(namespaces.empty());
  CHECK_FALSE(is_recorded());
}

TEST_CASE_FIXTURE(NetworkFixture, "network hook: mode none is a namespace, mode host is nothing") {
  begin();
  run_in("none");
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(told().getAddress().size() == 0);
  CHECK(namespaces.size() == 1);
  const auto job = job_in("host");
  assign(make_alloc(job, 2), job);
  advance(1s);
  CHECK(status(2) == ClientStatus::RUNNING);
  CHECK(namespaces.size() == 1);
}

TEST_CASE_FIXTURE(NetworkFixture,
                  "network hook: without a network no task starts, and users hear why") {
  failure = R"({"code":7,"msg":"bad subnet"})";
  begin();
  run_in("cni/net");
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(events(1) == std::vector<std::string>{"Received", "Setup Failure"});
  CHECK(namespaces.empty());
  CHECK_FALSE(is_recorded());
}

TEST_CASE_FIXTURE(NetworkFixture, "network hook: the next agent finds it, and tells it again") {
  begin();
  run_in("cni/net");
  crash();
  heard.clear();
  begin();
  advance(2s);
  const auto job = job_in("cni/net");
  assign(changed(make_alloc(job, 1), 7, [](auto&) {}), job);
  stop_alloc(1, 9);
  advance(10s);
  CHECK(view(told().getAddress()) == "10.9.0.2");
  CHECK(event("Network").empty());
  CHECK(namespaces.empty());
}

TEST_CASE_FIXTURE(NetworkFixture, "network hook: tasks are restarted into one that is made anew") {
  begin();
  run_in("cni/net");
  crash();
  namespaces.clear();
  address = "10.9.0.3";
  failure.clear();
  begin();
  advance(30s);
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(std::ranges::count(events(1), "Started") == 2);
  CHECK(namespaces.size() == 1);
  const auto news = events(1);
  CHECK(std::ranges::count(news, "Network") == 1);
}

TEST_CASE_FIXTURE(NetworkFixture, "network hook: one that the servers forget goes, too") {
  begin();
  run_in("none");
  CHECK(is_recorded());
  forget(1);
  advance(10s);
  CHECK(namespaces.empty());
  CHECK_FALSE(is_recorded());
}

namespace {

/// Asks the hook that writes names for the task "web".
struct NamesFixture : ActorFixture {
  TempDir dir;
  Draft<schema::Job> job{make_job({})};
  Draft<schema::plugin::HookTarget> target;
  client::BlockingPool steps = adopt(client::spawn_inline_blocking_pool(system()));
  client::HookEntry entry = client::network_files_hook(steps);

  NamesFixture() {
    std::filesystem::create_directories(dir.file("web"));
    target->setTask("web");
    target->setAllocRoot(text(dir.path()));
    target->getDriver().setMounts(true);
    target->getDriver().setFsIsolation("image");
    auto network = job->getTaskGroups()[0].initNetworks(1)[0];
    network.setMode("bridge");
    network.setHostname("web-${NOMAD_ALLOC_INDEX}");
    network.initDns().initServers(1).set(0, "10.0.0.53");
  }

  schema::NetworkResource::Builder network() { return job->getTaskGroups()[0].getNetworks()[0]; }

  client::HookScope scope() {
    const auto now = job.freeze();
    const auto alloc = changed(make_alloc(now, 3), 1, [](auto& draft) {
      draft.initNetworkStatus().setAddress("10.9.0.2");
    });
    return {.alloc = alloc, .job = now, .target = target.freeze()};
  }

  Result<Object<schema::plugin::HookAnswer>> ask_hook() {
    const auto about = scope();
    const auto hook = adopt(entry.spawn(system(), {}, about));
    Draft<schema::plugin::HookRequest> request;
    request->setPhase(schema::plugin::Phase::PRESTART);
    const auto answer = ask<client::hook::Answered>(
        hook, client::hook::Run{request.freeze(), about.alloc, about.job,
                                environments_of({{"NOMAD_ALLOC_INDEX", "3"}})});
    REQUIRE(answer->has_value());
    if (!**answer) return (*answer)->error();
    return (**answer)->answer;
  }

  std::string file(const std::string& name) {
    std::ifstream content{dir.file("web/" + name)};
    return {std::istreambuf_iterator<char>{content}, {}};
  }
};

}  // namespace

TEST_CASE_FIXTURE(NamesFixture, "network files: a task has its names where its driver mounts") {
  const auto answer = ask_hook();
  REQUIRE(answer);
  REQUIRE((*answer)->getMounts().size() == 2);
  CHECK(view((*answer)->getMounts()[0].getTaskPath()) == "/etc/resolv.conf");
  CHECK(view((*answer)->getMounts()[1].getTaskPath()) == "/etc/hosts");
  CHECK(file("hosts").ends_with("\n10.9.0.2 web-3\n"));
  CHECK(file("resolv.conf").find("nameserver 10.0.0.53\n") != std::string::npos);
}

TEST_CASE_FIXTURE(NamesFixture, "network files: a hostname that nobody would have is an error") {
  const auto problem = [this] { return ask_hook().error().what; };
  network().setHostname("no name");
  CHECK(problem() == "network hostname \"no name\" is not a valid DNS name");
  network().setHostname("web");
  target->getDriver().setFsIsolation("chroot");
  CHECK(
      problem()
      == "hostname is not supported by the driver of this task; leave it out of the network block");
  network().setMode("host");
  CHECK(problem() == "hostname cannot be set on task group using \"host\" networking mode");
  CHECK(entry.wanted(scope()));
  target->getDriver().setMounts(false);
  CHECK(entry.wanted(scope()));
  network().setHostname("");
  CHECK_FALSE(entry.wanted(scope()));
}

TEST_CASE_FIXTURE(
    NetworkFixture,
    "network hook: what is left of an allocation that is gone goes with a collection") {
  begin();
  run_in("none");
  std::ofstream{dir.file("state/networks/" + alloc_id(2) + ".json")}
      << network::to_text({.network = {.name = "none", .plugins = {}}, .mappings = {}});
  advance(60s);
  CHECK_FALSE(std::filesystem::exists(dir.file("state/networks/" + alloc_id(2) + ".json")));
  CHECK(is_recorded());
}
