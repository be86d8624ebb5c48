// http_load: keeps a fixed number of keep-alive connections busy with one kind of request and
// prints what came back: answers a second, latency percentiles, statuses that were not expected.
//
//   http_load -c CONNECTIONS -t SECONDS [-X METHOD] [-H HEADER] [-b BODY] [-r RATE] [-n REQUESTS]
//     [-e STATUS] [-l] HOST:PORT PATH                         or unix:SOCKET for HOST:PORT
//
// STATUS is what every answer should have, 200 if none is given. Every `{n}` in path, header and
// body becomes a number that no other request of the run has, `{uuid}` the same written
// as a UUID. With -r the requests are sent at that rate over all connections, and latency counts
// from when each was due. With -l it says instead when the last answer came, as the seconds of
// CLOCK_MONOTONIC. One thread, one epoll; its own CPU time is printed, because it shares the
// machine.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int connections = 1;
  double seconds = 5;
  double rate = 0;
  std::uint64_t requests = UINT64_MAX;
  std::string method = "GET";
  std::string body;
  int expected = 200;
  std::string headers;  ///< Each with its line's end.
  std::string socket;   ///< A path; "": host and port count.
  std::string host = "127.0.0.1";
  std::uint16_t port = 4646;
  std::string path = "/";
  bool tells_last = false;
  bool has_numbers = false;  ///< No two requests are the same.
};

struct Connection {
  int socket = -1;
  std::string out;
  std::size_t sent = 0;
  std::string in;
  Clock::time_point started;
  bool busy = false;
};

struct Totals {
  std::vector<double> latencies;  // ms
  Clock::time_point last;
  std::uint64_t ok = 0;
  std::uint64_t refused = 0;
  std::uint64_t broken = 0;
  std::string first_refusal;
};

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::string numbered(const std::string& text, std::uint64_t number) {
  std::string out;
  std::size_t from = 0;
  for (std::size_t at; (at = text.find("{n}", from)) != std::string::npos; from = at + 3)
    out.append(text, from, at - from).append(std::to_string(number));
  out.append(text, from);
  if (const auto at = out.find("{uuid}"); at != std::string::npos)
    out.replace(
        at, 6, fmt::format("{:08x}-0000-4000-8000-{:012x}", number >> 48, number & 0xffffffffffff));
  return out;
}

int connect_by_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    die("connect");
  }
  path.copy(address.sun_path, path.size());
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) die("socket");
  if (connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) die("connect");
  return made;
}

int connect_by_port(const Options& options) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) die("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  inet_pton(AF_INET, options.host.c_str(), &address.sin_addr);
  if (connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) die("connect");
  const int on = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

void connect_to(Connection& connection, const Options& options, int epoll) {
  connection.socket
      = options.socket.empty() ? connect_by_port(options) : connect_by_path(options.socket);
  fcntl(connection.socket, F_SETFL, O_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &connection;
  epoll_ctl(epoll, EPOLL_CTL_ADD, connection.socket, &event);
}

std::string request(const Options& options, std::uint64_t number) {
  const auto body = numbered(options.body, number);
  return fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}Content-Length: {}\r\n\r\n{}", options.method,
                     numbered(options.path, number), options.host,
                     numbered(options.headers, number), body.size(), body);
}

void start(Connection& connection,
           const Options& options,
           std::uint64_t number,
           Clock::time_point due) {
  if (connection.out.empty() || options.has_numbers) connection.out = request(options, number);
  connection.in.clear();
  connection.started = due;
  connection.busy = true;
  const auto count
      = send(connection.socket, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
  if (count != static_cast<ssize_t>(connection.out.size())) die("send");
}

/// The status when the whole answer is in `in`; 0 while it is not.
int complete(const std::string& in) {
  const auto end = in.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  const int status = std::atoi(in.c_str() + 9);
  const std::string_view head{in.data(), end};
  const auto at = head.find("Content-Length: ");
  if (at == std::string_view::npos) {
    if (head.find("chunked") != std::string_view::npos)
      return in.ends_with("0\r\n\r\n") ? status : 0;
    return status;
  }
  const auto length = std::strtoull(in.c_str() + at + 16, nullptr, 10);
  return in.size() >= end + 4 + length ? status : 0;
}

/// Takes what has arrived; true when an answer is whole.
bool receive(Connection& connection, int expected, Totals& totals) {
  char piece[65'536];
  for (;;) {
    const auto count = recv(connection.socket, piece, sizeof piece, 0);
    if (count < 0) break;
    if (count == 0) {
      ++totals.broken;
      return false;
    }
    connection.in.append(piece, static_cast<std::size_t>(count));
    if (count < static_cast<ssize_t>(sizeof piece)) break;
  }
  const int status = complete(connection.in);
  if (status == 0) return false;
  totals.last = Clock::now();
  const std::chrono::duration<double, std::milli> took = totals.last - connection.started;
  totals.latencies.push_back(took.count());
  if (status == expected) {
    ++totals.ok;
  } else {
    ++totals.refused;
    if (totals.first_refusal.empty()) totals.first_refusal = connection.in.substr(0, 400);
  }
  connection.busy = false;
  return true;
}

Totals run(const Options& options) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  std::deque<Connection> connections(static_cast<std::size_t>(options.connections));
  for (auto& connection : connections)
    connect_to(connection, options, epoll);
  Totals totals;
  const auto begin = Clock::now();
  const auto end = begin
                   + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(options.seconds));
  std::uint64_t next = static_cast<std::uint64_t>(getpid()) * 1'000'000'000;
  std::uint64_t begun = 0;
  std::deque<Connection*> idle;
  for (auto& connection : connections)
    idle.push_back(&connection);
  const auto due_of = [&](std::uint64_t number) {
    return begin
           + std::chrono::nanoseconds{
               static_cast<std::int64_t>(1e9 * static_cast<double>(number) / options.rate)};
  };
  for (auto now = Clock::now(); now < end; now = Clock::now()) {
    while (!idle.empty() && begun < options.requests) {
      const auto due = options.rate > 0 ? due_of(begun) : now;
      if (due > now) break;
      start(*idle.front(), options, next++, due);
      idle.pop_front();
      ++begun;
    }
    if (begun >= options.requests && idle.size() == connections.size()) break;
    auto wait = std::chrono::nanoseconds{std::chrono::milliseconds{100}};
    if (options.rate > 0 && !idle.empty())
      wait = std::clamp(std::chrono::nanoseconds{due_of(begun) - now}, std::chrono::nanoseconds{0},
                        wait);
    const timespec timeout{0, wait.count()};
    epoll_event events[64];
    const int count = epoll_pwait2(epoll, events, 64, &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
      auto* connection = static_cast<Connection*>(events[i].data.ptr);
      if (receive(*connection, options.expected, totals)) idle.push_back(connection);
    }
    if (totals.broken > 0) break;
  }
  return totals;
}

double percentile(std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto position = static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1));
  return sorted[position];
}

Options parse(int argc, char** argv) {
  Options options;
  int flag;
  while ((flag = getopt(argc, argv, "c:t:X:H:b:r:n:e:l")) != -1)
    switch (flag) {
      case 'c':
        options.connections = std::atoi(optarg);
        break;
      case 't':
        options.seconds = std::atof(optarg);
        break;
      case 'X':
        options.method = optarg;
        break;
      case 'e':
        options.expected = std::atoi(optarg);
        break;
      case 'b':
        options.body = optarg;
        break;
      case 'H':
        options.headers += std::string{optarg} + "\r\n";
        break;
      case 'r':
        options.rate = std::atof(optarg);
        break;
      case 'n':
        options.requests = std::strtoull(optarg, nullptr, 10);
        break;
      case 'l':
        options.tells_last = true;
        break;
      default:
        std::exit(2);
    }
  if (argc - optind != 2) {
    std::fputs("usage: http_load [options] HOST:PORT PATH\n", stderr);
    std::exit(2);
  }
  const std::string address = argv[optind];
  const auto colon = address.rfind(':');
  if (address.starts_with("unix:")) {
    options.socket = address.substr(5);
    options.host = "localhost";
  } else {
    options.host = address.substr(0, colon);
    options.port = static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1));
  }
  options.path = argv[optind + 1];
  for (const auto* text : {&options.path, &options.headers, &options.body})
    options.has_numbers |= text->find("{n}") != text->npos || text->find("{uuid}") != text->npos;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_TIMERSLACK, 1);  // ns: a paced request leaves when it is due
  const auto options = parse(argc, argv);
  const auto begin = Clock::now();
  auto totals = run(options);
  const std::chrono::duration<double> took = Clock::now() - begin;
  std::sort(totals.latencies.begin(), totals.latencies.end());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
                     + static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  if (options.tells_last)
    fmt::print("{:.6f}\n", std::chrono::duration<double>(totals.last.time_since_epoch()).count());
  else
    fmt::print(
        "{:.0f} answers/s ({} ok, {} refused, {} broken) p50 {:.3f} ms p99 {:.3f} ms max "
        "{:.3f} ms; load generator {:.0f} % of a core\n",
        static_cast<double>(totals.latencies.size()) / took.count(), totals.ok, totals.refused,
        totals.broken, percentile(totals.latencies, 0.5), percentile(totals.latencies, 0.99),
        totals.latencies.empty() ? 0 : totals.latencies.back(), 100 * cpu / took.count());
  if (!totals.first_refusal.empty())
    fmt::print(stderr, "first refusal: {}\n", totals.first_refusal);
  return totals.refused + totals.broken > 0 ? 1 : 0;
}
