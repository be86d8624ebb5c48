// One artifact of 1 GiB by HTTP from a server of this program's own, beside curl to the same disk:
// throughput, and what nomadctl-artifact holds in memory. In turns, for machines are not alone.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/artifact/fetch_pool.hpp"
#include "runtime/artifact/staging.hpp"

using namespace nomad;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t artifact_bytes = std::size_t{1} << 30U;
constexpr std::size_t piece_bytes = std::size_t{1} << 20U;
constexpr int rounds = 4;

/// Answers each connection with the artifact.
class Server {
public:
  Server() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0
        || ::listen(listener_, 8) != 0
        || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      std::abort();
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { serve(); }};
  }

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  ~Server() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/artifact"; }

private:
  void serve() const {
    const std::vector<char> piece(piece_bytes, 'x');
    const auto head = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(artifact_bytes)
                      + "\r\nConnection: close\r\n\r\n";
    for (;;) {
      const int peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer < 0) return;
      std::array<char, 4096> request;
      if (::recv(peer, request.data(), request.size(), 0) > 0
          && ::send(peer, head.data(), head.size(), MSG_NOSIGNAL) > 0) {
        for (std::size_t sent = 0; sent < artifact_bytes;) {
          const auto wrote = ::send(peer, piece.data(),
                                    std::min(piece.size(), artifact_bytes - sent), MSG_NOSIGNAL);
          if (wrote <= 0) break;
          sent += static_cast<std::size_t>(wrote);
        }
      }
      ::close(peer);
    }
  }

  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
};

/// kB that the process of that name, a child of this one, has held at most so far.
long peak_of_child(const std::string& name) {
  for (const auto& entry : fs::directory_iterator{"/proc"}) {
    std::ifstream status{entry.path() / "status"};
    long peak = 0;
    bool is_it = false, is_child = false;
    for (std::string line; std::getline(status, line);) {
      is_it = is_it || line == "Name:\t" + name;
      is_child = is_child || line == "PPid:\t" + std::to_string(::getpid());
      if (line.starts_with("VmHWM:")) peak = std::strtol(line.c_str() + 6, nullptr, 10);
    }
    if (is_it && is_child) return peak;
  }
  return 0;
}

double by_curl(const std::string& url, const std::string& file) {
  const auto begun = Clock::now();
  if (std::system(("curl -s -o " + file + " " + url).c_str()) != 0) std::abort();
  const std::chrono::duration<double> took = Clock::now() - begun;
  fs::remove(file);
  return took.count();
}

double by_us(artifact::FetchPool& pool,
             const std::string& url,
             const std::string& root,
             long& peak) {
  const artifact::Staging staging{root, "task"};
  const auto begun = Clock::now();
  std::promise<Result<artifact::FetchDone>> promise;
  auto done = promise.get_future();
  pool.start(
      {.source = url,
       .mode = "file",
       .directory = staging.begin("key", pool.uid(), pool.gid()).value()},
      {.progress = [](const artifact::FetchProgress&) {},
       .done
       = [&promise](const Result<artifact::FetchDone>& outcome) { promise.set_value(outcome); }});
  while (done.wait_for(std::chrono::milliseconds{20}) != std::future_status::ready)
    peak = std::max(peak, peak_of_child("nomad-artifact"));
  const auto outcome = done.get();
  if (!outcome) {
    std::printf("failed: %s\n", outcome.error().what.c_str());
    std::exit(1);
  }
  staging.deliver("key", {root + "/task", "artifact"}, outcome->is_file).value();
  const std::chrono::duration<double> took = Clock::now() - begun;
  if (fs::file_size(root + "/task/artifact") != artifact_bytes) std::abort();
  staging.clear().value();
  fs::remove(root + "/task/artifact");
  return took.count();
}

}  // namespace

int main() {
  const char* const program = std::getenv("NOMADCTL_ARTIFACT");
  if (program == nullptr) {
    std::puts("NOMADCTL_ARTIFACT names no program");
    return 1;
  }
  std::string root = fs::temp_directory_path() / "nomadctl-bench-XXXXXX";
  if (::mkdtemp(root.data()) == nullptr) return 1;
  fs::create_directory(root + "/task");
  const Server server;
  artifact::FetchPool pool{{.program = program}};
  double curl = 0, ours = 0;
  long peak = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto a = by_curl(server.url(), root + "/curl");
    const auto b = by_us(pool, server.url(), root, peak);
    std::printf("round %d: curl %.2f s, nomadctl-artifact %.2f s\n", round + 1, a, b);
    curl += a;
    ours += b;
  }
  const double mib = rounds * static_cast<double>(artifact_bytes) / (1 << 20);
  std::printf(
      "1 GiB by http: curl %.0f MiB/s, nomadctl-artifact %.0f MiB/s, at most %.1f MB resident\n",
      mib / curl, mib / ours, static_cast<double>(peak) / 1000);
  fs::remove_all(root);
  return 0;
}
