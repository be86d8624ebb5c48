#include "actors/agent/transit_key.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include <boost/json.hpp>

#include "runtime/base/base64.hpp"
#include "runtime/net/http/client/async_http_client.hpp"
#include "runtime/net/tls/tls_context.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/text/url.hpp"

namespace nomad::agent {
namespace {

using namespace std::chrono_literals;

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

std::string text_at(const boost::json::value& body, const char* name) {
  const auto* object = body.if_object();
  const auto* data = object != nullptr ? object->if_contains("data") : nullptr;
  const auto* fields = data != nullptr ? data->if_object() : nullptr;
  const auto* value = fields != nullptr ? fields->if_contains(name) : nullptr;
  const auto* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string{text->data(), text->size()} : "";
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

Error transit_error(std::string what) {
  return {Errc::unavailable, std::move(what)};
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
  }

  TransitKey(const TransitKey&) = delete;

  ~TransitKey() override {
    if (is_answering)
      std::thread{[client = std::move(client_)]() mutable { client.reset(); }}.detach();
    security::wipe(options_.token);
  }

  const std::string& name() const override { return name_; }

  void wrap(std::string_view, const security::Secret& content, Wrapped done) override {
    ask("encrypt", "plaintext", encode_base64(content.text()), "ciphertext",
        [done = std::move(done)](Result<std::string> sealed) {
          if (!sealed) return done(sealed.error());
          const auto bytes = std::as_bytes(std::span{*sealed});
          done(security::Bytes{bytes.begin(), bytes.end()});
        });
  }

  void unwrap(std::string_view, std::span<const std::byte> sealed, Unwrapped done) override {
    ask("decrypt", "ciphertext",
        std::string{reinterpret_cast<const char*>(sealed.data()), sealed.size()}, "plaintext",
        [done = std::move(done)](Result<std::string> encoded) {
          auto content = encoded ? decode_base64(*encoded) : std::move(encoded);
          if (!content) return done(transit_error(content.error().what));
          auto secret = security::Secret::copy_of(std::string_view{*content});
          security::wipe(*content);
          done(std::move(secret));
        });
  }

private:
  using Text = std::function<void(Result<std::string>)>;

  void ask(std::string_view operation,
           const char* given,
           const std::string& value,
           const char* wanted,
           Text done) {
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
    request.body = boost::json::serialize(boost::json::object{{given, value}});
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

  static Result<std::string> text_in(net::HttpOutcome outcome, const char* wanted) {
    if (outcome.failure) return transit_error(outcome.failure->error().what);
    auto body = parse_json(outcome.answer.body);
    security::wipe(outcome.answer.body);
    const auto status = std::to_string(outcome.answer.status);
    if (outcome.answer.status / 100 != 2)
      return transit_error("the service answered " + status + (body ? errors_of(*body) : ""));
    auto text = body ? text_at(*body, wanted) : "";
    if (text.empty()) return transit_error("the service's answer has no " + std::string{wanted});
    return text;
  }

  TransitOptions options_;
  Url url_;
  std::shared_ptr<const net::TlsContext> tls_;
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
