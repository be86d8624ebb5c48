#include "runtime/net/rpc/rpc_mux.hpp"

#include <map>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::net;
using namespace std::chrono_literals;

namespace {

const RpcClock::time_point start{};

RpcRequest request(std::string_view body, RpcPriority priority = RpcPriority::normal) {
  return {.method = 7,
          .priority = priority,
          .timeout = 5s,
          .head = Bytes::copy("head"),
          .body = Bytes::copy(body)};
}

/// Two ends with a wire between them that carries what `pump` takes from one to the other.
struct Pair {
  explicit Pair(RpcLimits limits = {})
      : dialer{RpcMux::Side::dialer, {.region = "global", .name = "d"}, limits, start},
        acceptor{RpcMux::Side::acceptor, {.role = RpcRole::server, .name = "a"}, limits, start} {}

  RpcMux dialer;
  RpcMux acceptor;
  RpcEvents of_dialer;
  RpcEvents of_acceptor;

  /// One frame, if there is one.
  static std::string frame(RpcMux& from, RpcEvents& events) {
    auto piece = from.next_output(events);
    if (!piece) return {};
    return std::string{reinterpret_cast<const char*>(piece->header.data()), piece->header.size()}
           + std::string{piece->payload.text()};
  }

  static void carry(RpcMux& from, RpcEvents& sent, RpcMux& to, RpcEvents& got) {
    while (from.has_output()) {
      const auto bytes = frame(from, sent);
      REQUIRE(to.receive(std::as_bytes(std::span{bytes}), start, got));
    }
  }

  void pump() {
    while (dialer.has_output() || acceptor.has_output()) {
      carry(dialer, of_dialer, acceptor, of_acceptor);
      carry(acceptor, of_acceptor, dialer, of_dialer);
    }
  }
};

template <class Event>
std::vector<Event> take(RpcEvents& events) {
  std::vector<Event> found;
  for (const auto& event : events)
    if (const auto* wanted = std::get_if<Event>(&event)) found.push_back(*wanted);
  std::erase_if(events, [](const RpcEvent& event) { return std::holds_alternative<Event>(event); });
  return found;
}

/// What the acceptor says to these bytes after a proper hello.
std::string failure_of(const std::string& bytes, RpcLimits limits = {}) {
  Pair pair{limits};
  pair.pump();
  const auto outcome
      = pair.acceptor.receive(std::as_bytes(std::span{bytes}), start, pair.of_acceptor);
  return outcome ? "" : outcome.error().what;
}

std::string frame(RpcFrameHeader header, std::string_view payload = {}) {
  header.length = static_cast<std::uint32_t>(payload.size());
  const auto bytes = encode(header);
  return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()}
         + std::string{payload};
}

}  // namespace

TEST_CASE("rpc_mux: a request is answered, both ways at once") {
  Pair pair;
  const auto ours = pair.dialer.call(request("question"), start).value();
  const auto theirs = pair.acceptor.call(request("other"), start).value();
  pair.pump();

  const auto asked = take<RpcRequested>(pair.of_acceptor);
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].stream == ours);
  CHECK(asked[0].request.method == 7);
  CHECK(asked[0].request.timeout == 5s);
  CHECK(asked[0].request.head.text() == "head");
  CHECK(asked[0].request.body.text() == "question");
  CHECK(take<RpcGreeted>(pair.of_acceptor).at(0).hello.region == "global");
  pair.acceptor.respond(ours, Bytes::copy("answer"));
  pair.dialer.fail(theirs, {Errc::conflict, "no"});
  pair.pump();

  const auto answers = take<RpcAnswered>(pair.of_dialer);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].outcome.value().text() == "answer");
  CHECK(answers[0].by_peer);
  CHECK(take<RpcAnswered>(pair.of_acceptor).at(0).outcome.error() == Error{Errc::conflict, "no"});
  CHECK(pair.dialer.open_streams() == 0);
  CHECK(pair.acceptor.open_streams() == 0);
  CHECK(pair.dialer.queued_bytes() == 0);
}

TEST_CASE("rpc_mux: messages of every size cross in pieces of every size") {
  std::mt19937_64 random{42};
  for (const std::size_t size : {0, 1, 65'519, 65'520, 65'521, 200'000, 1'000'000}) {
    CAPTURE(size);
    Pair pair;
    std::string body(size, 'x');
    for (auto& c : body)
      c = static_cast<char>(random());
    const auto id = pair.dialer.call(request(body), start).value();
    std::string wire;
    while (pair.dialer.has_output())
      wire += Pair::frame(pair.dialer, pair.of_dialer);
    while (!wire.empty()) {
      const auto count = std::min<std::size_t>(wire.size(), 1 + random() % 100'000);
      REQUIRE(pair.acceptor.receive(std::as_bytes(std::span{wire}.first(count)), start,
                                    pair.of_acceptor));
      wire.erase(0, count);
    }
    const auto asked = take<RpcRequested>(pair.of_acceptor);
    REQUIRE(asked.size() == 1);
    CHECK(asked[0].request.body.text() == body);
    pair.acceptor.respond(id, asked[0].request.body);
    pair.pump();
    CHECK(take<RpcAnswered>(pair.of_dialer).at(0).outcome.value().text() == body);
  }
}

TEST_CASE("rpc_mux: what is urgent leaves before bulk that was queued first") {
  Pair pair;
  pair.pump();
  const auto bulk
      = pair.dialer.call(request(std::string(1'000'000, 'b'), RpcPriority::bulk), start);
  const auto before = Pair::frame(pair.dialer, pair.of_dialer);
  const auto urgent = pair.dialer.call(request("now", RpcPriority::urgent), start);

  const auto next = Pair::frame(pair.dialer, pair.of_dialer);

  CHECK(decode_rpc_frame_header(std::as_bytes(std::span{before}))->stream == bulk.value());
  CHECK(decode_rpc_frame_header(std::as_bytes(std::span{next}))->stream == urgent.value());
}

TEST_CASE("rpc_mux: an urgent request that overtakes another harms neither") {
  Pair pair;
  REQUIRE(pair.dialer.call(request("first", RpcPriority::bulk), start));
  REQUIRE(pair.dialer.call(request("second"), start));
  REQUIRE(pair.dialer.call(request("third", RpcPriority::urgent), start));
  REQUIRE(pair.dialer.call(request("fourth"), start));

  pair.pump();

  std::vector<std::string> arrived;
  for (const auto& each : take<RpcRequested>(pair.of_acceptor)) {
    arrived.emplace_back(each.request.body.text());
    pair.acceptor.respond(each.stream, Bytes::copy("done"));
  }
  CHECK(arrived == std::vector<std::string>{"third", "second", "fourth", "first"});
  pair.pump();
  CHECK(take<RpcAnswered>(pair.of_dialer).size() == 4);
}

TEST_CASE("rpc_mux: streams of a class take turns, and no class starves") {
  Pair pair;
  pair.pump();
  const auto one = pair.dialer.call(request(std::string(300'000, '1')), start).value();
  const auto two = pair.dialer.call(request(std::string(300'000, '2')), start).value();
  const auto bulk
      = pair.dialer.call(request(std::string(300'000, 'b'), RpcPriority::bulk), start).value();
  std::vector<RpcStreamId> order;
  for (int i = 0; i < 4; ++i) {
    const auto bytes = Pair::frame(pair.dialer, pair.of_dialer);
    order.push_back(decode_rpc_frame_header(std::as_bytes(std::span{bytes}))->stream);
  }
  CHECK(order == std::vector<RpcStreamId>{one, two, one, two});

  bool bulk_came = false;
  for (int i = 0; i < 100 && !bulk_came; ++i) {
    REQUIRE(pair.dialer.post(
        {.priority = RpcPriority::urgent, .one_way = true, .head = {}, .body = Bytes::copy("beat")},
        1));
    const auto bytes = Pair::frame(pair.dialer, pair.of_dialer);
    bulk_came = decode_rpc_frame_header(std::as_bytes(std::span{bytes}))->stream == bulk
                || decode_rpc_frame_header(std::as_bytes(std::span{bytes}))->stream == one;
  }
  CHECK(bulk_came);
}

TEST_CASE("rpc_mux: one-way messages of a class keep their order, whatever their size") {
  Pair pair;
  for (std::uint64_t i = 0; i < 20; ++i)
    REQUIRE(pair.dialer.post({.method = static_cast<std::uint16_t>(i),
                              .one_way = true,
                              .head = {},
                              .body = Bytes::copy(std::string(i % 3 == 0 ? 150'000 : 10, 'p'))},
                             i));
  pair.pump();

  const auto got = take<RpcRequested>(pair.of_acceptor);
  REQUIRE(got.size() == 20);
  for (std::uint64_t i = 0; i < 20; ++i) {
    CHECK(got[i].request.method == i);
    CHECK(got[i].request.one_way);
    CHECK(got[i].request.body.size() == (i % 3 == 0 ? 150'000 : 10));
  }
  const auto posted = take<RpcPosted>(pair.of_dialer);
  REQUIRE(posted.size() == 20);
  CHECK(posted[19].number == 19);
}

TEST_CASE("rpc_mux: a call whose deadline passes is answered and withdrawn") {
  Pair pair;
  const auto id = pair.dialer.call(request("slow"), start).value();
  pair.pump();
  CHECK(take<RpcRequested>(pair.of_acceptor).size() == 1);

  REQUIRE(pair.dialer.expire(start + 4999ms, pair.of_dialer));
  CHECK(take<RpcAnswered>(pair.of_dialer).empty());
  REQUIRE(pair.dialer.expire(start + 5s, pair.of_dialer));
  const auto answers = take<RpcAnswered>(pair.of_dialer);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].outcome.error().code == Errc::timeout);
  CHECK(answers[0].was_sent);
  CHECK_FALSE(answers[0].by_peer);
  pair.pump();
  CHECK(take<RpcCancelled>(pair.of_acceptor).at(0).stream == id);

  pair.acceptor.respond(id, Bytes::copy("too late"));
  pair.pump();
  CHECK(take<RpcAnswered>(pair.of_dialer).empty());
}

TEST_CASE("rpc_mux: the serving side drops a request at its deadline too") {
  Pair pair;
  const auto id = pair.dialer.call(request("slow"), start).value();
  pair.pump();
  REQUIRE(pair.acceptor.expire(start + 5s, pair.of_acceptor));
  CHECK(take<RpcCancelled>(pair.of_acceptor).at(0).stream == id);
  CHECK(pair.acceptor.open_streams() == 0);
}

TEST_CASE("rpc_mux: a lost connection answers everything and says what had left") {
  Pair pair;
  pair.pump();
  const auto sent = pair.dialer.call(request("sent"), start).value();
  pair.pump();
  const auto waiting = pair.dialer.call(request("waiting"), start).value();
  REQUIRE(pair.dialer.post({.one_way = true, .head = {}, .body = {}}, 5));
  pair.dialer.abort({Errc::unavailable, "gone"}, pair.of_dialer);

  const auto answers = take<RpcAnswered>(pair.of_dialer);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].stream == sent);
  CHECK(answers[0].was_sent);
  CHECK(answers[1].stream == waiting);
  CHECK_FALSE(answers[1].was_sent);
  CHECK(take<RpcPosted>(pair.of_dialer).at(0).outcome.error().code == Errc::unavailable);
  CHECK_FALSE(pair.dialer.call(request("more"), start));
}

TEST_CASE("rpc_mux: a byte stream flows both ways under its window") {
  Pair pair{{.window_bytes = 100'000}};
  auto open = request("open", RpcPriority::bulk);
  open.byte_stream = true;
  const auto id = pair.dialer.call(open, start).value();
  pair.pump();
  CHECK(take<RpcRequested>(pair.of_acceptor).at(0).request.byte_stream);

  std::size_t written = 0;
  while (pair.acceptor.write(id, Bytes::copy(std::string(30'000, 'd'))))
    written += 30'000;
  CHECK(written == 120'000);  // a window's worth, rounded up to the last write
  pair.pump();
  std::size_t got = 0;
  for (const auto& data : take<RpcData>(pair.of_dialer))
    got += data.bytes.size();
  CHECK(got == 100'000);
  CHECK(take<RpcWritable>(pair.of_acceptor).size() == 1);

  pair.dialer.taken(id, got);
  pair.acceptor.end_write(id);
  pair.acceptor.respond(id, Bytes::copy("done"));
  pair.pump();
  const auto rest = take<RpcData>(pair.of_dialer);
  REQUIRE_FALSE(rest.empty());
  CHECK(rest.back().last);
  CHECK(take<RpcAnswered>(pair.of_dialer).at(0).outcome.value().text() == "done");
  CHECK(pair.acceptor.queued_bytes() == 0);
}

TEST_CASE("rpc_mux: readers that stall hold up neither the connection nor those that read") {
  constexpr std::size_t piece = 1'000;
  constexpr std::size_t window = 20'000;
  constexpr std::size_t bound = 100'000;
  Pair pair{{.max_queue_bytes = bound, .window_bytes = window}};
  std::vector<RpcStreamId> streams;
  for (int i = 0; i < 10; ++i) {
    auto open = request("follow", RpcPriority::bulk);
    open.byte_stream = true;
    streams.push_back(pair.dialer.call(open, start).value());
  }
  pair.pump();
  std::map<RpcStreamId, std::size_t> written;
  const auto write_all = [&](RpcStreamId id) {
    while (pair.acceptor.write(id, Bytes::copy(std::string(piece, 'd'))))
      written[id] += piece;
  };
  // The first window of each leaves; nobody takes it, and more is written.
  for (int round = 0; round < 2; ++round)
    for (const auto id : streams) {
      write_all(id);
      pair.pump();
    }
  CHECK(pair.acceptor.queued_bytes() >= bound);
  CHECK(pair.acceptor.queued_bytes() <= bound + streams.size() * piece);

  CHECK(pair.acceptor.wants_input());
  const auto call = pair.acceptor.call(request("more"), start);
  REQUIRE(call);
  pair.pump();
  CHECK(take<RpcRequested>(pair.of_dialer).size() == 1);

  // One of them reads: it gets all of a megabyte, however long the others stall.
  const auto reader = streams.back();
  std::size_t got = 0;
  take<RpcWritable>(pair.of_acceptor);
  for (int turn = 0; turn < 5'000 && written[reader] < 1'000'000; ++turn) {
    for (const auto& data : take<RpcData>(pair.of_dialer)) {
      if (data.stream != reader) continue;
      got += data.bytes.size();
      pair.dialer.taken(reader, data.bytes.size());
    }
    pair.pump();
    for (const auto& again : take<RpcWritable>(pair.of_acceptor))
      write_all(again.stream);
    pair.pump();
  }
  CHECK(got + window >= 1'000'000);
  CHECK(pair.acceptor.wants_input());

  // When they are gone, nothing is left of what they did not read.
  for (const auto id : streams)
    pair.dialer.cancel(id);
  pair.pump();
  CHECK(pair.acceptor.queued_bytes() == 0);
}

TEST_CASE("rpc_mux: too many requests are refused one by one") {
  Pair pair{{.max_streams = 2}};
  for (int i = 0; i < 3; ++i)
    REQUIRE(pair.dialer.call(request(std::string(100'000, 'x')), start));
  pair.pump();
  CHECK(take<RpcRequested>(pair.of_acceptor).size() == 2);
  const auto answers = take<RpcAnswered>(pair.of_dialer);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].outcome.error() == Error{Errc::overloaded, "too many requests are open"});
}

TEST_CASE("rpc_mux: our own queue is bounded") {
  Pair pair{{.max_queue_bytes = 100'000}};
  REQUIRE(pair.dialer.call(request(std::string(90'000, 'x')), start));
  const Error full{Errc::overloaded, "too much waits to be sent to this peer"};
  CHECK(pair.dialer.call(request(std::string(20'000, 'x')), start).error() == full);
  CHECK(pair.dialer
            .post({.one_way = true, .head = {}, .body = Bytes::copy(std::string(20'000, 'x'))}, 1)
            .error()
        == full);
  pair.pump();
  CHECK(pair.dialer.call(request(std::string(20'000, 'x')), start));
}

TEST_CASE("rpc_mux: requests and answers are bounded, and nothing is begun before the end") {
  Pair pair{{.max_message_bytes = 1'000}};
  CHECK(pair.dialer.call(request(std::string(1'001, 'x')), start).error()
        == Error{Errc::too_large, "the request is too large"});
  const auto id = pair.dialer.call(request("x"), start).value();
  pair.pump();
  pair.acceptor.respond(id, Bytes::copy(std::string(1'001, 'x')));
  pair.pump();
  CHECK(take<RpcAnswered>(pair.of_dialer).at(0).outcome.error()
        == Error{Errc::too_large, "the answer is too large"});

  pair.dialer.say_goodbye("enough");
  CHECK(pair.dialer.call(request("x"), start).error()
        == Error{Errc::unavailable, "the connection is about to close"});
}

TEST_CASE("rpc_mux: pings keep a silent connection, and a dead one is given up") {
  Pair pair;
  pair.pump();
  REQUIRE(pair.dialer.expire(start + 9s, pair.of_dialer));
  CHECK_FALSE(pair.dialer.has_output());
  REQUIRE(pair.dialer.expire(start + 10s, pair.of_dialer));
  CHECK(pair.dialer.has_output());
  const auto ping = Pair::frame(pair.dialer, pair.of_dialer);
  REQUIRE(pair.acceptor.receive(std::as_bytes(std::span{ping}), start + 10s, pair.of_acceptor));
  const auto pong = Pair::frame(pair.acceptor, pair.of_acceptor);
  REQUIRE(pair.dialer.receive(std::as_bytes(std::span{pong}), start + 10s, pair.of_dialer));
  CHECK(pair.dialer.expire(start + 34s, pair.of_dialer));
  CHECK(pair.dialer.expire(start + 36s, pair.of_dialer).error().what
        == "the peer has been silent for 25000 ms");
}

TEST_CASE("rpc_mux: each fault of a peer ends the connection with its sentence") {
  constexpr auto first_last
      = RpcFrameHeader{.kind = RpcFrameKind::request, .first = true, .last = true, .stream = 1};
  const auto with = [](RpcFrameHeader header, auto change) {
    change(header);
    return header;
  };
  const std::string whole(12, '\0');

  CHECK(failure_of("GET / HTTP/1.1\r\n\r\n") == "these are no frames of ours");
  CHECK(failure_of("GE") == "these are no frames of ours");
  CHECK(failure_of(frame(with(first_last, [](auto& h) { h.stream = 2; }), whole))
        == "request: under an id that is not the peer's");
  CHECK(failure_of(frame(first_last, whole) + frame(first_last, whole))
        == "request: under an id used before");
  CHECK(failure_of(frame(first_last, "short")) == "request: cut short");
  CHECK(failure_of(frame(first_last, std::string(8, '\0') + "\xff\xff\xff\xff"))
        == "request: cut short");
  CHECK(failure_of(frame(with(first_last, [](auto& h) { h.first = false; }), whole))
        == "request: of a stream that never was");
  CHECK(failure_of(frame(RpcFrameHeader{.kind = RpcFrameKind::response, .stream = 2}, "x"))
        == "response: of a stream that never was");
  CHECK(failure_of(frame(first_last, whole)
                   + frame(RpcFrameHeader{.kind = RpcFrameKind::data, .stream = 1}, "x"))
        == "data: where none was announced");
  const auto stream = with(first_last, [](auto& h) { h.byte_stream = true; });
  const RpcFrameHeader data{.kind = RpcFrameKind::data, .stream = 1};
  const RpcFrameHeader window{.kind = RpcFrameKind::window, .stream = 1};
  CHECK(failure_of(frame(stream, whole) + frame(data, std::string(1'001, 'x')),
                   {.window_bytes = 1'000})
        == "data: beyond its window");
  CHECK(failure_of(frame(stream, whole) + frame(window, "x")) == "window: of a wrong size");
  CHECK(failure_of(frame(stream, whole) + frame(window, "\xff\xff\xff\xff"))
        == "window: larger than a window can be");
  CHECK(failure_of(frame(first_last, whole)
                   + frame(with(first_last, [](auto& h) { h.first = false; }), whole))
        == "request: goes on after its end");
  CHECK(failure_of(frame(first_last, whole)
                   + frame(RpcFrameHeader{.kind = RpcFrameKind::response, .stream = 1}, "x"))
        == "response: to a request of the peer's own");
  CHECK(failure_of(frame(with(first_last,
                              [](auto& h) {
                                h.one_way = true;
                                h.last = false;
                                h.stream = 0;
                              })))
        == "request: an empty piece");
  CHECK(failure_of(frame(RpcFrameHeader{.kind = RpcFrameKind::hello}, encode(RpcHello{})))
        == "hello: sent twice");
  CHECK(failure_of(frame(with(first_last, [](auto& h) { h.one_way = true; }), whole))
        == "request: one-way, but a stream");
  CHECK(failure_of(frame(with(first_last,
                              [](auto& h) {
                                h.one_way = true;
                                h.first = false;
                                h.stream = 0;
                              }),
                         whole))
        == "request: goes on without a beginning");
  const auto piece
      = frame(with(first_last, [](auto& h) { h.last = false; }), std::string(60'000, 'x'));
  const auto more = frame(with(first_last, [](auto& h) { h.first = h.last = false; }),
                          std::string(60'000, 'x'));
  CHECK(failure_of(piece + more, {.max_message_bytes = 100'000})
        == "a message of more than 100000 bytes");
  CHECK(failure_of(piece + more, {.max_assembling_bytes = 100'000})
        == "unfinished messages of more than 100000 bytes");
  CHECK(failure_of(piece + more) == "");
}

TEST_CASE("rpc_mux: an answer to a request that has not left yet is a fault") {
  Pair pair;
  pair.pump();
  REQUIRE(pair.acceptor.call(request("waits"), start));
  const auto early = frame(
      RpcFrameHeader{.kind = RpcFrameKind::response, .first = true, .last = true, .stream = 2},
      "x");
  CHECK(pair.acceptor.receive(std::as_bytes(std::span{early}), start, pair.of_acceptor).error().what
        == "response: to a request that was not sent");
}

TEST_CASE("rpc_mux: nothing is believed before the hello, and versions must meet") {
  RpcMux mux{RpcMux::Side::acceptor, {}, {}, start};
  RpcEvents events;
  const auto early = frame(RpcFrameHeader{.kind = RpcFrameKind::ping});
  CHECK(mux.receive(std::as_bytes(std::span{early}), start, events).error().what
        == "ping: sent before the hello");

  RpcMux other{RpcMux::Side::acceptor, {}, {}, start};
  const auto newer = frame(RpcFrameHeader{.kind = RpcFrameKind::hello},
                           encode(RpcHello{.min_version = 3, .max_version = 5}));
  CHECK(other.receive(std::as_bytes(std::span{newer}), start, events).error().what
        == "hello: the peer speaks versions 3 to 5 of the protocol, we speak 1");
}

TEST_CASE("rpc_mux: random traffic over a slow wire answers every call once") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  Pair pair{{.max_queue_bytes = 4'000'000, .window_bytes = 20'000}};
  std::map<RpcStreamId, std::size_t> open;  // calls of the dialer, by the size of their body
  std::size_t answered = 0;
  std::size_t called = 0;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 3 == 0 && step < 2500) {
      const std::size_t size = random() % (random() % 10 == 0 ? 300'000 : 500);
      const auto id = pair.dialer.call(
          request(std::string(size, 'r'), static_cast<RpcPriority>(random() % 3)), start);
      if (id) {
        open[*id] = size;
        ++called;
      }
    }
    for (int i = 0; i < 3; ++i) {
      const auto there = Pair::frame(pair.dialer, pair.of_dialer);
      REQUIRE(pair.acceptor.receive(std::as_bytes(std::span{there}), start, pair.of_acceptor));
      const auto back = Pair::frame(pair.acceptor, pair.of_acceptor);
      REQUIRE(pair.dialer.receive(std::as_bytes(std::span{back}), start, pair.of_dialer));
    }
    for (const auto& asked : take<RpcRequested>(pair.of_acceptor))
      if (random() % 2 == 0)
        pair.acceptor.respond(asked.stream, asked.request.body);
      else
        pair.acceptor.fail(asked.stream,
                           {Errc::rejected, std::to_string(asked.request.body.size())});
    for (const auto& answer : take<RpcAnswered>(pair.of_dialer)) {
      ++answered;
      REQUIRE(open.contains(answer.stream));
      const auto size
          = answer.outcome ? answer.outcome->size() : std::stoull(answer.outcome.error().what);
      CHECK(size == open[answer.stream]);
      open.erase(answer.stream);
    }
  }
  pair.pump();
  for (const auto& asked : take<RpcRequested>(pair.of_acceptor))
    pair.acceptor.respond(asked.stream, {});
  pair.pump();
  answered += take<RpcAnswered>(pair.of_dialer).size();
  CHECK(answered == called);
  CHECK(called > 100);
  CHECK(pair.dialer.queued_bytes() == 0);
  CHECK(pair.acceptor.queued_bytes() == 0);
  CHECK(pair.acceptor.open_streams() == 0);
}
