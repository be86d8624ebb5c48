#include "runtime/artifact/artifact_key.hpp"

#include <set>

#include <doctest/doctest.h>

using namespace nomad::artifact;

TEST_CASE("artifact key: what differs has another one, and keys of before stay") {
  const Definition plain{.source = "https://h/x",
                         .options = {{"a", "1"}},
                         .headers = {},
                         .mode = "any",
                         .destination = "local/"};
  // Of a node's memory: another one would have a running task's artifacts fetched anew.
  CHECK(key_of(plain) == "b63a8ff79360c442e2dfe9d457809ea0");
  auto insecure = plain;
  insecure.insecure = true;
  auto given = plain;
  given.chown = true;
  auto both = insecure;
  both.chown = true;
  CHECK(std::set{key_of(plain), key_of(insecure), key_of(given), key_of(both)}.size() == 4);
}
