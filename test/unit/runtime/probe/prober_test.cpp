// Probes against real sockets: what passes, what fails and how that reads, and what peers can do to
// the prober.
#include "runtime/probe/prober.hpp"

#include <filesystem>
#include <fstream>
#include <future>

#include <sys/resource.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/net/tls/certificate.hpp"
#include "test/support/eventually.hpp"
#include "test/support/scripted_server.hpp"

using namespace nomad;
using namespace nomad::probe;
using namespace nomad::test;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

Probe to(const ScriptedServer& server, Kind kind = Kind::http) {
  Probe probe;
  probe.kind = kind;
  probe.host = "127.0.0.1";
  probe.port = server.port();
  probe.timeout = 10s;
  probe.path = "/health";
  return probe;
}

Outcome ask(Prober& prober, Probe probe) {
  std::promise<Outcome> promise;
  auto outcome = promise.get_future();
  prober.start(1, std::move(probe), [&](Outcome out) { promise.set_value(std::move(out)); });
  REQUIRE(outcome.wait_for(20s) == std::future_status::ready);
  return outcome.get();
}

Outcome ask(Probe probe) {
  const auto prober = make_prober();
  return ask(*prober, std::move(probe));
}

/// A port where nobody listens.
std::uint16_t closed_port() {
  const ScriptedServer gone{[](Visitor&) {}};
  return gone.port();
}

/// What the last visitor has asked for.
struct Requests {
  std::mutex guard;
  std::vector<std::string> seen;

  ScriptedServer::Treat note_and(std::function<std::string(const std::string&)> answer) {
    return [this, answer = std::move(answer)](Visitor& visitor) {
      auto request = visitor.read_request();
      const auto said = answer(request);
      {
        const std::lock_guard lock{guard};
        seen.push_back(std::move(request));
      }
      visitor.write(said);
    };
  }
};

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Certificates of a temporary authority.
struct Certificates {
  std::filesystem::path folder
      = std::filesystem::temp_directory_path() / fmt::format("probe-{}", ::getpid());

  Certificates() {
    std::filesystem::create_directories(folder);
    const auto authority = net::make_authority({}).value();
    const auto made
        = net::make_certificate(
              authority, {.common_name = "web", .dns_names = {"web.example"}, .ip_addresses = {}})
              .value();
    std::ofstream{folder / "cert.pem"} << made.certificate;
    std::ofstream{folder / "key.pem"} << made.key;
    std::ofstream{folder / "ca.pem"} << authority.certificate;
  }

  ~Certificates() { std::filesystem::remove_all(folder); }

  std::shared_ptr<net::TlsContext> context() const {
    return net::TlsContext::make({.ca_file = folder / "ca.pem",
                                  .cert_file = folder / "cert.pem",
                                  .key_file = folder / "key.pem",
                                  .verify_incoming = false})
        .value();
  }
};

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// -- HTTP/2, as much as gRPC's health check takes

std::string h2_frame(char type, char flags, char stream, const std::string& payload) {
  std::string out;
  for (int shift = 16; shift >= 0; shift -= 8)
    out += static_cast<char>(payload.size() >> shift);
  return out + type + flags + std::string(3, '\0') + stream + payload;
}

/// A header that is neither indexed nor compressed.
std::string h2_header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name
         + static_cast<char>(value.size()) + value;
}

constexpr char h2_data = 0;
constexpr char h2_headers = 1;
constexpr char h2_settings = 4;
constexpr char end_stream = 1;
constexpr char end_headers = 4;
constexpr std::size_t preface_bytes = 24;

/// Whether the frames in `bytes` hold the end of the request's stream.
bool h2_request_is_whole(std::string_view bytes) {
  while (bytes.size() >= 9) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    const std::size_t size = at(0) << 16 | at(1) << 8 | at(2);
    if (bytes.size() < 9 + size) return false;
    if ((bytes[3] == h2_data || bytes[3] == h2_headers) && (bytes[4] & end_stream) != 0)
      return true;
    bytes.remove_prefix(9 + size);
  }
  return false;
}

/// One answer of a body and a status.
ScriptedServer::Treat speaks_grpc(std::string body, std::string status, std::string message = "") {
  return [=](Visitor& visitor) {
    visitor.write(h2_frame(h2_settings, 0, 0, ""));
    std::string request;
    while (request.size() < preface_bytes
           || !h2_request_is_whole(std::string_view{request}.substr(preface_bytes))) {
      const auto more = visitor.read();
      if (more.empty()) return;
      request += more;
    }
    visitor.write(
        h2_frame(h2_settings, 1, 0, "")
        + h2_frame(h2_headers, end_headers, 1,
                   "\x88" + h2_header("content-type", "application/grpc"))
        + h2_frame(h2_data, 0, 1, body)
        + h2_frame(h2_headers, end_headers | end_stream, 1,
                   h2_header("grpc-status", status) + h2_header("grpc-message", message)));
    while (!visitor.read().empty())
      continue;
  };
}

}  // namespace

TEST_CASE("prober: HTTP passes by its status, and other bodies than that of 200 are kept") {
  for (const auto& [status, passes, output] :
       {std::tuple{200, true, "nomad: http ok"}, std::tuple{204, true, ""},
        std::tuple{302, true, "elsewhere"}, std::tuple{404, false, "no such page"},
        std::tuple{429, false, "slow down"}, std::tuple{503, false, "not yet"}}) {
    const auto& shown = status;
    CAPTURE(shown);
    const ScriptedServer server{
        answers_with(http_answer(status, status == 200 ? "all of it" : output))};
    const auto outcome = ask(to(server));
    CHECK(outcome.passed == passes);
    CHECK(outcome.status_code == status);
    CHECK(outcome.output == output);
  }
}

TEST_CASE("prober: an HTTP request has what the check says, and nothing that it does not") {
  Requests requests;
  const ScriptedServer server{
      requests.note_and([](const std::string&) { return http_answer(200, ""); })};
  auto probe = to(server);
  probe.method = "PUT";
  probe.path = "a b?c=d%20e&f=ü#part";
  probe.body = "hello";
  probe.headers = {{"X-One", "1"},  {"X-One", "2"},           {"Host", "web.example"},
                   {"X-Empty", ""}, {"Content-Length", "77"}, {"Transfer-Encoding", "chunked"}};
  CHECK(ask(probe).passed);
  const auto& request = requests.seen.at(0);
  CAPTURE(request);
  CHECK(request.starts_with("PUT /a%20b?c=d%20e&f=%C3%BC HTTP/1.1\r\n"));
  CHECK(contains(request, "\r\nHost: web.example\r\n"));
  CHECK(contains(request, "\r\nX-One: 1\r\nX-One: 2\r\n"));
  CHECK(contains(request, "\r\nX-Empty:\r\n"));
  CHECK(contains(request, "\r\nContent-Length: 5\r\n"));
  CHECK_FALSE(contains(request, "77"));
  CHECK_FALSE(contains(request, "chunked"));
  CHECK_FALSE(contains(request, "Content-Type"));
  CHECK_FALSE(contains(request, "Expect"));
  CHECK(request.ends_with("\r\n\r\nhello"));
}

TEST_CASE("prober: HEAD waits for no body") {
  const ScriptedServer server{answers_with("HTTP/1.1 404 No\r\nContent-Length: 10\r\n\r\n")};
  auto probe = to(server);
  probe.method = "HEAD";
  const auto outcome = ask(probe);
  CHECK(outcome.status_code == 404);
  CHECK(outcome.output.empty());
}

TEST_CASE("prober: texts that are no HTTP are not sent") {
  const ScriptedServer server{answers_with(http_answer(200, ""))};
  auto method = to(server);
  method.method = "GET / HTTP/1.1\r\nX: y";
  CHECK(contains(ask(method).output, "invalid method"));
  auto name = to(server);
  name.headers = {{"X Y", "1"}};
  CHECK(ask(name).output == "nomad: net/http: invalid header field name \"X Y\"");
  auto value = to(server);
  value.headers = {{"X", "1\r\nInjected: yes"}};
  CHECK(ask(value).output == "nomad: net/http: invalid header field value for \"X\"");
  auto host = to(server);
  host.host = "no host at all/";
  CHECK_FALSE(ask(host).passed);
  CHECK(server.visits() == 0);
}

TEST_CASE("prober: redirects are followed, relative and to other hosts") {
  Requests there;
  const ScriptedServer other{
      there.note_and([](const std::string&) { return http_answer(503, "other says no"); })};
  Requests requests;
  const ScriptedServer server{requests.note_and([&](const std::string& request) {
    if (request.starts_with("POST /health ")) return http_answer(303, "", "Location: next?x=1\r\n");
    if (request.starts_with("GET /next?x=1 ")) return http_answer(302, "", "Location: /last\r\n");
    return http_answer(301, "", "Location: " + other.url("/there") + "\r\n");
  })};
  auto probe = to(server);
  probe.method = "POST";
  probe.body = "hello";
  probe.headers = {{"Authorization", "Basic secret"}, {"Host", "web.example"}, {"X-Kept", "yes"}};
  const auto outcome = ask(probe);
  CHECK(outcome.status_code == 503);
  CHECK(outcome.output == "other says no");
  REQUIRE(requests.seen.size() == 3);
  CHECK(requests.seen[2].starts_with("GET /last "));
  CHECK(contains(requests.seen[2], "Host: web.example\r\n"));
  CHECK(contains(requests.seen[2], "secret"));
  REQUIRE(there.seen.size() == 1);
  CHECK(there.seen[0].starts_with("GET /there "));
  CHECK(contains(there.seen[0], fmt::format("Host: 127.0.0.1:{}\r\n", other.port())));
  CHECK(contains(there.seen[0], "X-Kept: yes"));
  CHECK_FALSE(contains(there.seen[0], "secret"));
}

TEST_CASE("prober: a redirect that wants the body once more is the answer") {
  const ScriptedServer server{answers_with(http_answer(307, "there", "Location: /x\r\n"))};
  const auto outcome = ask(to(server));
  CHECK(outcome.passed);
  CHECK(outcome.status_code == 307);
  CHECK(outcome.output == "there");
  CHECK(server.visits() == 1);
}

TEST_CASE("prober: a redirect may lead from HTTP to HTTPS") {
  const Certificates certificates;
  const ScriptedServer secure{answers_with(http_answer(200, "")), certificates.context()};
  const ScriptedServer server{answers_with(
      http_answer(302, "", fmt::format("Location: https://127.0.0.1:{}/\r\n", secure.port())))};
  auto probe = to(server);
  CHECK(contains(ask(probe).output, "certificate"));  // its authority is not the system's
  probe.tls_skip_verify = true;
  CHECK(ask(probe).output == "nomad: http ok");
}

TEST_CASE("prober: who is sent round in circles stops") {
  const ScriptedServer server{answers_with(http_answer(302, "", "Location: /health\r\n"))};
  const auto outcome = ask(to(server));
  CHECK_FALSE(outcome.passed);
  CHECK(outcome.output
        == fmt::format("nomad: Get \"{}\": stopped after 10 redirects", server.url("/health")));
  CHECK(server.visits() == 10);
}

TEST_CASE("prober: redirects lead to nothing but HTTP") {
  for (const auto* position :
       {"file:///etc/passwd", "gopher://127.0.0.1/", "scp://x/y", "http://[/"}) {
    CAPTURE(position);
    for (const unsigned status : {301U, 302U, 303U, 307U, 308U}) {
      if (status > 303 && std::string_view{position} == "http://[/") continue;  // nobody follows it
      const ScriptedServer server{
          answers_with(http_answer(status, "body", "Location: "s + position + "\r\n"))};
      const auto outcome = ask(to(server));
      CHECK_FALSE(outcome.passed);
      CHECK(outcome.output.starts_with("nomad: Get \""));
      CHECK_FALSE(contains(outcome.output, "root:"));
    }
  }
}

TEST_CASE("prober: TCP asks for a connection and no more") {
  const ScriptedServer server{[](Visitor& visitor) { visitor.read(); }};
  const auto outcome = ask(to(server, Kind::tcp));
  CHECK(outcome.passed);
  CHECK(outcome.output == "nomad: tcp ok");
}

TEST_CASE("prober: where nobody listens") {
  Probe probe;
  probe.host = "127.0.0.1";
  probe.port = closed_port();
  probe.timeout = 5s;
  const auto refused
      = fmt::format("dial tcp 127.0.0.1:{}: connect: connection refused", probe.port);
  CHECK(ask(probe).output == "nomad: " + refused);
  probe.kind = Kind::http;
  probe.path = "/x";
  CHECK(ask(probe).output
        == fmt::format("nomad: Get \"http://127.0.0.1:{}/x\": {}", probe.port, refused));
  probe.kind = Kind::grpc;
  CHECK(ask(probe).output == "nomad: " + refused);
  probe.kind = Kind::tcp;
  probe.host = "::1";
  CHECK(ask(probe).output
        == fmt::format("nomad: dial tcp [::1]:{}: connect: connection refused", probe.port));
}

TEST_CASE("prober: names that nobody has") {
  Probe probe;
  probe.host = "no-such-host.invalid";
  probe.port = 1;
  probe.timeout = 3s;
  const auto outcome = ask(probe);
  CHECK_FALSE(outcome.passed);
  CHECK(outcome.output.starts_with("nomad: "));
}

TEST_CASE("prober: who hangs is given up at the timeout, and holds up nobody") {
  const ScriptedServer hangs{[](Visitor& visitor) {
    while (!visitor.is_over())
      visitor.read();
  }};
  const ScriptedServer answers{answers_with(http_answer(200, ""))};
  const auto prober = make_prober();
  std::atomic<int> over = 0;
  for (Prober::Id id = 10; id < 60; ++id) {
    auto probe = to(hangs);
    probe.timeout = 1500ms;
    prober->start(id, probe, [&](const Outcome& outcome) {
      if (contains(outcome.output, "context deadline exceeded")) ++over;
      note_change();
    });
  }
  CHECK(ask(*prober, to(answers)).passed);
  CHECK(over == 0);
  CHECK(eventually([&] { return over == 50; }));
}

TEST_CASE("prober: a peer that sends a byte now and then can't stretch the timeout") {
  const auto drip = [](const std::string& head) {
    return [head](Visitor& visitor) {
      visitor.read_request();
      visitor.write(head);
      while (!visitor.is_over() && visitor.write("x"))
        visitor.wait_for_input(50ms);
    };
  };
  const ScriptedServer in_header{drip("HTTP/1.1 200 OK\r\nX-Long: ")};
  auto probe = to(in_header);
  probe.timeout = 500ms;
  CHECK(contains(ask(probe).output, "context deadline exceeded"));

  // A good answer whose body does not come is good at once; a bad one is bad with what there is.
  const ScriptedServer good{drip("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")};
  probe = to(good);
  const auto before = std::chrono::steady_clock::now();
  CHECK(ask(probe).output == "nomad: http ok");
  CHECK(std::chrono::steady_clock::now() - before < 5s);
  const ScriptedServer bad{drip("HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\nwhy: ")};
  probe = to(bad);
  probe.timeout = 500ms;
  const auto outcome = ask(probe);
  CHECK(outcome.status_code == 500);
  CHECK(outcome.output.starts_with("why: x"));
}

TEST_CASE("prober: answers that never end are cut") {
  const ScriptedServer body{[](Visitor& visitor) {
    visitor.read_request();
    visitor.write("HTTP/1.1 500 No\r\n\r\n");
    while (visitor.write(std::string(10'000, 'x')))
      continue;
  }};
  const auto outcome = ask(to(body));
  CHECK(outcome.status_code == 500);
  CHECK(outcome.output == std::string(3 * 1024, 'x'));

  const ScriptedServer header{[](Visitor& visitor) {
    visitor.read_request();
    visitor.write("HTTP/1.1 200 OK\r\n");
    while (visitor.write("X-More: " + std::string(1000, 'y') + "\r\n"))
      continue;
  }};
  CHECK_FALSE(ask(to(header)).passed);
}

TEST_CASE("prober: who hangs up early, or speaks something else, fails the probe") {
  for (const auto* bytes :
       {"", "HTTP/1.1 200 OK\r\nX: ", "SSH-2.0-OpenSSH_9.2\r\n", "\x15\x03\x01"}) {
    CAPTURE(bytes);
    const ScriptedServer server{answers_with(bytes)};
    const auto outcome = ask(to(server));
    CHECK_FALSE(outcome.passed);
    CHECK(outcome.status_code == 0);
    CHECK(outcome.output.starts_with("nomad: Get \""));
  }
}

TEST_CASE("prober: TLS is verified, unless the check says otherwise") {
  const Certificates certificates;
  const ScriptedServer server{answers_with(http_answer(200, "")), certificates.context()};
  auto probe = to(server);
  probe.tls = true;
  const auto refused = ask(probe);
  CHECK_FALSE(refused.passed);
  CHECK(contains(refused.output, "certificate"));
  probe.tls_skip_verify = true;
  CHECK(ask(probe).output == "nomad: http ok");
  probe.tls_server_name = "web.example";
  CHECK(ask(probe).passed);
  probe.tls_skip_verify = false;  // its authority is not the system's
  CHECK_FALSE(ask(probe).passed);

  const ScriptedServer plain{answers_with(http_answer(200, ""))};
  auto to_plain = to(plain);
  to_plain.tls = true;
  to_plain.tls_skip_verify = true;
  to_plain.timeout = 500ms;  // it waits for the rest of what it takes for a request
  CHECK_FALSE(ask(to_plain).passed);
}

TEST_CASE("prober: gRPC asks for a service's health") {
  const auto answer = [](char status) { return "\0\0\0\0\x02\x08"s + status; };
  auto serving = ScriptedServer{speaks_grpc(answer(1), "0")};
  auto probe = to(serving, Kind::grpc);
  probe.grpc_service = "shop";
  const auto outcome = ask(probe);
  CHECK(outcome.passed);
  CHECK(outcome.output == "nomad: grpc ok");

  const ScriptedServer not_serving{speaks_grpc(answer(2), "0")};
  CHECK(ask(to(not_serving, Kind::grpc)).output == "nomad: grpc status NOT_SERVING");
  const ScriptedServer unknown{speaks_grpc("", "5", "no%20such%20service")};
  CHECK(ask(to(unknown, Kind::grpc)).output
        == "nomad: rpc error: code = NotFound desc = no such service");
  const ScriptedServer garbage{speaks_grpc("nonsense", "0")};
  CHECK(ask(to(garbage, Kind::grpc)).output == "nomad: the answer is no HealthCheckResponse");
  const ScriptedServer endless{speaks_grpc(std::string(10'000, 'x'), "0")};
  CHECK_FALSE(ask(to(endless, Kind::grpc)).passed);
  const ScriptedServer floods{[](Visitor& visitor) {
    std::string pings;
    for (int i = 0; i < 1000; ++i)
      pings += h2_frame(6, 0, 0, "12345678");
    visitor.write(h2_frame(h2_settings, 0, 0, ""));
    while (visitor.write(pings))
      continue;
  }};
  CHECK(ask(to(floods, Kind::grpc)).output == "nomad: the peer does not read what it asks for");
  const ScriptedServer http1{answers_with(http_answer(200, ""))};
  CHECK_FALSE(ask(to(http1, Kind::grpc)).passed);
}

TEST_CASE("prober: what is cancelled does not call back, and a prober may go while probes hang") {
  const ScriptedServer hangs{[](Visitor& visitor) {
    while (!visitor.is_over())
      visitor.read();
  }};
  const ScriptedServer answers{answers_with(http_answer(200, ""))};
  std::atomic<int> called = 0;
  {
    const auto prober = make_prober();
    for (Prober::Id id = 10; id < 20; ++id)
      prober->start(id, to(hangs), [&](const Outcome&) { ++called; });
    for (Prober::Id id = 10; id < 15; ++id)
      prober->cancel(id);
    prober->cancel(999);
    CHECK(ask(*prober, to(answers)).passed);
    prober->start(10, to(answers), [&](const Outcome&) {
      called += 100;
      note_change();
    });
    CHECK(eventually([&] { return called >= 100; }));
  }
  CHECK(called == 100);
}

TEST_CASE("prober: what a thousand probes cost") {
  const ScriptedServer server{answers_with(http_answer(200, ""))};
  const auto prober = make_prober();
  const auto before = cpu_seconds();
  std::atomic<int> passed = 0;
  std::atomic<int> over = 0;
  for (int round = 0; round < 20; ++round) {
    for (Prober::Id id = 0; id < 50; ++id)
      prober->start(id, to(server), [&](const Outcome& outcome) {
        if (outcome.passed) ++passed;
        ++over;
        note_change();
      });
    CHECK(eventually([&] { return over == (round + 1) * 50; }));
  }
  CHECK(passed == 1000);
  MESSAGE(fmt::format("{:.0f} us of CPU for a probe and its server",
                      (cpu_seconds() - before) * 1e6 / 1000));
}
