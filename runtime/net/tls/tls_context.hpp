// TlsContext: the certificates of this node, and TLS over sockets that somebody else polls. Used by
// the HTTP server, the HTTP client and the RPC connections alike; OpenSSL is named nowhere else.
//
// TLS 1.2 and 1.3, certificates of one CA. A context is immutable; `reload` reads the files again
// and what is opened later uses the new ones, while open connections keep theirs. Thread-safe.
//
// May depend on: runtime/base.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace nomad::net {

struct TlsOptions {
  std::string ca_file = {};     ///< PEM; whom to trust. Empty: the system's, for dialing only.
  std::string cert_file = {};   ///< PEM, with its chain. Needed for listening.
  std::string key_file = {};    ///< PEM.
  std::string ca_pem = {};      ///< Such certificates themselves, besides or instead of `ca_file`.
  std::string ca_path = {};     ///< A directory of such files, besides or instead of `ca_file`.
  bool verify_incoming = true;  ///< Whoever connects must have a certificate of the CA.
  bool verify_outgoing = true;  ///< Off: whoever answers is believed; for `-tls-skip-verify`.
  bool prefer_server_cipher_suites = false;
  std::string min_version = "tls12";  ///< "tls12" or "tls13".
};

/// The names in a verified certificate of a peer; empty without one.
struct TlsPeer {
  std::vector<std::string> names;  ///< DNS names, then the common name if there are none.

  bool has(std::string_view name) const;
};

/// One side of one TLS connection over a non-blocking socket. Calls do as much as the socket
/// allows and say what to poll for. Not thread-safe; the socket stays the caller's.
class TlsSession {
public:
  enum class State : std::uint8_t { done, want_read, want_write, closed };

  struct Outcome {
    State state = State::done;
    std::size_t count = 0;  ///< Bytes read or written, when `done`.
  };

  TlsSession(TlsSession&&) noexcept;
  ~TlsSession();

  /// The handshake, step by step. An error says what is wrong with the peer or with us.
  Result<Outcome> handshake();

  /// `closed` is the peer's proper or improper end.
  Result<Outcome> read(char* buffer, std::size_t size);
  Result<Outcome> write(const char* bytes, std::size_t size);

  /// Decrypted bytes that a poll of the socket would not show.
  bool has_pending() const;

  /// Tells the peer that nothing more comes; does not wait.
  void shut_down();

  /// Whose certificate was verified; after the handshake.
  TlsPeer peer() const;

private:
  friend class TlsContext;

  explicit TlsSession(ssl_st* ssl) : ssl_{ssl} {}

  ssl_st* ssl_;
};

class TlsContext {
public:
  /// Reads the files. Errors name the file and what is wrong with it.
  static Result<std::shared_ptr<TlsContext>> make(TlsOptions options);

  TlsContext(const TlsContext&) = delete;
  ~TlsContext();

  /// Reads the files again. On an error nothing changes.
  Result<> reload();

  /// The accepting side on `socket`.
  Result<TlsSession> accept(int socket) const;

  /// The dialing side. The peer's certificate must be of the CA and, unless `name` is empty, be
  /// made out to it (a DNS name or an IP address). `protocol` is all that is offered by ALPN.
  Result<TlsSession> connect(int socket,
                             const std::string& name,
                             const std::string& protocol = {}) const;

  const TlsOptions& options() const { return options_; }

private:
  explicit TlsContext(TlsOptions options) : options_{std::move(options)} {}

  TlsOptions options_;
  mutable std::mutex guard_;
  std::shared_ptr<ssl_ctx_st> server_;
  std::shared_ptr<ssl_ctx_st> client_;
};

}  // namespace nomad::net
