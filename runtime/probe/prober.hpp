// Prober: asks what listens at an address whether it is well, by HTTP, TCP or gRPC, for the checks
// of services. Any number of probes at once, on one thread that begins with the first of them.
//
// Each probe has a connection of its own: one that was made long ago does not show that new ones
// are let in. No proxy is used, whatever the environment says. A probe is bounded in time by its
// timeout, and in memory by what is kept of an answer.
//
// On net::AsyncHttpClient; gRPC's calls, which take HTTP/2, go over tunnels of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nomad::probe {

enum class Kind : std::uint8_t { http, tcp, grpc };

/// What to ask. Texts may be anything that a job says: what cannot be sent fails the probe.
struct Probe {
  Kind kind = Kind::tcp;
  std::string host;  ///< An address or a name, without brackets.
  std::uint16_t port = 0;
  std::chrono::milliseconds timeout{0};  ///< For all of it; at least 1 ms, at most ten minutes.

  bool tls = false;
  std::string tls_server_name;  ///< To whom the certificate must be made out; "": to `host`.
  bool tls_skip_verify = false;

  std::string method = "GET";
  std::string path;  ///< With its query; "/" is put before it if it lacks one.
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;

  std::string grpc_service;  ///< "": the server as a whole.
};

/// Texts are Nomad's where it has some, and begin with "nomad: " if the prober made them.
struct Outcome {
  bool passed = false;
  int status_code = 0;  ///< Of an HTTP answer; 0: none.
  std::string output;   ///< Any bytes; at most a little more than 3 KiB.
};

class Prober {
public:
  /// Chosen by the caller; not that of a probe under way.
  using Id = std::uint64_t;

  /// On the prober's thread; must be quick.
  using Done = std::function<void(Outcome)>;

  virtual ~Prober() = default;

  /// Any thread. Calls `done` once, unless the probe is cancelled or the prober destroyed before.
  virtual void start(Id id, Probe probe, Done done) = 0;

  /// Any thread. `done` may be running on return.
  virtual void cancel(Id id) = 0;
};

/// HTTP: 200 passes, less than 400 passes with the answer's body as output, anything else fails
/// with it. Redirects are followed as Go's client does: ten, to any host, credentials only to the
/// same one. TCP: that a connection is made. gRPC: grpc.health.v1.Health/Check says SERVING.
std::unique_ptr<Prober> make_prober();

}  // namespace nomad::probe
