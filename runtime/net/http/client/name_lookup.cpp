#include "runtime/net/http/client/name_lookup.hpp"

#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <sys/un.h>

#include <netdb.h>
#include <pthread.h>

#include "runtime/base/guard.hpp"

namespace nomad::net {
namespace {

Result<SocketAddresses> look_up(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (failure != 0)
    return Error{Errc::unavailable,
                 "dial tcp: lookup " + host + ": "
                     + (failure == EAI_NONAME ? "no such host" : ::gai_strerror(failure))};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{found, &::freeaddrinfo};
  SocketAddresses addresses;
  for (const auto* each = found; each != nullptr; each = each->ai_next) {
    auto& address = addresses.emplace_back();
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
  }
  return addresses;
}

}  // namespace

SocketAddresses numeric_addresses(const std::string& host, const std::string& port) {
  auto found = look_up(host, port, AI_NUMERICHOST);
  return found ? std::move(*found) : SocketAddresses{};
}

SocketAddresses unix_addresses(const std::string& path) {
  SocketAddress address;
  auto* const named = reinterpret_cast<sockaddr_un*>(&address.storage);
  if (path.size() >= sizeof named->sun_path) return {};
  named->sun_family = AF_UNIX;
  std::memcpy(named->sun_path, path.data(), path.size());
  address.size = sizeof *named;
  return {address};
}

struct NameLookup::Shared {
  struct Question {
    std::weak_ptr<const void> asker;
    std::string host;
    std::string port;
    Done done;
  };

  std::mutex guard;
  std::deque<Question> waiting;
  int threads = 0;
  bool is_over = false;

  /// Of a thread: until nothing waits.
  void serve() {
    std::unique_lock lock{guard};  // also while somebody is told: who goes is told nothing later
    while (!waiting.empty()) {
      const auto question = std::move(waiting.front());
      waiting.pop_front();
      if (question.asker.expired()) continue;
      lock.unlock();
      Result<SocketAddresses> found{Error{Errc::internal, "dial tcp: lookup " + question.host}};
      guarded("net", [&] { found = look_up(question.host, question.port, 0); });
      lock.lock();
      if (!is_over) guarded("net", [&] { question.done(std::move(found)); });
    }
    --threads;
  }
};

NameLookup::NameLookup() : shared_{std::make_shared<Shared>()} {}

NameLookup::~NameLookup() {
  const std::lock_guard lock{shared_->guard};
  shared_->is_over = true;
  shared_->waiting.clear();
}

void NameLookup::find(std::weak_ptr<const void> asker,
                      std::string host,
                      std::string port,
                      Done done) {
  const std::lock_guard lock{shared_->guard};
  auto& waiting = shared_->waiting;
  if (waiting.size() >= most_waiting)
    std::erase_if(waiting, [](const auto& each) { return each.asker.expired(); });
  if (waiting.size() >= most_waiting)
    return done(Error{Errc::overloaded, "dial tcp: lookup " + host + ": too many wait for names"});
  waiting.push_back({std::move(asker), std::move(host), std::move(port), std::move(done)});
  if (shared_->threads == most_threads) return;
  std::thread{[shared = shared_] {
    ::pthread_setname_np(::pthread_self(), "lookup");
    shared->serve();
  }}.detach();
  ++shared_->threads;
}

}  // namespace nomad::net
