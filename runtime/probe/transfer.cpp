#include "runtime/probe/transfer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include <sys/socket.h>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/net/http/http_message.hpp"
#include "runtime/net/http/url.hpp"
#include "runtime/net/socket.hpp"
#include "runtime/probe/grpc_health.hpp"

namespace nomad::probe {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_kept = 3 * 1024;
constexpr int most_redirects = 10;

/// As little of it as ever is sent at once: heads of probes are small, and there may be many.
constexpr long buffer_bytes = 4096;

/// What those hosts may not see that a redirect leads to.
constexpr std::array<std::string_view, 4> credentials
    = {"Authorization", "Www-Authenticate", "Cookie", "Cookie2"};

/// What the framing of a request makes of itself.
constexpr std::array<std::string_view, 3> framing
    = {"Content-Length", "Transfer-Encoding", "Trailer"};

template <std::size_t count>
bool is_one_of(std::string_view header, const std::array<std::string_view, count>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return net::same_header(name, header); });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string::npos;
  });
}

bool is_header_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}

/// Sockets that no task inherits.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/// Go's name of a request in errors: "Get".
std::string method_title(std::string_view method) {
  auto title = to_lower(method);
  if (!title.empty()) title[0] = to_upper(title[0]);
  return title;
}

/// Owns a URL while it is taken apart.
using UrlHandle = std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)>;

std::string part_of(const UrlHandle& url, CURLUPart part) {
  char* text = nullptr;
  if (curl().url_get(url.get(), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  std::string out{text};
  curl().free(text);
  return out;
}

std::string host_and_port(const std::string& url_text) {
  const UrlHandle url{curl().url(), curl().url_cleanup};
  curl().url_set(url.get(), CURLUPART_URL, url_text.c_str(), 0);
  return part_of(url, CURLUPART_HOST) + ':' + part_of(url, CURLUPART_PORT);
}

/// `location` as seen from `base`; "" when it leads nowhere that we would go.
std::string resolved(const std::string& base, const std::string& location) {
  const UrlHandle url{curl().url(), curl().url_cleanup};
  if (curl().url_set(url.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK
      || curl().url_set(url.get(), CURLUPART_URL, location.c_str(), CURLU_URLENCODE) != CURLUE_OK)
    return {};
  const auto scheme = part_of(url, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return {};
  return part_of(url, CURLUPART_URL);
}

}  // namespace

Transfer::Transfer(Prober::Id id, Probe probe, Prober::Done done, Clock::time_point now)
    : id_{id},
      probe_{std::move(probe)},
      done_{std::move(done)},
      deadline_{now + std::clamp<std::chrono::milliseconds>(probe_.timeout, 1ms, 10min)},
      easy_{curl().easy_init()},
      method_{probe_.method} {
  // A certificate is compared with the host of the URL, so that is what it is to be made out to;
  // `prepare_tls` has the connection made to where the probe goes.
  const auto& host
      = probe_.tls && !probe_.tls_server_name.empty() ? probe_.tls_server_name : probe_.host;
  std::string path = probe_.path.substr(0, probe_.path.find('#'));
  if (probe_.kind == Kind::grpc) path = health_check_path;
  if (probe_.kind == Kind::tcp) path.clear();
  if (!path.starts_with('/')) path.insert(0, 1, '/');
  url_ = (probe_.tls ? "https://" : "http://")
         + net::join_host_port(host, std::to_string(probe_.port))
         + percent_encode(path, "/?&=%+:@!$'()*,;[]");
}

Transfer::~Transfer() {
  curl().easy_cleanup(easy_);
  curl().slist_free_all(headers_);
  curl().slist_free_all(connect_to_);
}

// -- what is sent --------------------------------------------------------------------------------

/// What is wrong with the texts of the probe; Go's words.
std::string Transfer::flaw() const {
  if (easy_ == nullptr) return "there is no memory for a probe";
  if (probe_.kind == Kind::tcp) return {};
  if (!is_token(method_)) return "net/http: invalid method " + quote(method_);
  for (const auto& [name, value] : probe_.headers) {
    if (!is_token(name)) return "net/http: invalid header field name " + quote(name);
    if (!is_header_value(value)) return "net/http: invalid header field value for " + quote(name);
  }
  return {};
}

std::optional<Outcome> Transfer::prepare() {
  if (auto wrong = flaw(); !wrong.empty()) return failed(wrong);
  if (Clock::now() >= deadline_) return outcome(CURLE_OPERATION_TIMEDOUT);
  curl().easy_reset(easy_);
  curl().slist_free_all(std::exchange(headers_, nullptr));
  status_ = 0;
  location_.clear();
  received_.clear();
  prepare_common();
  prepare_tls();
  if (probe_.kind == Kind::tcp) curl().easy_setopt(easy_, CURLOPT_CONNECT_ONLY, 1L);
  if (probe_.kind == Kind::http) prepare_http();
  if (probe_.kind == Kind::grpc) prepare_grpc();
  curl().easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
  return std::nullopt;
}

void Transfer::prepare_common() {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
  curl().easy_setopt(easy_, CURLOPT_PRIVATE, this);
  curl().easy_setopt(easy_, CURLOPT_ERRORBUFFER, why_);
  curl().easy_setopt(easy_, CURLOPT_URL, url_.c_str());
  curl().easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl().easy_setopt(easy_, CURLOPT_TIMEOUT_MS, std::max<long>(left.count(), 1));
  curl().easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl().easy_setopt(easy_, CURLOPT_PROXY, "");
  curl().easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
  curl().easy_setopt(easy_, CURLOPT_FORBID_REUSE, 1L);
  curl().easy_setopt(easy_, CURLOPT_BUFFERSIZE, buffer_bytes);
  curl().easy_setopt(easy_, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  // Else the end of a probe waits for the resolver, on the thread of all others.
  curl().easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
  curl().easy_setopt(easy_, CURLOPT_HEADERFUNCTION, take_header);
  curl().easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl().easy_setopt(easy_, CURLOPT_WRITEFUNCTION, take_body);
  curl().easy_setopt(easy_, CURLOPT_WRITEDATA, this);
}

void Transfer::prepare_tls() {
  if (probe_.tls_skip_verify) {
    curl().easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, 0L);
    curl().easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!probe_.tls || probe_.tls_server_name.empty()) return;
  const auto port = std::to_string(probe_.port);
  const auto way = net::join_host_port(probe_.tls_server_name, port) + ':'
                   + net::join_host_port(probe_.host, port);
  curl().slist_free_all(std::exchange(connect_to_, curl().slist_append(nullptr, way.c_str())));
  curl().easy_setopt(easy_, CURLOPT_CONNECT_TO, connect_to_);
}

void Transfer::add_header(const std::string& line) {
  if (auto* longer = curl().slist_append(headers_, line.c_str())) headers_ = longer;
}

bool Transfer::may_send(std::string_view header) const {
  if (is_one_of(header, framing)) return false;
  if (net::same_header(header, "Host")) return keeps_host_header_;
  return !is_elsewhere_ || !is_one_of(header, credentials);
}

void Transfer::prepare_http() {
  curl().easy_setopt(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl().easy_setopt(easy_, CURLOPT_USERAGENT, "nomadctl");
  const bool has_body = sends_body_ && !probe_.body.empty();
  if (has_body) {
    curl().easy_setopt(easy_, CURLOPT_POSTFIELDSIZE, static_cast<long>(probe_.body.size()));
    curl().easy_setopt(easy_, CURLOPT_POSTFIELDS, probe_.body.c_str());
    add_header("Expect:");
  }
  if (method_ == "HEAD")
    curl().easy_setopt(easy_, CURLOPT_NOBODY, 1L);
  else
    curl().easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, method_.c_str());
  bool has_type = false;
  for (const auto& [name, value] : probe_.headers) {
    if (!may_send(name)) continue;
    has_type = has_type || net::same_header(name, "Content-Type");
    add_header(value.empty() ? name + ';' : name + ": " + value);
  }
  if (has_body && !has_type) add_header("Content-Type:");  // not that of a form
}

void Transfer::prepare_grpc() {
  const auto request = encode_health_request(probe_.grpc_service);
  curl().easy_setopt(
      easy_, CURLOPT_HTTP_VERSION,
      static_cast<long>(probe_.tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
  curl().easy_setopt(easy_, CURLOPT_USERAGENT, "nomadctl");
  curl().easy_setopt(easy_, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.size()));
  curl().easy_setopt(easy_, CURLOPT_COPYPOSTFIELDS, request.data());
  add_header("Content-Type: application/grpc");
  add_header("TE: trailers");
}

// -- what comes ----------------------------------------------------------------------------------

std::size_t Transfer::take_header(char* bytes, std::size_t, std::size_t size, void* transfer) {
  auto& self = *static_cast<Transfer*>(transfer);
  const auto line = trim(std::string_view{bytes, size});
  if (line.starts_with("HTTP/")) {
    self.location_.clear();
    return size;
  }
  if (line.empty()) {
    long status = 0;
    curl().easy_getinfo(self.easy_, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200) self.status_ = status;
    return self.has_enough() ? 0 : size;
  }
  const auto colon = std::min(line.find(':'), line.size());
  const auto name = line.substr(0, colon);
  const auto value = trim(line.substr(std::min(colon + 1, line.size())));
  if (net::same_header(name, "Location")) self.location_ = value;
  if (net::same_header(name, "grpc-message")) self.grpc_message_ = value.substr(0, most_kept);
  if (net::same_header(name, "grpc-status")) {
    int status = -1;
    std::from_chars(value.data(), value.data() + value.size(), status);
    self.grpc_status_ = status;
  }
  return size;
}

std::size_t Transfer::take_body(char* bytes, std::size_t, std::size_t size, void* transfer) {
  auto& self = *static_cast<Transfer*>(transfer);
  self.received_.append(bytes, std::min(size, most_kept - self.received_.size()));
  return self.received_.size() < most_kept ? size : 0;
}

/// Whether the header of the answer is all that matters: the rest may never come.
bool Transfer::has_enough() const {
  if (probe_.kind != Kind::http || status_ == 0) return false;
  return status_ == 200 || (status_ >= 300 && status_ < 400 && !location_.empty());
}

bool Transfer::redirect() {
  const bool keeps_method = status_ == 307 || status_ == 308;
  const bool leads_on = keeps_method || status_ == 301 || status_ == 302 || status_ == 303;
  if (probe_.kind != Kind::http || !leads_on || location_.empty()) return false;
  if (redirects_ == most_redirects) {
    too_many_redirects_ = true;
    return false;
  }
  auto next = resolved(url_, location_);
  if (next.empty()) return false;
  ++redirects_;
  const auto from = host_and_port(url_);
  is_elsewhere_ = is_elsewhere_ || host_and_port(next) != from;
  keeps_host_header_ = keeps_host_header_ && location_.find("://") == std::string::npos
                       && !location_.starts_with("//");
  if (!keeps_method) {
    if (method_ != "HEAD") method_ = "GET";
    sends_body_ = false;
  }
  url_ = std::move(next);
  return true;
}

// -- what came of it -----------------------------------------------------------------------------

Outcome Transfer::outcome(CURLcode code) const {
  switch (probe_.kind) {
    case Kind::http:
      return http_outcome(code);
    case Kind::grpc:
      return grpc_outcome(code);
    case Kind::tcp:
      break;
  }
  if (code == CURLE_OK) return {.passed = true, .output = "nomad: tcp ok"};
  return failed(failure(code));
}

Outcome Transfer::http_outcome(CURLcode code) const {
  if (too_many_redirects_)
    return failed(fmt::format("{} \"{}\": stopped after {} redirects", method_title(method_), url_,
                              most_redirects));
  if (status_ == 0)
    return failed(fmt::format("{} \"{}\": {}", method_title(method_), url_, failure(code)));
  Outcome out{.passed = status_ < 400, .status_code = static_cast<int>(status_), .output = {}};
  if (status_ == 200)
    out.output = "nomad: http ok";
  else if (received_.empty() && code != CURLE_OK && location_.empty())
    out.output = "nomad: " + failure(code);
  else
    out.output = received_;
  return out;
}

Outcome Transfer::grpc_outcome(CURLcode code) const {
  if (code != CURLE_OK) return failed(failure(code));
  if (!grpc_status_)
    return failed(fmt::format("the answer is not gRPC's (HTTP status {})", status_));
  if (*grpc_status_ != 0) {
    auto said = net::percent_decode(grpc_message_, false);
    return failed(fmt::format("rpc error: code = {} desc = {}", status_name(*grpc_status_),
                              said ? *said : grpc_message_));
  }
  const auto status = decode_health_answer(received_);
  if (!status) return failed(status.error().what);
  if (*status != "SERVING") return failed("grpc status " + *status);
  return {.passed = true, .output = "nomad: grpc ok"};
}

/// In the words of Go's client where it has some.
std::string Transfer::failure(CURLcode code) const {
  const auto dialed = "dial tcp " + net::join_host_port(probe_.host, std::to_string(probe_.port));
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return probe_.kind == Kind::tcp ? dialed + ": i/o timeout" : "context deadline exceeded";
    case CURLE_GOT_NOTHING:
      return "EOF";
    case CURLE_COULDNT_CONNECT: {
      long number = 0;
      curl().easy_getinfo(easy_, CURLINFO_OS_ERRNO, &number);
      if (number != 0 && !is_elsewhere_)
        return dialed + ": connect: " + net::go_text(static_cast<int>(number));
      break;
    }
    default:
      break;
  }
  return why_[0] != '\0' ? why_ : curl().easy_strerror(code);
}

Outcome Transfer::failed(const std::string& why) const {
  return {.passed = false, .status_code = 0, .output = "nomad: " + why};
}

}  // namespace nomad::probe
