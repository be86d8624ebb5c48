// Paths below a directory.
#include "runtime/disk/tree.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::disk;
using Parts = std::vector<std::string>;

TEST_CASE("tree: a path is split, and what is no name is left out") {
  CHECK(*split_path("alloc/data/x") == Parts{"alloc", "data", "x"});
  CHECK(*split_path("./web//local/") == Parts{"web", "local"});
  CHECK(*split_path("..x/y..") == Parts{"..x", "y.."});
}

TEST_CASE("tree: what does not lie below is refused") {
  for (const auto* path : {"", ".", "/", "/etc", "..", "a/..", "a/../b"}) {
    CAPTURE(path);
    CHECK(split_path(path).error()
          == Error{Errc::rejected, "\"" + std::string{path} + "\" is no path below a directory"});
  }
  CHECK_FALSE(split_path(std::string(5000, 'x')).has_value());
  CHECK_FALSE(split_path(std::string_view{"a\0b", 3}).has_value());
}
