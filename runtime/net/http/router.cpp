#include "runtime/net/http/router.hpp"

#include <algorithm>

#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/base/text.hpp"

namespace nomad::net {

void HttpRouter::handle(std::string pattern, Handler handler) {
  if (pattern.empty() || pattern.back() != '/') {
    exact_[std::move(pattern)] = std::move(handler);
    return;
  }
  std::erase_if(prefixes_, [&](const auto& entry) { return entry.first == pattern; });
  prefixes_.emplace_back(std::move(pattern), std::move(handler));
  sort_stably(prefixes_, [](const auto& left, const auto& right) {
    return left.first.size() > right.first.size();
  });
}

void HttpRouter::handle_rest(Handler handler) {
  rest_ = std::move(handler);
}

const Handler* HttpRouter::lookup(std::string_view path) const {
  if (auto found = exact_.find(path); found != exact_.end()) return &found->second;
  for (const auto& [prefix, handler] : prefixes_)
    if (path.starts_with(prefix)) return &handler;
  return nullptr;
}

HttpRouter::Match HttpRouter::find(std::string_view path, bool is_clean) const {
  Match match;
  if (!is_clean) {
    match.redirect = clean_path(path);
    return match;
  }
  match.handler = lookup(path);
  if (match.handler == nullptr || exact_.find(path) == exact_.end()) {
    const auto is_bare_prefix = [path](const auto& entry) {
      return entry.first.size() == path.size() + 1 && entry.first.starts_with(path);
    };
    if (path.back() != '/' && std::any_of(prefixes_.begin(), prefixes_.end(), is_bare_prefix)) {
      match.handler = nullptr;
      match.redirect = std::string{path} + '/';
      return match;
    }
  }
  if (match.handler == nullptr && rest_) match.handler = &rest_;
  return match;
}

namespace {

/// The path as it came, before it was decoded.
std::string_view sent_path(std::string_view target) {
  target = target.substr(0, target.find('?'));
  if (const auto scheme = target.find("://"); !target.starts_with('/') && scheme != target.npos)
    target.remove_prefix(std::min(target.find('/', scheme + 3), target.size()));
  return target;
}

}  // namespace

void serve(const HttpRouter& router, Responder responder) {
  const auto& request = responder.request();
  // What is cleaned stays encoded: "%2F" belongs to a name.
  const auto match = request.is_path_clean ? router.find(request.path, true)
                                           : router.find(sent_path(request.target), false);
  if (match.handler != nullptr) {
    (*match.handler)(std::move(responder));
    return;
  }
  Response response{.status = 404};
  if (!match.redirect.empty()) {
    auto location = percent_encode(match.redirect, "/:@!$&'()*+,;=%");
    if (const auto question = request.target.find('?'); question != std::string::npos)
      location += percent_encode(request.target.substr(question), "/:@!$&'()*+,;=?%");
    response.status = 301;
    response.headers.push_back({"Location", location});
    if (request.method == "GET" || request.method == "HEAD") {
      response.content_type = "text/html; charset=utf-8";
      response.body = "<a href=\"" + location + "\">Moved Permanently</a>.\n\n";
    }
  }
  responder.send(std::move(response));
}

}  // namespace nomad::net
