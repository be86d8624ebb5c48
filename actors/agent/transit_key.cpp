#include "actors/agent/transit_key.hpp"

#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include <boost/json.hpp>
#include <sodium.h>

#include "runtime/net/http/client/async_http_client.hpp"
#include "runtime/net/tls/tls_context.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/text/url.hpp"

namespace nomad::agent {
namespace {

using namespace std::chrono_literals;
using security::Secret;

constexpr net::HttpLimits transit_limits{
    .connect = 5s, .header = 10s, .silence = 10s, .whole = 10s, .body_bytes = 64 * 1024};

/// Whether this thread is in an answer of a client, which must not be waited for then.
thread_local bool is_answering = false;

std::string without_slashes(std::string path) {
  while (path.starts_with('/'))
    path.erase(0, 1);
  while (path.ends_with('/'))
    path.pop_back();
  return path;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

Error transit_error(std::string what) {
  return {Errc::unavailable, std::move(what)};
}

/// The memory of an answer's tree, which holds keys, and is wiped when the tree goes.
class WipedMemory : public boost::json::memory_resource {
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    return ::operator new (size, std::align_val_t{alignment});
  }

  void do_deallocate(void* memory, std::size_t size, std::size_t alignment) override {
    sodium_memzero(memory, size);
    ::operator delete (memory, std::align_val_t{alignment});
  }

  bool do_is_equal(const boost::json::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

Secret base64_of(const Secret& content) {
  Secret encoded{sodium_base64_encoded_len(content.size(), sodium_base64_VARIANT_ORIGINAL)};
  sodium_bin2base64(reinterpret_cast<char*>(encoded.bytes().data()), encoded.size(),
                    reinterpret_cast<const unsigned char*>(content.bytes().data()), content.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  return Secret::copy_of(encoded.text().substr(0, encoded.size() - 1));  // without its NUL
}

Result<Secret> content_of(const Secret& encoded) {
  Secret decoded{encoded.size() / 4 * 3};
  std::size_t length = 0;
  const int failed = sodium_base642bin(reinterpret_cast<unsigned char*>(decoded.bytes().data()),
                                       decoded.size(), encoded.text().data(), encoded.size(),
                                       nullptr, &length, nullptr, sodium_base64_VARIANT_ORIGINAL);
  if (failed != 0) return transit_error("the service's plaintext is no base64");
  return Secret::copy_of(std::as_const(decoded).bytes().first(length));
}

/// A hash of what else tells one service's key from another's, beside the names of mount and key.
std::string place_digits(const std::string& address, const std::string& vault_namespace) {
  const auto location = address + '\n' + vault_namespace;
  unsigned char hash[16] = {};
  crypto_generichash(hash, sizeof hash, reinterpret_cast<const unsigned char*>(location.data()),
                     location.size(), nullptr, 0);
  char digits[2 * 8 + 1] = {};
  sodium_bin2hex(digits, sizeof digits, hash, 8);
  return digits;
}

/// `{"plaintext":"…"}`. Base64 has nothing that JSON would escape.
std::string body_of(const char* name, const Secret& base64) {
  std::string body;
  body.reserve(base64.size() + 32);  // it does not move: no copy of it is left behind
  body.append("{\"").append(name).append("\":\"").append(base64.text()).append("\"}");
  return body;
}

Secret text_at(const boost::json::value& body, const char* name) {
  const auto* object = body.if_object();
  const auto* data = object != nullptr ? object->if_contains("data") : nullptr;
  const auto* fields = data != nullptr ? data->if_object() : nullptr;
  const auto* value = fields != nullptr ? fields->if_contains(name) : nullptr;
  const auto* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? Secret::copy_of({text->data(), text->size()}) : Secret{};
}

/// What a refusal says: `{"errors":["permission denied"]}`.
std::string errors_of(const boost::json::value& body) {
  const auto* object = body.if_object();
  const auto* list = object != nullptr ? object->if_contains("errors") : nullptr;
  const auto* errors = list != nullptr ? list->if_array() : nullptr;
  if (errors == nullptr || errors->empty() || !errors->front().is_string()) return "";
  const auto& first = errors->front().get_string();
  return ": " + std::string{first.data(), first.size()};
}

class TransitKey : public security::WrappingKey {
public:
  TransitKey(TransitOptions options, Url url, std::shared_ptr<const net::TlsContext> tls)
      : options_{std::move(options)},
        url_{std::move(url)},
        tls_{std::move(tls)},
        client_{std::make_unique<net::AsyncHttpClient>(
            net::AsyncHttpClientOptions{.thread = "transit"})} {
    name_ = "keyring transit ";
    if (!options_.vault_namespace.empty()) name_ += options_.vault_namespace + "/";
    name_ += options_.mount_path + "/" + options_.key_name;
    start_ = name_;
    name_ += ' ' + place_digits(options_.address, options_.vault_namespace);
  }

  TransitKey(const TransitKey&) = delete;

  ~TransitKey() override {
    if (is_answering)
      std::thread{[client = std::move(client_)]() mutable { client.reset(); }}.detach();
    security::wipe(options_.token);
  }

  const std::string& name() const override { return name_; }

  /// Also what was wrapped when the service had another address.
  bool may_unwrap(std::string_view recipient) const override {
    return recipient.starts_with(start_)
           && (recipient.size() == start_.size() || recipient[start_.size()] == ' ');
  }

  void wrap(std::string_view, const Secret& content, Wrapped done) override {
    ask("encrypt", body_of("plaintext", base64_of(content)), "ciphertext",
        [done = std::move(done)](Result<Secret> sealed) {
          if (!sealed) return done(sealed.error());
          const auto bytes = std::as_const(*sealed).bytes();
          done(security::Bytes{bytes.begin(), bytes.end()});
        });
  }

  void unwrap(std::string_view, std::span<const std::byte> sealed, Unwrapped done) override {
    const std::string_view given{reinterpret_cast<const char*>(sealed.data()), sealed.size()};
    ask("decrypt", boost::json::serialize(boost::json::object{{"ciphertext", given}}), "plaintext",
        [done = std::move(done)](Result<Secret> encoded) {
          done(encoded ? content_of(*encoded) : std::move(encoded));
        });
  }

private:
  using Text = std::function<void(Result<Secret>)>;

  void ask(std::string_view operation, std::string body, const char* wanted, Text done) {
    net::HttpRequest request;
    request.to = {url_.scheme, url_.host_name(), url_.port(), ""};
    request.method = "PUT";
    request.target
        = "/v1/" + options_.mount_path + '/' + std::string{operation} + '/' + options_.key_name;
    request.headers.push_back({"X-Vault-Token", options_.token});
    request.headers.push_back({"X-Vault-Request", "true"});
    request.headers.push_back({"Content-Type", "application/json"});
    if (!options_.vault_namespace.empty())
      request.headers.push_back({"X-Vault-Namespace", options_.vault_namespace});
    request.body = std::move(body);
    request.tls = tls_;
    request.tls_name = options_.tls_server_name;
    net::HttpHandlers handlers;
    handlers.ended = [wanted, done = std::move(done)](net::HttpOutcome outcome) {
      is_answering = true;
      done(text_in(std::move(outcome), wanted));
      is_answering = false;
    };
    client_->send(std::move(request), transit_limits, std::move(handlers));
  }

  static Result<Secret> text_in(net::HttpOutcome outcome, const char* wanted) {
    if (outcome.failure) return transit_error(outcome.failure->error().what);
    WipedMemory memory;
    auto body = parse_json(outcome.answer.body, &memory);
    security::wipe(outcome.answer.body);
    const auto status = std::to_string(outcome.answer.status);
    if (outcome.answer.status / 100 != 2)
      return transit_error("the service answered " + status + (body ? errors_of(*body) : ""));
    auto text = body ? text_at(*body, wanted) : Secret{};
    if (text.size() == 0)
      return transit_error("the service's answer has no " + std::string{wanted});
    return text;
  }

  TransitOptions options_;
  Url url_;
  std::shared_ptr<const net::TlsContext> tls_;
  std::string start_;  ///< Of the name, without the digits of where the service is.
  std::string name_;
  std::unique_ptr<net::AsyncHttpClient> client_;
};

Error bad_option(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

}  // namespace

Result<std::shared_ptr<security::WrappingKey>> make_transit_key(TransitOptions options) {
  if (options.address.empty())
    return bad_option("address: expected the service's, or VAULT_ADDR in the environment");
  if (options.token.empty())
    return bad_option("token: expected one, or VAULT_TOKEN in the environment");
  if (options.key_name.empty()) return bad_option("key_name: expected the transit key's name");
  options.mount_path = without_slashes(options.mount_path);
  options.vault_namespace = without_slashes(options.vault_namespace);
  if (options.mount_path.empty()) options.mount_path = "transit";
  auto url = NOMAD_TRY(parse_url(options.address).within("address"));
  if (url.scheme != "https" && (url.scheme != "http" || !is_loopback(url.host_name())))
    return bad_option("address: expected one by https: root keys would be sent in the clear");
  std::shared_ptr<const net::TlsContext> tls;
  if (url.scheme == "https")
    tls = NOMAD_TRY(net::TlsContext::make({.ca_file = options.ca_file}).within("tls_ca_cert"));
  return std::shared_ptr<security::WrappingKey>{
      std::make_shared<TransitKey>(std::move(options), std::move(url), std::move(tls))};
}

}  // namespace nomad::agent
