// CNI plugins as attributes: what they say, and that those that said it once are not run again.
#include "runtime/network/cni_fingerprint.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::network;
namespace fs = std::filesystem;

namespace {

struct Plugins {
  test::TempDir dir;

  std::string path(const std::string& name) const { return dir.path() + "/plugins/" + name; }

  Plugins() { fs::create_directory(dir.path() + "/plugins"); }

  void add(const std::string& name, const std::string& script) const {
    std::ofstream{path(name)} << "#!/bin/sh\n" << script << '\n';
    fs::permissions(path(name), fs::perms::owner_all);
  }

  std::map<std::string, std::string> found() const {
    host::FingerprintOptions options;
    options.cni_path = dir.path() + "/no/such:" + dir.path() + "/plugins";
    options.cache_dir = dir.path() + "/cache";
    host::NodeFacts facts;
    REQUIRE(cni_plugins_fingerprinter().run(options, facts));
    return facts.attributes;
  }
};

}  // namespace

TEST_CASE("cni fingerprint: the first word that is a version") {
  CHECK(version_in("CNI bridge plugin v1.1.1\nCNI protocol versions supported: 0.1.0, 1.0.0")
        == "v1.1.1");
  CHECK(version_in("CNI bridge plugin version unknown\nsupported: 0.1.0, 1.0.0") == "1.0.0");
  CHECK(version_in("1.2.3-rc1+x") == "1.2.3-rc1+x");
  for (const char* none : {"", "v", ".", "1..2", "1.", ".1", "version", "1.2x"})
    CHECK_MESSAGE(!version_in(none), none);
}

TEST_CASE("cni fingerprint: an attribute for each plugin that says a version") {
  const Plugins plugins;
  plugins.add("bridge", "echo CNI bridge plugin v1.2.3 >&2");
  plugins.add("silent", "true");
  plugins.add("broken", "echo v1.0.0; exit 1");
  std::ofstream{plugins.path("text")} << "v1.0.0";
  CHECK(plugins.found()
        == std::map<std::string, std::string>{{"plugins.cni.version.bridge", "v1.2.3"}});

  // Scripts are asked each time.
  plugins.add("bridge", "echo v2.0.0");
  CHECK(plugins.found().at("plugins.cni.version.bridge") == "v2.0.0");
}

TEST_CASE("cni fingerprint: a compiled plugin is run once") {
  const Plugins plugins;
  fs::copy_file("/usr/bin/nproc", plugins.path("bridge"));  // A number is a version, too.
  const auto first = plugins.found();
  REQUIRE(first.contains("plugins.cni.version.bridge"));
  const auto file = plugins.dir.path() + "/cache/program-answers";
  const auto written = fs::last_write_time(file);
  CHECK(plugins.found() == first);
  CHECK(fs::last_write_time(file) == written);
}
