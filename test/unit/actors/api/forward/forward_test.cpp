// What decides where a request is served, and its form between agents.
#include <string>

#include <doctest/doctest.h>

#include "actors/api/forward/api_wire.hpp"
#include "actors/api/forward/destination.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/object.hpp"

namespace nomad::api {
namespace {

struct Case {
  Situation now;
  Destination destination;
};

TEST_CASE("destination: what is about the agent stays there, whatever region is named") {
  CHECK(destination_of({.where = Where::agent, .other_region = true, .leads = false})
        == Destination::here);
  CHECK(destination_of({.where = Where::agent, .has_server = false}) == Destination::here);
}

TEST_CASE("destination: a leader serves everything of its region") {
  for (const auto where : {Where::by_method, Where::server, Where::state, Where::leader})
    for (const bool reads : {true, false})
      CHECK(destination_of({.where = where, .is_read = reads}) == Destination::here);
}

TEST_CASE(
    "destination: a follower sends on what changes something, and reads that must be the newest") {
  const auto follower = [](Where where, bool reads, bool stale) {
    return destination_of({.where = where, .is_read = reads, .takes_stale = stale, .leads = false});
  };

  CHECK(follower(Where::by_method, true, false) == Destination::leader);
  CHECK(follower(Where::by_method, true, true) == Destination::here);
  CHECK(follower(Where::by_method, false, false) == Destination::leader);
  CHECK(follower(Where::by_method, false, true) == Destination::leader);
  CHECK(follower(Where::state, false, true) == Destination::here);
  CHECK(follower(Where::leader, true, true) == Destination::leader);
  CHECK(follower(Where::server, false, false) == Destination::here);
}

TEST_CASE("destination: another region comes first, by way of a server") {
  CHECK(destination_of({.where = Where::authority, .other_region = true}) == Destination::region);
  CHECK(destination_of({.where = Where::authority, .leads = false}) == Destination::leader);
  CHECK(destination_of({.other_region = true}) == Destination::region);
  CHECK(destination_of({.where = Where::alloc_node, .other_region = true}) == Destination::region);
  CHECK(destination_of({.other_region = true, .has_server = false}) == Destination::server);
}

TEST_CASE("destination: a client node serves what is about it, and nothing else") {
  CHECK(destination_of({.has_server = false}) == Destination::server);
  CHECK(destination_of({.where = Where::server, .has_server = false}) == Destination::server);
  CHECK(destination_of({.where = Where::asked_node, .has_server = false}) == Destination::node);
  CHECK(destination_of({.where = Where::alloc_node,
                        .other_region = true,
                        .has_server = false,
                        .is_for_this_node = true})
        == Destination::here);
}

TEST_CASE("api_wire: a request comes back as it was, without what is about its connection") {
  net::Request request;
  request.method = "PUT";
  request.target = "/v1/job/a%2Fb?region=eu&stale";
  request.body = std::string{"{\"Job\":\0}", 10};
  request.add_header("X-Nomad-Token", "secret");
  request.add_header("Host", "here:4646");
  request.add_header("Accept-Encoding", "gzip");
  request.add_header("authorization", "Bearer x");

  const auto bytes = write_request(request);
  const auto message = Object<schema::rpc::ApiRequest>::from_bytes(bytes.view());
  REQUIRE(message.has_value());
  net::Request back;
  REQUIRE(read_request(**message, back).has_value());

  CHECK(back.method == "PUT");
  CHECK(back.path == "/v1/job/a/b");
  CHECK(back.parameter_or_empty("region") == "eu");
  CHECK(back.parameter("stale") != nullptr);
  CHECK(back.body == request.body);
  CHECK(back.header("x-nomad-token") == "secret");
  CHECK(back.header("Authorization") == "Bearer x");
  CHECK(back.header_count() == 2);
}

TEST_CASE("api_wire: who passes a request on to a region has it name that one alone") {
  const auto named = [](const std::string& target, std::string_view region) {
    net::Request request;
    request.method = "PUT";
    request.target = target;
    REQUIRE(net::split_target(request));
    const auto bytes = write_request(request, region);
    return copy((*Object<schema::rpc::ApiRequest>::from_bytes(bytes.view()))->getTarget());
  };
  CHECK(named("/v1/acl/token", "eu") == "/v1/acl/token?region=eu");
  CHECK(named("/v1/acl/token?stale&region=us&wait=1%20s&regio%6e=us&", "e u")
        == "/v1/acl/token?region=e+u&stale&wait=1%20s");
  CHECK(named("/v1/acl/token?pretty&region=eu", "eu") == "/v1/acl/token?pretty&region=eu");
  CHECK(named("/v1/acl/token?region=us", "") == "/v1/acl/token?region=us");
}

TEST_CASE("api_wire: a request without a method or with a broken target is refused") {
  for (const auto& [method, target] :
       {std::pair{"", "/v1/jobs"}, {"GET", "jobs"}, {"GET", "/%zz"}}) {
    net::Request request;
    request.method = method;
    request.target = target;
    const auto message = Object<schema::rpc::ApiRequest>::from_bytes(write_request(request).view());
    REQUIRE(message.has_value());
    net::Request back;
    CHECK_FALSE(read_request(**message, back).has_value());
  }
}

TEST_CASE("api_wire: a head is read from pieces of any size, and what follows is body") {
  net::Response response{.status = 404, .content_type = "text/plain"};
  response.headers.push_back({"X-Nomad-Index", "7"});
  const std::string whole{std::string{write_response_head(response, 3).text()} + "abc"};

  for (std::size_t size = 1; size <= whole.size(); ++size) {
    ResponseHeadReader reader;
    std::optional<ResponseHeadReader::Head> head;
    std::string body;
    for (std::size_t at = 0; at < whole.size(); at += size) {
      auto piece = std::string_view{whole}.substr(at, size);
      if (!head) {
        auto fed = reader.feed(piece);
        REQUIRE(fed.has_value());
        head = std::move(*fed);
      }
      body += piece;
    }
    REQUIRE(head.has_value());
    CHECK(head->response.status == 404);
    CHECK(head->response.content_type == "text/plain");
    REQUIRE(head->response.headers.size() == 1);
    CHECK(head->response.headers[0].value == "7");
    CHECK(head->length == 3U);
    CHECK(body == "abc");
  }
}

TEST_CASE("api_wire: what is no head is refused") {
  const auto fed = [](std::string bytes) {
    std::string_view view{bytes};
    return ResponseHeadReader{}.feed(view).error();
  };

  CHECK(fed("\xff\xff\xff\xff") == Error{Errc::corrupt, "the head of the answer is too large"});
  CHECK(fed(std::string{"\x10\0\0\0", 4} + std::string(16, '\xee')).code == Errc::corrupt);
  CHECK(fed(std::string{write_response_head({.status = 0}, {}).text()})
        == Error{Errc::corrupt, "the answer has no status"});
}

}  // namespace
}  // namespace nomad::api
