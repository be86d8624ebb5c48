// What another agent passed on, answered by a tunnel over the stream of that call.
#include "actors/api/forward/stream_exchange.hpp"

#include <doctest/doctest.h>

#include "actors/api/forward/api_wire.hpp"
#include "runtime/net/http/responder.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

/// The other agent's end of the stream, and what it sees.
class PlayedStream : public net::RpcStream {
public:
  bool write(Bytes bytes) override {
    if (sent.size() >= window) return false;
    sent += bytes.text();
    return true;
  }

  void end() override { ++ends; }

  void on_data(std::function<void(Bytes, bool)> callback) override { data = std::move(callback); }

  void taken(std::size_t count) override { acknowledged += count; }

  void on_writable(std::function<void()> callback) override { writable = std::move(callback); }

  void on_closed(std::function<void()>) override {}

  std::string sent;
  std::size_t window = 1'000'000;
  int ends = 0;
  std::size_t acknowledged = 0;
  std::function<void(Bytes, bool)> data;
  std::function<void()> writable;
};

struct PlayedExchange {
  PlayedExchange() {
    rpc::Inbound inbound;
    inbound.stream = stream;
    inbound.reply = rpc::ReplyTo{[this](Result<Bytes> outcome) { reply = std::move(outcome); }};
    inbound.on_cancelled
        = [this](std::function<void()> callback) { cancelled = std::move(callback); };
    exchange = StreamExchange::make(inbound);
    tunnel = net::Responder{exchange}.tunnel({.status = 101, .headers = {{"Upgrade", "echo"}}});
    head = stream->sent.size();
    tunnel.on_data([this](std::string_view bytes, bool last) {
      received += bytes;
      if (last) received += "<end>";
    });
    tunnel.on_abandoned([this] { ++abandoned; });
  }

  std::string sent() const { return stream->sent.substr(head); }

  std::shared_ptr<PlayedStream> stream = std::make_shared<PlayedStream>();
  std::optional<Result<Bytes>> reply;
  std::function<void()> cancelled;
  std::shared_ptr<StreamExchange> exchange;
  net::Tunnel tunnel;
  std::size_t head = 0;
  std::string received;
  int abandoned = 0;
};

}  // namespace

TEST_CASE("stream_exchange: a tunnel's head says so, and bytes go both ways") {
  PlayedExchange played;
  std::string_view bytes = played.stream->sent;
  const auto head = ResponseHeadReader{}.feed(bytes);
  REQUIRE(head.has_value());
  CHECK((*head)->response.status == 101);
  CHECK_FALSE((*head)->length.has_value());

  played.stream->data(Bytes::copy(std::string_view{"in"}), false);
  CHECK(played.received == "in");
  CHECK(played.stream->acknowledged == 0);
  played.tunnel.taken(2);
  CHECK(played.stream->acknowledged == 2);
  CHECK(played.tunnel.write("out"));
  CHECK(played.sent() == "out");
}

TEST_CASE("stream_exchange: each direction of a tunnel ends for itself") {
  PlayedExchange played;
  played.stream->data(Bytes::copy(std::string_view{"last"}), true);
  CHECK(played.received == "last<end>");
  CHECK(played.tunnel.write("still"));
  played.tunnel.end_output();
  CHECK(played.stream->ends == 1);
  CHECK_FALSE(played.reply);
  CHECK_FALSE(played.tunnel.write("more"));

  played.tunnel.close();
  CHECK(played.stream->ends == 1);
  REQUIRE(played.reply);
  CHECK(played.reply->has_value());
}

TEST_CASE("stream_exchange: a tunnel ends after what waits for the window") {
  PlayedExchange played;
  played.stream->window = played.stream->sent.size();
  int drained = 0;
  CHECK(played.tunnel.write("waits", [&] { ++drained; }));
  played.tunnel.close();
  played.exchange.reset();  // nobody else needs it any more
  CHECK(drained == 0);
  CHECK_FALSE(played.reply);

  played.stream->window = 1'000'000;
  played.stream->writable();
  CHECK(played.sent() == "waits");
  CHECK(drained == 1);
  CHECK(played.reply);
  CHECK(played.abandoned == 0);
}

TEST_CASE("stream_exchange: a cancelled call abandons the tunnel, a cut one fails the call") {
  PlayedExchange played;
  played.cancelled();
  CHECK(played.abandoned == 1);
  CHECK(played.tunnel.abandoned());
  CHECK_FALSE(played.tunnel.write("late"));
  played.stream->data(Bytes::copy(std::string_view{"late"}), false);
  CHECK(played.received.empty());
  CHECK(played.stream->acknowledged == 4);  // nobody takes it, but the window goes on

  PlayedExchange cut;
  cut.tunnel.abort();
  REQUIRE(cut.reply);
  CHECK(cut.reply->error() == Error{Errc::cancelled, "the answer broke off"});
}

TEST_CASE("api_wire: a change of protocol travels, the rest of the connection does not") {
  net::Request request;
  request.method = "GET";
  request.target = "/v1/x";
  request.add_header("Connection", "keep-alive, Upgrade");
  request.add_header("Upgrade", "websocket");
  request.add_header("Sec-WebSocket-Key", "key");
  const auto message = Object<schema::rpc::ApiRequest>::from_bytes(write_request(request).view());
  REQUIRE(message.has_value());
  net::Request back;
  REQUIRE(read_request(**message, back).has_value());
  CHECK(back.upgrade() == "websocket");
  CHECK(back.header("Sec-WebSocket-Key") == "key");
  CHECK(back.header_count() == 3);

  net::Request plain;
  plain.method = "GET";
  plain.target = "/v1/x";
  plain.add_header("Upgrade", "websocket");  // named by no Connection: it means nothing
  const auto other = Object<schema::rpc::ApiRequest>::from_bytes(write_request(plain).view());
  net::Request read;
  REQUIRE(read_request(**other, read).has_value());
  CHECK(read.upgrade().empty());
}
