// What the tests of RpcLink share: a server that answers, a client, a raw connection, certificates,
// and what was logged.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/base/log.hpp"
#include "runtime/net/rpc/rpc_link.hpp"
#include "runtime/net/tls/certificate.hpp"
#include "test/support/eventually.hpp"
#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"

namespace nomad::test {

using namespace nomad::net;
using namespace std::chrono_literals;

/// The warnings of the area "rpc" that were logged while it lived.
class Warnings {
public:
  Warnings() {
    listener_ = log::add_listener(log::Level::warn, [this](log::Level, const std::string& line) {
      const std::lock_guard lock{guard_};
      lines_.push_back(line);
      changed_.notify_all();
    });
  }

  ~Warnings() { log::remove_listener(listener_); }

  /// Waits for a line that contains `text`; false after 5 s.
  bool has(const std::string& text) {
    std::unique_lock lock{guard_};
    return changed_.wait_for(lock, 5s, [&] {
      return std::any_of(lines_.begin(), lines_.end(),
                         [&](const auto& line) { return line.find(text) != std::string::npos; });
    });
  }

private:
  std::mutex guard_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  decltype(log::add_listener(log::Level::warn, {})) listener_;
};

inline RpcOptions options(RpcRole role, std::string region = "global") {
  RpcOptions made;
  made.hello.role = role;
  made.hello.region = std::move(region);
  made.hello.name = "test";
  return made;
}

/// A server that answers: method 1 echoes, 2 never, 3 fails, 4 echoes its byte stream.
struct LinkServer {
  explicit LinkServer(RpcOptions given = options(RpcRole::server)) {
    RpcCallbacks callbacks;
    callbacks.on_request = [this](RpcResponder responder) { serve(std::move(responder)); };
    network = RpcNetwork::start(std::move(given), std::move(callbacks)).value();
    address = network->listen("127.0.0.1:0").value();
  }

  ~LinkServer() { network->stop(); }

  void serve(RpcResponder responder) {
    const auto method = responder.request().method;
    if (method == 1) {
      responder.respond(responder.request().body);
    } else if (method == 2) {
      responder.on_cancelled([this] {
        ++cancelled;
        note_change();
      });
      const std::lock_guard lock{guard};
      kept.push_back(std::move(responder));
    } else if (method == 3) {
      responder.fail({Errc::conflict, "no"});
    } else if (method == 4) {
      echo(std::move(responder));
    } else if (responder.request().one_way) {
      ++posted;
      note_change();
    }
  }

  static void echo(RpcResponder given) {
    const auto responder = std::make_shared<RpcResponder>(std::move(given));
    const auto stream = responder->stream();
    const auto backlog = std::make_shared<std::string>();
    const auto ended = std::make_shared<bool>(false);
    const auto push = [responder, weak = std::weak_ptr{stream}, backlog, ended] {
      const auto out = weak.lock();
      if (!out) return;
      if (!backlog->empty()) {
        const auto size = backlog->size();
        if (!out->write(Bytes::copy(*backlog))) return;
        backlog->clear();
        out->taken(size);
      }
      if (std::exchange(*ended, false)) {
        out->end();
        responder->respond(Bytes::copy("done"));
      }
    };
    stream->on_writable(push);
    stream->on_data([push, backlog, ended](Bytes bytes, bool last) {
      *backlog += bytes.text();
      *ended |= last;
      push();
    });
  }

  std::unique_ptr<RpcNetwork> network;
  std::string address;
  std::mutex guard;
  std::vector<RpcResponder> kept;
  std::atomic<int> cancelled{0};
  std::atomic<int> posted{0};
};

struct Client {
  explicit Client(RpcOptions given = options(RpcRole::client)) {
    RpcCallbacks callbacks;
    callbacks.on_request
        = [](RpcResponder responder) { responder.respond(Bytes::copy("from the client")); };
    network = RpcNetwork::start(std::move(given), std::move(callbacks)).value();
  }

  ~Client() { network->stop(); }

  Result<RpcConnectionRef> dial(const std::string& address, bool for_raft = false) {
    std::promise<Result<RpcConnectionRef>> outcome;
    network->dial({.address = address, .for_raft = for_raft},
                  [&](Result<RpcConnectionRef> made) { outcome.set_value(std::move(made)); });
    return outcome.get_future().get();
  }

  std::unique_ptr<RpcNetwork> network;
};

inline RpcReply ask(const RpcConnectionRef& connection,
                    std::uint16_t method,
                    std::string_view body,
                    std::chrono::milliseconds timeout = 5s) {
  std::promise<RpcReply> outcome;
  connection->call({.method = method, .timeout = timeout, .head = {}, .body = Bytes::copy(body)},
                   [&](RpcReply reply) { outcome.set_value(std::move(reply)); });
  return outcome.get_future().get();
}

/// A raw TCP connection.
struct Raw {
  explicit Raw(const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port
        = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  }

  ~Raw() { ::close(fd); }

  void send(std::string_view bytes) const {
    REQUIRE(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL)
            == static_cast<ssize_t>(bytes.size()));
  }

  /// Whether the other side has closed within 5 s.
  bool is_closed() const {
    const timeval patience{5, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char buffer[4096];
    for (;;) {
      const auto got = ::recv(fd, buffer, sizeof buffer, 0);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
      if (got < 0) return false;
    }
  }

  int fd;
};

inline std::string raw_frame(RpcFrameHeader header, std::string_view payload) {
  if (header.length == 0) header.length = static_cast<std::uint32_t>(payload.size());
  const auto head = encode(header);
  return std::string{reinterpret_cast<const char*>(head.data()), head.size()}
         + std::string{payload};
}

/// Certificates of one cluster in files.
struct Pki {
  Pki() : authority{make_authority({}).value()} { write("ca.pem", authority.certificate); }

  std::shared_ptr<TlsContext> context(const std::string& name) {
    const auto made = make_certificate(authority, {.common_name = name,
                                                   .dns_names = {name, "localhost"},
                                                   .ip_addresses = {"127.0.0.1"}})
                          .value();
    write(name + ".pem", made.certificate);
    write(name + "-key.pem", made.key);
    return TlsContext::make({.ca_file = path("ca.pem"),
                             .cert_file = path(name + ".pem"),
                             .key_file = path(name + "-key.pem")})
        .value();
  }

  std::string path(const std::string& file) const { return directory.path() + '/' + file; }

  void write(const std::string& file, const std::string& text) const {
    std::ofstream{path(file)} << text;
  }

  test::TempDir directory;
  CertifiedKey authority;
};

inline RpcOptions secured(RpcRole role,
                          std::shared_ptr<TlsContext> tls,
                          std::string region = "global") {
  auto made = options(role, std::move(region));
  made.tls = std::move(tls);
  made.verify_role = true;
  return made;
}

}  // namespace nomad::test
