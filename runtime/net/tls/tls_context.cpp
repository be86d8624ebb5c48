#include "runtime/net/tls/tls_context.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>

#include <sys/socket.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/base/ip_network.hpp"
#include "runtime/net/tls/openssl_reason.hpp"
#include "runtime/text/no_password.hpp"

namespace nomad::net {
namespace {

// -- a BIO over a socket that raises no SIGPIPE

int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int bio_write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto count = ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
    BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

int bio_read(BIO* bio, char* buffer, int size) {
  BIO_clear_retry_flags(bio);
  const auto count = ::recv(socket_of(bio), buffer, static_cast<std::size_t>(size), 0);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
    BIO_set_retry_read(bio);
  return static_cast<int>(count);
}

long bio_control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* socket_method() {
  static const std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)> method{
      [] {
        auto* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
        BIO_meth_set_write(made, bio_write);
        BIO_meth_set_read(made, bio_read);
        BIO_meth_set_ctrl(made, bio_control);
        return made;
      }(),
      &BIO_meth_free};
  return method.get();
}

// -- errors --------------------------------------------------------------------------------------

/// The oldest error that OpenSSL noted for this thread, which is the cause of the others.
std::string first_reason() {
  const auto code = ERR_peek_error();
  ERR_clear_error();
  return openssl_reason(code);
}

Error file_error(const std::string& what, const std::string& file) {
  return {Errc::invalid_argument, what + ' ' + file + ": " + first_reason()};
}

/// `invalid_argument`: the peer spoke, but not TLS.
Error handshake_error(const SSL* ssl) {
  const auto verified = SSL_get_verify_result(ssl);
  const auto cause = ERR_GET_REASON(ERR_peek_error());
  std::string what = "TLS handshake: " + first_reason();
  if (verified != X509_V_OK)
    what += std::string{" ("} + X509_verify_cert_error_string(verified) + ')';
  else if (cause == SSL_R_WRONG_VERSION_NUMBER || cause == SSL_R_HTTP_REQUEST)
    return {Errc::invalid_argument, what + " (the peer does not speak TLS)"};
  return {Errc::permission_denied, std::move(what)};
}

using ContextRef = std::shared_ptr<SSL_CTX>;

Result<> use_certificate(SSL_CTX* context, const TlsOptions& options) {
  if (SSL_CTX_use_certificate_chain_file(context, options.cert_file.c_str()) != 1)
    return file_error("the certificate", options.cert_file);
  if (SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return file_error("the key", options.key_file);
  if (SSL_CTX_check_private_key(context) != 1)
    return Error{Errc::invalid_argument,
                 "the key " + options.key_file + " is not that of " + options.cert_file};
  return {};
}

/// Every file of a directory, as Go reads one; OpenSSL alone wants names by hash.
Result<> use_directory(SSL_CTX* context, const std::string& directory) {
  for (const auto& name : NOMAD_TRY(names_in(directory))) {
    std::error_code unknown;
    const auto path = directory + '/' + name;
    if (std::filesystem::is_regular_file(path, unknown)
        && SSL_CTX_load_verify_file(context, path.c_str()) != 1)
      return file_error("the CA certificate", path);
  }
  return {};
}

/// Every certificate of a text; one that is damaged fails them all.
Result<> use_pem(SSL_CTX* context, const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory{
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free};
  int count = 0;
  for (;; ++count) {
    const std::unique_ptr<X509, decltype(&X509_free)> one{
        PEM_read_bio_X509(memory.get(), nullptr, no_password, nullptr), &X509_free};
    if (!one) break;
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get());
    ERR_clear_error();
  }
  const auto last = ERR_peek_last_error();
  const bool is_at_end
      = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  const auto reason = first_reason();
  if (!is_at_end)
    return Error{Errc::invalid_argument, "the CA certificate cannot be read: " + reason};
  if (count == 0) return Error{Errc::invalid_argument, "the CA certificate is no PEM"};
  return {};
}

Result<ContextRef> make_context(const SSL_METHOD* method,
                                const TlsOptions& options,
                                bool verifies) {
  ERR_clear_error();
  ContextRef context{SSL_CTX_new(method), &SSL_CTX_free};
  if (!context) return Error{Errc::internal, "TLS: " + first_reason()};
  const bool only_13 = options.min_version == "tls13";
  if (!only_13 && options.min_version != "tls12")
    return Error{Errc::invalid_argument,
                 "tls.tls_min_version: \"" + options.min_version + "\" is not tls12 or tls13"};
  SSL_CTX_set_min_proto_version(context.get(), only_13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE
                                      | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                                      | SSL_MODE_RELEASE_BUFFERS);
  std::uint64_t flags = SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION
                        | SSL_OP_IGNORE_UNEXPECTED_EOF;
  if (options.prefer_server_cipher_suites) flags |= SSL_OP_CIPHER_SERVER_PREFERENCE;
  SSL_CTX_set_options(context.get(), flags);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_default_passwd_cb(context.get(), no_password);
  SSL_CTX_set_read_ahead(context.get(), 1);  // readers go on until nothing is left
  if (!options.cert_file.empty()) NOMAD_TRY(use_certificate(context.get(), options));
  if (!options.ca_path.empty())
    NOMAD_TRY(use_directory(context.get(), options.ca_path));
  else if (options.ca_file.empty() && options.ca_pem.empty() && verifies)  // a megabyte of them
    SSL_CTX_set_default_verify_paths(context.get());
  if (!options.ca_pem.empty()) NOMAD_TRY(use_pem(context.get(), options.ca_pem));
  if (!options.ca_file.empty()
      && SSL_CTX_load_verify_file(context.get(), options.ca_file.c_str()) != 1)
    return file_error("the CA certificate", options.ca_file);
  return context;
}

Result<ContextRef> make_server(const TlsOptions& options) {
  const bool verifies = options.verify_incoming && !options.cert_file.empty();
  auto context = make_context(TLS_server_method(), options, verifies);
  if (!context || !options.verify_incoming) return context;
  SSL_CTX_set_verify(context->get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  if (!options.ca_file.empty())
    SSL_CTX_set_client_CA_list(context->get(), SSL_load_client_CA_file(options.ca_file.c_str()));
  return context;
}

Result<ContextRef> make_client(const TlsOptions& options) {
  auto context = make_context(TLS_client_method(), options, options.verify_outgoing);
  if (context)
    SSL_CTX_set_verify(context->get(), options.verify_outgoing ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       nullptr);
  return context;
}

SSL* make_session(SSL_CTX* context, int socket) {
  auto* ssl = SSL_new(context);
  if (ssl == nullptr) return nullptr;
  auto* bio = BIO_new(socket_method());
  if (bio == nullptr) {
    SSL_free(ssl);
    return nullptr;
  }
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
  return ssl;
}

std::string text_of(const ASN1_STRING* value) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
          static_cast<std::size_t>(ASN1_STRING_length(value))};
}

std::vector<std::string> names_of(const X509* certificate) {
  std::vector<std::string> names;
  auto* list = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(list); ++i) {
    const auto* name = sk_GENERAL_NAME_value(list, i);
    if (name->type == GEN_DNS) names.push_back(text_of(name->d.dNSName));
  }
  GENERAL_NAMES_free(list);
  if (!names.empty()) return names;
  const auto* subject = X509_get_subject_name(certificate);
  const int position = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (position >= 0)
    names.push_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, position))));
  return names;
}

}  // namespace

bool TlsPeer::has(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// -- TlsSession ----------------------------------------------------------------------------------

TlsSession::TlsSession(TlsSession&& other) noexcept : ssl_{std::exchange(other.ssl_, nullptr)} {}

TlsSession::~TlsSession() {
  SSL_free(ssl_);
}

Result<TlsSession::Outcome> TlsSession::handshake() {
  ERR_clear_error();
  const int outcome = SSL_do_handshake(ssl_);
  if (outcome == 1) return Outcome{};
  switch (SSL_get_error(ssl_, outcome)) {
    case SSL_ERROR_WANT_READ:
      return Outcome{State::want_read, 0};
    case SSL_ERROR_WANT_WRITE:
      return Outcome{State::want_write, 0};
    case SSL_ERROR_ZERO_RETURN:
    case SSL_ERROR_SYSCALL:
      return Error{Errc::permission_denied, "TLS handshake: the peer hung up"};
    default:
      return handshake_error(ssl_);
  }
}

namespace {

Result<TlsSession::Outcome> outcome_of(const SSL* ssl, int outcome, std::size_t count) {
  using State = TlsSession::State;
  if (outcome == 1) return TlsSession::Outcome{State::done, count};
  switch (SSL_get_error(ssl, outcome)) {
    case SSL_ERROR_WANT_READ:
      return TlsSession::Outcome{State::want_read, 0};
    case SSL_ERROR_WANT_WRITE:
      return TlsSession::Outcome{State::want_write, 0};
    case SSL_ERROR_ZERO_RETURN:
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      return TlsSession::Outcome{State::closed, 0};
    default: {
      const auto verified = SSL_get_verify_result(ssl);
      auto what = "TLS: " + first_reason();
      if (verified != X509_V_OK)
        what += std::string{" ("} + X509_verify_cert_error_string(verified) + ')';
      return Error{Errc::permission_denied, std::move(what)};
    }
  }
}

}  // namespace

Result<TlsSession::Outcome> TlsSession::read(char* buffer, std::size_t size) {
  ERR_clear_error();
  std::size_t count = 0;
  const int outcome = SSL_read_ex(ssl_, buffer, size, &count);
  return outcome_of(ssl_, outcome, count);
}

Result<TlsSession::Outcome> TlsSession::write(const char* bytes, std::size_t size) {
  ERR_clear_error();
  std::size_t count = 0;
  const int outcome = SSL_write_ex(ssl_, bytes, size, &count);
  return outcome_of(ssl_, outcome, count);
}

bool TlsSession::has_pending() const {
  return SSL_has_pending(ssl_) == 1;
}

void TlsSession::shut_down() {
  if (SSL_is_init_finished(ssl_) == 0) return;
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

TlsPeer TlsSession::peer() const {
  TlsPeer peer;
  const std::unique_ptr<X509, decltype(&X509_free)> certificate{SSL_get1_peer_certificate(ssl_),
                                                                &X509_free};
  if (certificate && SSL_get_verify_result(ssl_) == X509_V_OK
      && (SSL_get_verify_mode(ssl_) & SSL_VERIFY_PEER) != 0)
    peer.names = names_of(certificate.get());
  return peer;
}

// -- TlsContext ----------------------------------------------------------------------------------

TlsContext::~TlsContext() = default;

Result<std::shared_ptr<TlsContext>> TlsContext::make(TlsOptions options) {
  if (options.cert_file.empty() != options.key_file.empty())
    return Error{Errc::invalid_argument, "tls: cert_file and key_file go together"};
  std::shared_ptr<TlsContext> context{new TlsContext{std::move(options)}};
  NOMAD_TRY(context->reload());
  return context;
}

Result<> TlsContext::reload() {
  auto server = NOMAD_TRY(make_server(options_));
  auto client = NOMAD_TRY(make_client(options_));
  const std::lock_guard lock{guard_};
  server_ = std::move(server);
  client_ = std::move(client);
  return {};
}

Result<TlsSession> TlsContext::accept(int socket) const {
  ContextRef context;
  {
    const std::lock_guard lock{guard_};
    context = server_;
  }
  auto* ssl = make_session(context.get(), socket);
  if (ssl == nullptr) return Error{Errc::internal, "TLS: " + first_reason()};
  SSL_set_accept_state(ssl);
  return TlsSession{ssl};
}

Result<TlsSession> TlsContext::connect(int socket,
                                       const std::string& name,
                                       const std::string& protocol) const {
  ContextRef context;
  {
    const std::lock_guard lock{guard_};
    context = client_;
  }
  auto* ssl = make_session(context.get(), socket);
  if (ssl == nullptr) return Error{Errc::internal, "TLS: " + first_reason()};
  TlsSession session{ssl};
  SSL_set_connect_state(ssl);
  if (!protocol.empty()) {
    const auto list = static_cast<char>(protocol.size()) + protocol;
    SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(list.data()),
                        static_cast<unsigned>(list.size()));
  }
  if (name.empty()) return session;
  const bool named = is_ip_address(name)
                         ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1
                         : SSL_set1_host(ssl, name.c_str()) == 1
                               && SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
  if (!named) return Error{Errc::invalid_argument, "TLS: \"" + name + "\" is no host name"};
  return session;
}

}  // namespace nomad::net
