// The engine's client against one that answers, hangs, hangs up and talks nonsense.
#include "runtime/docker/engine.hpp"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/docker/exec_bridge.hpp"
#include "runtime/net/socket.hpp"

using namespace nomad;
using namespace nomad::docker;
using namespace std::chrono_literals;

namespace {

/// Takes one connection after the other; each is served by `serve` until that returns.
class FakeEngine {
public:
  using Serve = std::function<void(int socket, const std::string& request)>;

  explicit FakeEngine(Serve serve) : serve_{std::move(serve)} {
    static std::atomic<int> made{0};
    const auto name = "fake_engine." + std::to_string(::getpid()) + '.' + std::to_string(++made);
    path_ = (std::filesystem::temp_directory_path() / name).string();
    auto listener = net::listen_unix(path_);
    REQUIRE(listener.has_value());
    listener_ = listener->release();
    thread_ = std::thread{[this] { run(); }};
  }

  ~FakeEngine() {
    stops_ = true;
    thread_.join();
    for (auto& each : served_)
      each.join();
    ::close(listener_);
    std::filesystem::remove(path_);
  }

  const std::string& path() const { return path_; }

private:
  void run() {
    while (!stops_) {
      pollfd waiting{.fd = listener_, .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      served_.emplace_back([this, socket] {
        std::string request(4096, '\0');
        const auto got = ::recv(socket, request.data(), request.size(), 0);
        request.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        serve_(socket, request);
        ::close(socket);
      });
    }
  }

  Serve serve_;
  std::string path_;
  int listener_ = -1;
  std::atomic<bool> stops_{false};
  std::thread thread_;
  std::vector<std::thread> served_;
};

void say(int socket, std::string_view bytes) {
  ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// Until the other side closes.
void await_close(int socket) {
  char byte = 0;
  while (::recv(socket, &byte, 1, 0) > 0) {
  }
}

/// What comes back from the engine's thread.
class Outcome {
public:
  void set(Result<EngineAnswer> answer) {
    const std::lock_guard guard{mutex_};
    answer_ = std::move(answer);
    changed_.notify_all();
  }

  Result<EngineAnswer> wait() {
    std::unique_lock lock{mutex_};
    REQUIRE(changed_.wait_for(lock, 20s, [this] { return answer_.has_value(); }));
    return *answer_;
  }

  bool is_there() {
    const std::lock_guard guard{mutex_};
    return answer_.has_value();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Result<EngineAnswer>> answer_;
};

Result<EngineAnswer> ask(const std::string& path,
                         std::chrono::milliseconds timeout = 10s,
                         const EngineRequest& request = {.target = "/x"}) {
  const auto engine = connect_engine(path, "engine");
  Outcome outcome;
  engine->ask(request, timeout,
              [&](Result<EngineAnswer> answer) { outcome.set(std::move(answer)); });
  return outcome.wait();
}

}  // namespace

TEST_CASE("docker engine: a question and its answer") {
  std::string seen;
  std::mutex mutex;
  FakeEngine fake{[&](int socket, const std::string& request) {
    {
      const std::lock_guard guard{mutex};
      seen = request;
    }
    say(socket, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}");
  }};
  const auto answer = ask(fake.path(), 10s, {.method = "POST", .target = "/a?b=c", .body = "[1]"});
  REQUIRE(answer.has_value());
  CHECK(answer->status == 201);
  CHECK(answer->body == "{}");
  const std::lock_guard guard{mutex};
  CHECK(seen.starts_with("POST /v1.41/a?b=c HTTP/1.1\r\n"));
  CHECK(seen.find("Content-Length: 3\r\n") != std::string::npos);
  CHECK(seen.ends_with("\r\n\r\n[1]"));
}

TEST_CASE("docker engine: one that is not there") {
  const auto answer = ask("/no/such/engine.sock");
  REQUIRE(answer.has_error());
  CHECK(answer.error().code == Errc::unavailable);
  CHECK(answer.error().what.find("/no/such/engine.sock") != std::string::npos);
}

TEST_CASE("docker engine: one that hangs, before the answer and within it") {
  FakeEngine silent{[](int socket, const std::string&) { await_close(socket); }};
  CHECK(ask(silent.path(), 300ms).error()
        == Error{Errc::timeout, "timeout: the Docker daemon did not answer in time"});
  FakeEngine slow{[](int socket, const std::string&) {
    say(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    await_close(socket);
  }};
  CHECK(ask(slow.path(), 300ms).error()
        == Error{Errc::timeout, "timeout: the Docker daemon did not answer in time"});
}

TEST_CASE("docker engine: nonsense, and an answer that breaks off") {
  for (const auto* const bytes : {"220 mail.example.com ESMTP\r\n", "HTTP/1.1 banana\r\n\r\n", "",
                                  "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"}) {
    FakeEngine fake{[bytes](int socket, const std::string&) { say(socket, bytes); }};
    CHECK(ask(fake.path()).has_error());
  }
  FakeEngine fake{[](int socket, const std::string&) { say(socket, "HTTP/1.1 banana\r\n\r\n"); }};
  CHECK(ask(fake.path()).error().what
        == "the Docker daemon's answer makes no sense: malformed HTTP response: bad status");
}

TEST_CASE("docker engine: an answer that does not end is too large") {
  FakeEngine fake{[](int socket, const std::string&) {
    say(socket, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    const std::string much(1 << 20, 'x');
    while (::send(socket, much.data(), much.size(), MSG_NOSIGNAL) > 0) {
    }
  }};
  CHECK(ask(fake.path(), 60s).error()
        == Error{Errc::too_large, "the Docker daemon's answer is too long"});
}

TEST_CASE("docker engine: a stream comes in pieces, and can be withdrawn") {
  FakeEngine fake{[](int socket, const std::string& request) {
    if (request.find("/later ") != request.npos)
      return say(socket, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    say(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    await_close(socket);
  }};
  const auto engine = connect_engine(fake.path(), "engine");
  Outcome ended;
  std::atomic<int> pieces{0};
  const auto call = engine->follow(
      {.target = "/events"}, {},
      {.piece =
           [&](std::string_view piece) {
             CHECK(piece == "one");
             ++pieces;
             pieces.notify_one();
             return Result<>{};
           },
       .ended = [&](Result<EngineAnswer> answer) { ended.set(std::move(answer)); }});
  pieces.wait(0);
  engine->cancel(call);
  Outcome later;  // What the engine's thread does after it has let go of the stream.
  engine->ask({.target = "/later"}, 60s,
              [&](Result<EngineAnswer> answer) { later.set(std::move(answer)); });
  CHECK(later.wait().has_value());
  CHECK(pieces == 1);
  CHECK_FALSE(ended.is_there());
}

TEST_CASE("docker engine: a stream that is silent for too long, and one that its taker refuses") {
  FakeEngine fake{[](int socket, const std::string&) {
    say(socket, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    await_close(socket);
  }};
  const auto engine = connect_engine(fake.path(), "engine");
  Outcome silent;
  engine->follow({.target = "/pull"}, {.silence = 300ms},
                 {.piece = [](std::string_view) { return Result<>{}; },
                  .ended = [&](Result<EngineAnswer> answer) { silent.set(std::move(answer)); }});
  CHECK(silent.wait().error()
        == Error{Errc::timeout, "timeout: nothing came from the Docker daemon for too long"});
  Outcome refused;
  engine->follow({.target = "/pull"}, {},
                 {.piece =
                      [](std::string_view) {
                        return Result<>{Error{Errc::corrupt, "no"}};
                      },
                  .ended = [&](Result<EngineAnswer> answer) { refused.set(std::move(answer)); }});
  CHECK(refused.wait().error().what == "no");
}

TEST_CASE("docker exec: a command, its streams and its code") {
  FakeEngine fake{[](int socket, const std::string& request) {
    const auto answer = [socket](std::string_view body, const char* status) {
      say(socket, std::string{"HTTP/1.1 "} + status + "\r\nContent-Length: "
                      + std::to_string(body.size()) + "\r\n\r\n" + std::string{body});
    };
    if (request.find("/containers/c1/exec ") != std::string::npos)
      return answer(R"({"Id":"e1"})", "201 Created");
    if (request.find("/exec/e1/json") != std::string::npos)
      return answer(R"({"Running":false,"ExitCode":3,"Pid":0})", "200 OK");
    say(socket, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    // What is sent comes back, once on each stream, when the input has ended.
    std::string input;
    char buffer[100];
    for (ssize_t got = 0; (got = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
      input.append(buffer, static_cast<std::size_t>(got));
    for (const char stream : {1, 2}) {
      std::string frame(8, '\0');
      frame[0] = stream;
      frame[7] = static_cast<char>(input.size());
      say(socket, frame + input);
    }
  }};
  ExecBridge bridge;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Result<std::vector<host::UniqueFd>>> begun;
  bridge.begin({.socket = fake.path(), .api = "1.41", .container = "c1", .command = {"cat"}},
               [&](Result<std::vector<host::UniqueFd>> ends) {
                 const std::lock_guard guard{mutex};
                 begun.emplace(std::move(ends));
                 changed.notify_all();
               });
  std::unique_lock lock{mutex};
  REQUIRE(changed.wait_for(lock, 20s, [&] { return begun.has_value(); }));
  REQUIRE_MESSAGE(begun->has_value(), begun->error().what);
  auto& ends = **begun;
  REQUIRE(ends.size() == 4);
  REQUIRE(::write(ends[1].get(), "hello", 5) == 5);
  ends[1].reset();
  const auto all = [](const host::UniqueFd& from) {
    std::string text;
    char buffer[100];
    for (ssize_t got = 0; (got = ::read(from.get(), buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(got));
    return text;
  };
  CHECK(all(ends[2]) == "hello");
  CHECK(all(ends[3]) == "hello");
  CHECK(all(ends[0]).size() > 4);  // the frame that tells its end
}

TEST_CASE("docker exec: a container that does not run says so") {
  FakeEngine fake{[](int socket, const std::string&) {
    const std::string body = R"({"message":"Container c1 is not running"})";
    say(socket, "HTTP/1.1 409 Conflict\r\nContent-Length: " + std::to_string(body.size())
                    + "\r\n\r\n" + body);
  }};
  Outcome outcome;
  {
    ExecBridge bridge;
    bridge.begin(
        {.socket = fake.path(), .api = "1.41", .container = "c1", .command = {"ls"}},
        [&](const Result<std::vector<host::UniqueFd>>& ends) { outcome.set(ends.error()); });
    CHECK(outcome.wait().error().what == "API error (409): Container c1 is not running");
  }
}

TEST_CASE("docker exec: an engine that answers with no stream and stalls holds up nobody") {
  std::promise<void> asked;
  std::atomic<int> looks{0};
  FakeEngine fake{[&](int socket, const std::string& request) {
    const auto answer = [socket](const std::string& body) {
      say(socket,
          "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    };
    if (request.find("/containers/c1/exec ") != std::string::npos) return answer(R"({"Id":"e1"})");
    if (request.find("/exec/e1/json") != std::string::npos) {
      ++looks;
      return answer(R"({"Running":false,"ExitCode":0,"Pid":0})");
    }
    say(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    asked.set_value();
    await_close(socket);
  }};
  const auto before = std::chrono::steady_clock::now();
  {
    ExecBridge bridge;
    bridge.begin({.socket = fake.path(), .api = "1.41", .container = "c1", .command = {"cat"}},
                 [](const Result<std::vector<host::UniqueFd>>&) { FAIL_CHECK("it never began"); });
    asked.get_future().get();
  }
  CHECK(looks == 1);
  CHECK(std::chrono::steady_clock::now() - before < 10s);
}

TEST_CASE("docker exec: who closes the socket, or ends, has the command looked up and killed") {
  std::atomic<int> looks{0};
  FakeEngine fake{[&](int socket, const std::string& request) {
    const auto answer = [socket](const std::string& body) {
      say(socket,
          "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    };
    if (request.find("/containers/c1/exec ") != std::string::npos) return answer(R"({"Id":"e1"})");
    if (request.find("/exec/e1/json") != std::string::npos) {
      ++looks;
      looks.notify_all();
      return answer(R"({"Running":true,"ExitCode":0,"Pid":1})");  // 1 is nobody's
    }
    say(socket, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    await_close(socket);
  }};
  ExecBridge bridge;
  for (const bool is_terminal : {false, true}) {
    std::promise<std::vector<host::UniqueFd>> begun;
    bridge.begin({.socket = fake.path(),
                  .api = "1.41",
                  .container = "c1",
                  .command = {"cat"},
                  .is_terminal = is_terminal},
                 [&](Result<std::vector<host::UniqueFd>> ends) {
                   begun.set_value(ends ? std::move(*ends) : std::vector<host::UniqueFd>{});
                 });
    auto ends = begun.get_future().get();
    REQUIRE(ends.size() == (is_terminal ? 2 : 4));
    ends[0].reset();
    looks.wait(is_terminal ? 1 : 0);
  }
  {
    ExecBridge ends_first;
    std::promise<void> begun;
    ends_first.begin({.socket = fake.path(), .api = "1.41", .container = "c1", .command = {"cat"}},
                     [&](const Result<std::vector<host::UniqueFd>>&) { begun.set_value(); });
    begun.get_future().get();
  }
  CHECK(looks >= 3);
}
