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

TEST_CASE("unpacking: what is refused is named with the reason") {
  using namespace std::string_view_literals;
  const auto said = [](const Member& member) { return admit(member).error().what; };
  const std::string the = "the archive's member ";
  CHECK(said({.path = "/a"}) == the + "\"/a\" has an absolute path");
  CHECK(said({.path = "a\0b"sv}) == the + "\"a\" has a name with a zero byte");
  CHECK(said({.path = "../a"}) == the + "\"../a\" lies outside: its path has \"..\"");
  CHECK(said({.path = "."}) == the + "\".\" has no name");
  CHECK(said({.path = "a", .mode = 04755}) == the + "\"a\" is setuid or setgid");
  CHECK(said({.path = "a", .kind = Kind::symbolic_link, .target = "/etc"})
        == the + "\"a\" is a link that leads outside, to \"/etc\"");
  CHECK(said({.path = "a", .kind = Kind::hard_link, .target = "../b"})
        == the + "\"a\" is a hard link that leads outside, to \"../b\"");
  CHECK(said({.path = "a", .kind = Kind::other}) == the + "\"a\" is a device, a FIFO or a socket");
}

TEST_CASE("unpacking: numbers, bytes and how often a byte becomes many are bounded") {
  UnpackPolicy few{{.files = 2}, 1000};
  CHECK(few.admit({.path = "a"}));
  CHECK(few.admit({.path = "b"}));
  CHECK(few.admit({.path = "c"}).error()
        == Error{Errc::too_large,
                 "the archive contains too many files: more than 2 "
                 "(decompression_file_count_limit)"});
  UnpackPolicy small{{.bytes = 100}, 1000};
  CHECK(small.add(100));
  CHECK(small.add(1).error()
        == Error{Errc::too_large,
                 "the archive is larger than the limit: more than 100 bytes "
                 "unpacked (decompression_size_limit)"});
  UnpackPolicy bomb{{.bytes = 0, .ratio = 10, .ratio_from = 50}, 10};
  CHECK(bomb.add(100));
  CHECK(bomb.add(10).error().what
        == "the archive unpacks to more than 10 times its size: it may be a bomb");
  UnpackPolicy endless{{.files = 0, .bytes = 0}, std::uint64_t{1} << 60U};
  CHECK(endless.add(std::uint64_t{1} << 50U));
}
