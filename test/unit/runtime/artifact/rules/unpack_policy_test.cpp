#include "runtime/artifact/rules/unpack_policy.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::artifact;
using Kind = Member::Kind;

namespace {

Result<Admitted> admit(Member member) {
  return UnpackPolicy{{}, 1000}.admit(member);
}

}  // namespace

TEST_CASE("unpacking: members lie below or are refused") {
  CHECK(admit({.path = "./a//b/."})->path == std::vector<std::string>{"a", "b"});
  CHECK(admit({.path = "a", .mode = 07755 & ~06000U})->mode == 0755);
  CHECK(admit({.path = ".", .kind = Kind::directory})->path.empty());
  CHECK(admit({.path = "d", .kind = Kind::directory, .mode = 02775})->mode == 0775);
  for (const char* path : {"/a", "../a", "a/../b", "a/..", "..", "", "."})
    CHECK_MESSAGE(!admit({.path = path}), path);
  CHECK(!admit({.path = std::string_view{"a\0b", 3}}));
  CHECK(!admit({.path = "a", .mode = 04755}));
  CHECK(!admit({.path = "a", .mode = 02755}));
  CHECK(!admit({.path = "a", .kind = Kind::other}));
}

TEST_CASE("unpacking: links lead to something below, whatever links lie on their way") {
  const auto link = [](const char* path, const char* target) {
    return admit({.path = path, .kind = Kind::symbolic_link, .target = target}).has_value();
  };
  CHECK(link("a", "b"));
  CHECK(link("d/a", "../b/c"));
  CHECK(link("d/e/a", "../../b"));
  CHECK(link("d/a", ".."));
  CHECK(!link("a", "/etc/shadow"));
  CHECK(!link("a", ".."));
  CHECK(!link("d/a", "../../b"));
  CHECK(!link("d/a", "b/../../c"));
  CHECK(!link("d/a", "b/.."));  // b may be a link
  CHECK(!link("a", ""));
  const auto hard = [](const char* target) {
    return admit({.path = "a", .kind = Kind::hard_link, .target = target});
  };
  CHECK(hard("./d/b")->target == std::vector<std::string>{"d", "b"});
  for (const char* target : {"/etc/shadow", "../b", "d/../../b", "", "."})
    CHECK_MESSAGE(!hard(target), target);
}

TEST_CASE("unpacking: numbers, bytes and how often a byte becomes many are bounded") {
  UnpackPolicy few{{.files = 2}, 1000};
  CHECK(few.admit({.path = "a"}));
  CHECK(few.admit({.path = "b"}));
  CHECK(few.admit({.path = "c"}).error().code == Errc::too_large);
  UnpackPolicy small{{.bytes = 100}, 1000};
  CHECK(small.add(100));
  CHECK(small.add(1).error().code == Errc::too_large);
  UnpackPolicy bomb{{.bytes = 0, .ratio = 10, .ratio_from = 50}, 10};
  CHECK(bomb.add(100));
  CHECK(bomb.add(10).error().what.find("bomb") != std::string::npos);
  UnpackPolicy endless{{.files = 0, .bytes = 0}, std::uint64_t{1} << 60U};
  CHECK(endless.add(std::uint64_t{1} << 50U));
}
