#include "actors/api/acl/login_providers.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/artifact/rules/redirect_policy.hpp"
#include "runtime/net/http/client/async_http_client.hpp"
#include "runtime/net/http/status.hpp"
#include "runtime/net/tls/tls_context.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/text/url.hpp"

namespace nomad::api {

namespace {

using namespace std::chrono_literals;
using ProviderClock = std::chrono::steady_clock;
using ProviderRef = std::shared_ptr<const LoginProvider>;
using BodyDone = std::function<void(Result<std::string>)>;

constexpr auto provider_kept_for = 5min;
constexpr auto provider_asked_anew_after = 10s;
constexpr auto provider_failure_kept_for = 1s;
constexpr std::size_t most_waiting_logins = 64;  ///< For one answer.
constexpr std::size_t most_kept_providers = 256;
constexpr int most_provider_redirects = 5;
constexpr net::HttpLimits provider_limits{
    .connect = 5s, .header = 10s, .silence = 10s, .whole = 10s, .body_bytes = 1024 * 1024};

Error provider_error(std::string what) {
  return {Errc::unavailable, std::move(what)};
}

Error not_asked(const LoginProviders::Question& question,
                const Url& url,
                const net::HttpClientError& failure) {
  return {failure.code, fmt::format("{} \"{}\": {}", question.form.empty() ? "Get" : "Post",
                                    access::location_of(url), failure.what)};
}

Result<net::HttpRequest> request_to(const LoginProviders::Question& question, const Url& url) {
  if (url.scheme != "http" && url.scheme != "https")
    return provider_error(
        fmt::format("\"{}\" is no address by http or https", access::location_of(url)));
  net::HttpRequest request;
  request.to = {url.scheme, url.host_name(), url.port(), ""};
  request.target = url.path.empty() ? "/" : url.path;
  if (!url.query.empty()) request.target += '?' + url.query;
  request.headers = question.headers;
  request.headers.push_back({"Accept", "application/json"});
  if (!question.form.empty()) {
    request.method = "POST";
    request.body = question.form;
    request.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
  }
  if (url.scheme == "https")
    request.tls = NOMAD_TRY(net::TlsContext::make({.ca_pem = question.ca_pem}));
  return request;
}

/// Where a GET is to be asked instead; by no other scheme.
Result<std::optional<Url>> moved_to(const LoginProviders::Question& question,
                                    const Url& url,
                                    const net::ClientResponse& answer) {
  if (!artifact::RedirectPolicy::is_redirect(answer.status) || !question.form.empty())
    return std::optional<Url>{};
  auto to = resolve_url(url, answer.header("Location"));
  if (!to)
    return provider_error(fmt::format("\"{}\" redirects to no URL", access::location_of(url)));
  if (to->scheme != url.scheme)
    return provider_error(
        fmt::format("\"{}\" redirects to another scheme", access::location_of(url)));
  return std::optional{std::move(*to)};
}

/// What is asked behind a redirect. Headers are for the origin that was meant: another one gets
/// none, nor does whoever it redirects to.
LoginProviders::Question redirected(LoginProviders::Question question,
                                    const Url& from,
                                    const Url& to) {
  if (!same_origin(from, to)) question.headers.clear();
  return question;
}

}  // namespace

std::string discovery_ca(schema::AclAuthMethodConfig::Reader config) {
  std::string pem;
  for (const auto one : config.getDiscoveryCaPem())
    pem += copy(one) + '\n';
  return pem;
}

class LoginProviders::Core : public std::enable_shared_from_this<Core> {
public:
  void find(const Method& method, std::string_view key_id, std::function<void(Found)> done) {
    const auto key = std::make_pair(copy(method->getName()), method->getModifyIndex());
    std::unique_lock lock{guard_};
    if (is_stopped_) return;
    if (!kept_.contains(key)) make_room(key.first);
    auto& kept = kept_[key];
    const auto now = ProviderClock::now();
    const auto age = now - kept.since;
    const bool counts = kept.provider && age < provider_kept_for
                        && (kept.provider->has_key(key_id) || age < provider_asked_anew_after);
    if (counts) {
      const auto provider = kept.provider;
      lock.unlock();
      return done(provider);
    }
    if (kept.failure && now - kept.failed_at < provider_failure_kept_for) {
      const auto failure = *kept.failure;
      lock.unlock();
      return done(failure);
    }
    if (kept.waiting.size() >= most_waiting_logins) {
      lock.unlock();
      return done(Error{Errc::overloaded, "too many logins wait for the provider"});
    }
    kept.waiting.push_back(std::move(done));
    if (kept.waiting.size() > 1) return;
    lock.unlock();
    learn(method, [weak = weak_from_this(), key](Found found) {
      if (const auto alive = weak.lock()) alive->learned(key, std::move(found));
    });
  }

  void ask(const Question& question, const BodyDone& done) {
    auto url = parse_url(question.url);
    if (!url) return done(provider_error("the address of the provider is no URL"));
    hop(question, *url, 0, done);
  }

  void stop() {
    std::map<Key, Kept> kept;
    std::unique_ptr<net::AsyncHttpClient> client;
    {
      const std::lock_guard lock{guard_};
      is_stopped_ = true;
      kept.swap(kept_);
      client.swap(client_);
    }
    client.reset();  // waits for a handler that runs now
  }

private:
  using Key = std::pair<std::string, std::uint64_t>;  ///< A method's name and modify index.

  struct Kept {
    ProviderRef provider;
    ProviderClock::time_point since;
    std::optional<Error> failure;  ///< Of the last question.
    ProviderClock::time_point failed_at;
    std::vector<std::function<void(Found)>> waiting;  ///< Not empty: it is being asked.
  };

  /// Of older forms of the method first, then of any.
  void make_room(const std::string& name) {
    std::erase_if(kept_, [&](const auto& entry) {
      return entry.first.first == name && entry.second.waiting.empty();
    });
    if (kept_.size() < most_kept_providers) return;
    std::erase_if(kept_, [](const auto& entry) { return entry.second.waiting.empty(); });
  }

  void learned(const Key& key, Found found) {
    std::vector<std::function<void(Found)>> waiting;
    {
      const std::lock_guard lock{guard_};
      const auto entry = kept_.find(key);
      if (entry == kept_.end()) return;
      waiting.swap(entry->second.waiting);
      auto& kept = entry->second;
      if (found) {
        kept.provider = *found;
        kept.since = ProviderClock::now();
        kept.failure.reset();
      } else {
        kept.failure = found.error();
        kept.failed_at = ProviderClock::now();
      }
    }
    for (const auto& done : waiting)
      done(found);
  }

  void learn(const Method& method, std::function<void(Found)> done) {
    const auto config = method->getConfig();
    const auto issuer = copy(config.getOidcDiscoveryUrl());
    if (config.getJwksUrl().size() != 0)
      return learn_keys({}, {copy(config.getJwksUrl()), copy(config.getJwksCaCert())},
                        std::move(done));
    if (issuer.empty()) return done(provider_error("the method names no keys"));
    auto base = issuer;
    if (base.ends_with('/')) base.pop_back();
    const Question document{base + "/.well-known/openid-configuration", discovery_ca(config)};
    ask(document, [weak = weak_from_this(), issuer, done = std::move(done),
                   ca = document.ca_pem](const Result<std::string>& body) {
      const auto alive = weak.lock();
      if (!alive) return;
      if (!body) return done(body.error());
      const auto provider = access::read_discovery(issuer, *body);
      if (!provider) return done(provider.error());
      alive->learn_keys(*provider, {provider->key_set_url, ca}, done);
    });
  }

  void learn_keys(LoginProvider provider, const Question& set, std::function<void(Found)> done) {
    ask(set, [provider = std::move(provider),
              done = std::move(done)](const Result<std::string>& body) mutable {
      if (!body) return done(body.error());
      auto keys = access::read_jwks(*body);
      if (!keys) return done(keys.error());
      provider.keys = std::move(*keys);
      done(std::make_shared<const LoginProvider>(std::move(provider)));
    });
  }

  void hop(const Question& question, const Url& url, int hops, const BodyDone& done) {
    auto request = request_to(question, url);
    if (!request) return done(request.error());
    net::HttpHandlers handlers;
    handlers.ended
        = [weak = weak_from_this(), question, url, hops, done](const net::HttpOutcome& told) {
            if (told.failure) return done(not_asked(question, url, *told.failure));
            if (told.answer.status == net::status::ok) return done(told.answer.body);
            const auto to = moved_to(question, url, told.answer);
            if (!to) return done(to.error());
            const auto alive = weak.lock();
            if (!alive) return;
            if (*to && hops < most_provider_redirects)
              return alive->hop(redirected(question, url, **to), **to, hops + 1, done);
            done(provider_error(fmt::format("\"{}\" answered with status {}",
                                            access::location_of(url), told.answer.status)));
          };
    const std::lock_guard lock{guard_};
    if (client_) client_->send(std::move(*request), provider_limits, std::move(handlers));
  }

  std::mutex guard_;
  bool is_stopped_ = false;
  std::map<Key, Kept> kept_;
  std::unique_ptr<net::AsyncHttpClient> client_
      = std::make_unique<net::AsyncHttpClient>(net::AsyncHttpClientOptions{.thread = "acl-login"});
};

LoginProviders::LoginProviders() : core_{std::make_shared<Core>()} {}

LoginProviders::~LoginProviders() {
  core_->stop();
}

void LoginProviders::find(const Method& method,
                          std::string_view key_id,
                          std::function<void(Found)> done) {
  core_->find(method, key_id, std::move(done));
}

void LoginProviders::ask(Question question, std::function<void(Result<std::string>)> done) {
  core_->ask(question, done);
}

void LoginProviders::stop() {
  core_->stop();
}

}  // namespace nomad::api
