#include "runtime/docker/image_name.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::docker;

TEST_CASE("image name: repository, tag and digest") {
  const auto text = [](const char* name) { return parse_image_name(name).value().text(); };
  CHECK(text("redis") == "redis:latest");
  CHECK(text("redis:") == "redis:latest");
  CHECK(text("quay.io:443/a/b:7") == "quay.io:443/a/b:7");
  CHECK(text("localhost:5000/a") == "localhost:5000/a:latest");
  CHECK(text("a@sha256:12") == "a@sha256:12");
  CHECK(text("a:7@sha256:12") == "a@sha256:12");

  const auto both = parse_image_name("quay.io:443/a:7@sha256:12").value();
  CHECK(both.repository == "quay.io:443/a");
  CHECK(both.tag == "7");
  CHECK(both.digest == "sha256:12");
  CHECK(parse_image_name("a@sha256:12").value().tag.empty());
  CHECK(ImageName{.repository = "a"}.text() == "a");
}

TEST_CASE("image name: what no engine could take is refused, and quoted") {
  for (const auto* const wrong :
       {"", " ", "a b", "a@", ":7", "a\nb", "a\x7f", "@sha256:12", "a\x01"})
    CHECK_MESSAGE(parse_image_name(wrong).error().code == Errc::invalid_argument, wrong);
  CHECK(parse_image_name("a@").error().what == "invalid image name \"a@\"");
  CHECK(parse_image_name("a b").error().what == "invalid image name \"a b\"");
  CHECK(parse_image_name(std::string(1024, 'a')));
  CHECK(parse_image_name(std::string(1025, 'a')).error().what
        == "invalid image name \"" + std::string(200, 'a') + '"');
}

TEST_CASE("image name: whose credentials a repository needs") {
  const auto registry
      = [](const char* name) { return registry_of(parse_image_name(name).value()); };
  CHECK(registry("redis") == "docker.io");
  CHECK(registry("team/redis") == "docker.io");
  CHECK(registry("quay.io/a") == "quay.io");
  CHECK(registry("localhost/a") == "localhost");
  CHECK(registry("registry:5000/a") == "registry:5000");
  CHECK(registry("index.docker.io/a") == "docker.io");
}
