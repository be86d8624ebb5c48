// A background actor: follows the agent's event stream and posts each line of it to a URL, one
// after the other; what can't be delivered is tried again, and the stream waits meanwhile. Its
// block has to allow what its topics need: `api { allow = ["read-job"] }` for those of jobs,
// "management" for all.
#include <charconv>
#include <deque>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <netdb.h>
#include <nomadctl/plugin/plugin.hpp>

using namespace nomad;
using namespace nomad::plugin;
using namespace std::chrono_literals;

namespace {

struct Target {
  std::string host, port = "80", path = "/";
};

Target target;
std::string topics;

Result<Target> parse_url(std::string_view url) {
  if (!url.starts_with("http://")) return Error{Errc::invalid_argument, "url: expected http://…"};
  url.remove_prefix(7);
  Target made;
  const auto slash = std::min(url.find('/'), url.size());
  if (slash < url.size()) made.path = url.substr(slash);
  made.host = url.substr(0, slash);
  if (const auto colon = made.host.rfind(':'); colon != std::string::npos) {
    made.port = made.host.substr(colon + 1);
    made.host.resize(colon);
  }
  if (made.host.empty()) return Error{Errc::invalid_argument, "url: it names no host"};
  return made;
}

struct Socket {
  int fd = -1;

  ~Socket() {
    if (fd >= 0) close(fd);
  }
};

/// Blocks for some seconds at most.
Result<> post(const Target& to, std::string_view body) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(to.host.c_str(), to.port.c_str(), &hints, &found) != 0)
    return Error{Errc::unavailable, "no address of " + to.host};
  Socket socket{::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const timeval patience{5, 0};
  setsockopt(socket.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const int connected = connect(socket.fd, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  if (connected != 0) return errno_error("connecting to " + to.host, errno, Errc::unavailable);
  std::string request
      = "POST " + to.path + " HTTP/1.1\r\nHost: " + to.host
        + "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "
        + std::to_string(body.size()) + "\r\n\r\n";
  request += body;
  for (std::size_t sent = 0; sent < request.size();) {
    const auto more = send(socket.fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) return errno_error("sending to " + to.host, errno, Errc::unavailable);
    sent += static_cast<std::size_t>(more);
  }
  char answer[64] = {};
  const auto got = recv(socket.fd, answer, sizeof answer - 1, 0);
  if (got > 12 && std::string_view{answer}.starts_with("HTTP/1.") && answer[9] == '2') return {};
  return Error{Errc::unavailable, to.host + " did not take it"};
}

class Webhook final : public Actor {
public:
  explicit Webhook(Agent& agent) : agent_{agent} {}

  void start() override {
    agent_.subscribe(
        "/v1/event/stream?" + topics + "&index=" + std::to_string(index_),
        [this](std::string_view line) { take(line); },
        [this](const Error& why) {
          agent_.log(Level::warn, "the event stream ended: " + why.what);
          agent_.after(5s, [this] { start(); });
        });
  }

private:
  void take(std::string_view line) {
    constexpr std::string_view name = "\"Index\":";
    if (const auto at = line.find(name); at != std::string_view::npos)
      std::from_chars(line.data() + at + name.size(), line.data() + line.size(), index_);
    if (waiting_.size() == 10'000) waiting_.pop_front();  // the oldest is lost
    waiting_.emplace_back(line);
    if (waiting_.size() == 1) deliver();
  }

  void deliver() {
    if (waiting_.empty()) return;
    if (const auto outcome = post(target, waiting_.front()); !outcome) {
      agent_.count("failed");
      agent_.log(Level::warn, outcome.error().what);
      agent_.after(5s, [this] { deliver(); });
      return;
    }
    agent_.count("delivered");
    waiting_.pop_front();
    agent_.after(0s, [this] { deliver(); });
  }

  Agent& agent_;
  std::uint64_t index_ = 0;
  std::deque<std::string> waiting_;
};

}  // namespace

void describe(Plugin& plugin) {
  plugin.is("webhook", "1.0.0");
  plugin.config({{.name = "url", .required = true}, {.name = "topics", .kind = ConfigKind::TEXTS}});
  plugin.on_configure([](const Config& config) -> Result<> {
    target = NOMAD_TRY(parse_url(config.text("url")));
    std::string all;
    for (const auto& topic : config.texts("topics"))
      all += (all.empty() ? "topic=" : "&topic=") + topic;
    topics = all.empty() ? "topic=*" : all;
    return {};
  });
  plugin.actor("webhook", [](Agent& agent) { return std::make_unique<Webhook>(agent); });
}

NOMADCTL_PLUGIN(describe)
