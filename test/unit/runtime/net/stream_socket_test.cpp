// The engine under all connections: both directions at once, plain and by TLS, readers that do not
// read, ends of one direction, and limits.
#include "runtime/net/stream_socket.hpp"

#include <filesystem>
#include <fstream>
#include <future>
#include <stdexcept>

#include <poll.h>
#include <sys/socket.h>

#include <doctest/doctest.h>

#include "runtime/net/byte_stream.hpp"
#include "runtime/net/listener.hpp"
#include "runtime/net/tls/certificate.hpp"

using namespace nomad;
using namespace nomad::net;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_waiting = 256 * 1024;

/// Sends back what it gets, as long as not too much of that waits; throws when told to.
class Echo final : public StreamSocket {
public:
  Echo(SocketLoop& loop, Accepted accepted, std::atomic<std::size_t>& most)
      : StreamSocket{loop, std::move(accepted.socket)},
        slot_{std::move(accepted.slot)},
        most_{most} {}

  void start(const TlsContext* tls) {
    if (tls != nullptr)
      open(tls->accept(native_handle()));
    else
      open();
  }

  void check(Clock::time_point) override {
    if (throws_at_tick_) throw std::runtime_error{"a bug at a tick"};
  }

  void close() {
    close_socket();
    slot_.leave();
  }

private:
  void on_open() override { read_on(); }

  bool wants_input() const override { return output().size() < most_waiting && !has_ended_; }

  void on_input(std::string_view bytes) override {
    if (bytes == "throw now") throw std::runtime_error{"a bug"};
    throws_at_tick_ = bytes == "throw at the tick";
    output().text() += bytes;
    most_ = std::max<std::size_t>(most_, output().size());
    flush();
  }

  void on_input_end() override {
    has_ended_ = true;
    flush();
  }

  void on_progress() override { read_on(); }

  void on_sent() override {
    if (!has_ended_) return;
    channel().end_output();
    close();
  }

  void on_failure(const Error&) override { close(); }

  ConnectionLimits::Slot slot_;
  std::atomic<std::size_t>& most_;
  bool has_ended_ = false;
  bool throws_at_tick_ = false;
};

struct EchoServer {
  explicit EchoServer(std::shared_ptr<TlsContext> context = {}, std::size_t connections = 10)
      : tls{std::move(context)}, limits{std::make_shared<ConnectionLimits>(connections, 2)} {
    listener
        = Listener::open(
              loop, "127.0.0.1:0", "test", limits,
              {.take =
                   [this](Accepted accepted) {
                     auto echo = std::make_shared<Echo>(loop, std::move(accepted), most);
                     if (loop.add(echo)) echo->start(tls.get());
                   },
               .refuse = [this](int, const std::string&, ConnectionLimits::Refusal) { ++refused; }})
              .value();
    loop.start();
    loop.post([this] { listener->start(); });
  }

  ~EchoServer() {
    loop.post([this] { listener->close(); });
    loop.stop([](StreamSocket& socket) { static_cast<Echo&>(socket).close(); });
  }

  std::unique_ptr<ByteStream> connect() const {
    const auto address = (tls ? "https://" : "http://") + listener->address();
    const auto endpoint = Endpoint::parse(address).value();
    auto made = tls ? secure_connector(tls, "server.global.nomad")(endpoint, {})
                    : connect_plain(endpoint, {});
    return std::move(made).value();
  }

  std::shared_ptr<TlsContext> tls;
  std::shared_ptr<ConnectionLimits> limits;
  std::atomic<std::size_t> most{0};  ///< Bytes that waited for a peer.
  std::atomic<int> refused{0};
  SocketLoop loop{64 * 1024, 100ms};
  std::unique_ptr<Listener> listener;
};

std::shared_ptr<TlsContext> make_context() {
  const auto folder = std::filesystem::temp_directory_path()
                      / ("stream_socket_test." + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream{folder / name} << text;
    return (folder / name).string();
  };
  const auto authority = make_authority({}).value();
  const auto key = make_certificate(authority, {.common_name = "server.global.nomad",
                                                .dns_names = {"server.global.nomad"},
                                                .ip_addresses = {"127.0.0.1"}})
                       .value();
  auto context = TlsContext::make({.ca_file = write("ca.pem", authority.certificate),
                                   .cert_file = write("cert.pem", key.certificate),
                                   .key_file = write("key.pem", key.key)})
                     .value();
  std::filesystem::remove_all(folder);
  return context;
}

std::string text_of(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>('a' + (i * 7 + i / 4096) % 26);
  return text;
}

/// Writes `text` and reads meanwhile, as far as each goes; what came back.
std::string exchange(ByteStream& stream, const std::string& text) {
  std::string back;
  std::string_view rest = text;
  std::array<char, 16 * 1024> buffer{};
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (back.size() < text.size() && std::chrono::steady_clock::now() < end) {
    if (!rest.empty()) rest.remove_prefix(stream.write_some(rest).value());
    const auto got
        = stream.read(buffer.data(), buffer.size(), std::chrono::steady_clock::now() + 1ms);
    if (got) back.append(buffer.data(), *got);
    if (!got && got.error().code != Errc::timeout) return got.error().what;
    if (got && *got == 0) return back + " (closed)";
  }
  return back;
}

void check_both_directions(const EchoServer& server) {
  const auto text = text_of(8'000'000);
  const auto stream = server.connect();
  CHECK(exchange(*stream, text) == text);
}

/// A peer that sends and does not read is not read from either, and gets everything in the end.
void check_slow_reader(EchoServer& server) {
  const auto text = text_of(16'000'000);
  const auto stream = server.connect();
  std::size_t sent = 0;
  const auto patience = 300ms;
  auto last = std::chrono::steady_clock::now();
  while (sent < text.size() && std::chrono::steady_clock::now() - last < patience) {
    const auto went = stream->write_some(std::string_view{text}.substr(sent)).value();
    sent += went;
    if (went > 0) last = std::chrono::steady_clock::now();
  }
  CHECK(sent < text.size());
  CHECK(server.most <= most_waiting + 64 * 1024);
  std::string back;
  std::array<char, 64 * 1024> buffer{};
  while (back.size() < sent) {
    const auto got
        = stream->read(buffer.data(), buffer.size(), std::chrono::steady_clock::now() + 10s);
    REQUIRE(got);
    back.append(buffer.data(), *got);
  }
  CHECK(back == text.substr(0, sent));
}

}  // namespace

TEST_CASE("stream_socket: both directions at once, plain") {
  EchoServer server;
  check_both_directions(server);
}

TEST_CASE("stream_socket: both directions at once by TLS") {
  EchoServer server{make_context()};
  check_both_directions(server);
}

TEST_CASE("stream_socket: a peer that does not read is not read from, plain") {
  EchoServer server;
  check_slow_reader(server);
}

TEST_CASE("stream_socket: a peer that does not read is not read from, by TLS") {
  EchoServer server{make_context()};
  check_slow_reader(server);
}

TEST_CASE("stream_socket: after the end of its input a peer still gets its answer") {
  EchoServer server;
  const auto stream = server.connect();
  REQUIRE(stream->write("the last words", {}));
  ::shutdown(stream->native_handle(), SHUT_WR);
  std::string back;
  std::array<char, 1024> buffer{};
  for (;;) {
    const auto got
        = stream->read(buffer.data(), buffer.size(), std::chrono::steady_clock::now() + 10s);
    REQUIRE(got);
    if (*got == 0) break;
    back.append(buffer.data(), *got);
  }
  CHECK(back == "the last words");
}

TEST_CASE("stream_socket: what is thrown for one socket ends that one, and the ticks go on") {
  EchoServer server;
  const auto other = server.connect();
  for (const std::string what : {"throw at the tick", "throw now", "throw at the tick"}) {
    const auto stream = server.connect();
    REQUIRE(stream->write(what, {}));
    std::string back;
    std::array<char, 1024> buffer{};
    for (;;) {
      const auto got
          = stream->read(buffer.data(), buffer.size(), std::chrono::steady_clock::now() + 10s);
      if (!got) CHECK(got.error().code != Errc::timeout);
      if (!got || *got == 0) break;
      back.append(buffer.data(), *got);
    }
    CHECK(back == (what == "throw now" ? "" : what));
  }
  CHECK(exchange(*other, "the other") == "the other");
}

TEST_CASE("stream_socket: connections beyond a limit are refused, and their places come free") {
  EchoServer server;  // two for each address
  auto first = server.connect();
  const auto second = server.connect();
  CHECK(exchange(*first, "one") == "one");
  CHECK(exchange(*second, "two") == "two");
  const auto third = server.connect();
  std::array<char, 16> buffer{};
  const auto got
      = third->read(buffer.data(), buffer.size(), std::chrono::steady_clock::now() + 10s);
  CHECK((!got || *got == 0));
  CHECK(server.refused == 1);
  first.reset();
  CHECK(server.limits->wait_for_count(1, std::chrono::steady_clock::now() + 10s));
  const auto fourth = server.connect();
  CHECK(exchange(*fourth, "four") == "four");
}

TEST_CASE("connection_limits: in all and for each address; dialed ones are only counted") {
  const auto limits = std::make_shared<ConnectionLimits>(3, 2);
  using Refusal = ConnectionLimits::Refusal;
  using Slot = ConnectionLimits::Slot;
  auto first = limits->enter("10.0.0.1");
  auto second = limits->enter("10.0.0.1");
  CHECK(std::get<Refusal>(limits->enter("10.0.0.1")) == Refusal::too_many_of_address);
  auto dialed = limits->enter_dialed();
  CHECK(limits->count() == 3);
  CHECK(std::get<Refusal>(limits->enter("10.0.0.2")) == Refusal::too_many);
  std::get<Slot>(first).leave();
  CHECK(std::holds_alternative<Slot>(limits->enter("")));
  auto again = limits->enter("10.0.0.1");
  CHECK(std::holds_alternative<Slot>(again));
  CHECK(limits->count() == 3);
}

TEST_CASE("connection_limits: what the requests of an address hold is counted until it goes") {
  const auto limits = std::make_shared<ConnectionLimits>(9, 9);
  using Slot = ConnectionLimits::Slot;
  const auto enter
      = [&limits](const char* address) { return std::get<Slot>(limits->enter(address)); };
  auto first = enter("@a/web");
  auto second = enter("@a/web");
  CHECK(first.hold(60, 100));
  CHECK_FALSE(second.hold(41, 100));
  CHECK(second.hold(40, 100));
  CHECK(enter("@b/web").hold(100, 100));
  CHECK(enter("").hold(1000, 100));
  CHECK_FALSE(first.hold(61, 100));
  CHECK(first.hold(10, 100));
  CHECK(second.hold(90, 100));
  Slot moved = std::move(second);
  moved.leave();
  CHECK(first.hold(100, 100));
}
