// Answers of the engine, and nonsense in their place.
#include "runtime/docker/engine_answers.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "runtime/docker/image_name.hpp"
#include "runtime/docker/registry_auth.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::docker;

TEST_CASE("engine answers: a network says its gateway, or whose interface has it") {
  const auto chosen = read_bridge(
      R"({"IPAM":{"Config":[{"Subnet":"10.0.0.0/8","Gateway":"10.0.0.1"}]},"Options":{}})");
  CHECK(chosen.gateway == "10.0.0.1");
  CHECK(chosen.interface.empty());
  const auto usual = read_bridge(R"({"IPAM":{"Config":[{"Subnet":"172.17.0.0/16"}]},)"
                                 R"("Options":{"com.docker.network.bridge.name":"docker0"}})");
  CHECK(usual.gateway.empty());
  CHECK(usual.interface == "docker0");
  for (const auto* const odd :
       {"", "[]", R"({"IPAM":{"Config":[1]}})", R"({"IPAM":{"Config":[]}})"})
    CHECK(read_bridge(odd).gateway.empty());
}

TEST_CASE("docker answers: what a refusal means") {
  CHECK(engine_errc({404, ""}) == Errc::not_found);
  CHECK(engine_errc({409, ""}) == Errc::conflict);
  CHECK(engine_errc({501, ""}) == Errc::invalid_argument);
  CHECK(engine_errc({500, ""}) == Errc::rejected);
}

TEST_CASE("docker answers: complaints are in words that users know") {
  CHECK(engine_complaint({200, "{}"}).empty());
  CHECK(engine_complaint({304, ""}).empty());
  CHECK(engine_complaint({404, R"({"message":"No such container: web"})"})
        == "API error (404): No such container: web");
  CHECK(engine_complaint({500, "plain\n"}) == "API error (500): plain");
}

TEST_CASE("docker answers: versions") {
  const auto version
      = read_version(R"({"Version":"20.10.24","ApiVersion":"1.41","MinAPIVersion":"1.12"})");
  REQUIRE(version.has_value());
  CHECK(*choose_api(*version) == "1.41");
  CHECK(*choose_api({"29", "1.52", "1.44"}) == "1.44");
  CHECK(choose_api({"18", "1.39", "1.12"}).error().code == Errc::rejected);
  CHECK(read_version("[]").error() == Error{Errc::corrupt, "the engine answered no version: []"});
  CHECK(read_version("{}").error()
        == Error{Errc::corrupt, "the engine does not say which version it is"});
}

TEST_CASE("docker answers: a container") {
  const auto read = read_container(R"({"Id":"c1","Name":"/web-1","Image":"sha256:i",
    "State":{"Status":"exited","Running":false,"ExitCode":137,"OOMKilled":true,"Pid":0,"Error":"e"},
    "Config":{"Tty":true,"Labels":{"a":"b","n":null}},"HostConfig":{"NetworkMode":"container:x"},
    "NetworkSettings":{"Networks":{"bridge":{"IPAddress":"172.17.0.2","GlobalIPv6Address":""}}}})");
  REQUIRE(read.has_value());
  CHECK(read->name == "web-1");
  CHECK(read->exit_code == 137);
  CHECK(read->oom_killed);
  CHECK(read->tty);
  CHECK(read->labels == Texts{{"a", "b"}});
  CHECK(read->network_mode == "container:x");
  REQUIRE(read->networks.size() == 1);
  CHECK(read->networks[0].address == "172.17.0.2");
  for (const auto* const nonsense :
       {"", "7", "null", "{\"Id\":7}", "{\"Id\":\"\"}", "{\"State\":[]}"})
    CHECK(read_container(nonsense).has_error());
}

TEST_CASE("docker answers: a list, and what is odd in it") {
  const auto listed = read_containers(
      R"([{"Id":"a","Names":["/x"],"State":"running","Created":5,"Labels":{"l":"1"}},7,{"Id":""}])");
  REQUIRE(listed.has_value());
  REQUIRE(listed->size() == 1);
  CHECK((*listed)[0].names == std::vector<std::string>{"x"});
  CHECK((*listed)[0].running);
  CHECK(read_containers("{}").error()
        == Error{Errc::corrupt, "the engine answered no list of containers"});
}

TEST_CASE("docker answers: what is there has an id") {
  CHECK(read_container("{}").error()
        == Error{Errc::corrupt, "the engine answered a container without an id"});
  CHECK(read_container("<html>").error()
        == Error{Errc::corrupt, "the engine answered no container: <html>"});
  CHECK(read_image_id("{}").error()
        == Error{Errc::corrupt, "the engine answered an image without an id"});
  CHECK(read_created("{}").error()
        == Error{Errc::corrupt, "the engine did not say what it has made"});
}

TEST_CASE("docker answers: what it uses, by both kinds of control groups") {
  const auto first = read_usage(R"({"read":"2026-01-02T03:04:05.5Z",
    "cpu_stats":{"cpu_usage":{"total_usage":300,"usage_in_usermode":200,"usage_in_kernelmode":100},
      "system_cpu_usage":2000,"throttling_data":{"throttled_periods":3,"throttled_time":4}},
    "precpu_stats":{"cpu_usage":{"total_usage":200},"system_cpu_usage":1000},
    "memory_stats":{"usage":50,"max_usage":60,"stats":{"rss":10,"cache":20,"swap":1,"mapped_file":2}}})");
  REQUIRE(first.has_value());
  CHECK_FALSE(first->is_cgroup2);
  CHECK(first->rss == 10);
  CHECK(first->throttled_time == 4);
  CHECK(
      cpu_percent(first->cpu.total, first->before.total, first->cpu.system, first->before.system, 2)
      == doctest::Approx(20.0));
  CHECK(first->timestamp > 0);
  const auto second
      = read_usage(R"({"memory_stats":{"usage":50,"stats":{"file":7,"file_mapped":8}}})");
  REQUIRE(second.has_value());
  CHECK(second->is_cgroup2);
  CHECK(second->cache == 7);
  CHECK(cpu_percent(1, 2, 3, 4, 2) == 0);
  CHECK(read_usage("x").has_error());
}

TEST_CASE("docker answers: a pull") {
  PullProgress progress;
  CHECK(progress.summary() == "No progress");
  const std::string lines = R"({"status":"Pulling from library/redis","id":"7"}
{"status":"Pulling fs layer","progressDetail":{},"id":"a"}
{"status":"Downloading","progressDetail":{"current":512,"total":2048},"id":"b"}
{"status":"Pull complete","progressDetail":{},"id":"c"}
)";
  for (const char c : lines)  // as slowly as can be
    REQUIRE(progress.take({&c, 1}).has_value());
  CHECK(progress.summary() == "Pulled 1/3 (512B/2KiB) layers: 1 waiting/1 pulling");
  CHECK(progress.failure().empty());
  REQUIRE(
      progress.take("{\"errorDetail\":{\"message\":\"no space left on device\"},\"error\":\"x\"}\n")
          .has_value());
  CHECK(progress.failure() == "no space left on device");
  CHECK(progress.take("<html>\n").error().code == Errc::corrupt);
  PullProgress endless;
  CHECK(endless.take(std::string(PullProgress::longest_line + 1, 'x')).error()
        == Error{Errc::corrupt, "the engine reports progress in a line without an end"});
}

TEST_CASE("docker answers: which failures may pass") {
  using Kind = EngineError::Kind;
  CHECK(engine_error_kind("Error: image library/x not found") == Kind::image_missing);
  CHECK(engine_error_kind("x not found; Error: image ") == Kind::other);
  CHECK(engine_error_kind("no space left on device") == Kind::other);
  CHECK(engine_error_kind("unexpected EOF") == Kind::out_of_time);
  CHECK(engine_error_kind("net/http: TLS handshake timeout") == Kind::out_of_time);
  CHECK(engine_error_kind("VolumeDriver.Mount: volume is attached on another node")
        == Kind::volume_elsewhere);

  CHECK(judged(EngineAnswer{500, "x"}).refusal.may_pass());
  CHECK_FALSE(judged(EngineAnswer{400, "x"}).refusal.may_pass());
  CHECK(judged(EngineAnswer{400, "unexpected EOF"}).refusal.may_pass());
  CHECK(judged(EngineAnswer{404, "x"}).error() == Error{Errc::not_found, "API error (404): x"});
  CHECK(judged(EngineAnswer{500, "volume is attached on another node"}).refusal.kind
        == Kind::volume_elsewhere);
  CHECK(judged(EngineAnswer{200, "timeout"}).has_value());
  CHECK(judged(Error{Errc::io, "timeout"}).refusal.status == 0);
}

TEST_CASE("docker auth: the first source that has something") {
  const auto none = [](const std::string&, const std::string&) -> Result<std::string> {
    return Error{Errc::internal, "nobody asks"};
  };
  const auto image = parse_image_name("quay.io/a:1").value();
  // dXNlcjpzZWNyZXQ= is user:secret
  const std::string file
      = R"({"auths":{"https://quay.io/v2/":{"auth":"dXNlcjpzZWNyZXQ="}},"credHelpers":{"gcr.io":"g"}})";
  auto found
      = find_auth({.task = {.username = "own"}, .config_file = file, .helper = {}}, image, none);
  REQUIRE(found.has_value());
  CHECK((*found)->username == "own");
  found = find_auth({.task = {}, .config_file = file, .helper = {}}, image, none);
  REQUIRE(found.has_value());
  CHECK((*found)->username == "user");
  CHECK((*found)->password == "secret");

  std::string asked;
  const auto helper = [&asked](const std::string& name, const std::string& registry) {
    asked = name + ' ' + registry;
    return Result<std::string>{R"({"Username":"u","Secret":"s"})"};
  };
  found = find_auth({.task = {}, .config_file = file, .helper = {}},
                    parse_image_name("gcr.io/x").value(), helper);
  REQUIRE(found.has_value());
  CHECK(asked == "g gcr.io");
  found = find_auth({.task = {}, .config_file = {}, .helper = "h"}, image, helper);
  CHECK(asked == "h quay.io");
  CHECK((*found)->password == "s");
  CHECK_FALSE(*find_auth({}, image, none));
  CHECK(find_auth({.task = {}, .config_file = "{", .helper = {}}, image, none).error().what
        == "Failed to parse auth config file: byte 1: incomplete JSON");
  CHECK(find_auth({.task = {}, .config_file = "[]", .helper = {}}, image, none).error().what
        == "Failed to parse auth config file: no object");
  CHECK(
      find_auth(
          {.task = {}, .config_file = R"({"auths":{"quay.io":{"auth":"dXNlcg=="}}})", .helper = {}},
          image, none)
          .error()
          .what
      == "Failed to parse auth config file: invalid auth configuration file: the auth of quay.io is not user:password in base64");
  const auto odd = [](const std::string&, const std::string&) {
    return Result<std::string>{"credentials not found"};
  };
  CHECK(find_auth({.task = {}, .config_file = {}, .helper = "h"}, image, odd).error().what
        == "docker-credential-h: the credential helper printed no JSON object");
  CHECK(auth_header({.username = "u", .password = "p"})
        == "eyJ1c2VybmFtZSI6InUiLCJwYXNzd29yZCI6InAifQ==");
}

TEST_CASE("docker auth: a credential helper is a program that is found and succeeds") {
  const test::TempDir dir;
  std::ofstream{dir.file("docker-credential-odd")}
      << "#!/bin/sh\necho no such registry >&2\nexit 3\n";
  std::filesystem::permissions(dir.file("docker-credential-odd"),
                               std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (dir.path() + ':' + path).c_str(), 1);
  const auto failed = run_credential_helper("odd", "quay.io");
  ::setenv("PATH", path.c_str(), 1);

  CHECK(failed.error().what
        == "docker-credential-odd with input \"quay.io\" failed with stderr: no such registry\n");
  CHECK(run_credential_helper("none", "quay.io").error().what
        == "exec: \"docker-credential-none\": executable file not found in $PATH");
  CHECK(run_credential_helper("../sh", "quay.io").error().what
        == "docker-credential-../sh: a helper's name has no slash");
}
