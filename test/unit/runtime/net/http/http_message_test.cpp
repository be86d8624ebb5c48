#include "runtime/net/http/http_message.hpp"

#include <doctest/doctest.h>

#include "runtime/net/http/gzip.hpp"

using namespace nomad::net;
using namespace std::string_literals;

TEST_CASE("http_message: headers are found in any case, the first one first") {
  Request request;
  request.add_header("X-Nomad-Token", "one");
  request.add_header("x-nomad-token", "two");

  CHECK(request.header("x-NOMAD-token") == "one");
  CHECK(request.header("x-nomad") == "");

  request.clear();
  CHECK(request.header("X-Nomad-Token") == "");
}

TEST_CASE("http_message: gzip is taken only where it is offered") {
  const std::pair<const char*, bool> cases[] = {{"gzip", true},
                                                {"deflate, gzip;q=0.5", true},
                                                {"gzip;q=0", false},
                                                {"identity", false},
                                                {"", false}};
  for (const auto& [value, expected] : cases) {
    const auto& shown = value;
    CAPTURE(shown);
    Request request;
    request.add_header("Accept-Encoding", value);
    CHECK(request.accepts_gzip() == expected);
  }
}

TEST_CASE("http_message: pretty JSON looks as Go indents it") {
  CHECK(pretty_json(R"({"a":[],"b":{},"c":[1,{"d":"x, {\"y\": z}"}]})") == R"({
    "a": [],
    "b": {},
    "c": [
        1,
        {
            "d": "x, {\"y\": z}"
        }
    ]
}
)");
  CHECK(pretty_json("[]") == "[]\n");
  CHECK(pretty_json("null") == "null\n");
}

TEST_CASE("gzip: whole bodies and pieces come back as they were") {
  std::string body;
  for (int i = 0; i < 20'000; ++i)
    body += std::to_string(i * 7919 % 1000);

  CHECK(gunzip(gzip(body), body.size()) == body);
  CHECK(gunzip(gzip(body), body.size() - 1) == "");
  CHECK(gunzip("not gzip", 100) == "");

  GzipStream stream;
  std::string out;
  stream.append(body.substr(0, 1000), out);
  CHECK(out.size() > 100);  // flushed, not kept
  stream.append(body.substr(1000), out);
  stream.finish(out);
  CHECK(gunzip(out, body.size()) == body);
}
