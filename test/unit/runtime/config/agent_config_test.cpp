#include "runtime/config/agent_config.hpp"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/config/join_address.hpp"
#include "test/support/temp_dir.hpp"

using namespace std::chrono_literals;
using namespace nomad::config;

TEST_CASE("agent_config: HCL and JSON say the same") {
  const auto hcl = with_file_text({}, "a.hcl", R"(
    data_dir = "/var/lib/nomadctl"
    ports { http = 5000 }
    server {
      enabled = true
      heartbeat_grace = "1m"
      server_join { retry_join = ["10.0.0.7"] }
    }
    client {
      enabled = true
      meta { rack = "r1" }
      host_volume "data" { path = "/srv" }
      reserved { cpu = "500" }
    }
    plugin "raw_exec" { config { enabled = true } }
  )");
  const auto json = with_file_text({}, "a.json", R"({
    "data_dir": "/var/lib/nomadctl", "ports": {"http": 5000},
    "server": [{"enabled": true, "heartbeat_grace": "1m",
                "server_join": {"retry_join": ["10.0.0.7"]}}],
    "client": {"enabled": true, "meta": [{"rack": "r1"}], "reserved": {"cpu": 500},
               "host_volume": [{"data": [{"path": "/srv"}]}]},
    "plugin": [{"raw_exec": [{"config": [{"enabled": true}]}]}]})");

  for (const auto* config : {&hcl, &json}) {
    if (config->has_error()) MESSAGE(config->error().what);
    REQUIRE(config->has_value());
    CHECK((*config)->data_dir == "/var/lib/nomadctl");
    CHECK((*config)->ports.http == 5000);
    CHECK((*config)->ports.rpc == 4647);
    CHECK((*config)->server.enabled);
    CHECK((*config)->server.heartbeat_grace == 1min);
    CHECK((*config)->server.join.retry_join == std::vector<std::string>{"10.0.0.7"});
    CHECK((*config)->client.meta.at("rack") == "r1");
    CHECK((*config)->client.host_volumes.at("data").path == "/srv");
    CHECK((*config)->client.reserved.cpu == 500);
    CHECK((*config)->plugins.at("raw_exec") == TextMap{{"enabled", "true"}});
    CHECK((*config)->warnings.empty());
  }
}

TEST_CASE("agent_config: later files change what they name and keep the rest") {
  auto first = with_file_text({}, "a.hcl",
                              "region = \"eu\"\nclient { node_class = \"big\" }\n"
                              "http_allowed_hosts = [\"nomad.example\"]");
  REQUIRE(first.has_value());
  auto both = with_file_text(*first, "b.hcl", "client { node_pool = \"gpu\" }");
  REQUIRE(both.has_value());
  CHECK(both->region == "eu");
  CHECK(both->http_allowed_hosts == std::vector<std::string>{"nomad.example"});
  CHECK(both->client.node_class == "big");
  CHECK(both->client.node_pool == "gpu");
  CHECK(both->files == std::vector<std::string>{"a.hcl", "b.hcl"});
}

TEST_CASE("agent_config: every mistake is named with its file and place") {
  const auto config = with_file_text({}, "a.hcl", R"(
    datdir = "/x"
    server { heartbeat_grace = "soon" }
    client { gc_max_allocs = "many" }
  )");
  REQUIRE(config.has_error());
  const auto& what = config.error().what;
  CHECK(what.find("a.hcl:2: datdir: unknown key") != std::string::npos);
  CHECK(what.find("a.hcl:3: server.heartbeat_grace: time: invalid duration \"soon\"")
        != std::string::npos);
  CHECK(what.find("a.hcl:4: client.gc_max_allocs: expected a whole number") != std::string::npos);
  CHECK(with_file_text({}, "b.hcl", "server { enabled = ").has_error());
  CHECK(with_file_text({}, "c.json", "{\"server\": ").has_error());
  CHECK(with_path({}, "/no/such/file").has_error());
}

TEST_CASE("agent_config: a folder is read in order, and one that can't be listed is an error") {
  const nomad::test::TempDir dir;
  std::ofstream{dir.file("b.hcl")} << "region = \"b\"\n";
  std::ofstream{dir.file("a.json")} << R"({"region": "a", "datacenter": "a"})";
  std::ofstream{dir.file("c.txt")} << "no configuration";
  const auto config = with_path({}, dir.path());
  REQUIRE(config.has_value());
  CHECK(config->region == "b");
  CHECK(config->datacenter == "a");

  std::filesystem::permissions(dir.path(), std::filesystem::perms::none);
  const bool is_root = geteuid() == 0;
  if (is_root) REQUIRE(seteuid(65'534) == 0);
  const auto closed = with_path({}, dir.path());
  if (is_root) REQUIRE(seteuid(0) == 0);
  std::filesystem::permissions(dir.path(), std::filesystem::perms::owner_all);
  REQUIRE(closed.has_error());
  CHECK(closed.error().what
        == "Error loading configuration from " + dir.path() + ": Permission denied");
}

TEST_CASE("agent_config: a server's address may leave the port out") {
  CHECK(join_address("a", 4648) == "a:4648");
  CHECK(join_address("a:1", 4648) == "a:1");
  CHECK(join_address("::1", 4648) == "[::1]:4648");
  CHECK(join_address("[::1]", 4648) == "[::1]:4648");
  CHECK(join_address("[::1]:1", 4648) == "[::1]:1");
  std::vector<std::string> names{"a"};
  add_names(names, {"b, c", ",", "", "d,"});
  CHECK(names == std::vector<std::string>{"a", "b", "c", "d"});
}

TEST_CASE("agent_config: what is said of tokens is shown but for the secret, and has bounds") {
  auto config = with_file_text(dev_defaults(), "a.hcl", R"(
acl {
  enabled = true
  token_ttl = "10s"
  token_max_expiration_ttl = "48h"
  replication_token = "a-secret"
}
server { acl_token_gc_threshold = "2h" })");
  REQUIRE(config.has_value());
  CHECK(config->warnings.empty());
  CHECK(validate(*config).has_value());
  const auto shown = to_json(*config);
  CHECK(shown.find(R"("ACL":{"Enabled":true,"PolicyTTL":30000000000,)") != std::string::npos);
  CHECK(shown.find(R"("ACLTokenGCThreshold":"2h0m0s")") != std::string::npos);
  CHECK(shown.find(R"("TokenTTL":10000000000)") != std::string::npos);
  CHECK(shown.find("a-secret") == std::string::npos);
  config->acl.token_min_expiration_ttl = 48h;
  CHECK(validate(*config).error().what
        == "acl.token_min_expiration_ttl: must be shorter than token_max_expiration_ttl");
  config->acl.token_min_expiration_ttl = 1min;
  config->acl.token_ttl = 0s;
  CHECK(validate(*config).error().what.starts_with("acl.token_ttl: "));
  config->acl.token_ttl = 1s;
  config->server.acl_token_gc_threshold = 0s;
  CHECK(validate(*config).error().what == "server.acl_token_gc_threshold: must be longer than 0");
}

TEST_CASE("agent_config: what the web UI is told, and that no word of it ends its header") {
  auto config = with_file_text(dev_defaults(), "a.hcl", R"(
ui {
  label {
    text = "staging"
    background_color = "yellow"
  }
  content_security_policy { frame_ancestors = ["'self'", "https://portal.example"] }
})");
  REQUIRE(config.has_value());
  CHECK(config->warnings.empty());
  CHECK(validate(*config).has_value());
  CHECK(
      to_json(*config).find(
          R"("Enabled":true,"Label":{"BackgroundColor":"yellow","Text":"staging","TextColor":""})")
      != std::string::npos);
  for (const char* bad : {"", "a b", "'self'; script-src *", "a,b", "a\r\nX: y", "\xc3\xa9"}) {
    config->ui.frame_ancestors = {bad};
    CHECK(validate(*config).error().what
          == fmt::format("ui.content_security_policy.frame_ancestors: \"{}\" is no source, as "
                         "\"https://portal.example\" or \"'self'\"",
                         bad));
  }
}

TEST_CASE("agent_config: an agent without a role, a data_dir or a safe address does not start") {
  CHECK(validate({}).error().what
        == "Must specify either server, client or dev mode for the agent.");
  AgentConfig config;
  config.server.enabled = true;
  config.server.bootstrap_expect = 1;
  CHECK(validate(config).error().what
        == "Must specify \"data_dir\" config option or \"data-dir\" CLI flag");
  config.data_dir = "/tmp/x";
  config.bind_addr = "0.0.0.0";
  CHECK(validate(config).error().what.starts_with("refusing to listen on 0.0.0.0"));
  config.bind_addr = "127.0.0.1";
  CHECK(validate(config).has_value());
  config.addresses.rpc = "10.0.0.7";
  CHECK(validate(config).error().what.starts_with("refusing to listen on 10.0.0.7"));
  config.addresses.rpc.clear();
  config.server.bootstrap_expect = 65;
  CHECK(validate(config).error().what.starts_with("server.bootstrap_expect: "));
  config.server.bootstrap_expect = 0;  // it waits for `server join`
  CHECK(validate(config).has_value());
  config.server.raft_multiplier = 0;  // the default, as in Nomad
  CHECK(validate(config));
  config.server.raft_multiplier = 11;
  CHECK(validate(config).error().what == "server.raft_multiplier: expected 1 to 10");
  config.server.raft_multiplier = 1;
  for (const char* issuer : {"not a url", "javascript:x", "https://", "/path"}) {
    config.server.oidc_issuer = issuer;
    CHECK(validate(config).error().what.starts_with("server.oidc_issuer: "));
  }
  config.server.oidc_issuer = "javascript:x";
  CHECK(validate(config).error().what
        == "server.oidc_issuer: \"javascript://x\" is no address; expected one like "
           "\"https://nomad.example.com\"");
  config.server.oidc_issuer = "https://ann:secret@nomad.example";
  CHECK(validate(config).error().what
        == "server.oidc_issuer: \"https://ann:xxxxx@nomad.example\" has a user, a query or a "
           "fragment; expected scheme, host and path");
  config.server.oidc_issuer = "https://nomad.example:8443/cluster";
  CHECK(validate(config));
  for (const char* good : {"10.0.0.7", "10.0.0.7:4648", "::1", "[::1]", "[::1]:65535", "a"}) {
    config.server.join.retry_join = {good};
    CHECK(validate(config).has_value());
  }
  for (const char* bad : {"10.0.0.7:0", "a:", "a:x", "a:65536", "[::1]:-1", "a:1x"}) {
    config.server.join.retry_join = {bad};
    CHECK(validate(config).error().what
          == "server.server_join.retry_join: \"" + std::string{bad}
                 + "\" has no port from 1 to 65535");
  }
  config.server.join = {};
  config.server.join.retry_max = -1;
  CHECK(validate(config).error().what.starts_with("server.server_join.retry_max: "));
  config.server.join = {};
  config.server.join.retry_interval = std::chrono::milliseconds{999};
  CHECK(validate(config).error().what.starts_with("server.server_join.retry_interval: "));
  config.server.join = {};
  config.bind_addr = "example";
  CHECK(validate(config).error().what == "bind_addr: \"example\" is no IP address");
  config.addresses = {.http = "127.0.0.1", .rpc = "localhost", .serf = "::1:"};
  CHECK(validate(config).error().what == "addresses.serf: \"::1:\" is no IP address");
  config.addresses.http = "10.0.0.7";
  CHECK(validate(config).error().what.find("set addresses.http = \"127.0.0.1\"")
        != std::string::npos);
  CHECK(validate(dev_defaults()).has_value());
  CHECK(dev_defaults().enable_debug);
  CHECK_FALSE(AgentConfig{}.enable_debug);
}

TEST_CASE("agent_config: a limit that would let nothing through is refused") {
  auto config = dev_defaults();
  config.limits.http_max_conns_per_client = 0;  // no limit
  config.limits.rpc_max_conns_per_client = 0;
  CHECK(validate(config).has_value());
  config.limits.snapshot_max_mb = 0;
  CHECK(validate(config).error().what == "limits.snapshot_max_mb: must be at least 1, not 0");
  config.limits.snapshot_max_mb = 1;
  config.limits.http_max_conns_per_client = -1;
  CHECK(validate(config).has_error());
}

TEST_CASE("agent_config: disks are looked at once a second at most, or never") {
  auto config = dev_defaults();
  CHECK(config.client.ephemeral_disk_interval == 1min);
  CHECK_FALSE(config.client.ephemeral_disk_enforce);
  config.client.ephemeral_disk_interval = 0s;
  CHECK(validate(config).has_value());
  config.client.ephemeral_disk_interval = 1s;
  CHECK(validate(config).has_value());
  config.client.ephemeral_disk_interval = 999ms;
  CHECK(validate(config).error().what.starts_with("client.ephemeral_disk_interval: "));
  config.client.ephemeral_disk_interval = -1s;
  CHECK(validate(config).has_error());
}

TEST_CASE("agent_config: what the API shows holds no secret") {
  auto config = dev_defaults();
  config.server.encrypt = "c2VjcmV0";
  config.plugins["docker"]["auth.config"] = "c2VjcmV0";
  const auto shown = to_json(config);
  CHECK(shown.find("c2VjcmV0") == std::string::npos);
  CHECK(shown.find(R"("Region":"global")") != std::string::npos);
}

TEST_CASE("agent_config: the API shows every block that Nomad's has, with what was set") {
  auto config = dev_defaults();
  config.client.reserved.ports = "22";
  config.client.host_volumes["data"] = {.path = "/srv", .read_only = true};
  config.server.join.retry_join = {"a:4647"};
  const auto shown = boost::json::parse(to_json(config)).as_object();

  for (const auto* block : {"ACL", "Audit", "Autopilot", "Client", "Consul", "Limits", "Plugins",
                            "Sentinel", "Server", "TLSConfig", "Telemetry", "UI", "Vault"}) {
    CAPTURE(block);
    CHECK(shown.contains(block));
  }
  const auto& client = shown.at("Client").as_object();
  CHECK(client.at("Reserved").as_object().at("ReservedPorts") == "22");
  CHECK(client.at("HostVolumes").as_array().at(0).as_object().at("Path") == "/srv");
  CHECK(shown.at("Server").as_object().at("ServerJoin").as_object().at("RetryJoin")
        == boost::json::array{"a:4647"});
  CHECK(shown.at("Plugins").as_array().at(0).as_object().at("Name") == "mock_driver");
  CHECK(shown.at("Autopilot").as_object().at("MaxTrailingLogs") == 250);
}

TEST_CASE("agent_config: a server that schedules nothing, or not all, says so at its start") {
  AgentConfig config;
  const auto said = [&config] {
    const auto all = remarks(config);
    return all.empty() ? std::string{} : all.front();
  };
  config.server.num_schedulers = 0;
  CHECK(said().empty());  // no server
  config.server.enabled = true;
  CHECK(said()
        == "server.num_schedulers is 0: this server schedules nothing, whatever "
           "server.enabled_schedulers says, and other servers have to; leave the key out to have "
           "half as many as cores, which 0 meant in earlier releases");
  config.server.num_schedulers = 2;
  config.server.enabled_schedulers = {"batch", "_core", "service"};
  CHECK(said()
        == "server.enabled_schedulers leaves out system, sysbatch: none of this server's "
           "schedulers, however many server.num_schedulers says, takes such jobs, and other servers "
           "have to");
  config.server.enabled_schedulers = {"service", "batch", "system", "sysbatch"};
  CHECK(said().empty());
  config.server.enabled_schedulers.clear();
  config.server.num_schedulers = -1;
  CHECK(said().empty());
}
