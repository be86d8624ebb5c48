#include "actors/client/drivers/java_command.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::client;

namespace {

using Words = std::vector<std::string>;

Result<Words> java_words(const char* config) {
  return java_arguments(ConfigReader::parse(config).value());
}

}  // namespace

TEST_CASE("java command: options come first, what is run next, and its arguments last") {
  CHECK(java_words(R"({"jar_path":"local/a.jar","args":["x","-y"],"jvm_options":["-Xmx64m"]})")
            .value()
        == Words{"-Xmx64m", "-jar", "local/a.jar", "x", "-y"});
  CHECK(java_words(R"({"class":"Main","class_path":"local:/alloc","args":["1"]})").value()
        == Words{"-cp", "local:/alloc", "Main", "1"});
  CHECK(java_words(R"({"class":"Main","jar_path":"a.jar"})").value()
        == Words{"-jar", "a.jar", "Main"});
}

TEST_CASE("java command: something has to be run") {
  CHECK(java_words(R"({"class_path":"local","args":["1"]})").error().what
        == "jar_path or class must be specified");
}

TEST_CASE("java version: three lines say which machine there is") {
  const auto version = parse_java_version(
      "openjdk version \"17.0.15\" 2025-04-15\n"
      "OpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)\n"
      "OpenJDK 64-Bit Server VM (build 17.0.15+6-Debian-1deb12u1, mixed mode, sharing)\n");
  CHECK(version.version == "17.0.15");
  CHECK(version.runtime == "OpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)");
  CHECK(version.machine.starts_with("OpenJDK 64-Bit Server VM (build "));
}

TEST_CASE("java version: what the environment adds is passed over, nonsense says nothing") {
  const auto old = parse_java_version(
      "Picked up _JAVA_OPTIONS: -Xmx2048m\njava version \"1.8.0_66\"\nJava(TM) SE\nHotSpot\n");
  CHECK(old.version == "1.8.0_66");
  CHECK(old.machine == "HotSpot");
  CHECK(parse_java_version("no java\nhere").version.empty());
  CHECK(parse_java_version("").runtime.empty());
  CHECK(parse_java_version("a\nb\nc").version == "a");
}
