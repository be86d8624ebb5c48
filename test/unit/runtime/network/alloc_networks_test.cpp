// Networks of allocations with plugins that are pretended: what is called when, and what is undone.
#include "runtime/network/alloc_networks.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/host/process/unique_fd.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::network;

namespace {

/// A machine on which plugins answer what the test says; they are called "one" and "two".
struct Machine {
  test::TempDir dir;
  std::vector<std::string> calls;  ///< "ADD one"
  std::vector<std::string> inputs;
  std::map<std::string, host::ProgramEnded> answers;  ///< By call; others succeed.
  std::map<std::string, int> times;                   ///< How often an answer counts; 0: always.
  std::set<std::string> namespaces;
  std::set<int> taken;
  std::string address = "10.9.0.2";
  std::string address_of_v6{};          ///< Empty: none.
  std::string rules_of_v6{};            ///< Of ip6tables.
  std::vector<std::string> removals{};  ///< Which ip6tables was told.
  std::chrono::milliseconds waited{0};
  std::function<void()> as_time_passes = [] {};
  std::function<bool(const std::string&)> end_holders = [](const std::string&) { return false; };
  std::string rules;                 ///< What iptables-save answers.
  std::vector<std::string> removed;  ///< What iptables-restore was told.
  std::string refuses_removal{};     ///< What it says then, if it does.

  Machine() {
    std::filesystem::create_directories(dir.file("bin"));
    std::filesystem::create_directories(dir.file("conf"));
    for (const char* name : {"one", "two"}) {
      std::ofstream{dir.file(std::string{"bin/"} + name)} << "#!";
      std::filesystem::permissions(dir.file(std::string{"bin/"} + name),
                                   std::filesystem::perms::owner_all);
    }
    std::ofstream{dir.file("conf/net.conflist")}
        << R"({"cniVersion":"0.4.0","name":"net","plugins":[{"type":"one"},)"
        << R"({"type":"two","capabilities":{"portMappings":true}}]})";
  }

  host::ProgramEnded run(const host::ProgramRun& run) {
    const auto name = std::filesystem::path{run.program}.filename().string();
    if (name == "iptables-save") return {.exit_code = rules == "?" ? 1 : 0, .output = rules};
    if (name == "iptables-restore") removed.push_back(run.input);
    if (name == "iptables-restore" && !refuses_removal.empty())
      return {.exit_code = 1, .errors = refuses_removal};
    if (name == "ip6tables-save") return {.exit_code = 0, .output = rules_of_v6};
    if (name == "ip6tables-restore") removals.push_back(run.input);
    if (name.starts_with("iptables") || name.starts_with("ip6tables")) return {};
    std::string verb, arguments;
    for (const auto& variable : run.environment) {
      if (variable.starts_with("CNI_COMMAND=")) verb = variable.substr(12);
      if (variable.starts_with("CNI_ARGS=")) arguments = variable.substr(9);
    }
    auto call = verb + ' ' + name;
    calls.push_back(call);
    inputs.push_back(run.input);
    if (const auto found = answers.find(call); found != answers.end()) {
      const auto answer = found->second;
      if (const auto left = times.find(call); left != times.end() && --left->second == 0)
        answers.erase(found);
      return answer;
    }
    if (verb != "ADD") return {};
    const auto at = arguments.find("IP=");
    const auto ip = at == arguments.npos ? address : arguments.substr(at + 3);
    return {.exit_code = 0,
            .output = R"({"cniVersion":"0.4.0","interfaces":[{"name":"eth0","sandbox":"/n"}],)"
                      R"("ips":[{"interface":0,"address":")"
                      + ip + R"(/24"})"
                      + (address_of_v6.empty()
                             ? ""
                             : R"(,{"interface":0,"address":")" + address_of_v6 + R"(/64"})")
                      + "]}"};
  }

  AllocNetworks networks() {
    return networks(
        [this](const host::ProgramRun& order) -> Result<host::ProgramEnded> { return run(order); });
  }

  AllocNetworks networks(std::function<Result<host::ProgramEnded>(const host::ProgramRun&)> runs) {
    return {{.state_dir = dir.path(),
             .cni_path = dir.file("bin"),
             .cni_config_dir = dir.file("conf"),
             .bridge = {},
             .namespace_dir = "/ns"},
            {.run = std::move(runs),
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
             .is_taken = [this](const PortMapping& port) { return taken.contains(port.host_port); },
             .end_holders = [this](const std::string& path) { return end_holders(path); },
             .wait =
                 [this](std::chrono::milliseconds time) {
                   waited += time;
                   as_time_passes();
                 }}};
  }

  Result<Joined> join(std::vector<PortMapping> mappings = {}) {
    return networks().join({.alloc_id = "a1", .mode = "cni/net", .mappings = std::move(mappings)},
                           {});
  }

  void fail(const std::string& call, const char* output, int how_often = 0) {
    answers[call] = {.exit_code = 1, .output = output};
    if (how_often > 0) times[call] = how_often;
  }

  using Calls = std::vector<std::string>;

  Calls take() { return std::exchange(calls, {}); }

  bool is_clean() const {
    return namespaces.empty() && !std::filesystem::exists(dir.file("networks/a1.json"));
  }
};

constexpr auto broken = R"({"code":7,"msg":"broken"})";
constexpr auto busy = R"({"code":11,"msg":"busy"})";

}  // namespace

TEST_CASE("alloc networks: one is made, found again, and taken down") {
  Machine machine;
  const auto made = machine.join({{80, 8080, "tcp", "", "http"}});
  REQUIRE(made);
  CHECK(made->namespace_path == "/ns/a1");
  CHECK(made->status == NetworkStatus{"eth0", "10.9.0.2"});
  CHECK(made->news.empty());
  CHECK(machine.take() == Machine::Calls{"ADD one", "ADD two"});
  CHECK(machine.networks().recorded() == std::vector<std::string>{"a1"});

  const auto found = machine.join();
  REQUIRE(found);
  CHECK(found->status == made->status);
  CHECK_FALSE(found->is_other);
  CHECK(machine.take() == Machine::Calls{"CHECK one", "CHECK two"});
  // CHECK is told the same ports, and the result.
  const auto told = boost::json::parse(machine.inputs.back()).as_object();
  CHECK(told.at("runtimeConfig").at("portMappings").as_array().size() == 1);
  CHECK(told.contains("prevResult"));

  CHECK(machine.networks().leave("a1"));
  CHECK(machine.take() == Machine::Calls{"DEL two", "DEL one"});
  CHECK(machine.is_clean());
  CHECK(machine.networks().leave("a1"));
  CHECK(machine.take().empty());
}

TEST_CASE("alloc networks: mode none is a namespace and nothing else") {
  Machine machine;
  const auto made = machine.networks().join({.alloc_id = "a1", .mode = "none"}, {});
  REQUIRE(made);
  CHECK_FALSE(made->status);
  CHECK(machine.namespaces == std::set<std::string>{"a1"});
  REQUIRE(machine.networks().join({.alloc_id = "a1", .mode = "none"}, {}));
  CHECK(machine.networks().leave("a1"));
  CHECK(machine.is_clean());
  CHECK(machine.take().empty());
}

TEST_CASE("alloc networks: one that fails half way is undone, and the first failure is told") {
  Machine machine;
  machine.fail("ADD two", broken);
  const auto made = machine.join();
  REQUIRE(made.has_error());
  CHECK(made.error()
        == Error{Errc::rejected,
                 "failed to configure networking for alloc: CNI plugin two failed at ADD: broken"});
  CHECK(machine.take()
        == Machine::Calls{"ADD one", "ADD two", "DEL two", "DEL one", "DEL two", "DEL one"});
  CHECK(machine.is_clean());
}

TEST_CASE("alloc networks: what may pass is tried three times") {
  Machine machine;
  machine.fail("ADD one", busy, 2);
  CHECK(machine.join());
  CHECK(std::ranges::count(machine.take(), std::string{"ADD one"}) == 3);

  Machine never;
  never.fail("ADD one", busy);
  CHECK(never.join().error().code == Errc::unavailable);
  CHECK(std::ranges::count(never.take(), std::string{"ADD one"}) == 3);
  CHECK(never.is_clean());
}

TEST_CASE("alloc networks: a damaged one is made anew in its namespace, with its address") {
  Machine machine;
  machine.address = "10.9.0.7";
  REQUIRE(machine.join());
  machine.address = "10.9.0.8";  // What would be given to who does not ask.
  machine.fail("CHECK one", R"({"code":100,"msg":"no bridge"})");
  machine.take();
  const auto mended = machine.join();
  REQUIRE(mended);
  CHECK(mended->status->address == "10.9.0.7");
  CHECK_FALSE(mended->is_other);
  CHECK(mended->news
        == std::vector<std::string>{
            "the network is damaged and is made anew: CNI plugin one failed at CHECK: no bridge"});
  CHECK(machine.take() == Machine::Calls{"CHECK one", "DEL two", "DEL one", "ADD one", "ADD two"});

  SUBCASE("somebody has the address: another one, which is told") {
    machine.fail("ADD one", R"({"code":101,"msg":"it is taken"})", 1);
    const auto moved = machine.join();
    REQUIRE(moved);
    CHECK(moved->status->address == "10.9.0.8");
    CHECK(moved->is_other);
  }
  SUBCASE("it can't be made anew: the namespace, in which tasks run, stays until they have ended") {
    machine.fail("ADD two", broken);
    CHECK(machine.join().has_error());
    CHECK(machine.namespaces.contains("a1"));
    CHECK(machine.networks().leave("a1"));
    CHECK(machine.is_clean());
  }
}

TEST_CASE("alloc networks: no rules are missed of a family without an address") {
  Machine machine;
  REQUIRE(machine.join());
  machine.take();
  machine.fail("CHECK two", R"({"code":999,"msg":"could not check ipv6 dnat: no such chain"})");
  const auto found = machine.join();
  REQUIRE(found);
  CHECK(found->news.empty());
  CHECK(machine.take() == Machine::Calls{"CHECK one", "CHECK two"});

  machine.fail("CHECK two", R"({"code":999,"msg":"could not check ipv4 dnat: no such chain"})");
  CHECK(machine.join()->news.size() == 1);
}

constexpr auto rules_of_a1 = R"(*nat
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"net\" id: \"a1\"" -j CNI-DN-1
COMMIT
)";

TEST_CASE("alloc networks: with addresses of both families rules are there or are missed"
          * doctest::skip(host::find_program("ip6tables-save", host::system_path).empty())) {
  Machine machine;
  machine.address_of_v6 = "fd00::2";
  REQUIRE(machine.join());
  machine.fail("CHECK two", R"({"code":999,"msg":"could not check ipv6 dnat: no such rule"})");
  machine.rules_of_v6 = rules_of_a1;
  CHECK(machine.join()->news.empty());
  machine.rules_of_v6.clear();
  CHECK(machine.join()->news.size() == 1);
}

TEST_CASE("alloc networks: what a plugin leaves is removed of the newer protocol, too"
          * doctest::skip(host::find_program("ip6tables-save", host::system_path).empty()
                          || host::find_program("ip6tables-restore", host::system_path).empty())) {
  Machine machine;
  machine.address_of_v6 = "fd00::2";
  REQUIRE(machine.join());
  machine.rules_of_v6 = rules_of_a1;
  machine.namespaces.clear();  // Without it plugins don't know its rules.
  CHECK(machine.networks().leave("a1"));
  REQUIRE(machine.removals.size() == 1);
  CHECK(machine.removals[0].find("-X CNI-DN-1") != std::string::npos);
}

TEST_CASE("alloc networks: a namespace that is gone is another one afterwards") {
  Machine machine;
  REQUIRE(machine.join());
  machine.namespaces.clear();
  machine.take();
  const auto made = machine.join();
  REQUIRE(made);
  CHECK(made->is_other);
  CHECK(made->news == std::vector<std::string>{"the network namespace is gone and is made anew"});
  CHECK(machine.take() == Machine::Calls{"DEL two", "DEL one", "ADD one", "ADD two"});
}

TEST_CASE("alloc networks: what an agent had begun when it died is undone first") {
  Machine machine;
  machine.fail("ADD two", broken);
  std::string record;
  {
    // The record as it is while the second plugin runs.
    auto networks = machine.networks();
    std::stop_source stop;
    Machine dead;
    REQUIRE(dead.join());
    std::ifstream file{dead.dir.file("networks/a1.json")};
    record.assign(std::istreambuf_iterator<char>{file}, {});
  }
  const auto at = record.rfind("true");
  record.replace(at, 4, "false");  // "complete"
  std::filesystem::create_directories(machine.dir.file("networks"));
  std::ofstream{machine.dir.file("networks/a1.json")} << record;
  machine.namespaces.insert("a1");
  machine.answers.clear();
  const auto made = machine.join();
  REQUIRE(made);
  CHECK(machine.take() == Machine::Calls{"DEL two", "DEL one", "ADD one", "ADD two"});
  CHECK(made->news.empty());
}

TEST_CASE("alloc networks: ports that the host has are not taken from it") {
  Machine machine;
  machine.taken = {80};
  const auto taken = machine.join({{80, 80, "tcp", "", "http"}, {80, 80, "udp", "", "http"}});
  CHECK(taken.error()
        == Error{Errc::rejected, "port 80 (http) is taken: a process of this host listens at it"});
  CHECK(machine.is_clean());
  const auto half = machine.join({{53, 53, "tcp", "", "dns"}, {80, 80, "udp", "", "dns"}});
  REQUIRE(half);
  CHECK(half->news
        == std::vector<std::string>{
            "port 80 (dns) is not mapped for udp: a process of this host has it"});
}

TEST_CASE("alloc networks: what can't be taken down is tried again") {
  Machine machine;
  REQUIRE(machine.join());
  machine.fail("DEL one", busy, 1);
  CHECK(machine.networks().leave("a1").has_error());
  CHECK(machine.networks().recorded().size() == 1);
  CHECK(machine.networks().leave("a1"));
  CHECK(machine.is_clean());
}

TEST_CASE("alloc networks: without its plugin, network or a known mode there is none") {
  Machine machine;
  std::filesystem::remove(machine.dir.file("bin/two"));
  CHECK(machine.join().error().what
        == "CNI plugin two is not in " + machine.dir.file("bin")
               + "; client.cni_path says where plugins are");
  CHECK(machine.networks().join({.alloc_id = "a1", .mode = "cni/other"}, {}).error().code
        == Errc::not_found);
  CHECK(machine.networks().join({.alloc_id = "a1", .mode = "driver"}, {}).error()
        == Error{Errc::invalid_argument,
                 "network mode \"driver\" is unknown; it is \"none\", \"host\", \"bridge\" or "
                 "\"cni/<name>\""});
  CHECK(machine.is_clean());
}

TEST_CASE("alloc networks: the rule of the bridge is made once, also by two at a time") {
  if (host::find_program("iptables", host::system_path).empty()) return;
  std::mutex guard;
  std::condition_variable looked;
  int looks = 0;
  int rules = 0;
  // Nobody hears that there is no rule before both have asked.
  const auto iptables = [&](const std::vector<std::string>& words) -> host::ProgramEnded {
    std::unique_lock lock{guard};
    const auto is = [&](const char* verb) { return std::ranges::find(words, verb) != words.end(); };
    if (is("-A")) ++rules;
    if (!is("-C")) return {};
    const int found = rules;
    ++looks;
    looked.notify_all();
    looked.wait_for(lock, std::chrono::seconds{5}, [&] { return looks >= 2; });
    return {.exit_code = found > 0 ? 0 : 1};
  };
  Machine machines[2];
  std::vector<std::thread> threads;
  for (auto& machine : machines) {
    for (const char* name : {"bridge", "firewall", "portmap", "loopback", "host-local"}) {
      std::ofstream{machine.dir.file(std::string{"bin/"} + name)} << "#!";
      std::filesystem::permissions(machine.dir.file(std::string{"bin/"} + name),
                                   std::filesystem::perms::owner_all);
    }
    threads.emplace_back([&machine, &iptables, id = fmt::format("a{}", threads.size())] {
      auto networks = machine.networks([&](const host::ProgramRun& run) {
        const bool is_rule = run.program.ends_with("/iptables");
        return Result<host::ProgramEnded>{is_rule ? iptables(run.arguments) : machine.run(run)};
      });
      static_cast<void>(networks.join({.alloc_id = id, .mode = "bridge", .mappings = {}}, {}));
    });
  }
  for (auto& thread : threads)
    thread.join();
  CHECK(looks >= 2);
  CHECK(rules == 1);
}

TEST_CASE("alloc networks: several are left, whatever becomes of one of them") {
  Machine machine;
  REQUIRE(machine.join());
  REQUIRE(machine.networks().join({.alloc_id = "b2", .mode = "none"}, {}));
  CHECK(machine.networks().recorded() == std::vector<std::string>{"a1", "b2"});
  machine.fail("DEL one", busy, 1);
  CHECK(machine.networks().leave_all({"a1", "b2"}).has_error());
  CHECK(machine.networks().recorded() == std::vector<std::string>{"a1"});
  CHECK(machine.networks().leave_all({"a1"}));
  CHECK(machine.is_clean());
}

TEST_CASE("alloc networks: who leaves waits for who joins") {
  Machine machine;
  std::thread leaving;
  std::atomic<bool> left = false;
  auto tools_run = [&](const host::ProgramRun& order) -> Result<host::ProgramEnded> {
    if (!leaving.joinable())
      leaving = std::thread{[&] {
        CHECK(machine.networks().leave("a1"));
        left = true;
      }};
    CHECK_FALSE(left.load());
    return machine.run(order);
  };
  CHECK(machine.networks(tools_run).join({.alloc_id = "a1", .mode = "cni/net"}, {}));
  leaving.join();
  CHECK(machine.take() == Machine::Calls{"ADD one", "ADD two", "DEL two", "DEL one"});
  CHECK(machine.is_clean());
}

TEST_CASE("alloc networks: what a dead agent's plugin still does is waited for") {
  Machine machine;
  host::UniqueFd at_work;  // Of what goes on beside whoever started it.
  const auto tools_run = [&](const host::ProgramRun& order) -> Result<host::ProgramEnded> {
    CHECK_FALSE(at_work);
    REQUIRE(order.held >= 0);
    if (machine.calls.empty()) at_work.reset(::dup(order.held));
    return machine.run(order);
  };
  machine.as_time_passes = [&] {
    if (machine.waited == std::chrono::seconds{1}) at_work.reset();
  };
  CHECK(machine.networks(tools_run).join({.alloc_id = "a1", .mode = "cni/net"}, {}));
  CHECK(machine.take() == Machine::Calls{"ADD one", "ADD two"});
  CHECK(machine.waited == std::chrono::seconds{1});
  CHECK(machine.networks().leave("a1"));
  CHECK_FALSE(std::filesystem::exists(machine.dir.file("networks/a1.lock")));
}

TEST_CASE("alloc networks: a plugin that leaves something running holds up nobody for good") {
  Machine machine;
  REQUIRE(machine.join());
  machine.take();
  const host::UniqueFd forever{
      ::open(machine.dir.file("networks/a1.lock").c_str(), O_RDWR | O_CLOEXEC)};
  REQUIRE(::flock(forever.get(), LOCK_EX) == 0);
  CHECK(machine.networks().leave("a1"));
  CHECK(machine.take() == Machine::Calls{"DEL two", "DEL one"});
  CHECK(machine.waited == std::chrono::seconds{30});  // Once: then there is another lock.
  CHECK(machine.is_clean());
}

TEST_CASE("alloc networks: a dead agent's plugin is killed when its time is over") {
  Machine machine;
  REQUIRE(machine.join());
  machine.take();
  const auto lock = machine.dir.file("networks/a1.lock");
  const host::UniqueFd forever{::open(lock.c_str(), O_RDWR | O_CLOEXEC)};
  REQUIRE(::flock(forever.get(), LOCK_EX) == 0);
  std::vector<std::string> ended;
  machine.end_holders = [&](const std::string& path) {
    CHECK(machine.calls.empty());
    ended.push_back(path);
    return true;
  };
  CHECK(machine.networks().leave("a1"));
  CHECK(ended == std::vector{lock});
  CHECK(machine.take() == Machine::Calls{"DEL two", "DEL one"});
  CHECK(machine.is_clean());
}

TEST_CASE("alloc networks: rules that a plugin has passed over are removed") {
  Machine machine;
  REQUIRE(machine.join());
  // Another allocation has the address by now.
  machine.rules = R"(*nat
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"net\" id: \"a1\"" -j CNI-DN-1
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"net\" id: \"a2\"" -j CNI-DN-2
-A CNI-DN-2 -s 10.9.0.2/32 -p tcp -j CNI-HOSTPORT-SETMARK
COMMIT
)";
  CHECK(machine.networks().leave("a1"));
  CHECK(machine.removed == std::vector<std::string>{R"(*nat
-D CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"net\" id: \"a1\"" -j CNI-DN-1
-F CNI-DN-1
-X CNI-DN-1
COMMIT
)"});
  CHECK(machine.is_clean());
}

TEST_CASE("alloc networks: where rules can't be removed the record stays") {
  Machine machine;
  REQUIRE(machine.join());
  machine.rules
      = "*nat\n-A CNI-HOSTPORT-DNAT -m comment --comment \"dnat name: \\\"net\\\" id: \\\"a1\\\"\" "
        "-j "
        "CNI-DN-1\nCOMMIT\n";
  machine.refuses_removal = "another app holds the xtables lock";
  CHECK(machine.networks().leave("a1").error().what
        == "removing rules of iptables: another app holds the xtables lock");
  CHECK(machine.networks().recorded() == std::vector<std::string>{"a1"});
  machine.refuses_removal.clear();
  CHECK(machine.networks().leave("a1"));
}

TEST_CASE("alloc networks: where rules can't be listed the record stays") {
  Machine machine;
  REQUIRE(machine.join());
  machine.rules = "?";
  const auto left = machine.networks().leave("a1");
  REQUIRE_FALSE(left);
  CHECK(left.error().what.starts_with("listing rules of iptables"));
  CHECK(machine.networks().recorded() == std::vector<std::string>{"a1"});
  machine.rules.clear();
  CHECK(machine.networks().leave("a1"));
  CHECK(machine.is_clean());
}

TEST_CASE("alloc networks: a damaged record is told and does no harm") {
  Machine machine;
  REQUIRE(machine.join());
  std::ofstream{machine.dir.file("networks/a1.json")} << "{";
  const auto made = machine.join();
  REQUIRE(made);
  CHECK(made->news.size() == 1);
  CHECK(parse_record("[]").error()
        == Error{Errc::corrupt, "the record of a network is no JSON object"});
  CHECK(parse_record("{}").error().code == Errc::corrupt);
  CHECK(parse_record("{}").error().what.starts_with("the record of a network: "));
  CHECK(parse_record(R"({"name":1})").error().code == Errc::corrupt);
}
