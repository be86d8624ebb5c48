// What the engine is asked to make of a task, and what the agent does not allow.
#include "runtime/docker/container_body.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/mount.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <sched.h>

#include "runtime/docker/held_binds.hpp"
#include "runtime/net/socket.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::docker;

namespace json = boost::json;

namespace {

TaskSettings settings_of(const char* config) {
  auto read = read_task_settings(json::parse(config).as_object());
  REQUIRE_MESSAGE(read.has_value(), read.error().what);
  return *read;
}

ContainerSpec spec_for(const char* config) {
  ContainerSpec spec;
  spec.alloc_id = "7c9f";
  spec.task = "web/one";
  spec.run_id = "r1";
  spec.agent = "/state";
  spec.settings = settings_of(config);
  spec.image = spec.settings.image;
  spec.alloc_root = "/allocs/7c9f";
  spec.task_directory = "/allocs/7c9f/web";
  spec.memory_bytes = 100 << 20;
  spec.cpu_shares = 500;
  return spec;
}

json::object body_of(const ContainerSpec& spec, const AgentSettings& agent = {}) {
  auto body = container_body(spec, agent);
  REQUIRE_MESSAGE(body.has_value(), body.error().what);
  return *body;
}

json::object host_of(const char* config, const AgentSettings& agent = {}) {
  return body_of(spec_for(config), agent)["HostConfig"].as_object();
}

std::string problem(const char* config, const AgentSettings& agent = {}) {
  return container_body(spec_for(config), agent).error().what;
}

std::string unreadable(const char* config) {
  return read_task_settings(json::parse(config).as_object()).error().what;
}

}  // namespace

TEST_CASE("docker body: a plain task") {
  auto body = body_of(spec_for(R"({"image":"https://busybox:1","command":"httpd","args":["-f"]})"));
  CHECK(body["Image"] == "busybox:1");
  CHECK(body["Cmd"] == json::array{"httpd", "-f"});
  CHECK_FALSE(body.contains("Entrypoint"));
  CHECK(body["Labels"].at(label::alloc) == "7c9f");
  CHECK(body["Labels"].at(label::run) == "r1");
  const auto& host = body["HostConfig"].as_object();
  CHECK(host.at("Memory") == (100 << 20));
  CHECK(host.at("MemorySwap") == (100 << 20));
  CHECK(host.at("CpuShares") == 500);
  CHECK(host.at("NetworkMode") == "default");
  CHECK(host.at("CapDrop") == json::array{"net_raw"});
  CHECK(host.at("LogConfig").at("Type") == "json-file");
  CHECK(host.at("LogConfig").at("Config").at("max-size") == "2m");
  CHECK(host.at("Binds")
        == json::array{"/allocs/7c9f/alloc:/alloc", "/allocs/7c9f/web/local:/local",
                       "/allocs/7c9f/web/secrets:/secrets"});
  CHECK(container_name("web/one", "7c9f") == "web_one-7c9f");
}

TEST_CASE("docker body: what an image is, and its command") {
  CHECK(unreadable(R"({"image":""})") == "image name required for docker driver");
  CHECK(unreadable(R"({"image":"a","command":" x"})")
        == "command contains extra white space: \" x\"");
  CHECK(unreadable(R"({"image":"a","command":"  "})") == "command empty: \"  \"");
  auto body = body_of(spec_for(R"({"image":"a","entrypoint":["/e"],"args":["1"],"tty":true,
    "interactive":true,"work_dir":"/w","init":true,"healthchecks":{"disable":true}})"));
  CHECK(body["Entrypoint"] == json::array{"/e"});
  CHECK(body["Cmd"] == json::array{"1"});
  CHECK(body["Tty"] == true);
  CHECK(body["OpenStdin"] == true);
  CHECK(body["WorkingDir"] == "/w");
  CHECK(body["Healthcheck"].at("Test") == json::array{"NONE"});
  CHECK(body["HostConfig"].at("Init") == true);
}

TEST_CASE("docker body: memory has a hard and a soft limit") {
  auto spec = spec_for(R"({"image":"a","memory_hard_limit":200})");
  auto host = body_of(spec)["HostConfig"].as_object();
  CHECK(host["Memory"] == 200 << 20);
  CHECK(host["MemoryReservation"] == 100 << 20);
  spec.memory_max_bytes = std::uint64_t{300} << 20;
  CHECK(body_of(spec)["HostConfig"].at("Memory") == 300 << 20);
}

TEST_CASE("docker body: a hard limit of processors is a part of the node's") {
  auto spec = spec_for(R"({"image":"a","cpu_hard_limit":true,"cpu_cfs_period":50000})");
  CHECK(container_body(spec, {}).error()
        == Error{Errc::unavailable,
                 "cpu_hard_limit: it is not known how many MHz the node has; say it in "
                 "client.cpu_total_compute"});
  spec.node_cpu_shares = 4000;
  spec.cores = 4;
  auto host = body_of(spec)["HostConfig"].as_object();
  CHECK(host["CpuPeriod"] == 50000);
  CHECK(host["CpuQuota"] == 25000);  // an eighth of four cores
  spec.settings.cpu_period = 2000000;
  CHECK(container_body(spec, {}).error().what == "invalid value for cpu_cfs_period");
  spec.cpuset = "2,3";
  spec.settings.cpu_hard_limit = false;
  CHECK(body_of(spec)["HostConfig"].at("CpusetCpus") == "2,3");
}

TEST_CASE("docker body: privileges are the agent's to allow") {
  CHECK(problem(R"({"image":"a","privileged":true})")
        == "Docker privileged mode is disabled on this Nomad agent");
  CHECK(problem(R"({"image":"a","cap_add":["net_admin"]})")
        == "driver does not allow the following capabilities: net_admin");
  CHECK(problem(R"({"image":"a","runtime":"kata"})")
        == "requested runtime \"kata\" is not allowed");
  AgentSettings agent;
  agent.allows_privileged = true;
  agent.allowed = host::all_capabilities();
  agent.runtimes = {"kata"};
  const auto host = host_of(R"({"image":"a","privileged":true,"cap_add":["net_admin"],
    "cap_drop":["chown"],"runtime":"kata"})",
                            agent);
  CHECK(host.at("Privileged") == true);
  CHECK(host.at("CapAdd") == json::array{"net_admin"});
  CHECK(host.at("CapDrop") == json::array{"chown"});
  CHECK(host.at("Runtime") == "kata");
  CHECK(host_of(R"({"image":"a","cap_drop":["ALL"],"cap_add":["chown"]})").at("CapDrop")
        == json::array{"all"});
}

TEST_CASE("docker body: processes have a limit") {
  AgentSettings agent;
  agent.pids_limit = 50;
  CHECK(host_of(R"({"image":"a"})", agent).at("PidsLimit") == 50);
  CHECK(host_of(R"({"image":"a","pids_limit":20})", agent).at("PidsLimit") == 20);
  CHECK(problem(R"({"image":"a","pids_limit":60})", agent)
        == "pids_limit cannot be greater than nomad plugin config pids_limit: 50");
}

TEST_CASE("docker body: ports are published for tcp and udp") {
  auto spec = spec_for(R"({"image":"a","ports":["http"]})");
  CHECK(container_body(spec, {}).error().what == "Port \"http\" not found, check network block");
  spec.ports = {{.label = "http", .value = 25000, .to = 80, .host_ip = "10.0.0.1"}};
  auto body = body_of(spec);
  CHECK(body["ExposedPorts"].as_object().size() == 2);
  const auto& bindings = body["HostConfig"].at("PortBindings");
  CHECK(bindings.at("80/tcp").at(0).at("HostPort") == "25000");
  CHECK(bindings.at("80/udp").at(0).at("HostIp") == "10.0.0.1");
  spec.ports[0].to = 0;
  CHECK(body_of(spec)["ExposedPorts"].as_object().contains("25000/tcp"));
  // In the group's network they are mapped there.
  spec.network_container = "abc";
  body = body_of(spec);
  CHECK(body["HostConfig"].at("NetworkMode") == "container:abc");
  CHECK_FALSE(body["HostConfig"].as_object().contains("PortBindings"));
  spec.settings.port_map = {{"http", 80}};
  CHECK(container_body(spec, {}).error().what
        == "'port_map' cannot map group network ports, use 'ports' instead");
}

TEST_CASE("docker body: networks with names and addresses") {
  auto body = body_of(spec_for(R"({"image":"a","network_mode":"mine","network_aliases":["x"],
    "ipv4_address":"10.1.2.3","mac_address":"02:42:ac:11:00:02","hostname":"h",
    "dns_servers":["1.1.1.1"],"dns_search_domains":["d"],"dns_options":["o"],
    "extra_hosts":["a:1.2.3.4"]})"));
  const auto& endpoint = body["NetworkingConfig"].at("EndpointsConfig").at("mine");
  CHECK(endpoint.at("Aliases") == json::array{"x"});
  CHECK(endpoint.at("IPAMConfig").at("IPv4Address") == "10.1.2.3");
  CHECK(body["MacAddress"] == "02:42:ac:11:00:02");
  CHECK(body["HostConfig"].at("Dns") == json::array{"1.1.1.1"});
  CHECK(body["HostConfig"].at("ExtraHosts") == json::array{"a:1.2.3.4"});
  CHECK(problem(R"({"image":"a","dns_servers":["nobody"]})")
        == "dns_servers: invalid ip address \"nobody\"");
}

TEST_CASE("docker body: volumes of the host are the agent's to allow") {
  const auto binds = host_of(R"({"image":"a","volumes":["data:/data:ro","../alloc/x:/x"]})")
                         .at("Binds")
                         .as_array();
  CHECK(binds.at(3) == "/allocs/7c9f/web/data:/data:ro");
  CHECK(binds.at(4) == "/allocs/7c9f/alloc/x:/x");
  CHECK(problem(R"({"image":"a","volumes":["/etc:/e"]})")
        == "volumes are not enabled; cannot mount host paths: \"/etc:/e\"");
  CHECK(problem(R"({"image":"a","volumes":["../../../etc:/e"]})")
        == "volumes are not enabled; cannot mount host paths: \"../../../etc:/e\"");
  CHECK(problem(R"({"image":"a","volumes":["x"]})")
        == "invalid docker volume \"x\": not <src>:<destination> format");
  CHECK(problem(R"({"image":"a","volume_driver":"d"})")
        == "volumes are not enabled; cannot use volume driver \"d\"");
  CHECK(problem(R"({"image":"a","mounts":[{"source":"v","target":"/v"}]})")
        == "volumes are not enabled; cannot mount volume: \"v\"");
  AgentSettings agent;
  agent.allows_volumes = true;
  agent.selinux_label = "z";
  const auto host = host_of(R"({"image":"a","volumes":["/etc:/e"],"mount":[
    {"type":"bind","source":"/opt","target":"/o","readonly":true,
     "bind_options":{"propagation":"rslave"}},
    {"source":"v","target":"/v","volume_options":{"no_copy":true,"labels":{"a":"b"},
     "driver_config":{"name":"local","options":{"o":"1"}}}},
    {"type":"tmpfs","target":"/t","tmpfs_options":{"size":1024,"mode":511}}]})",
                            agent);
  CHECK(host.at("Binds").at(3) == "/etc:/e:z");
  const auto& mounts = host.at("Mounts").as_array();
  CHECK(mounts.at(0).at("BindOptions").at("Propagation") == "rslave");
  CHECK(mounts.at(0).at("ReadOnly") == true);
  CHECK(mounts.at(1).at("VolumeOptions").at("DriverConfig").at("Options").at("o") == "1");
  CHECK(mounts.at(2).at("TmpfsOptions").at("SizeBytes") == 1024);
  CHECK(unreadable(R"({"image":"a","mount":[{"type":"nfs"}]})")
        == "invalid mount type, must be \"bind\", \"volume\", \"tmpfs\": \"nfs\"");
  CHECK(unreadable(R"({"image":"a","mount":[{"type":"tmpfs","source":"x"}]})")
        == "invalid source, must be \"\" for tmpfs");
}

TEST_CASE("docker body: a task's own link does not lead out of its directory") {
  const auto root = std::filesystem::temp_directory_path() / "docker_body_test";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root / "web/local");
  std::filesystem::create_directory_symlink("/etc", root / "web/local/out");
  std::filesystem::create_directory_symlink("..", root / "web/local/in");
  auto spec = spec_for(R"({"image":"a","volumes":["local/in:/i"]})");
  spec.alloc_root = std::filesystem::canonical(root).string();
  spec.task_directory = spec.alloc_root + "/web";
  CHECK(body_of(spec)["HostConfig"].at("Binds").at(3).as_string() == spec.task_directory + ":/i");
  spec.settings.volumes = {"local/out:/o"};
  CHECK(container_body(spec, {}).error()
        == Error{Errc::rejected, "volumes are not enabled; \"" + spec.task_directory
                                     + "/local/out\" leads out of the allocation's directory"});
  std::filesystem::remove_all(root);
}

TEST_CASE("docker body: what is bound is what was looked at, whatever takes its place") {
  const test::TempDir dir;
  const auto data = dir.file("alloc1/alloc/data");
  std::filesystem::create_directories(data);
  std::filesystem::create_directories(dir.file("alloc1/web"));
  std::filesystem::create_directory_symlink("/etc", dir.file("alloc1/alloc/out"));
  std::ofstream{data + "/f"} << "inside";
  std::ofstream{dir.file("alloc1/alloc/file")} << "a file";
  auto spec = spec_for(R"({"image":"a","volumes":["../alloc/data:/d","../alloc/file:/f",
    "../alloc/new:/n"],"mount":[{"type":"bind","source":"../alloc/data","target":"/m"}]})");
  spec.alloc_root = dir.file("alloc1");
  spec.task_directory = dir.file("alloc1/web");
  spec.binds_location = dir.file("binds/life/web-7c9f.1");
  AgentSettings agent;
  agent.socket = dir.file("engine");
  const auto engine = net::listen_unix(agent.socket);  // this process
  const auto host = body_of(spec, agent)["HostConfig"];
  if (host.at("Binds").at(3).as_string() == data + ":/d") {
    MESSAGE("skipped: needs the right to mount");
    return;
  }

  std::filesystem::rename(data, dir.file("alloc1/alloc/moved"));
  std::filesystem::create_directory_symlink("/etc", data);

  CHECK(host.at("Binds").at(3).as_string() == spec.binds_location + "/0:/d");
  CHECK(host.at("Mounts").at(0).at("Source").as_string() == spec.binds_location + "/3");
  for (const char* number : {"/0/f", "/3/f"})
    CHECK(std::filesystem::file_size(spec.binds_location + number) == 6);
  CHECK(std::filesystem::file_size(spec.binds_location + "/1") == 6);
  CHECK(std::filesystem::is_directory(dir.file("alloc1/alloc/new")));

  const auto keep_none = [](std::string_view) { return false; };
  release_binds_of_others(dir.file("binds"), "life", keep_none);
  release_binds_of_others(dir.file("binds"), "other",
                          [](std::string_view location) { return location == "web-7c9f.1"; });
  CHECK(std::filesystem::exists(spec.binds_location + "/0/f"));
  release_binds_of_others(dir.file("binds"), "other", keep_none);
  CHECK_FALSE(std::filesystem::exists(dir.file("binds/life")));
  CHECK(std::filesystem::exists(dir.file("alloc1/alloc/moved/f")));
  spec.settings.volumes = {"../alloc/out:/o"};
  CHECK(container_body(spec, agent).error().code == Errc::rejected);
  release_binds(spec.binds_location);
}

TEST_CASE("docker body: a mount of what is not there is refused and makes nothing") {
  const test::TempDir dir;
  std::filesystem::create_directories(dir.file("alloc1/web"));
  auto spec = spec_for(R"({"image":"a","mount":[{"type":"bind","source":"new","target":"/m"}]})");
  spec.alloc_root = dir.file("alloc1");
  spec.task_directory = dir.file("alloc1/web");
  spec.binds_location = dir.file("binds/life/1");
  const auto refused = container_body(spec, {});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().what == "bind source path does not exist: " + dir.file("alloc1/web/new"));
  CHECK_FALSE(std::filesystem::exists(dir.file("alloc1/web/new")));
}

TEST_CASE("docker body: an engine with other mounts is given what it sees itself") {
  const test::TempDir dir;
  std::filesystem::create_directories(dir.file("alloc1/web/local"));
  auto spec = spec_for(R"({"image":"a","volumes":["local:/l"]})");
  spec.alloc_root = dir.file("alloc1");
  spec.task_directory = dir.file("alloc1/web");
  spec.binds_location = dir.file("binds/life/1");
  AgentSettings agent;
  agent.socket = dir.file("engine");
  std::string bind;
  const auto look
      = [&] { bind = body_of(spec, agent)["HostConfig"].at("Binds").at(3).as_string(); };
  look();
  CHECK_MESSAGE(bind == spec.task_directory + "/local:/l", "nobody listens");
  const auto engine = net::listen_unix(agent.socket);  // this process
  bool is_apart = false;
  std::thread{[&] {
    // A thread may have mounts of its own; the process that listens has those of its first one.
    is_apart = ::unshare(CLONE_FS | CLONE_NEWNS) == 0
               && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (is_apart) look();
  }}.join();
  if (!is_apart) {
    MESSAGE("skipped: needs the right to mount");
    return;
  }
  CHECK(bind == spec.task_directory + "/local:/l");
  CHECK_MESSAGE(std::filesystem::is_empty(spec.binds_location), "nothing is held in vain");
  look();
  CHECK(bind == spec.binds_location + "/0:/l");
  release_binds(spec.binds_location);
}

TEST_CASE("docker body: a seccomp profile is a file of bounded size") {
  const test::TempDir dir;
  const auto option_of = [&dir](const char* name) {
    auto spec = spec_for(R"({"image":"a"})");
    spec.settings.security_options = {"seccomp=" + dir.file(name)};
    const auto body = container_body(spec, {});
    return body ? std::string{body->at("HostConfig").at("SecurityOpt").at(0).as_string()}
                : body.error().what;
  };
  std::ofstream{dir.file("profile")} << R"({ "defaultAction": "SCMP_ACT_ALLOW" })";
  REQUIRE(::mkfifo(dir.file("fifo").c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/zero", dir.file("zero"));
  std::filesystem::create_symlink("/proc/kmsg", dir.file("kernel"));
  std::ofstream{dir.file("large")} << std::string(2 * 1024 * 1024, ' ');

  CHECK(option_of("profile") == R"(seccomp={"defaultAction":"SCMP_ACT_ALLOW"})");
  CHECK(option_of("fifo").ends_with("failed: it is no regular file"));
  CHECK(option_of("zero").ends_with("failed: it is no regular file"));
  CHECK(option_of("large").ends_with("failed: it has more than 1048576 bytes"));
  const std::string failed = "failed to parse security_opt configuration: ";
  CHECK(option_of("kernel")
        == failed + "compacting json for seccomp profile (" + dir.file("kernel")
               + ") failed: byte 0: incomplete JSON");
  CHECK(option_of("none")
        == failed + "opening seccomp profile (" + dir.file("none")
               + ") failed: no such file can be read");
}

TEST_CASE("docker body: devices, ulimits, sysctls, security") {
  const auto host = host_of(R"({"image":"a","devices":[{"host_path":"/dev/null"}],
    "ulimit":{"nofile":"10:20","nproc":"5"},"sysctl":{"net.core.somaxconn":"1"},
    "security_opt":["no-new-privileges","label:type:x","seccomp=unconfined"],
    "storage_opt":{"size":"1G"},"shm_size":4096,"readonly_rootfs":true,"group_add":["g"],
    "ipc_mode":"host","pid_mode":"host","uts_mode":"host","userns_mode":"host"})");
  CHECK(host.at("Devices").at(0).at("PathInContainer") == "/dev/null");
  CHECK(host.at("Devices").at(0).at("CgroupPermissions") == "rwm");
  CHECK(host.at("Ulimits").at(0) == json::object{{"Name", "nofile"}, {"Soft", 10}, {"Hard", 20}});
  CHECK(host.at("Ulimits").at(1).at("Hard") == 5);
  CHECK(host.at("Sysctls").at("net.core.somaxconn") == "1");
  CHECK(host.at("StorageOpt").at("size") == "1G");
  CHECK(host.at("ShmSize") == 4096);
  CHECK(host.at("ReadonlyRootfs") == true);
  CHECK(host.at("UsernsMode") == "host");
  CHECK(problem(R"({"image":"a","security_opt":["what"]})")
        == "failed to parse security_opt configuration: invalid security_opt: \"what\"");
  CHECK(problem(R"({"image":"a","security_opt":["seccomp=/no/such"]})").find("/no/such")
        != std::string::npos);
  CHECK(unreadable(R"({"image":"a","ulimit":{"nofile":"x"}})")
        == "failed to parse ulimit configuration: Malformed soft ulimit nofile: x:x");
  CHECK(unreadable(R"({"image":"a","ulimit":{"nofile":"1:x"}})")
        == "failed to parse ulimit configuration: Malformed hard ulimit nofile: 1:x");
  CHECK(unreadable(R"({"image":"a","ulimit":{"nofile":""}})")
        == "failed to parse ulimit configuration: Malformed ulimit specification nofile: \"\", cannot "
           "be empty");
  CHECK(
      unreadable(R"({"image":"a","isolation":"hyperv"})")
      == "Failed to create container configuration, cannot use isolation mode \"hyperv\" on linux");
  CHECK(unreadable(R"({"image":"a","devices":[{"container_path":"/x"}]})")
        == "host path must be set in configuration for devices");
  CHECK(unreadable(R"({"image":"a","devices":[{"host_path":"/x","cgroup_permissions":"q"}]})")
        == "invalid cgroup permission string: \"q\"");
}

TEST_CASE("docker body: logs go where the task says, and then nowhere else") {
  auto host = host_of(R"({"image":"a","logging":{"type":"syslog","config":{"tag":"x"}}})");
  CHECK(host["LogConfig"].at("Type") == "syslog");
  CHECK(host["LogConfig"].at("Config").at("tag") == "x");
  CHECK(host_of(R"({"image":"a","logging":{"driver":"none"}})")["LogConfig"].at("Type") == "none");
}

TEST_CASE("docker body: labels by pattern") {
  auto spec = spec_for(R"({"image":"a","labels":{"mine":"1","nomadctl.run":"forged"}})");
  spec.origin.namespace_name = "default";
  spec.origin.job_id = "j";
  spec.origin.job_name = "job";
  spec.origin.group = "g";
  AgentSettings agent;
  agent.extra_labels = {"job_*", "parent*"};
  auto labels = body_of(spec, agent)["Labels"].as_object();
  CHECK(labels["mine"] == "1");
  CHECK(labels[label::run] == "r1");
  CHECK(labels["com.hashicorp.nomad.job_name"] == "job");
  CHECK(labels["com.hashicorp.nomad.job_id"] == "j");
  CHECK_FALSE(labels.contains("com.hashicorp.nomad.namespace"));
  CHECK_FALSE(labels.contains("com.hashicorp.nomad.parent_job_id"));
}

TEST_CASE("docker body: the container of a network can do nothing else") {
  auto body = infra_body({.alloc_id = "7c9f",
                          .agent = "/state",
                          .image = "a",
                          .hostname = "h",
                          .program = "/bin/x",
                          .network_namespace = "/run/netns/7c9f"});
  CHECK(body["Hostname"] == "h");
  const auto& host = body["HostConfig"].as_object();
  CHECK(host.at("NetworkMode") == "none");
  CHECK(host.at("CapDrop") == json::array{"ALL"});
  CHECK(host.at("CapAdd") == json::array{"SYS_ADMIN"});
  CHECK(host.at("Mounts").at(1).at("Source") == "/run/netns/7c9f");
}

TEST_CASE("docker body: ports of the task's own network are published, all of them") {
  auto spec = spec_for(R"({"image":"i","port_map":{"http-x":"80"}})");
  spec.environment = {"NOMAD_PORT_http_x=20001", "NOMAD_PORT_db=20002", "NOMAD_PORT_http_xy=1"};
  CHECK(container_body(spec, {}).error().what
        == "Trying to map ports but no network interface is available");
  spec.task_ports = {{.label = "http-x", .value = 20001, .host_ip = "10.0.0.1"},
                     {.label = "db", .value = 20002, .host_ip = "10.0.0.1"}};
  const auto body = body_of(spec);
  const auto& bindings = body.at("HostConfig").at("PortBindings").as_object();
  const auto bound = [](const char* port) {
    return json::array{json::object{{"HostIp", "10.0.0.1"}, {"HostPort", port}}};
  };
  CHECK(bindings.size() == 4);
  CHECK(bindings.at("80/tcp") == bound("20001"));
  CHECK(bindings.at("80/udp") == bound("20001"));
  CHECK(bindings.at("20002/tcp") == bound("20002"));
  CHECK(body.at("ExposedPorts").as_object().size() == 4);
  CHECK(body.at("Env")
        == json::parse(R"(["NOMAD_PORT_http_x=80","NOMAD_PORT_db=20002","NOMAD_PORT_http_xy=1"])"));

  // The group's are what `ports` names, and can't be mapped so.
  spec.ports = {{.label = "web", .value = 20003, .to = 8080, .host_ip = "10.0.0.1"}};
  CHECK(body_of(spec).at("HostConfig").at("PortBindings").as_object().size() == 4);
  spec.task_ports.clear();
  CHECK(container_body(spec, {}).error().what
        == "'port_map' cannot map group network ports, use 'ports' instead");
}

TEST_CASE("docker body: names for the hosts of a group's network") {
  const std::string own = "127.0.0.1 localhost\n";
  const auto known = with_extra_hosts(own, {"db:10.0.0.1", "six:fd00::1"});
  REQUIRE_MESSAGE(known.has_value(), known.error().what);
  CHECK(*known == own + "10.0.0.1 db\nfd00::1 six\n");
  CHECK(with_extra_hosts(*known, {"db:10.0.0.1"}).value() == *known);  // A second start.
  const auto wrong = [&](const char* entry) { return with_extra_hosts(own, {entry}).error().what; };
  CHECK(wrong("db") == "invalid hosts entry \"db\"; expected \"name:address\"");
  CHECK(wrong("db:host-gateway")
        == "invalid IP address \"db:host-gateway\"; in the network of a group extra_hosts are names "
           "with addresses");
  CHECK(wrong("db:").starts_with("invalid IP address \"db:\""));
}

TEST_CASE("docker settings: the agent's") {
  const auto read = read_agent_settings({{"endpoint", "unix:///x.sock"},
                                         {"gc.image_delay", "10s"},
                                         {"volumes.enabled", "true"},
                                         {"logging.type", "local"},
                                         {"allow_caps", "chown,net_raw"},
                                         {"extra_labels", "job_*"},
                                         {"logging.config", R"({"max-size":"1m"})"}});
  REQUIRE_MESSAGE(read.has_value(), read.error().what);
  CHECK(read->socket == "/x.sock");
  CHECK(read->image_delay == std::chrono::seconds{10});
  CHECK(read->allows_volumes);
  CHECK(read->log_driver == "local");
  CHECK(read->log_options == Texts{{"max-size", "1m"}});
  const auto wrong = [](const char* key, const char* value) {
    return read_agent_settings({{key, value}}).error().what;
  };
  CHECK(
      wrong("endpoint", "tcp://1.2.3.4:1")
      == "endpoint: expected the engine's Unix socket, \"unix:///path\", got \"tcp://1.2.3.4:1\"");
  CHECK(wrong("gc.image", "maybe").starts_with("gc.image: "));
  CHECK(wrong("gc.dangling_containers.creation_grace", "5s").find("less than")
        != std::string::npos);
  CHECK(wrong("pull_activity_timeout", "x")
        == "pull_activity_timeout: expected a duration such as \"3m\", got \"x\"");
  CHECK(wrong("allow_caps", "flying").find("flying") != std::string::npos);
  CHECK(wrong("pids_limit", "-1")
        == "pids_limit: expected a number that is not negative, got \"-1\"");
}
