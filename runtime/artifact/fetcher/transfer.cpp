#include "runtime/artifact/fetcher/transfer.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>

#include <sys/socket.h>

#include <curl/curl.h>

#include "runtime/artifact/rules/redirect_policy.hpp"
#include "runtime/base/text.hpp"

namespace nomad::artifact {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_error_body = 2048;
constexpr std::size_t longest_text = 1024 * 1024;
constexpr std::size_t longest_shown = 300;
constexpr long buffer_bytes = 128 * 1024;
constexpr long silence_seconds = 300;
constexpr const char* agent_name = "nomadctl-artifact/" NOMADCTL_VERSION;

struct HeaderList {
  curl_slist* list = nullptr;

  ~HeaderList() { ::curl_slist_free_all(list); }

  void add(const std::string& line) { list = ::curl_slist_append(list, line.c_str()); }
};

bool may_be_header(const std::string& name, const std::string& value) {
  const auto is_control = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
  return !name.empty() && std::ranges::none_of(name, is_control)
         && std::ranges::none_of(value, is_control) && name.find_first_of(" \t:") == name.npos;
}

/// libcurl reads https_proxy, all_proxy and no_proxy by itself, http_proxy in lower case alone.
const char* proxy_of(const Url& url) {
  if (url.scheme != "http" || std::getenv("http_proxy") != nullptr) return nullptr;
  return std::getenv("HTTP_PROXY");
}

std::string shown_part(std::string_view body) {
  std::string out;
  for (const char c : body.substr(0, longest_shown))
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return out;
}

}  // namespace

/// What the callbacks of one request work with.
struct Transfers::Call {
  CURL* curl;
  const Sink& sink;
  Reporter& reporter;
  std::uint64_t max_bytes;
  bool counts;
  const ReachJudge* judge;  ///< Null: any address.
  std::uint64_t received = 0;
  int status = 0;
  std::string location{};
  std::string error_body{};
  Result<> failure{};
  std::string refused{};  ///< The address that was not connected to last, and why.

  /// Of each address that curl is about to connect to, whatever led it there.
  static curl_socket_t open(void* call, curlsocktype, curl_sockaddr* address) {
    auto& self = *static_cast<Call*>(call);
    if (auto why = self.judge == nullptr ? std::nullopt
                                         : self.judge->refuses(&address->addr, address->addrlen)) {
      self.refused = std::move(*why);
      return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }

  static std::size_t header(char* data, std::size_t, std::size_t size, void* call) {
    static_cast<Call*>(call)->take_header({data, size});
    return size;
  }

  static std::size_t body(char* data, std::size_t, std::size_t size, void* call) {
    return static_cast<Call*>(call)->take_body({data, size}) ? size : CURL_WRITEFUNC_ERROR;
  }

  void take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // Of this answer, and not of one before it.
      status = static_cast<int>(leading_number(line.substr(std::min(line.find(' '), line.size()))));
      location.clear();
    }
    const auto colon = line.find(':');
    if (colon == line.npos) return;
    const auto name = to_lower(line.substr(0, colon));
    const auto value = trim(line.substr(colon + 1));
    if (name == "location") location = value;
    if (name == "content-length" && status == 200 && counts) reporter.expect(leading_number(value));
  }

  bool take_body(std::string_view bytes) {
    if (status != 200) {
      error_body
          += bytes.substr(0, longest_error_body - std::min(error_body.size(), longest_error_body));
      return error_body.size() < longest_error_body;
    }
    received += bytes.size();
    if (max_bytes > 0 && received > max_bytes) {
      failure = Error{Errc::too_large, "the server sends more than " + std::to_string(max_bytes)
                                           + " bytes (http_max_size)"};
      return false;
    }
    failure = sink(bytes);
    if (counts) reporter.received(bytes.size());
    return failure.has_value();
  }
};

Transfers::Transfers(const ReachJudge& judge, Reporter& reporter)
    : judge_{judge}, reporter_{reporter} {
  ::curl_global_init(CURL_GLOBAL_DEFAULT);
  curl_ = ::curl_easy_init();
}

Transfers::~Transfers() {
  ::curl_easy_cleanup(curl_);
}

Result<Answer> Transfers::get(const Request& request, const Sink& sink) {
  RedirectPolicy policy{request.url};
  for (;;) {
    std::string location;
    auto answer
        = NOMAD_TRY(get_once(request, policy.here(), policy.carries_secrets(), sink, location));
    if (!RedirectPolicy::is_redirect(answer.status)) return answer;
    NOMAD_TRY(policy.follow(answer.status, location));
  }
}

Result<std::string> Transfers::get_text(Request request, Answer* answer) {
  std::string text;
  request.max_bytes = longest_text;
  request.counts = false;
  const auto got = NOMAD_TRY(get(request, [&text](std::string_view bytes) -> Result<> {
    text += bytes;
    return {};
  }));
  if (answer != nullptr) *answer = got;
  if (!got.is_success()) return bad_response(got);
  return text;
}

namespace {

Result<> set_headers(const Request& request, HeaderList& list) {
  for (const auto& [name, value] : request.headers) {
    if (!may_be_header(name, value))
      return Error{Errc::invalid_argument, "\"" + shown_part(name) + "\" is no header"};
    // A header without a value is written with a semicolon there.
    list.add(value.empty() ? name + ";" : name + ": " + value);
  }
  return {};
}

std::string without_user(Url url) {
  url.userinfo.clear();
  url.fragment.clear();
  if (url.path.empty()) url.path = "/";
  // Bytes that stand unescaped in a source, spaces above all.
  url.path = percent_encode(url.path, "/%:@!$&'()*+,;=[]");
  url.query = percent_encode(url.query, "/%:@!$&'()*+,;=?[]");
  return url.text();
}

void set_fixed_options(CURL* curl) {
  ::curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  ::curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  ::curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, buffer_bytes);
  ::curl_easy_setopt(curl, CURLOPT_USERAGENT, agent_name);
  ::curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  ::curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, silence_seconds);
  if (const char* const file = std::getenv("SSL_CERT_FILE"); file != nullptr)
    ::curl_easy_setopt(curl, CURLOPT_CAINFO, file);
  if (const char* const directory = std::getenv("SSL_CERT_DIR"); directory != nullptr)
    ::curl_easy_setopt(curl, CURLOPT_CAPATH, directory);
}

Error transfer_error(CURLcode code, const char* text, const Url& url) {
  const auto why = std::string{*text != '\0' ? text : ::curl_easy_strerror(code)};
  if (code == CURLE_OPERATION_TIMEDOUT)
    return {Errc::timeout, "it did not come in time from " + url.shown() + ": " + why};
  return {Errc::unavailable, url.shown() + ": " + why};
}

}  // namespace

Result<Answer> Transfers::get_once(const Request& request,
                                   const Url& url,
                                   bool with_secrets,
                                   const Sink& sink,
                                   std::string& location) {
  const auto left
      = std::chrono::duration_cast<std::chrono::milliseconds>(request.deadline - Clock::now());
  if (left.count() <= 0) return Error{Errc::timeout, "it did not come in time from " + url.shown()};
  ::curl_easy_reset(curl_);
  set_fixed_options(curl_);
  std::array<char, CURL_ERROR_SIZE> why{};
  Call call{.curl = curl_,
            .sink = sink,
            .reporter = reporter_,
            .max_bytes = request.max_bytes,
            .counts = request.counts,
            .judge = request.is_operators ? nullptr : &judge_};
  HeaderList headers;
  const auto address = without_user(url);
  const auto user = url.user();
  const auto password = url.password();
  if (with_secrets) NOMAD_TRY(set_headers(request, headers));
  if (with_secrets && !url.userinfo.empty()) {
    ::curl_easy_setopt(curl_, CURLOPT_USERNAME, user.c_str());
    ::curl_easy_setopt(curl_, CURLOPT_PASSWORD, password.c_str());
  }
  if (const char* const proxy = proxy_of(url); proxy != nullptr)
    ::curl_easy_setopt(curl_, CURLOPT_PROXY, proxy);
  ::curl_easy_setopt(curl_, CURLOPT_URL, address.c_str());
  ::curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, request.method);
  ::curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers.list);
  ::curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(std::min(left, request.connect_timeout).count()));
  ::curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
  ::curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, why.data());
  ::curl_easy_setopt(curl_, CURLOPT_SSL_VERIFYPEER, request.insecure ? 0L : 1L);
  ::curl_easy_setopt(curl_, CURLOPT_SSL_VERIFYHOST, request.insecure ? 0L : 2L);
  ::curl_easy_setopt(curl_, CURLOPT_OPENSOCKETFUNCTION, &Call::open);
  ::curl_easy_setopt(curl_, CURLOPT_OPENSOCKETDATA, &call);
  // Its connection is not to serve a request that is judged.
  ::curl_easy_setopt(curl_, CURLOPT_FORBID_REUSE, request.is_operators ? 1L : 0L);
  ::curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, &Call::header);
  ::curl_easy_setopt(curl_, CURLOPT_HEADERDATA, &call);
  ::curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &Call::body);
  ::curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &call);
  const auto code = ::curl_easy_perform(curl_);
  if (!call.failure) return call.failure.error().within(url.shown());
  if (code != CURLE_OK && !call.refused.empty())
    return Error{Errc::rejected, url.shown() + ": " + call.refused};
  // Enough of an error's text is no failure of the transfer.
  if (code != CURLE_OK && (call.status == 200 || call.status == 0 || code != CURLE_WRITE_ERROR))
    return transfer_error(code, why.data(), url);
  location = std::move(call.location);
  return Answer{.status = call.status, .error_body = std::move(call.error_body), .url = url};
}

Error bad_response(const Answer& answer) {
  auto text = "bad response code: " + std::to_string(answer.status) + " from " + answer.url.shown();
  auto said = s3_error(answer.error_body);
  if (said.empty() && answer.error_body.find('<') == std::string::npos) said = answer.error_body;
  if (!trim(said).empty()) text += " (" + std::string{trim(shown_part(said))} + ")";
  return {Errc::unavailable, text};
}

}  // namespace nomad::artifact
