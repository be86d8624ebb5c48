#include "runtime/host/fingerprint/fingerprint.hpp"

#include <algorithm>
#include <thread>

#include <doctest/doctest.h>

#include "test/unit/runtime/host/temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;

TEST_CASE("fingerprint: describes this machine with Nomad's attributes") {
  FingerprintOptions options;
  options.alloc_dir = "/tmp";
  options.network_interface = "lo";
  options.advertise_address = "127.0.0.1:4646";

  auto facts = fingerprint(options);

  REQUIRE_MESSAGE(!facts.has_error(), facts.error().what);
  for (const char* name :
       {"cpu.arch", "cpu.numcores", "cpu.totalcompute", "kernel.name", "kernel.arch",
        "kernel.version", "memory.totalbytes", "nomad.version", "nomad.service_discovery",
        "nomad.advertise.address", "os.signals", "unique.hostname", "unique.network.ip-address",
        "unique.storage.volume", "unique.storage.bytestotal", "unique.storage.bytesfree"}) {
    CAPTURE(name);
    CHECK(facts->attributes.count(name) == 1);
  }
  CHECK(facts->attributes.count("nomad.revision") == 0);  // empty ones are left out
  CHECK(facts->attributes["cpu.numcores"] == std::to_string(std::thread::hardware_concurrency()));
  CHECK(facts->attributes["unique.network.ip-address"] == "127.0.0.1");
  CHECK(facts->cpu_total_compute > 0);
  CHECK(facts->memory_mb > 0);
  CHECK(facts->disk_mb > 0);
  CHECK(facts->cpu_cores > 0);
}

TEST_CASE("fingerprint: configuration overrides what is found") {
  FingerprintOptions options;
  options.network_interface = "lo";
  options.network_speed = 123;
  options.cpu_total_compute = 5000;
  options.memory_total_mb = 512;
  options.disk_total_mb = 2000;
  options.disk_free_mb = 1000;
  options.reservable_cores = std::vector<std::uint16_t>{1, 3, 4};
  options.reserved_cores = {4, 9};

  auto facts = fingerprint(options);

  REQUIRE_FALSE(facts.has_error());
  CHECK(facts->attributes["cpu.totalcompute"] == "5000");
  CHECK(facts->attributes["cpu.reservablecores"] == "2");
  CHECK(facts->attributes["memory.totalbytes"] == "536870912");
  CHECK(facts->memory_mb == 512);
  CHECK(facts->attributes["unique.storage.bytesfree"] == "1048576000");
  CHECK(facts->disk_mb == 1000);
}

TEST_CASE("fingerprint: contradictions end the start with a clear message") {
  FingerprintOptions options;
  options.network_interface = "lo";
  options.disk_total_mb = 1;
  options.disk_free_mb = 2;
  CHECK(fingerprint(options).error().what
        == "fingerprint storage: detected more free disk space (2097152) than total disk space "
           "(1048576), use disk_total_mb and disk_free_mb to correct");

  options = {};
  options.network_interface = "no-such-if";
  CHECK(fingerprint(options).error().what.find("no-such-if") != std::string::npos);
  options = {};
  options.network_interface = "lo";
  options.alloc_dir = "/no/such/dir";
  CHECK(fingerprint(options).error().what.find("failed to determine disk space for /no/such/dir: ")
        != std::string::npos);
}

TEST_CASE("fingerprint: custom ones run beside the built-in ones, later over earlier") {
  std::vector<NamedFingerprinter> selected
      = {{"one",
          [](const FingerprintOptions&, NodeFacts& facts) -> Result<> {
            facts.attributes["a"] = "1";
            return {};
          }},
         {"two", [](const FingerprintOptions&, NodeFacts& facts) -> Result<> {
            facts.attributes["a"] = "2";
            return {};
          }}};
  CHECK(fingerprint({}, selected)->attributes["a"] == "2");
}

TEST_CASE("fingerprint: parts put together are those of one look") {
  FingerprintOptions options;
  options.network_interface = "lo";
  options.disk_total_mb = 2000;
  options.disk_free_mb = 1000;
  const auto parts = run_each(options, fingerprinters());
  REQUIRE(parts.has_value());
  CHECK(together(*parts) == *fingerprint(options));
  CHECK(parts->size() == fingerprinters().size());
}

TEST_CASE("fingerprint: devices that two have found are there once") {
  NodeFacts first, second;
  first.devices = {{.vendor = "acme", .type = "gadget", .name = "small", .instances = {{"a"}}}};
  second.devices = {{.vendor = "acme", .type = "gadget", .name = "small", .instances = {{"b"}}},
                    {.vendor = "acme", .type = "gadget", .name = "large", .instances = {{"a"}}}};
  const auto all = together({first, second}).devices;
  REQUIRE(all.size() == 2);
  CHECK(all[0] == first.devices[0]);
  CHECK(all[1].name == "large");
}

TEST_CASE("fingerprint: a network for each CNI configuration that can be read") {
  TempDir dir;
  const auto write
      = [&dir](const std::string& name, const char* text) { write_text(dir / name, text); };
  write("10-one.conflist", R"({"cniVersion":"0.4.0","name":"one","plugins":[{"type":"bridge"}]})");
  write("20-two.conf", R"({"name":"two","type":"macvlan"})");
  write("30-again.json", R"({"name":"one","type":"macvlan"})");
  write("40-broken.conf", "{");
  write("50-nameless.conf", R"({"type":"macvlan"})");
  write("60-empty.conflist", R"({"name":"empty","plugins":[]})");
  write("readme.txt", "{");
  std::filesystem::create_directory(dir / "70-dir.conf");
  FingerprintOptions options;
  options.cni_config_dir = dir.path();
  const auto modes = [&options] {
    std::string all;
    const auto cni = fingerprinters();
    const auto which
        = std::find_if(cni.begin(), cni.end(), [](const auto& each) { return each.name == "cni"; });
    const auto facts = run_one(options, *which);
    REQUIRE(facts.has_value());
    CHECK(facts->networks.size() == facts->node_networks.size());
    for (const auto& network : facts->node_networks)
      all += network.mode + ' ';
    return all;
  };
  CHECK(modes() == "cni/one cni/two ");
  options.cni_config_dir = dir / "nowhere";
  CHECK(modes() == "");
}
