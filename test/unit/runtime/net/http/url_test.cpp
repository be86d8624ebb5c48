#include "runtime/net/http/url.hpp"

#include <doctest/doctest.h>

#include "runtime/base/text.hpp"

using namespace nomad::net;
using nomad::percent_encode;

TEST_CASE("url: paths are cleaned as Go's ServeMux cleans them") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "/"},
      {"/", "/"},
      {"/v1/jobs", "/v1/jobs"},
      {"//v1//jobs", "/v1/jobs"},
      {"/v1/job/", "/v1/job/"},
      {"/v1/../etc", "/etc"},
      {"/../..", "/"},
      {"/a/./b/", "/a/b/"},
      {"/a/b/..", "/a"},
  };
  for (const auto& [path, clean] : cases) {
    const auto& shown = path;
    CAPTURE(shown);
    CHECK(clean_path(path) == clean);
    CHECK(is_clean_path(path) == (std::string{path} == clean));
  }
}

TEST_CASE("url: escapes are undone, and malformed ones refused") {
  CHECK(percent_decode("a%2Fb%20c", false) == "a/b c");
  CHECK(percent_decode("a+b", false) == "a+b");
  CHECK(percent_decode("a+b", true) == "a b");
  CHECK_FALSE(percent_decode("%", false));
  CHECK_FALSE(percent_decode("%2", false));
  CHECK_FALSE(percent_decode("%zz", false));
  CHECK(percent_encode("a/b c~", "/") == "a/b%20c~");
  CHECK(percent_encode("a/b", "") == "a%2Fb");
}

TEST_CASE("url: a query keeps order and repeats, and drops what is malformed") {
  QueryParameters query{{"old", ""}};

  parse_query("a=1&b&a=2%20x+y&&c=%zz&d;e=1&=v", query);

  CHECK(query == QueryParameters{{"a", "1"}, {"b", ""}, {"a", "2 x y"}, {"", "v"}});
}
